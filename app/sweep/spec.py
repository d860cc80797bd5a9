"""What a sweep is to run: read from TOML or JSON, checked, and laid out as a grid of cells."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import datasets
import solvers
from app.settings.arguments import choices, make_solvers
from datasets.entry import LOSSES as USUAL_LOSSES
from solvers.registry import lookup, make

#: Runs in one sweep, at most.
MOST_CELLS = 10_000
#: Bytes of a file that says what to run, at most.
LONGEST = 1 << 20
#: What a text may say, with what it means; the last ones stand in a table of their own.
KEYS = ("name", "data", "loss", "penalty", "lam", "lam_ratio", "average", "seeds", "solvers")
TABLES = ("loss_set", "penalty_set", "set", "limits")
LIMITS = ("tol", "gap", "f_star", "max_iter", "max_seconds", "total_seconds")


@dataclass(frozen=True)
class Cell:
    """One run of a sweep, in names and numbers: all that travels to the worker that makes it.

    ``loss`` None is the one for the labels of a file of one's own, which only its worker reads. ``lam`` is λ,
    ``lam_ratio`` λ/λ_max; neither: the data set's own. ``limits`` are those of
    :class:`solvers.Stopping` but f*, which is solved for where ``reference`` says so.
    """

    data: str
    options: Mapping[str, Any]
    seed: int
    loss: str | None
    penalty: str
    loss_params: Mapping[str, Any]
    penalty_params: Mapping[str, Any]
    average: bool | None
    lam: float | None
    lam_ratio: float | None
    label: str
    solver: str
    params: Mapping[str, Any]
    limits: Mapping[str, float | None]
    reference: bool = False

    @property
    def key(self) -> str:
        """Hash all that determines the run."""
        text = json.dumps(asdict(self), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def data_text(self) -> str:
        """Return the data set as a spec writes it, and its seed if it has one of its own."""
        text = ",".join([self.data, *(f"{name}={value}" for name, value in self.options.items())])
        return f"{text},seed={self.seed}" if self.seed else text

    @property
    def where(self) -> tuple[str, str | None, str, float | None, float | None]:
        """Return what cells of one problem have in common."""
        return self.data_text, self.loss, self.penalty, self.lam, self.lam_ratio

    def plain(self) -> dict[str, Any]:
        """Return it as JSON knows it."""
        return json.loads(json.dumps(asdict(self), default=str))

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Cell:
        """Return the cell that was written so; ValueError where it is none."""
        try:
            return cls(**plain)
        except TypeError as error:
            raise ValueError(f"this is no cell of a sweep: {error}") from None


@dataclass(frozen=True)
class Spec:
    """A grid of cells, and how long all of them together may take (wall seconds; None: no limit)."""

    name: str
    cells: tuple[Cell, ...]
    total_seconds: float | None = None

    @property
    def digest(self) -> str:
        """Hash what is run, whatever it is called."""
        return hashlib.sha256("".join(cell.key for cell in self.cells).encode()).hexdigest()[:16]

    @classmethod
    def read(cls, path: Path) -> Spec:
        """Read a file that ends in .toml or .json. Raises ValueError, one sentence."""
        if path.suffix not in (".toml", ".json"):
            raise ValueError(f"cannot read {path.name}: the name of a sweep must end in .toml or .json")
        try:
            if path.stat().st_size > LONGEST:
                raise ValueError(f"cannot read {path}: it has more than {LONGEST >> 20} MiB")
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"cannot read {path}: it is no text in UTF-8") from None
        except OSError as error:
            raise ValueError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
        try:
            return cls.parse(text, json_text=path.suffix == ".json", name=path.stem)
        except ValueError as error:
            raise ValueError(f"{path.name}: {error}") from None

    @classmethod
    def parse(cls, text: str, *, json_text: bool = False, name: str = "sweep") -> Spec:
        """Lay out the grid that a text describes. Raises ValueError, one sentence."""
        try:
            given = json.loads(text) if json_text else tomllib.loads(text)
        except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
            raise ValueError(f"it is no {'JSON' if json_text else 'TOML'}: {error}") from None
        if not isinstance(given, dict):
            raise ValueError('it is a list: write a table with "data" and "solvers"')
        return cls.of({"name": name, **given})

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Spec:
        """Lay out the grid that values describe. Raises ValueError, one sentence."""
        _known("a sweep", given, (*KEYS, *TABLES))
        for needed in ("data", "solvers"):
            if not given.get(needed):
                raise ValueError(f'it names no {needed}: write {needed} = ["..."]')
        for table in TABLES:
            if not isinstance(given.get(table, {}), dict):
                raise ValueError(f"{table} is no table: write [{table}] and below it name = value")
        limits, reference, total = _limits(given.get("limits", {}))
        average = given.get("average")
        if average not in (None, True, False):
            raise ValueError(f"average = {average!r} is not possible: write true or false")
        cells = []
        for (data, options), seed in itertools.product(_data(given["data"]), _seeds(given)):
            for (loss, penalty), lam in itertools.product(_objectives(given, data, options), _lams(given)):
                for label, solver in _solvers(given, seed, loss, penalty):
                    cells.append(
                        Cell(
                            *(data, options, seed, loss, penalty),
                            loss_params=given.get("loss_set", {}),
                            penalty_params=given.get("penalty_set", {}),
                            average=average,
                            **lam,
                            label=label,
                            solver=solver.id,
                            params=asdict(solver),
                            limits=limits,
                            reference=reference,
                        )
                    )
                    if len(cells) > MOST_CELLS:
                        raise ValueError(f"it has more than {MOST_CELLS:,} runs: make several sweeps of it")
        found = {cell.key: cell for cell in cells}
        return cls(str(given.get("name", "sweep")), tuple(found.values()), total)


def _known(what: str, given: Mapping[str, Any], names: Sequence[str]) -> None:
    if unknown := [name for name in given if name not in names]:
        raise ValueError(f"{what} has no {unknown[0]!r}: it has {', '.join(names)}")


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _number(name: str, value: Any, *, low: float = 0.0, strictly: bool = False, kind: type = float) -> Any:
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not good or value < low or (strictly and value == low) or value != kind(value):
        noun = "whole numbers" if kind is int else "numbers"
        raise ValueError(
            f"{name} = {value!r} is not possible: give {noun} {'above' if strictly else 'from'} {low:g}"
        )
    return kind(value)


def _limits(given: Mapping[str, Any]) -> tuple[dict[str, float | None], bool, float | None]:
    """Return the limits of each run, whether f* is solved for, and the limit of all."""
    _known("[limits]", given, LIMITS)
    if given.get("f_star", "auto") != "auto":
        raise ValueError('every problem has its own f*: write f_star = "auto", or leave it out')
    found: dict[str, float | None] = {}
    for name in ("tol", "gap", "max_iter", "max_seconds"):
        kind = int if name == "max_iter" else float
        found[name] = _number(name, given[name], kind=kind) if name in given else None
    total = given.get("total_seconds")
    total = None if total is None else _number("total_seconds", total, strictly=True)
    return found, "f_star" in given or "gap" in given, total


def _data(given: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the data sets with their options: "ID", "ID,name=value,..." or {id = ..., name = value}."""
    for one in _several(given):
        if isinstance(one, str):
            # a path of the user's own may have commas: only what looks like an option is one
            id, *pairs = re.split(r",(?=\w+=)", one)
            options = dict(pair.split("=", 1) for pair in pairs)
        elif isinstance(one, dict) and isinstance(one.get("id"), str):
            options = {name: value for name, value in one.items() if name != "id"}
            id = one["id"]
        else:
            raise ValueError(f'data = {one!r} names no data set: write "ID" or {{id = "ID", name = value}}')
        values = datasets.describe(id).parse(options)
        yield id, {name: values[name] for name in options}


