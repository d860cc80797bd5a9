"""Papers as something to open: every figure and table, its runs and claims, one TOML file a paper."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from solverscope.app.papers.claims import Claim
from solverscope.app.papers.groups import GroupWatch
from solverscope.app.papers.measures import DERIVED_TITLES, Measure
from solverscope.app.papers.sizes import ANY_DATA, Sizes
from solverscope.app.sweep.spec import RUNS
from solverscope.ids import unknown_id
from solverscope.solvers import FIELDS

#: The order in which papers are listed.
IDS = ("yu2010", "zhong2014", "blondel2013", "mathur2006")
#: What says how a number of a table is measured.
MEASURING = ("field", "to", "phase", "down", "up")
#: What a picture may have along its axes, other than fields of the record.
ALONG = ("lam", "seconds", *DERIVED_TITLES)


@dataclass(frozen=True)
class Value:
    """A number that the paper prints.

    ``name`` says what it is, ``paper`` is its value there. Here it is measured on the ``run`` on ``data`` at
    ``lam``, aggregated ``of`` all λ and splits. If the two are comparable, they are to agree ``within`` this
    share of the paper's.
    """

    name: str
    paper: float
    run: str
    measure: Measure
    data: str = ""
    lam: float | None = None
    of: str = "mean"
    within: float | None = None

    @classmethod
    def printed(cls, table: Mapping[str, Any]) -> Iterator[Value]:
        """Yield the numbers of a table as the paper prints it. The keys next to its ``rows`` hold for all
        rows. With ``by`` a row has several numbers, which differ in the quantity that ``by`` names."""
        shared = {name: value for name, value in table.items() if name not in ("rows", "by")}
        by = table.get("by")
        for row in table["rows"]:
            for one, number in row["paper"].items() if by else [("", row["paper"])]:
                varied = {by: float(one) if by == "lam" else one} if by else {}
                own = {**shared, **row, **varied, "name": row["name"].format(one), "paper": number}
                how = {name: own.pop(name) for name in MEASURING if name in own}
                yield cls(measure=Measure(**how), **own)


@dataclass(frozen=True)
class Drawing:
    """Pictures of the runs: ``y`` over ``x``, one for each problem.

    Over "lam", or with ``along_lam``, there is one picture for each data set, with a point for each run. A
    point is the CPU ``seconds`` to the gap ``to``, or a value at the end of the run.
    """

    x: str
    y: str
    to: float | None = None
    along_lam: bool = False
    log_x: bool = False
    log_y: bool = True

    def __post_init__(self) -> None:
        for name in (self.x, self.y):
            if name not in (*ALONG, *FIELDS, "test_metric"):
                raise ValueError(f"nothing can be drawn of {name!r}")

    @property
    def points(self) -> bool:
        return self.along_lam or self.x == "lam"


@dataclass(frozen=True)
class Exhibit:
    """A figure or a table of a paper: what it ``shows`` there, and the runs that reproduce it.

    If nothing reproduces it, ``why_not`` gives the reason in a sentence. Else ``sweep`` is a table for
    :meth:`solverscope.app.sweep.spec.Spec.of`. ``stand_ins`` replace the ``runs`` of that table for people
    who lack its data. ``here`` describes how the runs depart from the paper's. ``weights`` specifies the
    weights whose clusters are examined, if any. ``sizes`` are the sizes of the paper's data.
    """

    id: str
    title: str
    shows: str
    why_not: str = ""
    here: str = ""
    sweep: Mapping[str, Any] | None = None
    stand_ins: tuple[Mapping[str, Any], ...] = ()
    drawings: tuple[Drawing, ...] = ()
    values: tuple[Value, ...] = ()
    claims: tuple[Claim, ...] = ()
    weights: GroupWatch | None = None
    sizes: Sizes = ANY_DATA

    @property
    def name(self) -> str:
        """Return the name of the exhibit in the paper, such as "Figure 6"."""
        kind, _, number = self.id.partition("-")
        return f"{kind.capitalize()} {number}"

    @classmethod
    def of(cls, table: Mapping[str, Any], sizes: Sizes | None = None) -> Exhibit:
        """Read an exhibit from a table.

        If the table has ``each``, every run and stand-in is repeated with each of its entries. ``sizes`` are
        the sizes of the paper's data. If the table sets ``any_data``, the exhibit is not about the paper's
        data.
        """
        given = dict(table)
        if sizes is not None:
            given["sizes"] = replace(sizes, any_data=given.pop("any_data", False))
        each, sweep = given.pop("each", ({},)), given.get("sweep", {})

        def all_of(runs: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
            return tuple({**run, **one} for run in runs for one in each)

        if RUNS in sweep:
            given["sweep"] = {**sweep, RUNS: all_of(sweep[RUNS])}
        if "weights" in given:
            watched = given["weights"]
            given["weights"] = GroupWatch(**{**watched, "at": tuple(watched["at"])})
        return cls(
            stand_ins=all_of(given.pop("stand_in", ())),
            drawings=tuple(Drawing(**one) for one in given.pop("draw", ())),
            values=tuple(Value.printed(given.pop("values"))) if "values" in given else (),
            claims=tuple(map(Claim.of, given.pop("claim", ()))),
            **given,
        )

    def __post_init__(self) -> None:
        if (self.sweep is None) == (not self.why_not):
            raise ValueError(f"{self.id} has either a sweep or a sentence why_not")


@dataclass(frozen=True)
class Paper:
    """A paper: its authors and year (``cite``), its title, and its figures and tables in their order.

    ``missing`` has a sentence for each of its data sets that is not listed here at all.
    """

    id: str
    cite: str
    title: str
    exhibits: Mapping[str, Exhibit]
    missing: tuple[str, ...] = ()

    def exhibit(self, id: str) -> Exhibit:
        """Return a figure or table of the paper; raise ValueError, with all names, if it does not exist."""
        if id not in self.exhibits:
            raise ValueError(f"{self.id} has no {id!r}: choose one of {', '.join(self.exhibits)}, or all")
        return self.exhibits[id]


def read(path: Path) -> Paper:
    """Read the paper in a TOML file; raise ValueError, with the name of the file, if it is invalid."""
    try:
        text = tomllib.loads(path.read_text(encoding="utf-8"))
        tables: dict[str, dict[str, Any]] = {}
        for table in text.pop("exhibit"):
            tables[table["id"]] = _as_before(table, tables)
        sizes = Sizes.of(text.pop("sizes", {}))
        return Paper(
            exhibits={id: Exhibit.of(table, sizes) for id, table in tables.items()},
            missing=tuple(text.pop("missing", ())),
            **text,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} is no paper: {error}") from error


def _as_before(table: dict[str, Any], before: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the table of an exhibit with missing keys of the one it is ``like``; a sweep's are merged key by
    key."""
    own = dict(table)
    if "like" not in own:
        return own
    if (like := own.pop("like")) not in before:
        raise ValueError(f"{own['id']} is like {like!r}, which is no exhibit before it")
    other = before[like]
    return {**other, **own, "sweep": {**other.get("sweep", {}), **own.get("sweep", {})}}


@cache
def papers() -> dict[str, Paper]:
    """Return all papers by id."""
    folder = Path(__file__).parent
    return {id: read(folder / f"{id}.toml") for id in IDS}


def paper(id: str) -> Paper:
    """Return a paper; raise ValueError, with the names of all papers, if it does not exist."""
    if id not in IDS:
        raise ValueError(unknown_id("paper", id, IDS))
    return papers()[id]
