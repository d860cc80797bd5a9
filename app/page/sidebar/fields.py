"""Forms generated from declarations: options of data sets, hyper-parameters of solvers and penalties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import param

from solverscope.app import ui
from solverscope.app.settings import wording
from solverscope.app.settings.wording import Declaration
from solverscope.app.ui.component import Component


def describe(declared: Declaration, value: Any, error: str = "") -> dict[str, Any]:
    """Return the data that a form needs about one field."""
    choices = declared.choices
    if isinstance(declared.default, bool):
        kind = "switch"
    elif choices is not None and not getattr(declared, "numeric", None):
        kind, choices = "choice", [str(choice) for choice in choices]
    else:
        kind, choices = "text", []
    return {
        "name": declared.name,
        "title": wording.title_of(declared),
        "help": declared.help,
        "allowed": getattr(declared, "allowed", None) or getattr(declared, "range", ""),
        "kind": kind,
        "choices": choices or [],
        "value": value if kind == "switch" else shown(value),
        "changed": value != declared.default,
        "error": error,
    }


def shown(value: Any) -> str:
    """Format a value for a field."""
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass
class Entered:
    """The entries of a form's fields.

    ``values`` contains valid entries that differ from their defaults; ``wrong`` maps other fields to the
    invalid entry and its error.
    """

    values: dict[str, Any] = field(default_factory=dict)
    wrong: dict[str, tuple[Any, str]] = field(default_factory=dict)

    def put(self, declared: Declaration, value: Any) -> None:
        """Store a value that was entered in a field."""
        name = declared.name
        try:
            parsed = declared.parse(None if value == "" and declared.default is None else value)
        except ValueError as error:
            self.wrong[name] = value, wording.of_field(declared, error)
            return
        self.wrong.pop(name, None)
        self.values.pop(name, None)
        if parsed != declared.default:
            self.values[name] = parsed

    @property
    def error(self) -> str | None:
        """Return the error of the first invalid field, or None."""
        return next((error for _, error in self.wrong.values()), None)

    def shown(self, declared: Iterable[Declaration]) -> list[dict[str, Any]]:
        """Return the data that a form needs about these fields."""
        return [describe(d, *self.wrong.get(d.name, (self.values.get(d.name, d.default),))) for d in declared]


class FieldForm(Component):
    """A form of fields for declared values; ``values`` contains valid ones that differ from their defaults.

    ``on_change()`` is called after every entry, valid or not.
    """

    fields = param.List(default=[], doc="one dictionary a field")
    title = param.String(default="", doc="with a title the fields can be folded away, and are at first")

    _esm = ui.page_script("fields.js", render="form")
    _stylesheets: ClassVar[list[str]] = [ui.asset("component.css", "fields.css")]

    def __init__(self, on_change: Callable[[], None], **params: Any) -> None:
        super().__init__(sizing_mode="stretch_width", margin=(0, 10), **params)
        self._on_change = on_change
        self._declared: dict[str, Declaration] = {}
        self._entered = Entered()

    @property
    def values(self) -> dict[str, Any]:
        return self._entered.values

    @property
    def obstacle(self) -> str | None:
        """Return the error of the first invalid field, or None."""
        return self._entered.error

    def set(self, declared: Sequence[Declaration], values: Mapping[str, Any]) -> None:
        """Replace the fields of the form by these, with these values."""
        self._declared = {d.name: d for d in declared}
        self._entered = Entered(dict(values))
        self._draw()

    def _draw(self) -> None:
        self.fields = self._entered.shown(self._declared.values())

    def receive(self, data: dict[str, Any]) -> None:
        self.enter(data.get("name"), data.get("value"))

    def enter(self, name: Any, value: Any) -> None:
        """Enter a value into a field, as a visitor would; unknown fields are ignored."""
        if name not in self._declared:
            return
        self._entered.put(self._declared[name], value)
        self._draw()
        self._on_change()