def _seeds(given: Mapping[str, Any]) -> list[int]:
    return [_number("seeds", seed, kind=int) for seed in _several(given.get("seeds", 0))]


def _objectives(
    given: Mapping[str, Any], data: str, options: Mapping[str, Any]
) -> Iterator[tuple[str | None, str]]:
    """Yield losses and penalties, all that is known of them before data are read checked."""
    entry = datasets.describe(data)
    kind = None if entry.paths else entry.kind_of(**options)
    losses = _several(given.get("loss", None if kind is None else USUAL_LOSSES[kind]))
    for loss, penalty in itertools.product(losses, _several(given.get("penalty", entry.penalty))):
        if loss is not None:
            make(lookup(solvers.LOSSES, "loss", loss), "loss", given.get("loss_set", {}))
        if kind is not None and (reason := solvers.why_not_loss(loss, kind)):
            fitting = ", ".join(solvers.losses_for(kind))
            raise ValueError(f"loss {loss} {reason} ({data}): choose one of {fitting}")
        made = make(lookup(solvers.PENALTIES, "penalty", penalty), "penalty", given.get("penalty_set", {}))
        if not made.takes_lam and ("lam" in given or "lam_ratio" in given):
            raise ValueError(f"penalty {penalty} has no λ: leave lam and lam_ratio out")
        yield loss, penalty


