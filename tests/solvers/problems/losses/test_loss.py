"""What binding a loss to labels gives, for every loss of the registry."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize

from solverscope import solvers
from solverscope.solvers.compute.team import Team
from solverscope.solvers.linalg.scores import Scores
from tests.solvers import oracles
from tests.solvers.helpers import MAKERS, losses_with

PAIRS = losses_with()
SMOOTH, CURVED = losses_with(solvers.Trait.SMOOTH), losses_with(solvers.Trait.HESSIAN)


def bound(kind, loss, **options):
    data = MAKERS[kind](**options)
    return solvers.LOSSES[loss]().bind(data.train, data.n_classes, data.parents)


def line(kind, loss, **options):
    data, rng = MAKERS[kind](**options), np.random.default_rng(3)
    problem = solvers.make_problem(data, loss=loss, lam=0.1)
    return problem, *(problem.design.scores(rng.normal(size=problem.size)) for _ in range(2))


@pytest.mark.parametrize(("kind", "loss"), PAIRS)
def test_what_bind_returns_is_equal_on_equal_labels_alone(kind, loss):
    here, same, other = bound(kind, loss), bound(kind, loss), bound(kind, loss, seed=5)
    assert here is not same
    assert here == same
    assert here != other
    assert here != here.first(3, 10**6)[0]
    assert here != solvers.LOSSES[loss]()
    assert here == here.attached(Team(), print), "who works on it is no part of it"


@pytest.mark.parametrize(("kind", "loss"), PAIRS)
def test_what_bind_returns_holds_arrays_and_cannot_be_hashed_or_written_to(kind, loss):
    here = bound(kind, loss)
    with pytest.raises(TypeError, match="unhashable"):
        hash(here)
    for field in dataclasses.fields(here):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(here, field.name, None)
    assert set(vars(here)) == {field.name for field in dataclasses.fields(here)}


@pytest.mark.parametrize(("kind", "loss"), PAIRS)
def test_what_bind_returns_knows_the_loss_it_is_bound_from(kind, loss):
    here, chosen = bound(kind, loss), solvers.LOSSES[loss]
    assert here.declared == chosen()
    assert (here.id, here.traits, here.metric_name) == (chosen.id, chosen.traits, chosen.metric_name)


def test_the_same_labels_under_two_losses_are_not_equal():
    assert bound("multiclass", "multiclass-logistic") != bound("multiclass", "multiclass-squared-hinge")


def test_losses_with_other_hyper_parameters_are_not_equal():
    @dataclasses.dataclass(frozen=True)
    class Sharp(solvers.Loss):
        id, name, summary = "sharp", "Sharp", "for a test"
        kinds, traits, average = ("binary",), solvers.Trait(0), True
        width: float = solvers.param(1.0, "a width", low=0.0)

        def bind(self, part, n_classes, parents=None):
            return solvers.RowLoss(self, 1, np.asarray(part.y))

    data = MAKERS["binary"]()
    one, two = (Sharp(width).bind(data.train, 2) for width in (1.0, 2.0))
    assert one != two
    assert one == Sharp().bind(data.train, 2)


@pytest.mark.parametrize(("kind", "loss"), SMOOTH)
def test_a_smooth_loss_has_one_subgradient_and_no_breakpoints(kind, loss):
    problem, scores, delta = line(kind, loss)
    sup, residual = problem.loss.subgradient_sup(scores, delta), problem.loss.residual(scores)
    np.testing.assert_array_equal(sup.Z, residual.Z)
    np.testing.assert_array_equal(sup.tail, residual.tail)
    breakpoints = problem.loss.breakpoints(scores, delta)
    assert breakpoints.t.size == breakpoints.jump.size == 0
    assert breakpoints.slope == pytest.approx(residual.dot(delta), rel=1e-12)


@pytest.mark.parametrize(("kind", "loss"), SMOOTH)
@pytest.mark.parametrize("alpha", [1.0, 0.7, 0.05])
def test_the_dual_value_is_the_minimum_of_the_loss_minus_the_linear_function(kind, loss, alpha):
    """-L*(αG) = min_Z L(Z) - α‹G, Z›, found by SciPy; transitions, which many pairs share, give a bound."""
    problem, _, _ = line(kind, loss, n=6)
    part, rows = problem.loss.first(3, 10**6)
    rng = np.random.default_rng(1)
    at = Scores(rng.normal(size=(rows, part.n_outputs)), rng.normal(size=part.n_tail))
    residual = part.residual(at)

    def unpacked(x):
        return Scores(x[: at.Z.size].reshape(at.Z.shape), x[at.Z.size :])

    def objective(x):
        here = unpacked(x)
        G = part.residual(here)
        gradient = np.append(G.Z - alpha * residual.Z, G.tail - alpha * residual.tail)
        return part.value(here) - alpha * residual.dot(here), gradient

    options, start = {"maxiter": 5000, "ftol": 1e-15}, np.append(at.Z, at.tail)
    least = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).fun
    dual = part.dual_value(at, residual, alpha)
    assert dual <= least + 1e-7
    if alpha == 1.0 or not part.n_tail:
        assert dual == pytest.approx(least, rel=1e-6, abs=1e-7)


def curved(kind, loss, size):
    """Data, the loss, scores of this size, two random changes of them, and the product with the Hessian."""
    data, rng = MAKERS[kind](), np.random.default_rng(7)
    f = solvers.LOSSES[loss]().bind(data.train, data.n_classes, data.parents)
    shape = data.train.X.shape[0], f.n_outputs
    at, *along = (Scores(s * rng.normal(size=shape), s * rng.normal(size=f.n_tail)) for s in (size, 1.0, 1.0))
    return data, f, at, along, f.hessian(at, f.residual(at))


def test_every_smooth_loss_has_products_with_its_hessian():
    assert CURVED == SMOOTH


@pytest.mark.parametrize("size", [0.1, 1.0, 5.0])
@pytest.mark.parametrize(("kind", "loss"), CURVED)
def test_the_product_with_the_hessian_is_a_difference_of_the_formulas_residuals(kind, loss, size):
    data, _, at, along, product = curved(kind, loss, size)
    for delta in along:
        (up, up_tail), (down, down_tail) = (
            oracles.LOSSES[loss](at.Z + h * delta.Z, at.tail + h * delta.tail, data)[1:]
            for h in (1e-5, -1e-5)
        )
        found = product(delta)
        np.testing.assert_allclose(found.Z, (up - down) / 2e-5, atol=1e-8)
        np.testing.assert_allclose(found.tail, (up_tail - down_tail) / 2e-5, atol=1e-7)


#: exp z is the curvature of Poisson's loss: it overflows at scores of 710.
SIZED = [
    (*pair, size) for pair in CURVED for size in (1.0, 30.0, 1e3, 1e5) if pair[1] != "poisson" or size < 700
]


@pytest.mark.parametrize(("kind", "loss", "size"), SIZED)
def test_the_hessian_is_symmetric_and_positive_semidefinite(kind, loss, size):
    _, _, at, (one, other), product = curved(kind, loss, size)
    for delta in (one, other, at):
        first, second = product(one), product(delta)
        # probabilities next to 1 are known to a unit in the last place of 1
        rounding = 1e-14 * np.sqrt(one.dot(one) * delta.dot(delta))
        assert one.dot(second) == pytest.approx(delta.dot(first), rel=1e-9, abs=rounding)
        assert delta.dot(second) >= -1e-14 * delta.dot(delta)


@pytest.mark.parametrize(("kind", "loss"), CURVED)
def test_the_product_with_the_hessian_can_be_had_again_and_changes_nothing(kind, loss):
    _, _, at, (delta, other), product = curved(kind, loss, 1.0)
    kept = [a.copy() for s in (at, delta) for a in (s.Z, s.tail)]
    once = product(delta)
    product(other)
    again = product(delta)
    np.testing.assert_array_equal(again.Z, once.Z)
    np.testing.assert_array_equal(again.tail, once.tail)
    for a, b in zip(kept, (at.Z, at.tail, delta.Z, delta.tail), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("kind", "loss"), [pair for pair in PAIRS if pair[0] in ("multiclass", "sequences")])
def test_a_test_row_of_a_class_that_training_lacks_is_never_predicted_right(kind, loss):
    data = MAKERS[kind]()
    unseen = dataclasses.replace(data.train, y=np.full_like(data.train.y, -1))
    data = dataclasses.replace(data, test=unseen)
    problem = solvers.make_problem(data, loss=loss, lam=0.1)
    weights = np.random.default_rng(0).normal(size=(5, problem.size))
    assert [problem.test_metric(w) for w in (np.zeros(problem.size), *weights)] == [0.0] * 6
    assert set(problem.test_scores(weights[0])[0].truth.tolist()) == {-1}
