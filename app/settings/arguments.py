"""Parsers of the arguments of the command line; every error is one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solverscope import solvers

#: Letters of a run's label, at most.
LONGEST_LABEL = 200


def number(
    flag: str,
    text: str | float | None,
    *,
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    kind: type[float] | type[int] = float,
) -> Any:
    """Return the finite number that a text of an option stands for; return None for None.

    The number must be at least ``low``, or greater than ``above`` if that is given, and at most ``high``. It
    must be whole if ``kind`` is int. Raises ValueError if it is not.
    """
    from solverscope.solvers.declare import NotAllowed, Parameter

    if text is None:
        return None
    least = low if above is None else above
    declared = Parameter(flag, kind(), "", least, high, None, (), open_low=above is not None)
    try:
        return declared.parse(text)
    except NotAllowed as error:
        raise ValueError(f"{flag} {str(text)[:80]} is not possible: give {error.range}") from None


def text_of(value: Any) -> str:
    """Write a value as a text that is read back as an equal value."""
    if not isinstance(value, float):
        return str(value)
    short = f"{value:.10g}"
    return short if float(short) == value else repr(value)


def assignments(flag: str, texts: Iterable[str]) -> dict[str, str]:
    """Parse ``name=value`` texts into a dictionary."""
    return dict(_assignment(flag, text) for text in texts)


def _assignment(flag: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise ValueError(f"{flag} {text} sets nothing: write {flag} name=value")
    return name, value


@dataclass(frozen=True)
class SolverChoice:
    """A solver as ``[LABEL=]ID[,name=value,...]``, with the label of its run. Several joined by + are a
    relay, in which all but the last have ``passes=``, ``iterations=`` or ``until=``."""

    label: str
    id: str
    params: dict[str, str]


def choices(texts: Sequence[str], suffix: str = "") -> list[SolverChoice]:
    """Parse the solvers given; those without a label get their id and the ``suffix``.

    From the second on of one id, the hyper-parameters by which they differ follow the id, as in "prox-qn
    memory=5". If none do, or the label is taken, a number does.
    """
    parsed = [_choice(text) for text in texts]
    taken = [choice.label for choice in parsed if choice.label]
    for label in taken:
        if taken.count(label) > 1:
            raise ValueError(f"two solvers are labelled {label!r}: give each a label of its own")
    named = []
    for choice in parsed:
        name = " ".join([choice.id, *_differing(choice, parsed)])
        label, n = choice.label or name + suffix, 1
        while not choice.label and (label in taken or len(label) > LONGEST_LABEL):
            n += 1
            label = f"{choice.id}-{n}{suffix}"
        taken.append(label)
        named.append(SolverChoice(label, choice.id, choice.params))
    return named


def _differing(choice: SolverChoice, among: Sequence[SolverChoice]) -> list[str]:
    """Return the hyper-parameters by which a solver differs from the others of its id."""
    others = [other.params for other in among if other.id == choice.id and not other.label]
    pairs = choice.params.items()
    return [
        f"{name}={value}"
        for name, value in pairs
        if name != "legs" and any(other.get(name) != value for other in others)
    ]


def _choice(text: str) -> SolverChoice:
    first, *legs = re.split(r"\+(?=[a-z])", text)
    head, *rest = first.split(",")
    label, equals, id = head.rpartition("=")
    if len(label) > LONGEST_LABEL:
        raise ValueError(
            f"the label {label[:20]}… has {len(label):,} letters: give one of at most {LONGEST_LABEL}"
        )
    if not id or (equals and not label):
        raise ValueError(f"--solver {text} names no solver: write --solver [LABEL=]ID[,name=value,...]")
    if not legs:
        return SolverChoice(label, id, assignments(f"--solver {head}:", rest))
    from solverscope.solvers import Relay, expand_legs

    if id.partition("@")[0] == Relay.id:
        return SolverChoice(label, id, assignments(f"--solver {head}:", rest) | {"legs": expand_legs(legs)})
    return SolverChoice(label, Relay.id, {"legs": expand_legs([",".join([id, *rest]), *legs])})


def make_solvers(
    chosen: Sequence[SolverChoice],
    settings: Sequence[str],
    seed: int,
    before: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> list[tuple[str, solvers.Solver]]:
    """Make labels and solvers, with the ``[LABEL.]name=value`` of ``settings`` applied.

    A setting without a label goes to every solver that has the parameter. The solver's own text, or a setting
    with its label, takes precedence. ``seed`` goes to every solver that has one and was given none.
    ``before`` has hyper-parameters by id, which replace defaults unless a preset is asked for.
    """
    from solverscope import solvers

    shared, own = {}, {choice.label: dict(choice.params) for choice in chosen}
    for text in settings:
        label = max((each for each in own if text.startswith(f"{each}.")), key=len, default="")
        name, value = _assignment("--set", text.removeprefix(f"{label}.") if label else text)
        unknown, dot, _ = name.rpartition(".")
        if dot:
            raise ValueError(f"--set {text}: no run is labelled {unknown!r}, only {', '.join(own)}")
        (own[label] if label else shared)[name] = value
    made, used = [], set()
    for choice in chosen:
        defaults = solvers.make_solver(choice.id)
        known = {p.name for p in solvers.parameters(type(defaults))}
        if defaults.presets:
            known.add("preset")
        common = {name: value for name, value in shared.items() if name in known}
        used |= common.keys()
        given = {**common, **own[choice.label]}
        first = {} if "preset" in given else before.get(choice.id, {})
        if not first and "seed" in known:
            first = {"seed": seed}
        made.append((choice.label, solvers.make_solver(choice.id, **{**first, **given})))
    for name in shared.keys() - used:
        raise ValueError(f"--set {name}={shared[name]}: none of the solvers has a parameter {name!r}")
    return made


def lam_values(
    lams: str | None, n_lams: str | None, ends: Mapping[str, str | None]
) -> Callable[[solvers.Problem], list[float]]:
    """Return the λ of the options of ``solverscope path``, as a function of the problem.

    ``ends`` are --lam-from, --lam-to, --ratio-from and --ratio-to. Raises ValueError if they contradict each
    other or name too many.
    """
    from solverscope import solvers

    most = solvers.runs.lam_path.MOST_LAMS
    given = {flag: number(flag, text, above=0) for flag, text in ends.items() if text is not None}
    n = number("--n-lams", n_lams, low=1, high=most, kind=int) or solvers.runs.lam_path.N_LAMS
    if lams is not None:
        if given or n_lams is not None:
            raise ValueError(f"--lams {lams} names all λ: leave {', '.join(given) or '--n-lams'} out")
        values = [number("--lams", text, above=0) for text in lams.split(",")]
        if len(values) > most:
            raise ValueError(f"--lams names {len(values):,} values of λ: give at most {most:,}")
        return lambda problem: values
    absolute, relative = ([flag for flag in given if flag.startswith(kind)] for kind in ("--lam", "--ratio"))
    if absolute and (relative or len(absolute) == 1):
        raise ValueError(
            f"{' and '.join(given)} do not name a range: give --lam-from with --lam-to, or ratios"
        )
    if absolute:
        return lambda problem: solvers.log_spaced(problem, n, *given.values(), relative=False)
    ends = {{"--ratio-from": "first", "--ratio-to": "last"}[flag]: value for flag, value in given.items()}
    return lambda problem: solvers.log_spaced(problem, n, **ends)
