"""Specifications of sweeps: TOML or JSON files that are read, checked and expanded to a grid of cells."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solverscope import datasets, solvers
from solverscope.app.settings.arguments import choices, make_solvers, number
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import Entrant, Recipe, RunLimits
from solverscope.app.settings.setting import NumberCodec, Setting
from solverscope.app.settings.settings_table import F_STAR, GAP, LAM, PENALTY_FACTORS, SEED, of_part
from solverscope.app.sweep.lam_selection import by_parts, check_parts, checked
from solverscope.datasets.entry import weighs
from solverscope.datasets.kinds import DEFAULT_LOSSES
from solverscope.solvers.compatibility import describe_pair
from solverscope.solvers.declare import text_of
from solverscope.solvers.registry import lookup, make
from solverscope.solvers.traces.records import MAX_COUNT, printable

#: Runs in one sweep, at most.
MOST_CELLS = 10_000
#: Maximal number of bytes of a specification.
MAX_SPEC_BYTES = 1 << 20
#: Maximal nesting depth of lists and tables: {"set": {"label": {"memory": [3, 9]}}} has it.
DEEPEST = 3
NO_NESTED_LISTS = "write lists of numbers and texts, not of lists"
#: Keys of a specification and their meaning; the last ones form tables.
KEYS = (
    *("name", "data", "loss", "penalty", "lam", "lam_ratio", "average", "intercept", "seeds", "solvers"),
    *("penalty_factors", "choose", "folds"),
)
#: Keys with a Boolean value that applies to all runs.
SWITCHES = ("average", "intercept")
TABLES = ("loss_set", "penalty_set", "set", "limits")
#: Tables that each make a grid of their own from their values and those outside them.
RUNS = "runs"
#: Gives the entry of a data set by its id; ValueError where there is none.
Describe = Callable[[str], datasets.DataSetInfo]
#: The limits that each run of a sweep may have, and the name of the one that all of them share.
RUN_LIMITS = tuple(one for one in of_part("limits") if isinstance(one.codec, NumberCodec))
TOTAL_SECONDS = "total_seconds"


@dataclass(frozen=True)
class Spec:
    """A sweep: a grid of cells, each an experiment with a single run.

    ``total_seconds`` limits the wall time of all cells together; None is no limit. ``choose`` is the quantity
    to select by metrics on held-out data, "lam" or "".
    """

    name: str
    cells: tuple[Experiment, ...]
    total_seconds: float | None = None
    choose: str = ""

    @property
    def digest(self) -> str:
        """Return a hash of the runs of the sweep; its name does not affect it."""
        return hashlib.sha256("".join(cell.key for cell in self.cells).encode()).hexdigest()[:16]

    @classmethod
    def read(cls, path: Path, **also: Any) -> Spec:
        """Read a specification from a .toml or .json file; values in ``also`` override those of the file.

        Raises ValueError if the file is invalid.
        """
        if path.suffix not in (".toml", ".json"):
            raise ValueError(f"cannot read {path.name}: the name of a sweep must end in .toml or .json")
        try:
            if path.stat().st_size > MAX_SPEC_BYTES:
                raise ValueError(f"cannot read {path}: it has more than {MAX_SPEC_BYTES >> 20} MiB")
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"cannot read {path}: it is no text in UTF-8") from None
        except OSError as error:
            raise ValueError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
        try:
            return cls.parse(text, json_text=path.suffix == ".json", name=path.stem, **also)
        except ValueError as error:
            raise ValueError(f"{path.name}: {error}") from None

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        json_text: bool = False,
        name: str = "sweep",
        describe: Describe = datasets.describe,
        **also: Any,
    ) -> Spec:
        """Parse a specification in TOML or JSON and expand its grid, see :meth:`of`.

        Values in ``also`` override those of ``text``. Raises ValueError if the text is invalid.
        """
        if len(text) > MAX_SPEC_BYTES:
            raise ValueError(f"it has more than {MAX_SPEC_BYTES >> 20} MiB")
        try:
            given = json.loads(text) if json_text else tomllib.loads(text)
        except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
            raise ValueError(f"it is no {'JSON' if json_text else 'TOML'}: {error}") from None
        except ValueError:
            raise ValueError("it has a number of thousands of digits: write a smaller one") from None
        except RecursionError:
            raise ValueError(f"it is nested too deep: {NO_NESTED_LISTS}") from None
        if not isinstance(given, dict):
            raise ValueError('it is a list: write a table with "data" and "solvers"')
        return cls.of({"name": name, **given, **also}, describe)

    @classmethod
    def of(cls, given: Mapping[str, Any], describe: Describe = datasets.describe) -> Spec:
        """Expand the grid of a specification, which is given as a dictionary.

        ``describe`` maps the id of a data set to its description, with the options that may be set. If
        ``runs`` lists tables, each is merged with the values outside of them, which it may override, and
        expanded separately. Raises ValueError if the specification is invalid.
        """
        shared, runs = {name: value for name, value in given.items() if name != RUNS}, given.get(RUNS, [{}])
        if not isinstance(runs, list | tuple) or not runs or not all(isinstance(run, dict) for run in runs):
            raise ValueError(f"{RUNS} is no list of tables: write [[{RUNS}]] and below it what differs")
        if len(runs) > MOST_CELLS:
            raise _too_many()
        of_all, grids = set(), []
        for run in runs:
            table = _beside(shared, run)
            limits, total = _limits(table.get("limits", {}))
            choose, folds = checked(table.get("choose"), table.get("folds"))
            of_all.add((str(table.get("name", "sweep")), total, choose))
            grids.append(_cells(table, describe, limits, folds))
        if len(of_all) > 1:
            raise ValueError(
                f"name, choose and total_seconds are those of all {RUNS}: write them above these"
            )
        ((name, total, choose),) = of_all
        return cls.of_cells(name, itertools.chain(*grids), total, choose)

    @classmethod
    def of_cells(
        cls,
        name: str,
        cells: Iterable[Experiment],
        total_seconds: float | None = None,
        choose: str = "",
    ) -> Spec:
        """Return the sweep with these cells, without duplicates. Raises ValueError as soon as there are too
        many."""
        found: dict[str, Experiment] = {}
        for count, cell in enumerate(cells):
            if count == MOST_CELLS:
                raise _too_many()
            found[cell.key] = cell
        return cls(name, tuple(found.values()), total_seconds, choose)


def _beside(shared: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of ``runs`` merged with the values outside of ``runs``; nested tables are merged, too.

    Values of the entry take precedence. Raises ValueError if it contains a key that entries may not have.
    """
    if RUNS in run:
        raise ValueError(f"a table of {RUNS} has {RUNS} of its own: {NO_NESTED_LISTS}")
    given = {**shared, **run}
    _known("a sweep", given, (*KEYS, *TABLES, RUNS))
    for table in TABLES:
        if isinstance(shared.get(table), dict) and isinstance(run.get(table), dict):
            given[table] = {**shared[table], **run[table]}
        if not isinstance(given.get(table, {}), dict):
            raise ValueError(f"{table} is no table: write [{table}] and below it name = value")
    for name, value in given.items():
        _check(name, value)
    for needed in ("data", "solvers"):
        if not given.get(needed):
            raise ValueError(f'it names no {needed}: write {needed} = ["..."]')
    for switch in SWITCHES:
        if given.get(switch) not in (None, True, False):
            raise ValueError(f"{switch} = {given[switch]!r} is not possible: write true or false")
    if not isinstance(given.get("penalty_factors", ""), str):
        raise ValueError(
            f"penalty_factors = {given['penalty_factors']!r} is no text: write "
            '"adaptive" or "NAME=FACTOR,..."'
        )
    return given