def _lams(given: Mapping[str, Any]) -> list[dict[str, float | None]]:
    """Return the values of λ, or of λ/λ_max; without any each data set has its own."""
    if "lam" in given and "lam_ratio" in given:
        raise ValueError("both lam and lam_ratio are given: give one of them")
    for name, other in (("lam", "lam_ratio"), ("lam_ratio", "lam")):
        if name in given:
            return [{name: value, other: None} for value in _grid(name, given[name])]
    return [{"lam": None, "lam_ratio": None}]


def _grid(name: str, given: Any) -> list[float]:
    """Return values as they are listed, or log-spaced: {from = 1, to = 0.01, n = 5}."""
    if not isinstance(given, dict):
        return [_number(name, value, strictly=True) for value in _several(given)]
    if given.keys() != {"from", "to", "n"}:
        raise ValueError(f"{name} is a list, or a range as {{from = 1, to = 0.01, n = 5}}")
    first, last = (_number(f"{name}.{end}", given[end], strictly=True) for end in ("from", "to"))
    n = _number(f"{name}.n", given["n"], low=1, kind=int)
    steps = (k / max(n - 1, 1) for k in range(n))
    return [float(f"{first * (last / first) ** step:.12g}") for step in steps]


def _solvers(
    given: Mapping[str, Any], seed: int, loss: str | None, penalty: str
) -> Iterator[tuple[str, solvers.Solver]]:
    """Yield labels and solvers, each once for every combination of the hyper-parameters under [set]."""
    texts = _several(given["solvers"])
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
    for choice in chosen:
        if loss is not None and (reason := solvers.why_not_solver(choice.id, loss, penalty)):
            raise ValueError(
                f"solver {choice.id} {reason}, unlike {loss} with penalty {penalty}: make a sweep without it"
            )
        known = {p.name for p in solvers.parameters(solvers.SOLVERS[choice.id])} | {"preset"}
        grid = {name: value for name, value in shared.items() if name in known} | own[choice.label]
        grid = {name: _several(value) for name, value in grid.items() if name not in choice.params}
        used |= grid.keys()
        for values in itertools.product(*grid.values()):
            pairs = [(name, _text(value)) for name, value in zip(grid, values, strict=True)]
            told = [f"{name}={value}" for name, value in pairs if len(grid[name]) > 1]
            made = make_solvers([choice], [f"{choice.label}.{name}={value}" for name, value in pairs], seed)
            yield ",".join([choice.label, *told]), made[0][1]
    fixed = {name for choice in chosen for name in choice.params}
    for name in shared.keys() - used - fixed:
        raise ValueError(f"[set] {name}: none of the solvers has such a parameter")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
