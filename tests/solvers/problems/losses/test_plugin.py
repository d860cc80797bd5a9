"""A loss that joins by ``register``: what its declared parts allow, and what it cannot have."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.linalg.scores import Scores
from tests.solvers.helpers import binary

pytestmark = pytest.mark.usefixtures("registries")

#: Solvers that go by gradients alone.
BY_GRADIENTS = {"relay", "prox-qn", "prox-gd", "owl-qn", "fista-ls", "sparsa"}
#: And one that does too, and comes only near the minimum.
NEAR = "owl-qn-star"


@dataclass(frozen=True)
class Huber(solvers.Loss):
    """The hinge, rounded off over ``width`` below the margin."""

    id, name, summary = "plugged-huber", "Huberized hinge", "for a test"
    kinds, traits, average = ("binary",), solvers.Trait.SMOOTH, True
    width: float = solvers.param(0.5, "width of the rounding", low=0.0, open_low=True)

    def bind(self, part, n_classes, parents=None):
        return BoundHuber(self, 1, np.asarray(part.y, dtype=float))


@dataclass(frozen=True, eq=False)
class BoundHuber(solvers.RowLoss):
    def chunk_values(self, Z, y, out):
        a, h = 1.0 - y * Z[:, 0], self.declared.width
        out[:] = np.where(a < h, np.maximum(a, 0.0) ** 2 / (2.0 * h), a - 0.5 * h)

    def chunk_residual(self, Z, y, G):
        G[:, 0] = -y * np.clip((1.0 - y * Z[:, 0]) / self.declared.width, 0.0, 1.0)

    def predict(self, scores):
        return np.where(scores.Z[:, 0] >= 0.0, 1.0, -1.0)


@dataclass(frozen=True)
class Hinge(Huber):
    id, traits = "kinked", solvers.Trait(0)

    def bind(self, part, n_classes, parents=None):
        return BoundHinge(self, 1, np.asarray(part.y, dtype=float))


@dataclass(frozen=True, eq=False)
class BoundHinge(BoundHuber):
    def chunk_values(self, Z, y, out):
        out[:] = np.maximum(1.0 - y * Z[:, 0], 0.0)

    def chunk_residual(self, Z, y, G):
        G[:, 0] = np.where(y * Z[:, 0] < 1.0, -y, 0.0)


def test_it_works_with_every_solver_that_goes_by_gradients_and_they_agree():
    solvers.register(Huber)
    assert set(solvers.compatible("plugged-huber", "l1")) == {*BY_GRADIENTS, NEAR}
    problem = solvers.make_problem(binary(), loss="plugged-huber", lam_ratio=0.1, loss_params={"width": 0.8})
    traces = [solvers.solve(problem, solvers.make_solver(id), tol=1e-7) for id in sorted(BY_GRADIENTS)]
    assert {trace.status for trace in traces} == {"converged"}
    objectives = [trace.result["objective"] for trace in traces]
    np.testing.assert_allclose(objectives, objectives[0], rtol=1e-9)
    near = solvers.solve(problem, solvers.make_solver(NEAR), tol=1e-7).result["objective"]
    assert objectives[0] * (1.0 - 1e-9) <= near <= objectives[0] * (1.0 + 1e-4) < problem.at().objective


def test_solvers_with_the_loss_in_a_kernel_are_refused_with_the_reason():
    solvers.register(Huber)
    assert "single rows of scores" in solvers.why_not_solver("bcd-ls", "plugged-huber", "l1")
    assert "single instances" in solvers.why_not_solver("sgd-l1", "plugged-huber", "l1")


@pytest.mark.parametrize("trait", [solvers.Trait.INSTANCE_KERNELS, solvers.Trait.ROW_KERNELS])
def test_traits_that_need_a_compiled_loss_are_refused_of_one_that_is_no_loss_of_margins(trait):
    offers = {"traits": solvers.Trait.SMOOTH | trait}
    left_out = "leave Trait.INSTANCE_KERNELS and Trait.ROW_KERNELS out of its traits"
    for base in (Huber, solvers.LOSSES["multiclass-logistic"]):
        mine = make_dataclass("Mine", [], bases=(base,), namespace={"id": "mine", **offers}, frozen=True)
        with pytest.raises(ValueError, match=f"Mine .* {left_out}"):
            solvers.register(mine)
    assert "mine" not in solvers.LOSSES


def test_a_loss_of_margins_without_derivatives_is_refused():
    space = {"id": "mine", "name": "Mine", "summary": "for a test"}
    mine = make_dataclass("Mine", [], bases=(solvers.MarginLoss,), namespace=space, frozen=True)
    with pytest.raises(ValueError, match="Mine defines no derivatives"):
        solvers.register(mine)


def test_a_loss_with_kinks_has_values_and_one_subgradient_and_says_what_it_lacks():
    loss = Hinge().bind(binary().train, 2)
    rng = np.random.default_rng(0)
    at, other = (Scores(rng.normal(size=(60, 1)), np.zeros(0)) for _ in range(2))
    G = loss.residual(at)
    step = Scores(other.Z - at.Z, np.zeros(0))
    assert loss.value(other) >= loss.value(at) + G.dot(step), "a subgradient"
    for method in ("subgradient_sup", "breakpoints"):
        with pytest.raises(TypeError, match=f"kinked has kinks: BoundHinge must define {method}"):
            getattr(loss, method)(at, step)


def test_a_loss_with_kinks_that_gives_the_sup_has_slopes_from_both_sides():
    @dataclass(frozen=True, eq=False)
    class WithSup(BoundHinge):
        def subgradient_sup(self, scores, delta):
            margin = 1.0 - self.y[:, None] * scores.Z
            ahead = np.maximum(-self.y[:, None] * delta.Z, 0.0) != 0.0
            return Scores(
                np.where((margin > 0.0) | ((margin == 0.0) & ahead), -self.y[:, None], 0.0), delta.tail
            )

    loss = WithSup(Hinge(), 1, np.array([1.0, -1.0, 1.0]))
    at, delta = Scores(np.array([[1.0], [-1.0], [0.0]]), np.zeros(0)), Scores(np.ones((3, 1)), np.zeros(0))
    for t in (0.0, 1.0):
        for side in (1, -1):
            difference = (loss.value(at, delta, t + side * 1e-6) - loss.value(at, delta, t)) / (side * 1e-6)
            assert loss.slope(at, delta, t, side) == pytest.approx(difference, abs=1e-6)
    assert loss.slope(at, delta, 0.0, 1) > loss.slope(at, delta, 0.0, -1)
