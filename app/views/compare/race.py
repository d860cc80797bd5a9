"""The race: who is ahead at equal cost, and who came first to which gap."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import param

from app import theme
from app.views.base.exports import ShownTable
from app.views.base.feed import Records
from app.views.base.plot import X_AXES, menu
from app.views.base.view import View
from app.views.compare.summary import GAPS, as_html, seconds_to
from solvers import FIELDS, Problem, Segment, Solver, Trace, relative_gap, segments

#: What runs may be compared at.
COSTS = ("cpu_seconds", "iteration", "passes")
#: Relative gap within which runs tie: below it, who is lower is a matter of tolerance and rounding.
TIE = GAPS[-1]
TIED = f"Runs within a relative gap of {theme.number(TIE)} tie: the one that came there first stands first."


class Race(View):
    """Two tables of the runs on the problem of the one under the cursor. The standing: where each was when it
    had used as much as that one has at the cursor (CPU time, iterations or passes), or as much as the slowest
    that is still at work; who is nearest to f* comes first, and runs within :data:`TIE` of it (of the lowest,
    while f* is not known) tie, in the order in which they came there. And the order of
    finish: who came first to which gap, by CPU seconds. Of a run whose λ was changed both count from the last
    change on."""

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
        self._tables = theme.html(sizing_mode="stretch_width", styles={"overflow-x": "auto"})
        self._body.append(self._tables)
        self.param.watch(lambda event: self.update(), "cost")

    def draw(self) -> None:
        self._tables.object = "".join(map(_written, self.tables()))

    def tables(self) -> list[ShownTable]:
        racers = self._racers()
        return [self._standing(racers), self._finish(racers)] if racers else []

    def _racers(self) -> list[Racer]:
        """Return the runs that race: those on the problem of the run under the cursor."""
        racers = [Racer(t, t.since(None)[0], segments(t)[-1]) for t in self.traces if len(t)]
        first = next((racer for racer in racers if racer.trace is self.chosen), next(iter(racers), None))
        return [r for r in racers if r is first or r.here.key == first.here.key is not None]

    def _standing(self, racers: Sequence[Racer]) -> ShownTable:
        horizon = self._horizon(racers)
        reached = [racer.at(self.cost, horizon) for racer in racers]
        self._tell_drawn(racers, reached, horizon)
        best, star = min(f for f, _ in reached), racers[0].here.f_star
        goal = best if star is None else star
        found = [
            (racer.cost_to(TIE, goal, self.cost, horizon), *at, racer)
            for racer, at in zip(racers, reached, strict=True)
        ]
        tied, rows = sum(math.isfinite(came) for came, *_ in found), []
        for place, (_, f, iteration, racer) in enumerate(sorted(found, key=lambda one: one[:2]), 1):
            known, tie = math.isfinite(f), place <= tied and tied > 1
            gap = theme.number(max(relative_gap(f, star), 0.0), 3) if known and star is not None else "–"
            behind = "tie" if tie else "" if place == 1 else theme.number(f - best, 3) if known else "–"
            said, said_place = theme.number(f, 8) if known else "–", "1 =" if tie else str(place)
            rows.append([said_place, racer.label, said, gap, behind, theme.number(iteration)])
        field = FIELDS[self.cost]
        amount = theme.number(int(horizon) if field.type is int else horizon, 3)
        title = f"Who is ahead at equal cost: {field.label} {amount} {field.unit}".rstrip()
        heads = ("place", "run", "objective", "gap", "behind the leader by", "at its iteration")
        return ShownTable(title, heads, rows, TIED if tied > 1 else "")

    def _horizon(self, racers: Sequence[Racer]) -> float:
        """Return the cost at which runs are compared: that at the cursor, as far as all have come that are
        still at work."""
        reach = max(float(racer.spent(self.cost)[-1]) for racer in racers)
        here = None if self.cursor.follow else self._cost_here(racers)
        reach = reach if here is None else here
        return min([reach, *(float(r.spent(self.cost)[-1]) for r in racers if not r.trace.result)])

    def _tell_drawn(
        self, racers: Sequence[Racer], reached: Sequence[tuple[float, int]], horizon: float
    ) -> None:
        """Note where the run under the cursor is compared: at the cursor, or before it where others are still
        behind. What follows the runs shows no iterate of one of them."""
        own = [k for (_, k), racer in zip(reached, racers, strict=True) if racer.trace is self.chosen]
        if self.cursor.follow or not own:
            self.drew(None)
        else:
            self.drew(self.cursor.iteration if horizon == self._cost_here(racers) else own[0])

    def _cost_here(self, racers: Sequence[Racer]) -> float | None:
        """Return what the run under the cursor had spent there; None if it does not race."""
        chosen = next((racer for racer in racers if racer.trace is self.chosen), None)
        return chosen and max(float(chosen.spent(self.cost)[self.cursor.row(chosen.rows)]), 0.0)

    def _finish(self, racers: Sequence[Racer]) -> ShownTable:
        """Tell the order in which runs came to the gaps."""
        title, heads = "Order of finish", ("relative gap", "order of finish, by CPU seconds")
        if racers[0].here.f_star is None:
            return ShownTable(title, heads, (), "The order of finish appears once f* is known.")
        rows = []
        for gap in GAPS:
            known = ((seconds_to(racer.trace, gap), racer.label) for racer in racers)
            came = sorted((seconds, label) for seconds, label in known if seconds is not None)
            said = [f"{k}. {label} ({theme.seconds(seconds)})" for k, (seconds, label) in enumerate(came, 1)]
            rows.append([theme.number(gap), ", ".join(said) or "nobody yet"])
        return ShownTable(title, heads, rows)


def _written(table: ShownTable) -> str:
    """Write a table as HTML."""
    body = f"<h3>{html.escape(table.title)}</h3>{as_html(table.heads, table.rows)}" if table.rows else ""
    return body + (f"<p>{html.escape(table.note)}</p>" if table.note else "")


@dataclass(frozen=True)
class Racer:
    """A run, its rows as they were read at one time, and the λ that it has come to."""

    trace: Trace
    rows: Records
    here: Segment

    @property
    def label(self) -> str:
        return self.trace.info.label

    def spent(self, cost: str) -> np.ndarray:
        """Return what each iterate had cost since the last change of λ; below zero before that."""
        first = int(np.searchsorted(self.rows["iteration"], self.here.first))
        column = self.rows[cost].astype(float)
        return column - (column[first] if 0 < first < len(column) else 0.0)

    def cost_to(self, gap: float, f_star: float, cost: str, horizon: float) -> float:
        """Return what the run had spent when it first was within a relative gap of ``f_star``; infinite if it
        never was before the horizon."""
        if not math.isfinite(f_star):
            return math.inf
        spent = self.spent(cost)
        within = relative_gap(self.rows["objective"], f_star) <= gap
        there = np.flatnonzero(within & (spent <= horizon) & (self.rows["iteration"] >= self.here.first))
        return float(spent[there[0]]) if there.size else math.inf

    def at(self, cost: str, horizon: float) -> tuple[float, int]:
        """Return the objective, and the iteration, when the run had cost so much; infinite where it had not
        begun then, as a branch may not have."""
        iterations = self.rows["iteration"]
        reached = np.flatnonzero((self.spent(cost) <= horizon) & (iterations >= self.here.first))
        if not reached.size:
            return math.inf, int(iterations[0])
        f = float(self.rows["objective"][reached[-1]])
        return (f if math.isfinite(f) else math.inf), int(iterations[reached[-1]])
