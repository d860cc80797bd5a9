"""Pause when: conditions over the record at which runs are held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from app.page.session import Session
from app.page.sidebar.fields import Form
from solvers import USUAL_CONDITIONS, Condition

#: Numbers that the usual conditions are offered with.
OFFERED = {"ls_trials > {}": 5, "step < {}": 1e-3}


def parse(text: str) -> tuple[Condition, ...]:
    """Read conditions that semicolons stand between; ValueError, one sentence, if one is none."""
    return tuple(Condition.parse(part) for part in text.split(";") if part.strip())


@dataclass(frozen=True)
class Conditions:
    """Declares the field that conditions are written into, with those that are often wanted."""

    name: str = "condition"
    title: str = "condition"
    default: str = ""
    help: str = (
        "Pause a run at the iterate where this begins to hold: fields of the record, prev.FIELD of the "
        'iterate before, numbers, + - * /, comparisons, and, or, not, "word" in events; semicolons between '
        "conditions"
    )
    choices: ClassVar[None] = None
    wide: ClassVar[bool] = True

    @property
    def suggestions(self) -> list[list[str]]:
        """Return the usual conditions, and what each says."""
        return [
            [text.format(number), title if "{" not in text else f"{title} {number:g}"]
            for title, text in USUAL_CONDITIONS.items()
            for number in [OFFERED.get(text, 100)]
        ]

    def parse(self, value: Any) -> str:
        return "; ".join(condition.text for condition in parse(str(value)))


class Breaks(Form):
    """The field; what is right in it goes to the session's runs at once."""

    def __init__(self, session: Session, on_change: Any) -> None:
        super().__init__(lambda: (self._apply(), on_change()))
        self._session = session
        self.text = ""

    def show(self, text: str) -> None:
        """Show these conditions in the field; ValueError, one sentence, if one is none."""
        field = Conditions()
        text = field.parse(text)
        self.set([field], {field.name: text} if text else {})
        self._apply()

    def _apply(self) -> None:
        text = self.values.get(Conditions.name, "")
        if text != self.text:
            self.text = text
            self._session.set_breaks(parse(text))
