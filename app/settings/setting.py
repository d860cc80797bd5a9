"""A set-up in words: everything needed to come back to the same problem and the same solvers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import datasets
import solvers
from app.settings.arguments import assignments, choices, finite
from datasets.entry import LOSSES as USUAL_LOSSES
from solvers import PENALTIES, SOLVERS, Parameter, parameters

#: Solvers in one race.
MOST_SOLVERS = 12
#: Where a run on the page ends.
LIMITS = (
    Parameter(
        *("tol", 1e-6, "stop at a violation of so many times that at w = 0", 0.0, 1.0, None, (), True),
        title="relative violation ε",
    ),
    Parameter(
        *("max_seconds", 120.0, "stop after so many CPU seconds of a run", 0.0, 1e6, None, (), True),
        title="time limit, CPU s",
    ),
)


@dataclass(frozen=True)
class ProblemSetting:
    """Data, loss, penalty and λ; ``options`` and ``penalty_params`` hold what differs from the defaults, and
    ``lam`` is None for the default."""

    data: str
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    loss: str = ""
    penalty: str = ""
    penalty_params: Mapping[str, Any] = field(default_factory=dict)
    lam: float | None = None

    @classmethod
    def of(cls, data: str) -> ProblemSetting:
        """Set up a data set, one of the list or a user's own file, with its own loss and penalty. ValueError
        if there is none, or no loss for it."""
        info = info_of(data)
        if reason := why_not_data(data):
            raise ValueError(f"{data} cannot be used: {reason}")
        return cls(data, penalty=info.penalty if info.penalty in PENALTIES else "l1").with_fitting_loss()

    @property
    def kind(self) -> str:
        """Return the kind of labels, which options may change."""
        return info_of(self.data).kind_of(**self.options)

    def with_fitting_loss(self) -> ProblemSetting:
        """Return this setting if its loss is one for its kind of labels, else with the usual one for them."""
        fitting, usual = solvers.losses_for(self.kind), USUAL_LOSSES[self.kind]
        if self.loss in fitting:
            return self
        return replace(self, loss=usual if usual in fitting else fitting[0])


@dataclass(frozen=True)
class SolverSetting:
    """A solver with the hyper-parameters that differ from its defaults, under a label; ``penalty`` is one of
    its own, in place of the problem's, so that runs with several penalties stand side by side. ``style``
    numbers the colour and the dash that its runs have on the page."""

    id: str
    label: str
    params: Mapping[str, Any] = field(default_factory=dict)
    penalty: str = ""
    style: int = field(default=0, compare=False)

    @classmethod
    def parse_all(cls, texts: Iterable[str]) -> tuple[SolverSetting, ...]:
        """Parse ``[LABEL=]ID[@PENALTY][,name=value,...]`` each; ValueError, one sentence, if one is not
        right."""
        settings = []
        for choice in choices(list(texts)):
            id, at, penalty = choice.id.partition("@")
            if at and penalty not in PENALTIES:
                raise ValueError(f"there is no penalty {penalty!r}: choose one of {', '.join(PENALTIES)}")
            solvers.make_solver(id, **choice.params)
            given = dict(choice.params)
            params = solvers.preset_params(id, given.pop("preset", None)) | given
            settings.append(cls(id, choice.label, typed(SOLVERS[id], params), penalty))
        return tuple(settings)

    def problem(self, shared: ProblemSetting) -> ProblemSetting:
        """Return what it solves: the problem that all share, but with its own penalty, at the same λ."""
        if self.penalty in ("", shared.penalty):
            return shared
        return replace(shared, penalty=self.penalty, penalty_params={})

    def make(self) -> solvers.Solver:
        """Make the solver."""
        return solvers.make_solver(self.id, **self.params)

    def __str__(self) -> str:
        id = f"{self.id}@{self.penalty}" if self.penalty else self.id
        head = id if self.label == id else f"{self.label}={id}"
        return ",".join([head, *(f"{name}={_text(value)}" for name, value in self.params.items())])


@dataclass(frozen=True)
class Setting:
    """A problem, the solvers that race on it, and when they stop."""

    problem: ProblemSetting
    solvers: tuple[SolverSetting, ...]
    tol: float = 1e-6
    max_seconds: float = 120.0

    def query(self) -> dict[str, str]:
        """Return the set-up as parameters of a URL; every one of them is written, so that defaults may
        change."""
        p = self.problem
        return {
            "data": p.data,
            "options": _pairs(p.options),
            "seed": str(p.seed),
            "loss": p.loss,
            "penalty": ",".join([p.penalty, *([_pairs(p.penalty_params)] if p.penalty_params else [])]),
            "lam": "" if p.lam is None else _text(p.lam),
            "solvers": ";".join(map(str, self.solvers)),
            "tol": _text(self.tol),
            "max_seconds": _text(self.max_seconds),
        }

    def updated(self, query: Mapping[str, str]) -> tuple[Setting, list[str]]:
        """Return this set-up changed by parameters of a URL, and a sentence for each that could not be
        used."""
        setting, notices = self, []
        for name, read in _READERS.items():
            text = query.get(name)
            if text is None or (name == "data" and text == setting.problem.data):
                continue
            try:
                if any(character < " " for character in text):
                    raise ValueError("it has a character that cannot be printed")
                setting = read(setting, text)
            except ValueError as error:
                notices.append(f"{name}={text!r} in the address was left out: {error}")
        fitting = tuple(s for s in setting.solvers if fits(s, setting.problem) is None)
        if not fitting:
            fitting = default_solvers(setting.problem)
        return replace(setting, solvers=fitting), notices


def info_of(id: str) -> datasets.DataSetInfo:
    """Return the entry of a data set, without options that name files: an address, or a field of a page, must
    not. ValueError where there is none."""
    info = datasets.describe(id)
    if not info.paths:
        return info
    return replace(info, own=tuple(option for option in info.own if option.name != "test"))


def why_not_data(id: str) -> str | None:
    """Say why a data set cannot be used now; None if it can."""
    info = info_of(id)
    if not solvers.losses_for(info.kind) and "positive" not in {o.name for o in info.options}:
        return f"no loss for {info.kind} labels is registered"
    available, reason = info.available()
    return None if available else reason


def fits(solver: SolverSetting, problem: ProblemSetting) -> str | None:
    """Say why a solver cannot take the problem's loss and its own or the problem's penalty; None if it
    can."""
    own = solver.problem(problem).penalty
    if PENALTIES[own].takes_lam and not PENALTIES[problem.penalty].takes_lam:
        return f"needs a λ for its penalty {own}, and the problem has none"
    return solvers.why_not_solver(solver.id, problem.loss, own)


def default_solvers(problem: ProblemSetting) -> tuple[SolverSetting, ...]:
    """Return the first two solvers that fit."""
    ids = solvers.compatible(problem.loss, problem.penalty)[:2]
    return tuple(SolverSetting(id, id) for id in ids)


def typed(cls: type, params: Mapping[str, Any]) -> dict[str, Any]:
    """Convert declared parameters to their types, and leave out those at their defaults."""
    declared = {p.name: p for p in parameters(cls)}
    values = {name: declared[name].parse(value) for name, value in params.items()}
    return {name: value for name, value in values.items() if value != declared[name].default}


def positive(name: str, text: str) -> float:
    """Parse a number above 0; ValueError otherwise."""
    value = finite(text)
    if not value > 0:
        raise ValueError(f"{name} must be a number above 0")
    return value


def _read_data(setting: Setting, text: str) -> Setting:
    if text not in datasets.DATASETS:  # else an address could name any file of this machine
        listed = ", ".join(datasets.DATASETS)
        raise ValueError(
            f"there is no data set {text!r}: choose one of {listed}; a file of your own is dropped on the "
            "page, or given to `solverscope serve --data FILE`"
        )
    problem = ProblemSetting.of(text)
    return replace(setting, problem=problem, solvers=default_solvers(problem))


def _read_options(setting: Setting, text: str) -> Setting:
    info = info_of(setting.problem.data)
    given = _unpairs(text)
    values = info.parse(given)
    defaults = {option.name: option.default for option in info.options}
    options = {name: values[name] for name in given if values[name] != defaults[name]}
    return replace(setting, problem=replace(setting.problem, options=options).with_fitting_loss())


def _read_seed(setting: Setting, text: str) -> Setting:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ValueError("a seed is a whole number from 0 to 999999999")
    return replace(setting, problem=replace(setting.problem, seed=int(text)))


def _read_loss(setting: Setting, text: str) -> Setting:
    if reason := solvers.why_not_loss(text, setting.problem.kind):
        raise ValueError(f"it {reason}")
    return replace(setting, problem=replace(setting.problem, loss=text))


def _read_penalty(setting: Setting, text: str) -> Setting:
    id, _, pairs = text.partition(",")
    if id not in PENALTIES:
        raise ValueError(f"there is no penalty {id!r}: choose one of {', '.join(PENALTIES)}")
    given = _unpairs(pairs)
    known = {p.name for p in parameters(PENALTIES[id])}
    if unknown := given.keys() - known:
        raise ValueError(f"penalty {id} has no parameter {min(unknown)!r}")
    return replace(
        setting, problem=replace(setting.problem, penalty=id, penalty_params=typed(PENALTIES[id], given))
    )


def _read_lam(setting: Setting, text: str) -> Setting:
    return replace(setting, problem=replace(setting.problem, lam=positive("λ", text) if text else None))


def _read_solvers(setting: Setting, text: str) -> Setting:
    chosen = SolverSetting.parse_all(filter(None, text.split(";")))
    for solver in chosen:
        if reason := fits(solver, setting.problem):
            raise ValueError(f"{solver.id} {reason}")
    if not 0 < len(chosen) <= MOST_SOLVERS:
        raise ValueError(f"name one to {MOST_SOLVERS} solvers")
    return replace(setting, solvers=chosen)


def _read_limit(name: str) -> Callable[[Setting, str], Setting]:
    return lambda setting, text: replace(setting, **{name: positive(name, text)})


_READERS: dict[str, Callable[[Setting, str], Setting]] = {
    "data": _read_data,
    "options": _read_options,
    "seed": _read_seed,
    "loss": _read_loss,
    "penalty": _read_penalty,
    "lam": _read_lam,
    "solvers": _read_solvers,
    "tol": _read_limit("tol"),
    "max_seconds": _read_limit("max_seconds"),
}


def _text(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _pairs(values: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={_text(value)}" for name, value in values.items())


def _unpairs(text: str) -> dict[str, str]:
    """Parse ``name=value,...``; a value may have commas, as "start=1,2" has."""
    parts: list[str] = []
    for part in filter(None, text.split(",")):
        if "=" in part or not parts:
            parts.append(part)
        else:
            parts[-1] += f",{part}"
    return assignments("a part", parts)