def _cells(
    given: Mapping[str, Any], describe: Describe, limits: RunLimits, folds: int
) -> Iterator[Experiment]:
    """Yield the cells of one table of a specification."""
    lams, factors = _lams(given), PENALTY_FACTORS.parse(given.get("penalty_factors"))
    params = {f"{noun}_params": given.get(f"{noun}_set", {}) for noun in ("loss", "penalty")}
    seeds = [_parsed("seeds", SEED, one) for one in several(given.get("seeds", 0))]
    for (data, options), seed in itertools.product(_data(given["data"], describe, folds), seeds):
        for loss, penalty in _objectives(given, data, options):
            made = _solvers(given, seed, loss, penalty, weighs(options))
            for lam, entrant in itertools.product(lams, made):
                shared = params | {switch: given.get(switch) for switch in SWITCHES} | lam
                objective = {"loss": loss, "penalty": penalty, "penalty_factors": factors}
                problem = Recipe(data.id, options, seed, **objective, **shared)
                yield from by_parts(Experiment(problem, (entrant,), limits), folds)


def _known(what: str, given: Mapping[str, Any], names: Sequence[str]) -> None:
    if unknown := [name for name in given if name not in names]:
        raise ValueError(f"{what} has no {unknown[0]!r}: it has {', '.join(names)}")


