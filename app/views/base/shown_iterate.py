"""The note on the iterate that a view shows, if it is not that under the cursor."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import ref

from solverscope.app import ui
from solverscope.app.views.base.cursor import Cursor
from solverscope.solvers import Trace

#: In the upper right corner of a view, over its panes: nothing moves when it comes or goes.
CORNER = {
    **{"position": "absolute", "top": "0", "right": "0", "width": "auto", "height": "auto", "z-index": "3"},
    **{"padding": "0 8px", "border-radius": "4px", "border": "1px solid #E69F00"},
    "background": "var(--mui-palette-background-paper, #fff)",
}


@dataclass(frozen=True)
class ShownPlace:
    """An iterate of a run, to which it refers weakly."""

    run: ref[Trace]
    label: str
    iteration: int


class ShownIterate:
    """The note in a view that names the iterate shown.

    It appears as soon as view and cursor differ, and disappears after two updates in which they agree.
    Otherwise it would flicker in views that are rarely drawn.
    """

    def __init__(self, cursor: Cursor) -> None:
        self._cursor, self._apart = cursor, False
        self.pane = ui.html(css_classes=["shown-iterate"], styles=CORNER | ui.visibility_css(False))

    def tell(self, shown: Mapping[str, ShownPlace], traces: Sequence[Trace]) -> None:
        """Show the note on iterates, which are given by the titles of their panes."""
        run = self._cursor.run
        head = (
            0 if run is None else run.last.get("iteration", 0)
        )  # the cursor may have come from a longer run
        here = min(self._cursor.iteration, head)
        apart = any(place.run() is not run or min(place.iteration, head) != here for place in shown.values())
        said = apart or (self._apart and bool(shown))
        self._apart = apart
        if said:
            self.pane.object = self._text(shown, traces)
        self.pane.styles = CORNER | ui.visibility_css(said) | {"pointer-events": "none"}

    def _text(self, shown: Mapping[str, ShownPlace], traces: Sequence[Trace]) -> str:
        """Return the text of the note: the iterate if all panes show the same, otherwise each
        with its panes."""
        titles: dict[str, list[str]] = {}
        for title, place in shown.items():
            titles.setdefault(self._named(place, traces), []).append(title)
        if len(titles) == 1:
            said = next(iter(titles))
        else:
            said = " · ".join(f"{', '.join(panes)}: {name}" for name, panes in titles.items())
        return f'<p class="note">Showing {html.escape(said)}</p>'

    def _named(self, place: ShownPlace, traces: Sequence[Trace]) -> str:
        iterate, run = f"iterate {ui.number(place.iteration)}", place.run()
        if run is self._cursor.run:
            return iterate
        return f"{iterate} of {place.label if run in traces else 'an earlier run'}"
