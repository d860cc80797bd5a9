"""The sweep that reproduces figures and tables: the available data, and each run's part of a time budget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from solverscope import datasets
from solverscope.app.papers import Exhibit
from solverscope.app.settings.experiment import toml
from solverscope.app.sweep.driver import FOR_SOLVERS
from solverscope.app.sweep.spec import RUNS, Spec, apart, several

#: Seconds that all runs of a request may take together, unless it says otherwise.
USUAL_BUDGET = 300.0
#: Seconds of a budget that go into starting and compiling, or half of it where it is short.
BEFORE = 20.0


@dataclass(frozen=True)
class SweepLayout:
    """The runs of an exhibit that are possible here.

    ``table`` is a table for :meth:`.spec.Spec.of`, or None if no run is possible. ``absent`` maps data sets
    that are omitted to reasons, and ``stand_in`` is true if other data take their place.
    """

    table: Mapping[str, Any] | None
    absent: Mapping[str, str]
    stand_in: bool = False

    @property
    def data(self) -> list[str]:
        """Return the data sets of the runs, with options."""
        runs = self.table[RUNS] if self.table is not None else ()
        return list(dict.fromkeys(one for run in runs for one in run["data"]))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return a sentence for each omission and each replacement of data."""
        said = [f"{id} is left out: {reason}." for id, reason in self.absent.items()]
        if self.stand_in:
            said.append(f"{', '.join(self.data)} stands in for the paper's data.")
        return tuple(said)


def layout(exhibit: Exhibit) -> SweepLayout:
    """Return the runs of an exhibit that are possible with the available data sets."""
    if exhibit.sweep is None:
        return SweepLayout(None, {})
    shared = {name: value for name, value in exhibit.sweep.items() if name not in (RUNS, "data")}
    absent: dict[str, str] = {}
    own = {"data": exhibit.sweep["data"]} if "data" in exhibit.sweep else {}
    runs = list(_at_hand([{**own, **run} for run in exhibit.sweep.get(RUNS, ({},))], absent))
    stand_ins = [] if runs else list(_at_hand(exhibit.stand_ins, {}))
    found = runs or stand_ins
    return SweepLayout({**shared, RUNS: found} if found else None, absent, bool(stand_ins))


def _at_hand(runs: Sequence[Mapping[str, Any]], absent: dict[str, str]) -> Iterator[dict[str, Any]]:
    for run in runs:
        found = []
        for one in several(run["data"]):
            id, options = apart(one)
            _, reason = datasets.describe(id).available(**options)
            if reason is None:
                found.append(one)
            else:
                absent[id] = reason
        if found:
            yield {**run, "data": found}


@dataclass(frozen=True)
class Plan:
    """A sweep that runs several exhibits within a time budget.

    ``cells`` maps the id of each exhibit to the keys of its cells, which exhibits may share. ``notes`` maps
    it to its notes.
    """

    spec: Spec
    cells: Mapping[str, tuple[str, ...]]
    notes: Mapping[str, tuple[str, ...]]


def plan(name: str, exhibits: Sequence[Exhibit], seconds: float, slots: int) -> Plan:
    """Plan a sweep of exhibits that takes at most ``seconds``, with ``slots`` concurrent runs.

    Raises ValueError if none of the exhibits can be run.
    """
    layouts = {exhibit.id: layout(exhibit) for exhibit in exhibits}
    tables = {id: found.table for id, found in layouts.items() if found.table is not None}
    if not tables:
        raise ValueError(_nothing(exhibits, layouts))
    cells = {cell.key for table in tables.values() for cell in Spec.of(table).cells}
    share = share_of(seconds, slots, len(cells))
    specs = {id: Spec.of(within(table, share, seconds)) for id, table in tables.items()}
    # in turn, so that each exhibit has runs where time is up before all are done
    turns = zip_longest(*(one.cells for one in specs.values()))
    spec = Spec.of_cells(name, [cell for turn in turns for cell in turn if cell is not None], seconds)
    keys = {id: tuple(cell.key for cell in one.cells) for id, one in specs.items()}
    return Plan(spec, keys, {id: found.notes for id, found in layouts.items()})


def _nothing(exhibits: Sequence[Exhibit], layouts: Mapping[str, SweepLayout]) -> str:
    if len(exhibits) > 1:
        return "none of these figures and tables can be run here"
    (exhibit,) = exhibits
    return f"{exhibit.name} is not run: {exhibit.why_not or ' '.join(layouts[exhibit.id].notes)}"


def share_of(seconds: float, slots: int, n_runs: int) -> float:
    """Return the CPU seconds for each of ``n_runs`` runs."""
    left = max(seconds - BEFORE, 0.5 * seconds)
    return float(f"{FOR_SOLVERS * left * slots / n_runs:.2g}")


def within(table: Mapping[str, Any], share: float, seconds: float) -> dict[str, Any]:
    """Return a sweep's table with tighter limits: ``share`` CPU seconds for each run, ``seconds`` for all."""
    shared = {name: value for name, value in table.items() if name != RUNS}
    own = shared.get("limits", {})
    limits = {**own, "max_seconds": min(own.get("max_seconds", math.inf), share), "total_seconds": seconds}
    runs = []
    for run in table[RUNS]:
        if (most := run.get("limits", {}).get("max_seconds")) is not None:
            run = {**run, "limits": {**run["limits"], "max_seconds": min(most, share)}}
        runs.append(run)
    return {**shared, "limits": limits, RUNS: runs}


def text_of(table: Mapping[str, Any]) -> str:
    """Format the table of a sweep as TOML that people can read and edit."""
    plain = [f"{name} = {toml(value)}" for name, value in table.items() if not _is_table(name, value)]
    for name, value in table.items():
        if isinstance(value, Mapping) and _is_table(name, value):
            plain += [f"[{name}]", *(f"{one} = {toml(its)}" for one, its in value.items())]
    for run in table.get(RUNS, ()):
        plain += [f"[[{RUNS}]]", *(f"{name} = {toml(value)}" for name, value in run.items())]
    return "\n".join(plain)


def _is_table(name: str, value: Any) -> bool:
    return name == RUNS or (isinstance(value, Mapping) and "from" not in value)