def _too_many() -> ValueError:
    return ValueError(f"it has more than {MOST_CELLS:,} runs: make several sweeps of it")


def _check(name: str, value: Any, depth: int = 0) -> None:
    """Raise ValueError if a value is not a number, string, Boolean or None, or lists or tables of these.

    Raise it also if these are nested too deep, or if a string or number is not permitted.
    """
    if isinstance(value, list | dict):
        if depth == DEEPEST:
            raise ValueError(f"{name} is nested too deep: {NO_NESTED_LISTS}")
        if len(value) > MOST_CELLS:
            raise _too_many()
        for key, one in value.items() if isinstance(value, dict) else ((name, one) for one in value):
            _check("a name", key)
            _check(key, one, depth + 1)
    elif isinstance(value, str):
        if value != printable(value):
            raise ValueError(f"{name} = {value!r:.80} holds a control character: leave that out")
    elif value is not None and not isinstance(value, bool | int | float):
        raise ValueError(f"{name} = {value!r:.80} is not possible: write a number or a text")
    elif isinstance(value, int) and abs(value) > MAX_COUNT:
        raise ValueError(
            f"{name} has a number of more than {len(str(MAX_COUNT))} digits: write a smaller one"
        )


def _names(name: str, given: Any) -> list[str | None]:
    """Return the listed ids, or [None] if none are given. Raises ValueError if one is not a string."""
    if not all(one is None or isinstance(one, str) for one in several(given)):
        raise ValueError(f'{name} = {given!r:.80} is not possible: write {name} = "ID" or ["ID", ...]')
    return several(given)


def several(value: Any) -> list[Any]:
    """Return a list or tuple of values as a list, and any other value as a list of one."""
    return list(value) if isinstance(value, list | tuple) else [value]


def apart(text: str) -> tuple[str, dict[str, str]]:
    """Split "ID,name=value,..." into the id of a data set and its options."""
    # a path of the user's own may have commas: only what looks like an option is one
    id, *pairs = re.split(r",(?=\w+=)", text)
    return id, dict(pair.split("=", 1) for pair in pairs)


def _number(name: str, value: Any, **bounds: Any) -> Any:
    """Check a number with :func:`.arguments.number`, and reject strings."""
    return number(f"{name} =", _numeric(value), **bounds)


def _parsed(name: str, setting: Setting, value: Any) -> Any:
    """Return the value of a numeric setting, and reject strings."""
    return setting.codec.parse(f"{name} =", _numeric(value))


