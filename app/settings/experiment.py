"""Experiments: a problem, the solvers that run on it, their limits, and where they start.

An experiment can be read from, and written as, options of the command line, a URL of the page, or a table of
a sweep.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from solverscope import datasets, solvers
from solverscope.app.settings.arguments import SolverChoice, assignments, choices, make_solvers, text_of
from solverscope.app.settings.lam_changes import LamChange, LamChangeGate
from solverscope.app.settings.own_file_names import named
from solverscope.app.settings.recipe import (
    Entrant,
    Recipe,
    RunLimits,
    default_entrants,
    fits,
    info_of,
    make_run,
    typed,
)
from solverscope.app.settings.resume_point import ResumePoint
from solverscope.app.settings.setting import Setting
from solverscope.app.settings.settings_table import (
    DATA,
    ENTRANTS,
    IN_ADDRESS,
    IN_RUN_FORM,
    LAM,
    LAM_CHANGES,
    LAM_RATIO,
    LOSS,
    OPTIONS,
    ORIGIN,
    PENALTY,
    PENALTY_FACTORS,
    SET,
    SETTINGS,
    of_part,
    parse_part,
)
from solverscope.ids import unknown_id
from solverscope.solvers import LOSSES, PENALTIES, parameters
from solverscope.solvers.compatibility import refusal
from solverscope.solvers.problems.certificates.optimality import check_tolerance
from solverscope.solvers.registry import lookup, make

#: Solvers in one race.
MOST_SOLVERS = 12

#: Settings that a problem's record has under their names, or not at all.
IN_RECORD = tuple(one for one in SETTINGS if one.in_record and not one.name.endswith("_params"))


@dataclass(frozen=True)
class Experiment:
    """A problem, the solvers that run on it, and the limits at which they stop.

    ``origin`` is the iterate from which the runs continue, if any. ``lams`` lists the iterations at which λ
    changes, with the new λ.
    """

    problem: Recipe
    entrants: tuple[Entrant, ...]
    limits: RunLimits = field(default_factory=RunLimits)
    origin: ResumePoint | None = None
    lams: tuple[LamChange, ...] = ()

    @property
    def entrant(self) -> Entrant:
        """Return the only entrant of the experiment."""
        (entrant,) = self.entrants
        return entrant

    # what is executed

    def check(self, problem: solvers.Problem) -> None:
        """Raise ValueError if the experiment cannot be run on ``problem``.

        The problem must be that of the origin, if any, and the penalty must have a λ if λ is to change. The
        solvers must accept the problem and the tolerance.
        """
        if self.origin is not None:
            check_resumed(self.origin, problem)
        if self.lams and not problem.penalty.takes_lam:
            raise ValueError(f"the penalty {problem.penalty.id} has no λ to change: leave --lam-at out")
        for solver in (entrant.make() for entrant in self.entrants):
            if reason := refusal(solver, problem):
                raise ValueError(reason)
            check_tolerance(self.limits.tol, problem, solver.knows)

    def run(
        self,
        entrant: Entrant,
        problem: solvers.Problem,
        gate: solvers.Gate,
        reference: Mapping[str, Any] | None = None,
    ) -> solvers.Run:
        """Create the run of an entrant; ``reference`` is the record of f*, if f* is known."""
        stopping = self.limits.stopping(None if reference is None else reference["f_star"])
        how = {"label": entrant.label, "gate": LamChangeGate(gate, self.lams) if self.lams else gate}
        origin = None if self.origin is None else self.origin.origin
        return make_run(problem, entrant.make(), stopping, reference=reference, origin=origin, **how)

    # the command line

    @classmethod
    def from_arguments(cls, dataset: str | None, solver: Sequence[str], **given: Any) -> Self:
        """Return the experiment that options of ``solverscope run`` describe.

        ``given`` maps names of settings to the values of their options. Raises ValueError if a value is
        invalid, and TypeError if there is no such setting.
        """
        if unknown := given.keys() - {setting.name for setting in SETTINGS}:
            raise TypeError(f"there is no setting {min(unknown)!r}")
        limited = parse_part("limits", given)
        if limited["gap"] is not None and limited["f_star"] is None:
            limited["f_star"] = "auto"
        limits = RunLimits(**limited)
        if given.get(LAM_CHANGES.name) and limits.gap is not None:
            raise ValueError("--gap is measured against f* of one λ: leave it or --lam-at out")
        recipe = parse_part("problem", given | {DATA.name: dataset})
        before, chosen = {}, choices(solver)
        origin = ORIGIN.parse(given.get(ORIGIN.name))
        if origin is not None:
            recipe, before = resumed_recipe(origin, recipe), origin.params(limits.tol)
            chosen = choices(solver, origin.suffix) or [origin.choice]
        recipe["seed"] = recipe["seed"] or 0
        values = datasets.describe(recipe["data"]).parse(recipe["options"])
        recipe["options"] = {name: values[name] for name in recipe["options"]}
        for noun, classes in (("loss", LOSSES), ("penalty", PENALTIES)):
            pairs, id = recipe[f"{noun}_params"], recipe[noun]
            if id is not None and pairs:
                made = make(lookup(classes, noun, id), noun, pairs)
                recipe[f"{noun}_params"] = {name: getattr(made, name) for name in pairs}
        made = make_solvers(chosen, given.get(SET.name, ()), recipe["seed"], before)
        entrants = tuple(Entrant.of(label, solver) for label, solver in made)
        lams = LAM_CHANGES.parse(given.get(LAM_CHANGES.name))
        return cls(Recipe(**recipe), entrants, limits, origin, lams)

    def repeated(self, n: int) -> tuple[Self, dict[str, str]]:
        """Return an experiment with ``n`` runs of each solver, and the solver's label for the label of each
        run.

        The runs alternate between the solvers, so that fluctuations of the machine affect all of them alike.
        Solvers that make random choices get another seed in each round. If ``n`` is 1, the labels do not
        change.
        """
        runs, labels = [], {}
        for k in range(n):
            for entrant in self.entrants:
                solver = entrant.make()
                again = {"seed": solver.seed + k} if solver.random else {}
                label = f"{entrant.label} ({k + 1})" if n > 1 else entrant.label
                runs.append(replace(entrant, label=label, params={**entrant.params, **again}))
                labels[label] = entrant.label
        return replace(self, entrants=tuple(runs)), labels

    def arguments(self) -> list[str]:
        """Return the arguments of ``solverscope`` that run this experiment."""
        said = ["run", self.problem.data]
        for setting in SETTINGS:
            if setting.part and setting not in (DATA, ENTRANTS):
                said += setting.words(setting.of(self))
        return said + [word for one in self.entrants for word in (ENTRANTS.flag, self._argument(one))]

    def _argument(self, entrant: Entrant) -> str:
        """Return the ``--solver`` argument of an entrant, without hyper-parameters that have their default
        there."""
        before = {} if self.origin is None else self.origin.params(self.limits.tol)
        choice = SolverChoice(entrant.label, entrant.id, {})
        ((_, usual),) = make_solvers([choice], (), self.problem.seed, before)
        params = {n: v for n, v in asdict(entrant.make()).items() if v != getattr(usual, n)}
        return str(replace(entrant, params=params))

    def table(self) -> dict[str, Any]:
        """Return the experiment as a dictionary of plain values, without settings at their defaults."""
        problem, limits = ({**vars(values)} for values in (self.problem, self.limits))
        for values, part in ((problem, "problem"), (limits, "limits")):
            values |= {one.name: one.codec.plain(values[one.name]) for one in of_part(part)}
        said = {
            "problem": _said(problem),
            "entrants": [_said(vars(entrant)) for entrant in self.entrants],
            "limits": _said(limits),
        }
        if self.lams:
            said["lams"] = LAM_CHANGES.codec.plain(self.lams)
        return said if self.origin is None else said | {"from": ORIGIN.codec.plain(self.origin)}

    @property
    def key(self) -> str:
        """Return a hash of everything that determines the runs, including hyper-parameters with default
        values."""
        params = [asdict(entrant.make()) for entrant in self.entrants]
        text = json.dumps([self.table(), params], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    # the page and its address

    @classmethod
    def from_address(cls, query: Mapping[str, str], base: Self) -> tuple[Self, list[str]]:
        """Return ``base`` changed by parameters of a URL, and a message for each parameter that
        is ignored."""
        found, wrong = cls.read_parts(query, base)
        return found, [
            f"{name}={query[name]!r} in the address was left out: {why}"
            if one_of is None
            else f"{one_of!r} of {name} in the address was left out: {why}"
            for name, one_of, why in wrong
        ]

    @classmethod
    def read_parts(
        cls, query: Mapping[str, str], base: Self
    ) -> tuple[Self, list[tuple[str, str | None, str]]]:
        """Return ``base`` changed by parameters of a URL, and a list of those that were ignored.

        Each entry of the list is a tuple: the name of the parameter, the invalid solver if only some of
        several are invalid (otherwise None), and the reason.
        """
        found: Any = base
        wrong: list[tuple[str, str | None, str]] = []
        for setting in IN_ADDRESS:
            name = setting.in_address
            text = query.get(name)
            if text is None or (name == "data" and text == found.problem.data):
                continue
            try:
                if any(character < " " for character in text):
                    raise ValueError("it has a character that cannot be printed")
                found = _with_parameter(setting, found, text)
            except _PartlyRead as some:
                found = some.read
                wrong += [(name, one_of, why) for one_of, why in some.wrong.items()]
            except ValueError as error:
                wrong.append((name, None, str(error)))
        fitting = tuple(entrant for entrant in found.entrants if fits(entrant, found.problem) is None)
        return replace(found, entrants=fitting or default_entrants(found.problem)), wrong

    def changes(self, base: Self) -> dict[str, str]:
        """Return the URL parameters in which this experiment differs from ``base``."""
        found, said = base, {}
        for setting in IN_ADDRESS:
            text = _parameter(setting, self)
            if text == _parameter(setting, found) or (setting is ENTRANTS and not text):
                continue
            said[setting.in_address] = text
            with suppress(ValueError):  # a file of a visitor's own, which no address names
                found = _with_parameter(setting, found, text)
        return said

    def without_run_form(self) -> Experiment:
        """Return the experiment with all settings of the run form reset to their defaults."""
        plain = self
        for one in IN_RUN_FORM:
            if one.part:
                plain = one.put(plain, one.field.default)
        return plain

    def address(self) -> dict[str, str]:
        """Return all URL parameters of the experiment, also those at their defaults, so that old URLs stay
        valid if defaults change."""
        return {setting.in_address: _parameter(setting, self) for setting in IN_ADDRESS}


class _PartlyRead(ValueError):
    """An error: only some solvers of a URL parameter are valid.

    ``read`` is the experiment with the valid solvers, and ``wrong`` maps the others to reasons.
    """

    def __init__(self, read: Experiment, wrong: dict[str, str]) -> None:
        super().__init__("; ".join(wrong.values()))
        self.read, self.wrong = read, wrong


def _read_data(base: Experiment, text: str) -> Experiment:
    if text not in datasets.DATASETS:  # else an address could name any file of this machine
        others = "; a file of your own is dropped on the page, or given to `solverscope serve --data FILE`"
        raise ValueError(unknown_id("data set", text, datasets.DATASETS, others))
    problem = Recipe.of(text)
    return replace(base, problem=problem, entrants=default_entrants(problem))


def _read_options(base: Experiment, text: str) -> Experiment:
    info = info_of(base.problem.data)
    given = _unpairs(text)
    values = info.parse(given)
    defaults = {option.name: option.default for option in info.options}
    options = {name: values[name] for name in given if values[name] != defaults[name]}
    return replace(base, problem=replace(base.problem, options=options).with_fitting_loss())


def _read_loss(base: Experiment, text: str) -> Experiment:
    if reason := solvers.why_not_loss(text, base.problem.kind):
        raise ValueError(f"it {reason}")
    return replace(base, problem=replace(base.problem, loss=text))


def _read_penalty(base: Experiment, text: str) -> Experiment:
    id, _, pairs = text.partition(",")
    if id not in PENALTIES:
        raise ValueError(unknown_id("penalty", id, PENALTIES))
    given = _unpairs(pairs)
    known = {p.name for p in parameters(PENALTIES[id])}
    if unknown := given.keys() - known:
        raise ValueError(f"penalty {id} has no parameter {min(unknown)!r}")
    return replace(
        base, problem=replace(base.problem, penalty=id, penalty_params=typed(PENALTIES[id], given))
    )


def _read_solvers(base: Experiment, text: str) -> Experiment:
    right, wrong = [], {}
    for one in filter(None, text.split(";")):
        try:
            (solver,) = Entrant.parse_all([one])
            if reason := fits(solver, base.problem):
                raise ValueError(f"{solver.id} {reason}")
        except ValueError as error:
            wrong[one] = str(error)
        else:
            right.append(one)
    if wrong and not right:
        raise ValueError("; ".join(wrong.values()))
    if not 0 < len(right) <= MOST_SOLVERS:
        raise ValueError(f"name one to {MOST_SOLVERS} solvers")
    read = replace(base, entrants=Entrant.parse_all(right))
    if wrong:
        raise _PartlyRead(read, wrong)
    return read


def _write_penalty(experiment: Experiment) -> str:
    penalty, pairs = experiment.problem.penalty or "", _pairs(experiment.problem.penalty_params)
    return f"{penalty},{pairs}" if pairs else penalty


#: Readers and writers of those URL parameters that are not the text of a number.
_PARAM_READERS: dict[str, Callable[[Experiment, str], Experiment]] = {
    DATA.in_address: _read_data,
    OPTIONS.in_address: _read_options,
    LOSS.in_address: _read_loss,
    PENALTY.in_address: _read_penalty,
    PENALTY_FACTORS.in_address: lambda base, text: PENALTY_FACTORS.put(base, PENALTY_FACTORS.parse(text)),
    ENTRANTS.in_address: _read_solvers,
}
_PARAM_WRITERS: dict[str, Callable[[Experiment], str]] = {
    DATA.in_address: lambda one: named(one.problem.data),
    OPTIONS.in_address: lambda one: _pairs(one.problem.options),
    LOSS.in_address: lambda one: one.problem.loss or "",
    PENALTY.in_address: _write_penalty,
    PENALTY_FACTORS.in_address: lambda one: one.problem.penalty_factors or "",
    ENTRANTS.in_address: lambda one: ";".join(map(str, one.entrants)),
}


def _with_parameter(setting: Setting, base: Experiment, text: str) -> Experiment:
    """Return ``base`` with one setting read from a URL parameter. Raises ValueError if the parameter is
    invalid."""
    if setting.in_address in _PARAM_READERS:
        return _PARAM_READERS[setting.in_address](base, text)
    return setting.put(base, setting.parse_address(text))


def _parameter(setting: Setting, experiment: Experiment) -> str:
    """Return the value of a setting as a URL parameter."""
    if setting.in_address in _PARAM_WRITERS:
        return _PARAM_WRITERS[setting.in_address](experiment)
    return setting.print_address(setting.of(experiment))


def _said(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", {}, [])}


def toml(value: Any) -> str:
    """Format a value as inline TOML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _pairs(values: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={text_of(value)}" for name, value in values.items())


def _unpairs(text: str) -> dict[str, str]:
    """Parse ``name=value,...``; a value may contain commas, as in "start=1,2"."""
    parts: list[str] = []
    for part in filter(None, text.split(",")):
        if "=" in part or not parts:
            parts.append(part)
        else:
            parts[-1] += f",{part}"
    return assignments("a part", parts)


def resumed_recipe(point: ResumePoint, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the problem settings of a run that continues an old one, by name.

    Settings in ``given`` override those of the old run.
    """
    about = point.problem
    same = given[DATA.name] in (None, about[DATA.in_record])
    recorded = about[OPTIONS.in_record].items() if same else ()
    options = {name: str(value) for name, value in recorded if value is not None}
    filled = {
        one.name: about.get(one.in_record)
        for one in IN_RECORD
        if one is not OPTIONS and given[one.name] is None
    }
    if given[LAM_RATIO.name] is not None:
        filled.pop(LAM.name, None)
    return {**given, **filled, OPTIONS.name: options | given[OPTIONS.name]}


def check_resumed(point: ResumePoint, problem: solvers.Problem) -> None:
    """Raise ValueError if ``problem`` is not the problem of the run to continue."""
    here = problem.describe()
    if here["key"] == point.problem["key"]:
        return
    pairs = ((one.flag, here[one.in_record], point.problem.get(one.in_record)) for one in IN_RECORD)
    other = (
        f"{flag.replace('/', ' or ')} is {now} instead of {then}" for flag, now, then in pairs if now != then
    )
    what = next(other, "the data, --loss-set, --penalty-set or the program differ")
    raise ValueError(
        f"a branch goes on with the problem of its run, and this is not that of {point.file}: {what}"
    )
