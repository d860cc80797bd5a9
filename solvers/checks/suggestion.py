"""A suggestion: the fields that a solver could yield so that more checks apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..declare import Trait
from ..methods.solver import Solver

#: Beginnings of the reasons that iterates lack a field or a live reference.
NOTHING_TOLD = "no iterate "


class Suggested(NamedTuple):
    """A field or a live reference of an iterate, the usual name of its value, and the checks that read it."""

    name: str
    value: str
    live: bool
    checks: tuple[str, ...]


_LINE = (
    "iterate_is_a_step_along_the_direction",
    "direction_descends",
    "trials_are_f_along_the_line",
    "accepted_step_decreases_f",
)
_PROX = ("iterate_is_a_proximal_step", "accelerated_step_is_short_enough")
_PAIRS = (
    "pairs_are_counted",
    "no_more_pairs_than_memory_says",
    "pairs_have_positive_curvature",
    "pairs_are_differences_of_iterates",
)
SUGGESTED = (
    Suggested("found", "found", False, _LINE),
    Suggested("step", "t", False, _PROX),
    Suggested("violation", "violation", False, ("violation_is_that_of_w",)),
    Suggested("gradient", "g", True, ("gradient_is_that_of_w",)),
    Suggested("prox_from", "y", True, _PROX),
    Suggested("memory", "pairs", True, _PAIRS),
    Suggested("inverse", "lambda v: B(v)", True, ("newest_pair_satisfies_the_secant_equation",)),
)


def suggestion(solver: Solver, inapplicable: Mapping[str, str]) -> str:
    """Return code that a solver could use to yield an iterate, and the checks that would then apply.

    ``inapplicable`` has the reasons by the names of the checks. Fields that are of no use for methods of the
    solver's kind are left out. Return "" if nothing is left.
    """
    left_out = set(_LINE if Trait.PROX in solver.needs else _PROX)
    if not hasattr(solver, "memory"):
        left_out |= {*_PAIRS, "newest_pair_satisfies_the_secant_equation"}
    missing = {
        name
        for name, reason in inapplicable.items()
        if reason.startswith(NOTHING_TOLD) and name not in left_out
    }
    chosen = [one for one in SUGGESTED if missing.intersection(one.checks)]
    if not chosen:
        return ""
    told = [f"{one.name}={one.value}" for one in chosen if not one.live]
    shown = [f'"{one.name}": {one.value}' for one in chosen if one.live]
    if shown:
        told.append(f"live={{{', '.join(shown)}}}")
    possible = dict.fromkeys(name for one in chosen for name in one.checks if name in missing)
    return (
        f"{len(possible)} checks had nothing to compare: {', '.join(possible)}\n"
        f"   they need, with what it already tells: yield solvers.Iterate.at(point, n, {', '.join(told)})\n"
        "   or some of it: help(solvers.Iterate.at) and help(solvers.LIVE) say what each is"
    )
