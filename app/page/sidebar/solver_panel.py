"""The list of solvers: which ones race, with which hyper-parameters, and why others cannot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

import param

from solverscope.app import ui
from solverscope.app.page.sidebar.fields import Entered
from solverscope.app.settings.experiment import MOST_SOLVERS
from solverscope.app.settings.recipe import Entrant, Recipe, fits
from solverscope.app.ui.component import Component
from solverscope.solvers import PENALTIES, SOLVERS, parameters, preset_params


@dataclass
class Entry:
    """A solver in the list."""

    id: str
    label: str
    entered: Entered = field(default_factory=Entered)
    penalty: str = ""
    chosen: bool = False
    refused: str = ""
    style: int = -1  # given when it is first chosen, and kept

    @property
    def setting(self) -> Entrant:
        """Return the solver with its label and hyper-parameters, as it would run."""
        return Entrant(self.id, self.label, dict(self.entered.values), self.penalty)


class SolverPanel(Component):
    """The list of solvers: each registered one, and copies with other labels."""

    entries = param.List(default=[], doc="one dictionary a line")

    _esm = ui.page_script("fields.js", "solver_panel.js")
    _stylesheets: ClassVar[list[str]] = [ui.asset("component.css", "fields.css")]

    def __init__(self, on_change: Callable[[], None]) -> None:
        super().__init__(sizing_mode="stretch_width", margin=(0, 10))
        self._on_change = on_change
        self._list: list[Entry] = []
        self._drawn: list[tuple[bool, str | None]] = []
        self._styles = count()
        self._problem: Recipe | None = None

    def set(self, problem: Recipe, chosen: Sequence[Entrant]) -> None:
        """Show all solvers, with ``chosen`` selected."""
        self._problem = problem
        self._styles = count()
        used = {solver.id for solver in chosen}
        self._list = [Entry(s.id, s.label, Entered(dict(s.params)), s.penalty) for s in chosen]
        for entry in self._list:
            self._choose(entry)
        self._list += [Entry(id, id) for id in SOLVERS if id not in used]
        self._draw()

    def set_problem(self, problem: Recipe) -> None:
        """Keep the selected solvers that suit another problem; if none does, select the first two that do."""
        self._problem = problem
        for entry in self._racing[MOST_SOLVERS:]:  # chosen for different problems, they all fit this one
            entry.chosen = False
        if not self.chosen:
            for entry in [e for e in self._list if self._reason(e) is None][:2]:
                self._choose(entry)
        if self._offered() != self._drawn:  # another λ, say, changes nothing
            self._draw()

    def refresh(self) -> None:
        """Show the solvers that are registered now, and drop hyper-parameters that no longer exist."""
        self._list = [entry for entry in self._list if entry.id in SOLVERS]
        for entry in self._list:
            declared = {parameter.name for parameter in parameters(SOLVERS[entry.id])}
            kept = {name: value for name, value in entry.entered.values.items() if name in declared}
            entry.entered = Entered(kept)
        listed = {entry.id for entry in self._list}
        self._list += [Entry(id, id) for id in SOLVERS if id not in listed]
        self._draw()
        self._on_change()

    def _offered(self) -> list[tuple[bool, str | None]]:
        """Return, for each entry, whether it is selected, and why it does not suit the problem or None."""
        return [(entry.chosen, self._reason(entry)) for entry in self._list]

    @property
    def chosen(self) -> tuple[Entrant, ...]:
        """Return the solvers that will race on the next *Run*."""
        return tuple(entry.setting for entry in self._racing)

    @property
    def run_styles(self) -> tuple[int, ...]:
        """Return the styles of the selected solvers, which are indices of colours and dashes."""
        return tuple(entry.style for entry in self._racing)

    @property
    def settings(self) -> tuple[Entrant, ...]:
        """Return all solvers of the list, selected or not, except those with an invalid field."""
        return tuple(entry.setting for entry in self._list if not entry.entered.wrong)

    def new_style(self, taken: Collection[int]) -> int:
        """Return a style that is not ``taken`` and that no solver in the list will get."""
        return next(style for style in self._styles if style not in taken)

    @property
    def obstacle(self) -> str | None:
        """Return why the selected solvers cannot be run, or None if they can."""
        if not self._racing:
            return "choose at least one solver"
        return next((f"{e.label}: {error}" for e in self._racing if (error := e.entered.error)), None)

    @property
    def _racing(self) -> list[Entry]:
        return [e for e in self._list if e.chosen and self._reason(e) is None]

    def _choose(self, entry: Entry) -> None:
        """Select an entry for the race.

        Its style is assigned once and never reused, so that runs keep theirs when solvers are selected or
        removed.
        """
        entry.chosen = True
        if entry.style < 0:
            entry.style = next(self._styles)

    def _reason(self, entry: Entry) -> str | None:
        return fits(entry.setting, self._problem)

    def _draw(self) -> None:
        self._drawn = self._offered()
        originals = {entry.id: entry for entry in reversed(self._list)}
        lines = []
        for entry in sorted(self._list, key=lambda e: self._reason(e) is not None):
            reason = self._reason(entry)
            racing = entry.chosen and reason is None
            solver = SOLVERS[entry.id]
            penalty = f", with its own penalty {PENALTIES[entry.penalty].name}" if entry.penalty else ""
            lines.append(
                {
                    "key": self._list.index(entry),
                    "label": entry.label,
                    "help": f"{solver.name}: {solver.summary}{penalty}. {solver.paper}",
                    "chosen": racing,
                    "color": ui.COLORS[entry.style % len(ui.COLORS)] if racing else "",
                    "dash": ui.dash(entry.style) if racing else "solid",
                    "reason": reason or "",
                    "refused": entry.refused,
                    "fields": entry.entered.shown(parameters(solver)),
                    "changed": bool(entry.entered.values),
                    "presets": list(solver.presets),
                    "copy": entry is not originals[entry.id],
                }
            )
        self.entries = lines

    def receive(self, data: dict[str, Any]) -> None:
        key = data.get("key")
        if not isinstance(key, int) or not 0 <= key < len(self._list):
            return
        entry = self._list[key]
        for other in self._list:
            other.refused = ""
        full = len(self._racing) >= MOST_SOLVERS
        match data.get("action"):
            case "choose" if not data.get("value"):
                entry.chosen = False
            case "choose" | "copy" if full:
                entry.refused = f"{MOST_SOLVERS} solvers race already: remove one first"
            case "choose":
                self._choose(entry)
            case "copy":
                taken = {other.label for other in self._list}
                label = next(one for k in count(2) if (one := f"{entry.id}-{k}") not in taken)
                copied = Entry(entry.id, label, Entered(dict(entry.entered.values)), entry.penalty)
                self._choose(copied)
                self._list.insert(key + 1, copied)
            case "remove":
                self._list.remove(entry)
            case "reset":
                entry.entered = Entered()
            case "preset" if data.get("value") in SOLVERS[entry.id].presets:
                entry.entered = Entered(preset_params(entry.id, data["value"]))
            case "set":
                for declared in parameters(SOLVERS[entry.id]):
                    if declared.name == data.get("name"):
                        entry.entered.put(declared, data.get("value"))
        self._draw()
        self._on_change()
