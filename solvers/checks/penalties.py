"""Checks of penalties: value, slope, subgradient, prox and λ_max, each by its definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..declare import Trait
from ..problems.penalties import Penalty
from .finding import Checks, Fault, Faults

#: λ, outputs of a row, and weights that are checked.
LAM_OF_CHECKS, WIDTH_OF_CHECKS, WEIGHTS_OF_CHECKS = 0.3, 3, 12
#: Relative error of what is compared.
PENALTY_SHARE = 1e-6

penalties = Checks()


@dataclass
class PenaltyBench:
    """A penalty with a λ, for weights in rows."""

    penalty: Penalty

    def __post_init__(self) -> None:
        chosen = self.penalty
        if chosen.takes_lam and not chosen.lam:
            chosen = chosen.at_lam(LAM_OF_CHECKS)
        self.penalty = chosen.over(WIDTH_OF_CHECKS)

    @property
    def weights(self) -> Iterator[np.ndarray]:
        """Yield weights without zeros, with some zeros, with a row of zeros, and all zero."""
        rng = np.random.default_rng(4)
        w = np.round(rng.normal(size=WEIGHTS_OF_CHECKS), 2)
        yield w
        some = w.copy()
        some[::4] = 0.0
        yield some
        some[:WIDTH_OF_CHECKS] = 0.0
        yield some
        yield np.zeros(WEIGHTS_OF_CHECKS)

    @property
    def directions(self) -> Iterator[np.ndarray]:
        """Yield directions, including those of single weights."""
        rng = np.random.default_rng(5)
        yield from np.round(rng.normal(size=(6, WEIGHTS_OF_CHECKS)), 2)
        yield from np.eye(WEIGHTS_OF_CHECKS)[::5]

    @property
    def gradients(self) -> Iterator[np.ndarray]:
        """Yield gradients: small ones, for which zeros stay optimal, and large ones."""
        rng = np.random.default_rng(6)
        for size in (0.1, 3.0):
            yield np.round(size * rng.normal(size=WEIGHTS_OF_CHECKS), 3)

    def kinks(self, w: np.ndarray) -> float:
        """Return the value without the ridge."""
        return self.penalty.value(w) - 0.5 * self.penalty.ridge_product(w, w)


@penalties("penalty", "λR is 0 at w = 0, finite, and convex")
def value_is_convex(bench: PenaltyBench) -> Faults:
    value = bench.penalty.value
    zero = value(np.zeros(WEIGHTS_OF_CHECKS))
    if zero != 0.0:
        yield Fault(f"the value at w = 0 is {zero:.6g}")
    for w in bench.weights:
        for d in bench.directions:
            low, middle, high = value(w - d), value(w), value(w + d)
            if not np.isfinite(middle) or middle > 0.5 * (low + high) + 1e-9 * max(1.0, abs(middle)):
                yield Fault(
                    f"the value is {middle:.9g} between two weights with the mean {0.5 * (low + high):.9g}"
                )


@penalties("slope", "slope is the derivative of t -> λR(w + td) from its side")
def slope_is_a_difference(bench: PenaltyBench) -> Faults:
    h = 1e-7
    for w in bench.weights:
        for d in bench.directions:
            for side in (1, -1):
                shown = bench.penalty.slope(w, d, side)
                fresh = side * (bench.penalty.value(w + side * h * d) - bench.penalty.value(w)) / h
                if not abs(shown - fresh) <= 1e-4 * max(1.0, abs(fresh)):
                    yield Fault(f"the slope is {shown:.6g} for side {side}, and a difference is {fresh:.6g}")


@penalties("prox", "prox(v, t) is the minimum of ½‖w - v‖² + t·(the part with kinks)")
def prox_is_a_minimum(bench: PenaltyBench) -> Faults:
    if Trait.PROX not in bench.penalty.traits:
        return "it does not offer PROX"
    for v in bench.weights:
        for step in (0.1, 2.0):
            p = bench.penalty.prox(v, step)

            def objective(w: np.ndarray, v: np.ndarray = v, step: float = step) -> float:
                return 0.5 * float((w - v) @ (w - v)) + step * bench.kinks(w)

            least = objective(p)
            for d in (*bench.directions, v - p, -p):
                for t in (1e-3, -1e-3, 0.1, -0.1):
                    near = objective(p + t * d)
                    if near < least - 1e-12 * max(1.0, least):
                        yield Fault(
                            f"prox has the value {least:.9g} for step {step:g}, and {near:.9g} is nearby"
                        )
                        return


@penalties("prox", "p = prox(v, t) solves p - v + t·subgradient = 0: there is no violation")
def prox_has_no_violation(bench: PenaltyBench) -> Faults:
    if Trait.PROX not in bench.penalty.traits:
        return "it does not offer PROX"
    for v in bench.weights:
        for step in (0.1, 2.0):
            p = bench.penalty.prox(v, step)
            violation = bench.penalty.violation(p, (p - v) / step)
            if not violation <= 1e-9:
                yield Fault(f"at prox(v, {step:g}) the violation is {violation:.6g}")


@penalties("prox", "prox leaves its argument as it is, and returns another array")
def prox_leaves_its_argument(bench: PenaltyBench) -> Faults:
    if Trait.PROX not in bench.penalty.traits:
        return "it does not offer PROX"
    for v in bench.weights:
        given = v.copy()
        if np.shares_memory(bench.penalty.prox(given, 1.0), given):
            yield Fault("prox returns the array that it was given")
        elif not np.array_equal(given, v):
            yield Fault(f"prox changes entry {np.argmax(given != v)} of the array that it is given")


@penalties("subgradient", "the minimum-norm subgradient s is the steepest descent: f'(w; -s) = -‖s‖²")
def subgradient_is_the_shortest(bench: PenaltyBench) -> Faults:
    for w in bench.weights:
        for g in bench.gradients:
            s = bench.penalty.subgradient(w, g)
            ridge = bench.penalty.ridge_product(w, -s)  # it is in g already
            slope, squares = float(g @ -s) + bench.penalty.slope(w, -s) - ridge, float(s @ s)
            if not abs(slope + squares) <= PENALTY_SHARE * max(1.0, squares):
                yield Fault(f"along -s the slope of f is {slope:.6g}, and -‖s‖² is {-squares:.6g}")


@penalties("subgradient", "the subgradient s of f is one: f'(w; d) >= sᵀd in every direction")
def subgradient_is_one(bench: PenaltyBench) -> Faults:
    for w in bench.weights:
        for g in bench.gradients:
            s = bench.penalty.subgradient(w, g)
            for d in (*bench.directions, -g, *np.eye(WEIGHTS_OF_CHECKS), *-np.eye(WEIGHTS_OF_CHECKS)):
                for along in (d, np.where(w == 0.0, d, 0.0)):
                    ridge = bench.penalty.ridge_product(w, along)  # it is in g already
                    slope, least = float(g @ along) + bench.penalty.slope(w, along) - ridge, float(s @ along)
                    if slope < least - PENALTY_SHARE * max(1.0, abs(least)):
                        yield Fault(f"the slope of f is {slope:.6g} in a direction d with sᵀd = {least:.6g}")
                        return


@penalties("violation", "violation is the size of the minimum-norm subgradient: an entry, or a block")
def violation_is_the_size_of_the_subgradient(bench: PenaltyBench) -> Faults:
    for w in bench.weights:
        for g in bench.gradients:
            s, shown = bench.penalty.subgradient(w, g), bench.penalty.violation(w, g)
            low, high = float(np.abs(s).max()), float(np.linalg.norm(s))
            if not low * (1.0 - PENALTY_SHARE) - 1e-12 <= shown <= high * (1.0 + PENALTY_SHARE) + 1e-12:
                yield Fault(
                    f"violation is {shown:.6g}, and the subgradient has entries to {low:.6g}, norm {high:.6g}"
                )


@penalties("lam_max", "w = 0 is optimal at λ_max and above, and not below")
def zero_is_optimal_from_lam_max_on(bench: PenaltyBench) -> Faults:
    zero = np.zeros(WEIGHTS_OF_CHECKS)
    for g in bench.gradients:
        lam = bench.penalty.lam_max(g)
        if lam is None:
            return "there is no λ_max"
        at, below = (bench.penalty.at_lam(share * lam).violation(zero, g) for share in (1.0 + 1e-9, 0.99))
        if at > 1e-6 * float(np.abs(g).max()):
            yield Fault(f"at λ_max = {lam:.6g} the violation of w = 0 is {at:.6g}")
        elif not below > 0.0:
            yield Fault(f"at 0.99 λ_max = {0.99 * lam:.6g} the violation of w = 0 is {below:.6g}")
    return None


@penalties("penalty", "a penalty that separates by weights is the sum of its parts")
def value_separates(bench: PenaltyBench) -> Faults:
    traits = bench.penalty.traits
    if not traits & (Trait.SEPARABLE | Trait.GROUP_SEPARABLE):
        return "it does not separate"
    step = 1 if Trait.SEPARABLE in traits else WIDTH_OF_CHECKS
    for w in bench.weights:
        parts = sum(bench.penalty.value(w[k : k + step]) for k in range(0, w.size, step))
        whole = bench.penalty.value(w)
        if not abs(parts - whole) <= 1e-9 * max(1.0, abs(whole)):
            yield Fault(f"the value is {whole:.9g}, and the sum over its parts is {parts:.9g}")
