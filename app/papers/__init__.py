"""The papers that can be reproduced: their figures and tables, with runs and claims, in one TOML
file each."""

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
#: Keys of a table's row that define how the number is measured.
MEASURING = ("field", "to", "phase", "down", "up")
#: Quantities that an axis of a plot may have, in addition to fields of the record.
ALONG = ("lam", "seconds", *DERIVED_TITLES)


@dataclass(frozen=True)
class Value:
    """A number printed in the paper, and how it is measured here.

    Attributes
    ----------
    name : str
        Name of the number.
    paper : float
        Its value in the paper.
    run : str
        Label of the run on which it is measured.
    measure : Measure
        The quantity.
    data : str
        The data set.
    lam : float, optional
        The value of λ; by default all.
    of : str
        How the values for several λ and splits are aggregated, a key of ``AGGREGATES``.
    within : float, optional
        Largest relative difference at which the values agree; None if they are not comparable.
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
        """Yield the numbers of a table that the paper prints.

        Keys of the table other than ``rows`` apply to all rows. If there is a key ``by``, each row has
        several numbers, one for each value of the quantity that ``by`` names.
        """
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
    """Plots of the runs, ``y`` over ``x``, one for each problem.

    If ``x`` is "lam", or with ``along_lam``, there is one plot for each data set, with a point for each run.
    Its coordinates are values at the end of the run; "seconds" are the CPU seconds to the gap ``to``.
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
    """A figure or a table of a paper, and the runs that reproduce it.

    Attributes
    ----------
    id, title, shows : str
        Its id, such as "figure-6", its title, and what it shows in the paper.
    why_not : str
        The reason if it cannot be reproduced; otherwise there is a ``sweep``.
    here : str
        How the runs differ from those of the paper.
    sweep : mapping, optional
        The table for :meth:`solverscope.app.sweep.spec.Spec.of`.
    stand_ins : tuple of mapping
        They replace the ``runs`` of that table for users who do not have its data.
    drawings, values, claims : tuple
        Plots, numbers and claims.
    weights : GroupWatch, optional
        The weights whose clusters are examined.
    sizes : Sizes
        The sizes of the paper's data.
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
        """Parse the table of an exhibit.

        If the table has a key ``each``, every run and stand-in is repeated with each of its entries.
        ``sizes`` are the sizes of the paper's data. They are ignored if the table sets ``any_data``: then the
        exhibit does not depend on the paper's data.
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
    """A paper: its authors and year (``cite``), its title, and its figures and tables in order.

    ``missing`` contains a sentence for each of its data sets that is not available here.
    """

    id: str
    cite: str
    title: str
    exhibits: Mapping[str, Exhibit]
    missing: tuple[str, ...] = ()

    def exhibit(self, id: str) -> Exhibit:
        """Return a figure or table of the paper. Raises ValueError, which lists all of them, if it does not
        exist."""
        if id not in self.exhibits:
            raise ValueError(f"{self.id} has no {id!r}: choose one of {', '.join(self.exhibits)}, or all")
        return self.exhibits[id]


def read(path: Path) -> Paper:
    """Read the paper in a TOML file. Raises ValueError, which names the file, if the file is invalid."""
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
    """Return the table of an exhibit, completed by the keys of the earlier exhibit that its key ``like``
    names.

    The tables ``sweep`` of both are merged key by key.
    """
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
    """Return a paper. Raises ValueError, which lists all papers, if it does not exist."""
    if id not in IDS:
        raise ValueError(unknown_id("paper", id, IDS))
    return papers()[id]