def _numeric(value: Any) -> Any:
    """Return a number as it is, and the ``repr`` of any other value, which cannot be parsed as a number."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else repr(value)


def _limits(given: Mapping[str, Any]) -> tuple[RunLimits, float | None]:
    """Return the limits of each run, and the time limit of the whole sweep or None."""
    _known("[limits]", given, [*(one.name for one in RUN_LIMITS), TOTAL_SECONDS])
    if given.get("f_star", "auto") != "auto":
        raise ValueError('every problem has its own f*: write f_star = "auto", or leave it out')
    found: dict[str, Any] = {
        one.name: _parsed(one.name, one, given[one.name])
        for one in RUN_LIMITS
        if one.name in given and one is not F_STAR
    }
    if F_STAR.name in given or GAP.name in given:
        found[F_STAR.name] = "auto"
    total = given.get(TOTAL_SECONDS)
    return RunLimits(**found), None if total is None else _number(TOTAL_SECONDS, total, above=0)


def _data(
    given: Any, describe: Describe, folds: int
) -> Iterator[tuple[datasets.DataSetInfo, dict[str, Any]]]:
    """Yield the data sets with their options: "ID", "ID,name=value,..." or {id = ..., name = value}.

    If there are ``folds``, raise ValueError unless each data set can hold them out.
    """
    for one in several(given):
        if isinstance(one, str):
            id, options = apart(one)
        elif isinstance(one, dict) and isinstance(one.get("id"), str):
            options = {name: value for name, value in one.items() if name != "id"}
            id = one["id"]
            if wrong := [name for name, value in options.items() if isinstance(value, list | dict)]:
                raise ValueError(f"{wrong[0]} of data {id} is a list or a table: write a number or a text")
        else:
            raise ValueError(f'data = {one!r} names no data set: write "ID" or {{id = "ID", name = value}}')
        entry = describe(id)
        values = entry.parse(options)
        if folds:
            check_parts(id, values)
        yield entry, {name: values[name] for name in options}


def _objectives(
    given: Mapping[str, Any], entry: datasets.DataSetInfo, options: Mapping[str, Any]
) -> Iterator[tuple[str | None, str | None]]:
    """Yield pairs of loss and penalty, checked as far as is possible before the data are loaded."""
    kind = None if entry.paths else entry.kind_of(**options)
    losses = _names("loss", given.get("loss", None if kind is None else DEFAULT_LOSSES[kind]))
    for loss, penalty in itertools.product(losses, _names("penalty", given.get("penalty", entry.penalty))):
        if loss is not None:
            make(lookup(solvers.LOSSES, "loss", loss), "loss", given.get("loss_set", {}))
        if kind is not None and (reason := solvers.why_not_loss(loss, kind)):
            fitting = ", ".join(solvers.losses_for(kind))
            raise ValueError(f"loss {loss} {reason} ({entry.id}): choose one of {fitting}")
        made = make(lookup(solvers.PENALTIES, "penalty", penalty), "penalty", given.get("penalty_set", {}))
        if not made.takes_lam and (about := given.keys() & {"lam", "lam_ratio", "choose"}):
            raise ValueError(f"penalty {penalty} has no λ: leave {' and '.join(sorted(about))} out")
        yield loss, penalty


def _lams(given: Mapping[str, Any]) -> list[dict[str, float | None]]:
    """Return the values of λ or of λ/λ_max; if neither is given, each data set has its default."""
    if "lam" in given and "lam_ratio" in given:
        raise ValueError("both lam and lam_ratio are given: give one of them")
    for name, other in (("lam", "lam_ratio"), ("lam_ratio", "lam")):
        if name in given:
            return [{name: value, other: None} for value in _grid(name, given[name])]
    return [{"lam": None, "lam_ratio": None}]


def _grid(name: str, given: Any) -> list[float]:
    """Return the listed values, or log-spaced ones for {from = 1, to = 0.01, n = 5}."""
    if not isinstance(given, dict):
        return [_parsed(name, LAM, value) for value in several(given)]
    if given.keys() != {"from", "to", "n"}:
        raise ValueError(f"{name} is a list, or a range as {{from = 1, to = 0.01, n = 5}}")
    first, last = (_number(f"{name}.{end}", given[end], above=0) for end in ("from", "to"))
    n = _number(f"{name}.n", given["n"], low=1, kind=int)
    if n > MOST_CELLS:
        raise _too_many()
    steps = (k / max(n - 1, 1) for k in range(n))
    return [float(f"{first * (last / first) ** step:.12g}") for step in steps]


def _solvers(
    given: Mapping[str, Any], seed: int, loss: str | None, penalty: str, weighted: bool
) -> Iterator[Entrant]:
    """Yield an entrant for every solver and every combination of its hyper-parameters under [set]."""
    texts = several(given["solvers"])
    if not all(isinstance(text, str) for text in texts):
        raise ValueError('solvers is a list of texts: write solvers = ["[LABEL=]ID[,name=value,...]", ...]')
    chosen = choices(texts)
    shared, own = {}, {choice.label: {} for choice in chosen}
    for name, value in given.get("set", {}).items():
        if isinstance(value, dict):
            if name not in own:
                raise ValueError(f"[set.{name}]: no solver is labelled {name!r}, only {', '.join(own)}")
            own[name] = value
        else:
            shared[name] = value
    used: set[str] = set()
    uniform = not given.get("intercept") and not given.get("penalty_factors")
    how = {"uniform": uniform, "weighted": weighted}
    for choice in chosen:
        if loss is not None and (reason := solvers.why_not_solver(choice.id, loss, penalty, **how)):
            problem = describe_pair(loss, penalty, **how)
            raise ValueError(f"solver {choice.id} {reason}, unlike {problem}: leave it out")
        known = {p.name for p in solvers.parameters(solvers.SOLVERS[choice.id])} | {"preset"}
        grid = {name: value for name, value in shared.items() if name in known} | own[choice.label]
        grid = {name: several(value) for name, value in grid.items() if name not in choice.params}
        used |= grid.keys()
        for values in itertools.product(*grid.values()):
            pairs = [(name, text_of(value)) for name, value in zip(grid, values, strict=True)]
            told = [f"{name}={value}" for name, value in pairs if len(grid[name]) > 1]
            made = make_solvers([choice], [f"{choice.label}.{name}={value}" for name, value in pairs], seed)
            yield Entrant.of(",".join([choice.label, *told]), made[0][1])
    fixed = {name for choice in chosen for name in choice.params}
    for name in shared.keys() - used - fixed:
        raise ValueError(f"[set] {name}: none of the solvers has such a parameter")
