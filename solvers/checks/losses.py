"""Checks of losses: values, derivatives, curvature and conjugate, each by its definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..compute.lazy import lazy
from ..declare import Trait
from ..linalg.scores import Scores
from ..problems.losses.loss import BoundLoss, Loss
from ..problems.problem import Problem
from .case import CheckCase
from .finding import Checks, Fault, Faults

#: Step and relative error of central differences.
DIFFERENCE_STEP, DIFFERENCE_SHARE = 1e-5, 1e-4
#: Sizes of the scores at which a loss is checked.
SCORE_SIZES = (0.3, 3.0)

losses = Checks()


@dataclass
class LossBench:
    """A loss bound to the labels of a case, and scores at which to check it."""

    loss: Loss
    case: CheckCase

    @lazy
    def problem(self) -> Problem:
        return self.case.problem()

    @property
    def bound(self) -> BoundLoss:
        return self.problem.loss

    @property
    def points(self) -> Iterator[tuple[Scores, Scores]]:
        """Yield scores of several sizes, each with a change of the scores."""
        rng = np.random.default_rng(3)
        shape = self.problem.design.n_rows, self.bound.n_outputs
        for size in SCORE_SIZES:
            at, delta = (
                Scores(
                    np.round(s * rng.normal(size=shape), 3),
                    np.round(s * rng.normal(size=self.bound.n_tail), 3),
                )
                for s in (size, 1.0)
            )
            yield at, delta

    def offers(self, trait: Trait) -> bool:
        return trait in self.bound.traits

    @property
    def size(self) -> float:
        """Return the scale of values, at least 1, for tolerances."""
        return max(1.0, abs(self.bound.value(next(self.points)[0])))


@losses("loss", "a value is finite, and no less than `least` for each instance")
def values_are_numbers(bench: LossBench) -> Faults:
    for at, _ in bench.points:
        values = bench.bound.values(at)
        if values.shape != (bench.bound.n_instances,):
            yield Fault(f"values has the shape {values.shape} for {bench.bound.n_instances} instances")
        elif not np.isfinite(values).all():
            yield Fault(f"the loss of instance {np.argmin(np.isfinite(values))} is not finite")
        elif values.min() < bench.bound.least - 1e-12:
            i = int(np.argmin(values))
            yield Fault(
                f"the loss of instance {i} is {values[i]:.6g}, and `least` is {bench.bound.least:.6g}"
            )


@losses("loss", "the loss of some instances is the same among others")
def a_subset_has_its_own_values(bench: LossBench) -> Faults:
    chosen = np.arange(0, bench.bound.n_instances, 3)
    at, _ = next(bench.points)
    part, rows = bench.bound.subset(chosen)
    fresh, all_values = part.values(Scores(at.Z[rows], at.tail)), bench.bound.values(at)[chosen]
    if not np.allclose(fresh, all_values, rtol=1e-9, atol=1e-12):
        i = int(np.argmax(np.abs(fresh - all_values)))
        yield Fault(f"instance {chosen[i]} has the loss {all_values[i]:.9g}, and {fresh[i]:.9g} in a subset")


@losses("loss", "the loss is convex: on a chord no value is above it")
def loss_is_convex(bench: LossBench) -> Faults:
    for at, delta in bench.points:
        ts = np.linspace(-2.0, 2.0, 9)
        values = np.array([bench.bound.value(at, delta, t) for t in ts])
        above = values[1:-1] - 0.5 * (values[:-2] + values[2:])
        k = int(np.argmax(above))
        if above[k] > 1e-9 * bench.size:
            middle, chord = values[k + 1], 0.5 * (values[k] + values[k + 2])
            yield Fault(f"the loss is {middle:.9g} between two scores at which its mean is {chord:.9g}")


@losses("gradient", "the residual is ∂L/∂Z: a central difference of values")
def residual_is_the_derivative(bench: LossBench) -> Faults:
    if not bench.offers(Trait.SMOOTH):
        return "it does not offer SMOOTH"
    for at, _ in bench.points:
        residual = bench.bound.residual(at)
        for name, shown in (("Z", residual.Z), ("tail", residual.tail)):
            for place in np.ndindex(*shown.shape):
                one = Scores(np.zeros_like(at.Z), np.zeros_like(at.tail))
                getattr(one, name)[place] = 1.0
                fresh = _difference(bench.bound, at, one)
                if not abs(shown[place] - fresh) <= DIFFERENCE_SHARE * max(abs(fresh), 1e-2):
                    where = ", ".join(map(str, place))
                    yield Fault(
                        f"∂L/∂{name} is {shown[place]:.9g} at ({where}), and a difference is {fresh:.9g}"
                    )


@losses("gradient", "the slope along a line is that of the values on its side")
def slopes_are_differences(bench: LossBench) -> Faults:
    if not (bench.offers(Trait.SMOOTH) or bench.offers(Trait.DIRECTIONAL_DERIVATIVE)):
        return "it offers neither SMOOTH nor DIRECTIONAL_DERIVATIVE"
    h = 1e-7
    for at, delta in bench.points:
        for t, side in ((0.0, 1), (0.0, -1), (0.4, 1)):
            slope = bench.bound.slope(at, delta, t, side)
            values = [bench.bound.value(at, delta, t + side * step) for step in (0.0, h)]
            fresh = side * (values[1] - values[0]) / h
            if not abs(slope - fresh) <= 1e-3 * max(abs(fresh), bench.size):
                yield Fault(f"the slope at {t:g} is {slope:.6g}, and a difference on that side {fresh:.6g}")


@losses("gradient", "the residual is a subgradient: L(Z + D) >= L(Z) + ‹G, D›")
def residual_is_a_subgradient(bench: LossBench) -> Faults:
    for at, delta in bench.points:
        G, here = bench.bound.residual(at), bench.bound.value(at)
        for t in (1.0, -1.0, 0.1, -0.1):
            there, below = bench.bound.value(at, delta, t), here + t * G.dot(delta)
            if there < below - 1e-9 * max(bench.size, abs(below)):
                yield Fault(f"L(Z + D) is {there:.9g}, less than L(Z) + ‹G, D› = {below:.9g}")


@losses("curvature", "a product with the Hessian is a difference of residuals")
def hessian_is_the_derivative_of_the_residual(bench: LossBench) -> Faults:
    if not bench.offers(Trait.HESSIAN):
        return "it does not offer HESSIAN"
    for at, delta in bench.points:
        product = bench.bound.hessian(at, bench.bound.residual(at))(delta)
        up, down = (bench.bound.residual(at.plus(h, delta)) for h in (DIFFERENCE_STEP, -DIFFERENCE_STEP))
        for name in ("Z", "tail"):
            fresh = (getattr(up, name) - getattr(down, name)) / (2.0 * DIFFERENCE_STEP)
            shown = getattr(product, name)
            if fault := _entry("the product with the Hessian", shown, fresh, 1e-3):
                yield Fault(fault)


@losses("curvature", "second derivatives are differences of residuals")
def diagonal_is_that_of_the_hessian(bench: LossBench) -> Faults:
    if not (bench.offers(Trait.DIAGONAL_HESSIAN) or bench.offers(Trait.HESSIAN)):
        return "it offers neither DIAGONAL_HESSIAN nor HESSIAN"
    rows = np.arange(bench.problem.design.n_rows)
    if bench.case.offsets is not None:  # tokens of a sequence move together
        rows = bench.case.offsets[:-1]
    for at, _ in bench.points:
        shown = bench.bound.second_derivatives(at, bench.bound.residual(at)).Z
        for c in range(bench.bound.n_outputs):
            one = Scores(np.zeros_like(at.Z), np.zeros_like(at.tail))
            one.Z[rows, c] = 1.0
            up, down = (bench.bound.residual(at.plus(h, one)).Z for h in (DIFFERENCE_STEP, -DIFFERENCE_STEP))
            fresh = (up - down)[rows, c] / (2.0 * DIFFERENCE_STEP)
            if fault := _entry(f"∂²L/∂z² of output {c}", shown[rows, c], fresh, 1e-3):
                yield Fault(fault)


@losses("curvature", "`curvature` bounds how fast the residual of a row changes")
def curvature_bounds_the_change_of_the_residual(bench: LossBench) -> Faults:
    if not bench.offers(Trait.LIPSCHITZ) or bench.case.offsets is not None:
        return "it offers no bound of the curvature of a row (LIPSCHITZ)"
    for tight in (True, False):
        bounds = bench.bound.curvature(tight)
        for (at, delta), t in ((point, t) for point in bench.points for t in (0.01, 1.0)):
            change = bench.bound.residual(at.plus(t, delta)).Z - bench.bound.residual(at).Z
            most = bounds * np.linalg.norm(t * delta.Z, axis=1)
            length = np.linalg.norm(change, axis=1)
            i = int(np.argmax(length - most))
            if length[i] > most[i] * (1.0 + 1e-9) + 1e-12:
                yield Fault(
                    f"the residual of row {i} changes by {length[i]:.6g}, and its curvature {bounds[i]:.6g} "
                    f"allows {most[i]:.6g}"
                )


@losses("conjugate", "-L*(αG) = min over Z of L(Z) - α‹G, Z›: never above, and L(Z) - ‹G, Z› for α = 1")
def dual_value_is_a_minimum(bench: LossBench) -> Faults:
    if not bench.offers(Trait.CONJUGATE):
        return "it does not offer CONJUGATE"
    for (at, delta), alpha in ((point, alpha) for point in bench.points for alpha in (1.0, 0.6)):
        G = bench.bound.residual(at)
        dual = bench.bound.dual_value(at, G, alpha)
        values = [
            bench.bound.value(at, delta, t) - alpha * G.dot(at.plus(t, delta)) for t in (0.0, 0.5, -1.0)
        ]
        slack = 1e-7 * max(bench.size, *map(abs, values))
        if dual > min(values) + slack:
            yield Fault(
                f"the dual value is {dual:.9g} for α = {alpha:g}, above L(Z) - α‹G, Z› = {min(values):.9g}"
            )
        elif alpha == 1.0 and dual < values[0] - slack:
            yield Fault(f"the dual value is {dual:.9g} for α = 1, below L(Z) - ‹G, Z› = {values[0]:.9g}")


@losses("loss", "a loss leaves the scores that it is given as they are")
def scores_are_left_as_they_are(bench: LossBench) -> Faults:
    at, delta = next(bench.points)
    kept = [a.copy() for s in (at, delta) for a in (s.Z, s.tail)]
    bench.bound.value(at, delta, 0.5)
    bench.bound.residual(at)
    bench.bound.predict(at)
    for name, old, new in zip(
        ("Z", "tail", "D", "tail of D"), kept, (at.Z, at.tail, delta.Z, delta.tail), strict=True
    ):
        if not np.array_equal(old, new):
            yield Fault(f"{name} is another after value, residual and predict")


@losses("prediction", "predict gives a label, or as many as there are, for each row")
def predictions_have_the_shape_of_labels(bench: LossBench) -> Faults:
    at, _ = next(bench.points)
    shown, truth = bench.bound.predict(at), np.asarray(bench.bound.truth)
    if shown.shape != truth.shape:
        yield Fault(f"predict returns the shape {shown.shape}, and the labels have {truth.shape}")


def _difference(loss: BoundLoss, at: Scores, one: Scores) -> float:
    """Return the central difference of the loss along a change of one score."""
    values = [loss.value(at, one, h) for h in (-DIFFERENCE_STEP, DIFFERENCE_STEP)]
    return (values[1] - values[0]) / (2.0 * DIFFERENCE_STEP)


def _entry(what: str, shown: np.ndarray, fresh: np.ndarray, share: float) -> str | None:
    """Return a sentence about the entry that differs most, relative to ``share``; None if hardly any
    differs."""
    if not shown.size:
        return None
    off = np.abs(shown - fresh)
    place = np.unravel_index(int(np.argmax(off)), shown.shape)
    # next to a kink of the residual a difference is that of two pieces
    if np.count_nonzero(off > share * max(float(np.abs(fresh).max()), 1e-2)) <= off.size // 50:
        return None
    where = ", ".join(str(int(k)) for k in place)
    return f"{what} is {shown[place]:.6g} at ({where}), and a difference {fresh[place]:.6g}"
