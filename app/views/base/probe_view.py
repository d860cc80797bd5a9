"""The base class of views that draw the observations of a probe."""

from __future__ import annotations

from typing import Any, ClassVar

from solverscope.app.views.base.view import View
from solverscope.solvers import Probe
from solverscope.solvers.probes.probe import Seen


class ProbeView(View):
    """Base class of views that draw a probe's last observation, up to the cursor, of the run under the
    cursor.

    A subclass sets its ``probe``, and in ``probes`` any others that it reads. It draws in ``draw_seen``,
    which is called only if the observation differs from the one drawn last.
    """

    probe: ClassVar[Probe]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.probes = cls.observed = tuple(dict.fromkeys((cls.probe, *cls.probes)))

    def seen(self) -> tuple[int, Seen] | None:
        """Return the probe's last observation up to the cursor, with its iteration; None if there is none."""
        return (
            None if self.chosen is None else self.chosen.probes.last(self.probe.name, self.cursor.iteration)
        )

    def iterations(self) -> list[int]:
        """Return all iterations of the run at which the probe recorded an observation."""
        return [] if self.chosen is None else self.chosen.probes.iterations(self.probe.name)

    def has_content(self) -> bool:
        return self.seen() is not None

    def draw(self) -> None:
        super().draw()
        found = self.seen()
        if not self._drawn.changed("seen", *((self.chosen, found[0]) if found else (self.chosen,))):
            return
        self.drew(None if found is None else found[0])
        if found is None:
            self.draw_nothing()
        else:
            self.draw_seen(*found)

    def draw_seen(self, iteration: int, seen: Seen) -> None:
        """Draw the probe's observation at an iteration."""
        raise TypeError(f"{type(self).__name__} does not define draw_seen")

    def draw_nothing(self) -> None:
        """Clear the plot, if the hint does not replace the view."""
