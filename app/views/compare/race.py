"""The race: which run is ahead at equal cost, and in which order runs reached each gap."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import param

from solverscope.app import ui
from solverscope.app.settings.columns import STANDING_TABLE, TABLE_GAPS, page_text, page_texts, page_title
from solverscope.app.views.base.exports import ShownTable
from solverscope.app.views.base.plot import X_AXES, menu
from solverscope.app.views.base.view import View
from solverscope.app.views.compare.summary import as_html, seconds_to
from solverscope.solvers import FIELDS, Problem, Solver, Trace, relative_gap, segments

#: Quantities that can be equal when runs are compared.
COSTS = ("cpu_seconds", "iteration", "passes")
#: Relative gap within which runs tie, as differences are due to tolerances and rounding.
TIE_GAP = TABLE_GAPS[-1]
TIED = f"Runs within a relative gap of {ui.number(TIE_GAP)} tie: the one that came there first stands first."

#: Text in place of the iteration of a run that has not left its start.
NOT_BEGUN = "not begun"


class Race(View):
    """Two tables of the runs on the problem of the run under the cursor: the standing and the order of
    finish.

    The standing compares runs at an equal cost (CPU time, iterations or passes). This is the cost of the run
    under the cursor, or of the slowest active run if that is less. Runs are ranked by their distance to f*,
    except those that have not left their start. Runs within :data:`TIE_GAP` of f*, or of the lowest objective
    if f* is unknown, tie in order of arrival. Runs that no column distinguishes tie, too.

    The order of finish ranks the CPU seconds to each gap. After a change of λ, costs in both tables are
    counted from the last change.
    """

    id = "race"
    title = "Race"
    hint = "Run several solvers to rank them here."
    every = 2

    cost: str = param.Selector(
        default="cpu_seconds", objects=list(COSTS), doc="what is equal in the standing"
    )

    @classmethod
    def fits(cls, problem: Problem | None, chosen: Sequence[type[Solver]]) -> bool:
        return len(chosen) > 1

    def build(self) -> None:
        self._head.append(menu("At equal", self.param.cost, {X_AXES[c][0]: c for c in COSTS}, width=150))
        self._tables = ui.html(sizing_mode="stretch_width", styles={"overflow-x": "auto"})
        self._body.append(self._tables)
        self.param.watch(lambda event: self.update(), "cost")

    def draw(self) -> None:
        self._tables.object = "".join(map(_written, self.tables()))

    def tables(self) -> list[ShownTable]:
        racers = self._racers()
        return [self._standing(racers), self._finish(racers)] if racers else []

    def _racers(self) -> list[Racer]:
        """Return the runs that take part: those on the problem of the run under the cursor."""
        racers = [Racer(trace, self.cost) for trace in self.traces if len(trace)]
        first = self._own(racers) or next(iter(racers), None)
        return [r for r in racers if r is first or r.here.key == first.here.key is not None]

    def _own(self, racers: Sequence[Racer]) -> Racer | None:
        """Return the run under the cursor, or None if it does not take part."""
        return next((racer for racer in racers if racer.trace is self.chosen), None)

    def _standing(self, racers: Sequence[Racer]) -> ShownTable:
        horizon = self._horizon(racers)
        begun = [racer for racer in racers if racer.begun]
        reached = [racer.at(horizon) for racer in begun]
        best, star = min((one["objective"] for one in reached), default=math.inf), racers[0].here.f_star
        goal = best if star is None else star
        found = [
            (racer.cost_to(TIE_GAP, goal, horizon), one["objective"], one["iteration"], racer, one)
            for racer, one in zip(begun, reached, strict=True)
        ]
        tied = sum(math.isfinite(came) for came, *_ in found)
        rows: list[dict[str, Any]] = []
        places: list[int] = []
        said: list[tuple[str, ...]] = []
        for place, (_, f, _, racer, one) in enumerate(sorted(found, key=lambda one: one[:3]), 1):
            known, tie = math.isfinite(f), place <= tied and tied > 1
            gap = max(relative_gap(f, star), 0.0) if known and star is not None else None
            objective = page_text("objective", STANDING_TABLE["objective"], f)
            lowest = known and objective == page_text("objective", STANDING_TABLE["objective"], best)
            apart = ui.number(0.0 if lowest else f - best, 3) if known else "–"
            shown = (objective, page_text("gap", STANDING_TABLE["gap"], gap), apart)
            alike = bool(said) and shown == said[-1]  # what tells them apart is not shown
            places.append(1 if tie else places[-1] if alike else place)
            said.append(shown)
            behind = "tie" if tie else "" if place == 1 else apart
            rows.append({**one, "label": racer.label, "gap": gap, "behind": behind})
        for place, row in zip(places, rows, strict=True):
            row["place"] = f"{place} =" if places.count(place) > 1 else str(place)
        rows += [
            {"place": "–", "label": racer.label, "behind": "–", "iteration": NOT_BEGUN}
            for racer in racers
            if not racer.begun
        ]
        field = FIELDS[self.cost]
        amount = ui.number(int(horizon) if field.type is int else horizon, 3)
        title = f"Who is ahead at equal cost: {field.label} {amount} {field.unit}".rstrip()
        heads = [page_title(name, column) for name, column in STANDING_TABLE.items()]
        texts = [page_texts(STANDING_TABLE, row) for row in rows]
        return ShownTable(title, heads, texts, TIED if tied > 1 else "")

    def _horizon(self, racers: Sequence[Racer]) -> float:
        """Return the cost at which runs are compared: that at the cursor, or of the slowest active run if
        less."""
        own = None if self.cursor.follow else self._own(racers)
        working = [float(racer.spent[-1]) for racer in racers if not racer.trace.result and racer.begun]
        if own is None:
            self.drew(None)
            return min([max(float(racer.spent[-1]) for racer in racers), *working])
        here = max(float(own.spent[self.cursor.row(own.rows)]), 0.0)
        horizon = min([here, *working])
        self.drew(self.cursor.iteration if horizon == here else own.at(horizon)["iteration"])
        return horizon

    def _finish(self, racers: Sequence[Racer]) -> ShownTable:
        """Return a table of the order in which runs reached the gaps."""
        title, heads = "Order of finish", ("relative gap", "order of finish, by CPU seconds")
        if racers[0].here.f_star is None:
            return ShownTable(title, heads, (), "The order of finish appears once f* is known.")
        rows = []
        for gap in TABLE_GAPS:
            known = ((seconds_to(racer.trace, gap), racer.label) for racer in racers)
            came = sorted((seconds, label) for seconds, label in known if seconds is not None)
            said = [f"{k}. {label} ({ui.seconds(seconds)})" for k, (seconds, label) in enumerate(came, 1)]
            rows.append([ui.number(gap), ", ".join(said) or "nobody yet"])
        return ShownTable(title, heads, rows)


def _written(table: ShownTable) -> str:
    """Return a table as HTML."""
    body = f"<h3>{html.escape(table.title)}</h3>{as_html(table.heads, table.rows)}" if table.rows else ""
    return body + (f"<p>{html.escape(table.note)}</p>" if table.note else "")


class Racer:
    """A run with a snapshot of its rows, and its current λ.

    ``spent`` is the cost of each iterate since the last change of λ, negative before it.
    """

    def __init__(self, trace: Trace, cost: str) -> None:
        self.trace, self.rows, self.here = trace, trace.since(None)[0], segments(trace)[-1]
        first = int(np.searchsorted(self.rows["iteration"], self.here.first))
        column = self.rows[cost].astype(float)
        self.spent = column - (column[first] if 0 < first < len(column) else 0.0)

    @property
    def label(self) -> str:
        return self.trace.info.label

    @property
    def begun(self) -> bool:
        """Return whether the run has left its start, or ended there."""
        return bool(self.trace.result) or self.rows["iteration"][-1] > self.here.first

    def _until(self, horizon: float) -> np.ndarray:
        """Return a mask of the iterates since the last change of λ whose cost is at most ``horizon``."""
        return (self.spent <= horizon) & (self.rows["iteration"] >= self.here.first)

    def cost_to(self, gap: float, f_star: float, horizon: float) -> float:
        """Return the cost at which the run first came within a relative gap of ``f_star``.

        Return infinity if it did not do so before the horizon.
        """
        if not math.isfinite(f_star):
            return math.inf
        within = relative_gap(self.rows["objective"], f_star) <= gap
        return float(self.spent[within & self._until(horizon)].min(initial=math.inf))

    def at(self, horizon: float) -> dict[str, Any]:
        """Return the record of the last iterate up to this cost.

        Its objective is infinite if it is not finite, or if there is no such iterate, as is possible for a
        branch.
        """
        reached = np.flatnonzero(self._until(horizon))
        last = reached[-1] if reached.size else 0
        record = {name: column[last] for name, column in self.rows.items()}
        f = float(record["objective"]) if reached.size else math.inf
        known = {"objective": f if math.isfinite(f) else math.inf, "iteration": int(record["iteration"])}
        return record | known if reached.size else known
