"""An experiment as a value: a problem, the solvers that run on it, their limits, and where they begin.

What the command line, the page's address and a table of a sweep say is read into one, and written from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from solverscope import datasets, solvers
from solverscope.app.settings import turns, words
from solverscope.app.settings.arguments import Choice, assignments, choices, make_solvers, number
from solverscope.app.settings.own_file_names import named
from solverscope.app.settings.recipe import (
    LAM,
    LIMITS,
    SEED,
    THREADS,
    Entrant,
    Limits,
    Recipe,
    default_entrants,
    fits,
    info_of,
    make_run,
    text_of,
    typed,
)
from solverscope.app.settings.resumed import Resumed
from solverscope.app.settings.turns import Dial, Turn
from solverscope.solvers import LOSSES, PENALTIES, Condition, Parameter, parameters
from solverscope.solvers.declare import MOST_SEED, NotAllowed
from solverscope.solvers.registry import lookup, make

#: Solvers in one race.
MOST_SOLVERS = 12


@dataclass(frozen=True)
class Experiment:
    """A problem, the solvers that run on it, where they stop, the iterate they go on from, if any, and the
    iterates from which λ is another one."""

    problem: Recipe
    entrants: tuple[Entrant, ...]
    limits: Limits = field(default_factory=Limits)
    origin: Resumed | None = None
    lams: tuple[Turn, ...] = ()

    @property
    def entrant(self) -> Entrant:
        """Return its only entrant."""
        (entrant,) = self.entrants
        return entrant

    # what is executed

    def check(self, problem: solvers.Problem) -> None:
        """Raise ValueError, one sentence, where the problem is not that of the origin, or a solver cannot run
        on it with these limits."""
        if self.origin is not None:
            self.origin.check(problem)
        if self.lams and not problem.penalty.takes_lam:
            raise ValueError(f"the penalty {problem.penalty.id} has no λ to change: leave --lam-at out")
        for solver in (entrant.make() for entrant in self.entrants):
            if reason := solver.refuses(problem):
                raise ValueError(f"solver {solver.id} refuses this problem: {reason}")
            if self.limits.tol is not None and (reason := solvers.why_not_tolerance(problem, solver.knows)):
                raise ValueError(f"a tol of {self.limits.tol:g} {reason}")

    def run(
        self,
        entrant: Entrant,
        problem: solvers.Problem,
        gate: solvers.Gate,
        reference: Mapping[str, Any] | None = None,
    ) -> solvers.Run:
        """Return the run of an entrant; ``reference`` is the record of f*, where it is known."""
        stopping = self.limits.stopping(None if reference is None else reference["f_star"])
        how = {"label": entrant.label, "gate": Dial(gate, self.lams) if self.lams else gate}
        origin = None if self.origin is None else self.origin.origin
        return make_run(problem, entrant.make(), stopping, reference=reference, origin=origin, **how)

    # the command line

    @classmethod
    def from_arguments(
        cls,
        dataset: str | None,
        solver: Sequence[str],
        *,
        set_: Sequence[str] = (),
        option: Sequence[str] = (),
        loss_set: Sequence[str] = (),
        penalty_set: Sequence[str] = (),
        seed: str | None = None,
        threads: str = "1",
        break_: Sequence[str] = (),
        from_: str | None = None,
        lam_at: Sequence[str] = (),
        average: bool | None = None,
        **given: str | None,
    ) -> Self:
        """Return what the options of ``solverscope run`` ask for, ``given`` by their names: loss, penalty,
        lam, lam_ratio, tol, gap, f_star, max_iter and max_seconds. Raises ValueError, one sentence."""
        limits = Limits(
            tol=number("--tol", given.get("tol"), low=0),
            gap=number("--gap", given.get("gap"), low=0),
            f_star=_f_star(given.get("gap"), given.get("f_star")),
            max_iter=number("--max-iter", given.get("max_iter"), low=0, kind=int),
            max_seconds=number("--max-seconds", given.get("max_seconds"), low=0),
            breaks=tuple(map(Condition.parse, break_)),
        )
        if lam_at and limits.gap is not None:
            raise ValueError("--gap is measured against f* of one λ: leave it or --lam-at out")
        recipe = {
            "data": dataset,
            "options": assignments("--option", option),
            "seed": number("--seed", seed, low=0, high=MOST_SEED, kind=int),
            "loss": given.get("loss"),
            "penalty": given.get("penalty"),
            "lam": number("--lam", given.get("lam"), above=0),
            "lam_ratio": number("--lam-ratio", given.get("lam_ratio"), above=0),
            "average": average,
            "threads": number("--threads", threads, low=1, kind=int),
        }
        origin, before, chosen = None, {}, choices(solver)
        if from_ is not None:
            origin = Resumed.parse(from_)
            recipe, before = origin.recipe(recipe), origin.params(limits.tol)
            chosen = choices(solver, origin.suffix) or [origin.choice]
        recipe["seed"] = recipe["seed"] or 0
        values = datasets.describe(recipe["data"]).parse(recipe["options"])
        recipe["options"] = {name: values[name] for name in recipe["options"]}
        for noun, table, texts in (("loss", LOSSES, loss_set), ("penalty", PENALTIES, penalty_set)):
            pairs, id = assignments(f"--{noun}-set", texts), recipe[noun]
            made = None if id is None or not pairs else make(lookup(table, noun, id), noun, pairs)
            recipe[f"{noun}_params"] = {n: v if made is None else getattr(made, n) for n, v in pairs.items()}
        made = make_solvers(chosen, set_, recipe["seed"], before)
        entrants = tuple(Entrant.of(label, solver) for label, solver in made)
        return cls(Recipe(**recipe), entrants, limits, origin, turns.parse(lam_at))

    def repeated(self, n: int) -> tuple[Self, dict[str, str]]:
        """Return the experiment with n runs of each solver, in rounds so that all share good and bad moments
        of the machine, and the label of the solver by that of the run, which is the same for one run. A
        solver that makes random choices has the next seed in each round."""
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
        """Return the arguments of ``solverscope`` that ask for it."""
        p, limits = self.problem, self.limits
        said = ["run", p.data]
        for flag, values in (
            *(("--option", p.options), ("--loss-set", p.loss_params), ("--penalty-set", p.penalty_params)),
        ):
            said += [word for name, value in values.items() for word in (flag, f"{name}={text_of(value)}")]
        for flag, value in {
            **{"--seed": p.seed, "--loss": p.loss, "--penalty": p.penalty, "--lam": p.lam},
            **{"--lam-ratio": p.lam_ratio, "--threads": p.threads if p.threads > 1 else None},
            **{"--tol": limits.tol, "--gap": limits.gap, "--f-star": limits.f_star},
            **{"--max-iter": limits.max_iter, "--max-seconds": limits.max_seconds},
            "--from": None if self.origin is None else self.origin.text,
        }.items():
            said += [] if value is None else [flag, text_of(value)]
        said += [] if p.average is None else ["--average" if p.average else "--sum"]
        said += [word for one in limits.breaks for word in ("--break", one.text)]
        said += [word for first, lam in self.lams for word in ("--lam-at", f"{first}={text_of(lam)}")]
        return said + [word for entrant in self.entrants for word in ("--solver", self._argument(entrant))]

    def _argument(self, entrant: Entrant) -> str:
        """Return an entrant with the hyper-parameters that the command line would fill in otherwise."""
        before = {} if self.origin is None else self.origin.params(self.limits.tol)
        choice = Choice(entrant.label, entrant.id, {})
        ((_, usual),) = make_solvers([choice], (), self.problem.seed, before)
        params = {n: v for n, v in asdict(entrant.make()).items() if v != getattr(usual, n)}
        return str(replace(entrant, params=params))

    # a table: TOML or JSON

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Self:
        """Return the experiment that was written as a table; ValueError where it is none."""
        try:
            limits = {**table.get("limits", {})}
            limits["breaks"] = tuple(map(Condition.parse, limits.get("breaks", ())))
            entrants = tuple(Entrant(**one) for one in table["entrants"])
            origin = Resumed.parse(table["from"]) if "from" in table else None
            lams = tuple((int(first), float(lam)) for first, lam in table.get("lams", ()))
            return cls(Recipe(**table["problem"]), entrants, Limits(**limits), origin, lams)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no table of an experiment: {error}") from None

    def table(self) -> dict[str, Any]:
        """Return it as TOML and JSON know it: what is not said is as usual."""
        limits = vars(self.limits) | {"breaks": [one.text for one in self.limits.breaks]}
        entrants = [_said(vars(entrant)) for entrant in self.entrants]
        table = {"problem": _said(vars(self.problem)), "entrants": entrants, "limits": _said(limits)}
        table |= {"lams": [list(turn) for turn in self.lams]} if self.lams else {}
        return table if self.origin is None else table | {"from": self.origin.text}

    def toml(self) -> str:
        """Return its table as text."""
        return "".join(f"{name} = {toml(value)}\n" for name, value in self.table().items())

    @property
    def key(self) -> str:
        """Hash all that determines its runs, hyper-parameters at their defaults among it."""
        params = [asdict(entrant.make()) for entrant in self.entrants]
        text = json.dumps([self.table(), params], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    # the page and its address

    @classmethod
    def from_address(cls, query: Mapping[str, str], base: Self) -> tuple[Self, list[str]]:
        """Return ``base`` changed by parameters of a URL, and a sentence for each that could not be used."""
        found, wrong = cls.read_parts(query, base)
        return found, [
            f"{name}={query[name]!r} in the address was left out: {why}" for name, why in wrong.items()
        ]

    @classmethod
    def read_parts(cls, query: Mapping[str, str], base: Self) -> tuple[Self, dict[str, str]]:
        """Return ``base`` changed by parameters as a URL has them, and why some of them could not be used."""
        found: Any = base
        wrong: dict[str, str] = {}
        for name, read in _READERS.items():
            text = query.get(name)
            if text is None or (name == "data" and text == found.problem.data):
                continue
            try:
                if any(character < " " for character in text):
                    raise ValueError("it has a character that cannot be printed")
                found = read(found, text)
            except ValueError as error:
                wrong[name] = str(error)
        fitting = tuple(entrant for entrant in found.entrants if fits(entrant, found.problem) is None)
        return replace(found, entrants=fitting or default_entrants(found.problem)), wrong

    def changes(self, base: Self) -> dict[str, str]:
        """Return the parameters of a URL that make ``base`` this one: of all, those that differ then."""
        found, said = base, {}
        for name, text in self.address().items():
            if text == found.address()[name] or (name == "solvers" and not text):
                continue
            said[name] = text
            with suppress(ValueError):  # a file of a visitor's own, which no address names
                found = _READERS[name](found, text)
        return said

    def address(self) -> dict[str, str]:
        """Return what the page shows of it as parameters of a URL; every one of them is written, so that
        defaults may change."""
        p = self.problem
        return {
            "data": p.data if p.data in datasets.DATASETS else named(p.data),
            "options": _pairs(p.options),
            "seed": str(p.seed),
            "loss": p.loss or "",
            "penalty": ",".join([p.penalty or "", *([_pairs(p.penalty_params)] if p.penalty_params else [])]),
            "lam": "" if p.lam is None else text_of(p.lam),
            "threads": str(p.threads),
            "solvers": ";".join(map(str, self.entrants)),
            **{limit.name: text_of(getattr(self.limits, limit.name)) for limit in LIMITS},
        }


def _read_data(base: Experiment, text: str) -> Experiment:
    if text not in datasets.DATASETS:  # else an address could name any file of this machine
        listed = ", ".join(datasets.DATASETS)
        raise ValueError(
            f"there is no data set {text!r}: choose one of {listed}; a file of your own is dropped on the "
            "page, or given to `solverscope serve --data FILE`"
        )
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
        raise ValueError(f"there is no penalty {id!r}: choose one of {', '.join(PENALTIES)}")
    given = _unpairs(pairs)
    known = {p.name for p in parameters(PENALTIES[id])}
    if unknown := given.keys() - known:
        raise ValueError(f"penalty {id} has no parameter {min(unknown)!r}")
    return replace(
        base, problem=replace(base.problem, penalty=id, penalty_params=typed(PENALTIES[id], given))
    )


def _read_solvers(base: Experiment, text: str) -> Experiment:
    chosen = Entrant.parse_all(filter(None, text.split(";")))
    for solver in chosen:
        if reason := fits(solver, base.problem):
            raise ValueError(f"{solver.id} {reason}")
    if not 0 < len(chosen) <= MOST_SOLVERS:
        raise ValueError(f"name one to {MOST_SOLVERS} solvers")
    return replace(base, entrants=chosen)


def _reader(part: str, declared: Parameter) -> Callable[[Experiment, str], Experiment]:
    """Return what reads a number of the problem or of the limits; none of a λ leaves it to the data."""

    def read(base: Experiment, text: str) -> Experiment:
        try:
            value = declared.parse(text) if text or declared is not LAM else None
        except NotAllowed as error:
            raise ValueError(words.of_field(declared, error)) from None
        return replace(base, **{part: replace(getattr(base, part), **{declared.name: value})})

    return read


_READERS: dict[str, Callable[[Experiment, str], Experiment]] = {
    "data": _read_data,
    "options": _read_options,
    "seed": _reader("problem", SEED),
    "loss": _read_loss,
    "penalty": _read_penalty,
    "lam": _reader("problem", LAM),
    "threads": _reader("problem", THREADS),
    "solvers": _read_solvers,
    **{limit.name: _reader("limits", limit) for limit in LIMITS},
}


def _f_star(gap: str | None, f_star: str | None) -> float | str | None:
    if f_star == "auto" or (gap is not None and f_star is None):
        return "auto"
    return number("--f-star", f_star)


def _said(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", {}, [])}


def toml(value: Any) -> str:
    """Return a value as TOML has it within a line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _pairs(values: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={text_of(value)}" for name, value in values.items())


def _unpairs(text: str) -> dict[str, str]:
    """Parse ``name=value,...``; a value may have commas, as "start=1,2" has."""
    parts: list[str] = []
    for part in filter(None, text.split(",")):
        if "=" in part or not parts:
            parts.append(part)
        else:
            parts[-1] += f",{part}"
    return assignments("a part", parts)
