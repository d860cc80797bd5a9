"""The field *Pause when*: conditions on the record of an iterate at which runs are paused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from solverscope.app.help import tip
from solverscope.app.page.session import Session
from solverscope.app.page.sidebar.fields import FieldForm
from solverscope.app.runs.live import LiveRun
from solverscope.solvers import USUAL_CONDITIONS, Condition
from solverscope.solvers.runs.breakpoints import known

#: Numbers that the usual conditions are offered with.
OFFERED = {"ls_trials > {}": 5, "step < {}": 1e-3}
#: The usual conditions, and what each says.
SUGGESTIONS = [
    [text.format(number), title if "{" not in text else f"{title} {number:g}"]
    for title, text in USUAL_CONDITIONS.items()
    for number in [OFFERED.get(text, 100)]
]
#: Label of the button that is offered if a condition pauses runs at their start.
LATER = "from iterate 1"


def parse(text: str) -> tuple[Condition, ...]:
    """Parse conditions separated by semicolons. Raises ValueError if one is invalid."""
    return tuple(Condition.parse(part) for part in text.split(";") if part.strip())


@dataclass(frozen=True)
class Conditions:
    """The declaration of the input field for conditions."""

    name: str = "condition"
    title: str = "condition"
    default: str = ""
    help: str = tip("breaks.condition")
    choices: ClassVar[None] = None

    def parse(self, value: Any) -> str:
        return "; ".join(condition.text for condition in parse(str(value)))


class Breaks(FieldForm):
    """The field of the conditions at which runs pause. Valid conditions apply to the session's runs at once.

    If a condition pauses runs at iterate 0, the field offers to test it from iterate 1 on.
    """

    def __init__(self, session: Session, on_change: Any) -> None:
        super().__init__(lambda: (self._apply(), on_change()))
        self._session = session
        self.text = self._note = ""

    def show(self, text: str) -> None:
        """Show conditions in the field, and apply them.

        Raises ValueError if one of them is invalid.
        """
        field = Conditions()
        text = field.parse(text)
        self.set([field], {field.name: text} if text else {})
        self._apply()

    @property
    def _held(self) -> list[LiveRun]:
        """Return the runs that a condition has paused at iterate 0."""
        return [run for run in self._session.alive if run.hit is not None and run.hit.iteration == 0]

    def _true_at_start(self) -> list[Condition]:
        held = self._held
        return [one for one in self._session.breaks if any(one.holds(_first(run, one), {}) for run in held)]

    def update(self) -> None:
        """Show which conditions pause runs at iterate 0."""
        texts = [one.text for one in self._true_at_start()]
        note = ""
        if texts:
            true = "is true" if len(texts) == 1 else "are true"
            note = f"{' and '.join(texts)} {true} at iterate 0, where runs begin."
        if note != self._note:
            self._note = note
            self._draw()

    def _draw(self) -> None:
        more = {"suggestions": SUGGESTIONS, "wide": True, "note": self._note, "offer": LATER}
        self.fields = [field | more for field in self._entered.shown(self._declared.values())]

    def receive(self, data: dict[str, Any]) -> None:
        if data.get("offered"):
            self._begin_later()
        else:
            super().receive(data)

    def _begin_later(self) -> None:
        """Restrict the conditions that are true at the start to later iterates, and resume the runs paused by
        them."""
        held, early = self._held, self._true_at_start()
        texts = [_later(one.text) if one in early else one.text for one in self._session.breaks]
        self.enter(Conditions.name, "; ".join(texts))
        if not self.obstacle:
            for run in held:
                run.worker.resume()
        self._session.tick()

    def _apply(self) -> None:
        text = self.values.get(Conditions.name, "")
        if text != self.text:
            self.text = text
            self._session.set_breaks(parse(text))


def _first(run: LiveRun, condition: Condition) -> Mapping[str, Any]:
    """Return the fields that a condition reads, from the first iterate of a run."""
    rows, _, _ = run.trace.since(None)
    return {name: known(name, rows[name][0]) for name in condition.fields if name in rows}


def _later(text: str) -> str:
    """Return the condition restricted to iterates from 1 on."""
    return f"iteration > 0 and {f'({text})' if ' or ' in text else text}"
