"""Parsers of the arguments of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solverscope import solvers

#: Maximal number of characters of a run's label.
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
    """Parse the value of an option as a finite number; return None for None.

    The number must be at least ``low``, greater than ``above`` and at most ``high``, if these are given. It
    must be an integer if ``kind`` is int. Raises ValueError if the value is invalid; the message names
    ``flag``.
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
    """Return the string that represents a value: floats have up to ten digits, or all that are needed to read
    back an equal value."""
    if not isinstance(value, float):
        return str(value)
    short = f"{value:.10g}"
    return short if float(short) == value else repr(value)


def assignments(flag: str, texts: Iterable[str]) -> dict[str, str]:
    """Parse ``name=value`` strings into a dictionary."""
    return dict(_assignment(flag, text) for text in texts)


def _assignment(flag: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise ValueError(f"{flag} {text} sets nothing: write {flag} name=value")
    return name, value


@dataclass(frozen=True)
class SolverChoice:
    """A solver as written on the command line, ``[LABEL=]ID[,name=value,...]``, with the label of its run.

    Several solvers joined by + form a relay. All of them but the last need ``passes=``, ``iterations=`` or
    ``until=``.
    """

    label: str
    id: str
    params: dict[str, str]


def choices(texts: Sequence[str], suffix: str = "") -> list[SolverChoice]:
    """Parse solvers as written on the command line, and label those that have no label.

    The label of such a solver is its id, followed by ``suffix``. If the same id occurs several times, the
    hyper-parameters that differ are added, as in "prox-qn memory=5". A number is added if there are none, or
    if the label is already taken. Raises ValueError if two solvers were given the same label.
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
    """Return the hyper-parameters, as ``name=value``, in which a solver differs from others with
    the same id."""
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
    """Build the chosen solvers and return them with their labels.

    Raises ValueError if a setting has an unknown label, or applies to none of the solvers.

    Parameters
    ----------
    chosen : sequence of SolverChoice
        The solvers with their own hyper-parameters, which take precedence over shared settings.
    settings : sequence of str
        Hyper-parameters as ``[LABEL.]name=value``. One without a label applies to every solver that has this
        parameter.
    seed : int
        The seed of all solvers that have a parameter ``seed`` for which no value is given.
    before : mapping
        Hyper-parameters by solver id that replace the defaults, unless a preset is requested.
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
    """Return a function that computes the λ of ``solverscope path`` for a problem.

    ``ends`` contains the values of --lam-from, --lam-to, --ratio-from and --ratio-to. Raises ValueError if
    the options contradict each other or request too many λ.
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
