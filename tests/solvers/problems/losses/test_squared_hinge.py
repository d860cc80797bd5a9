"""Squared hinges and the constants of all losses with bounded curvature, against NumPy and differences."""

import numpy as np
import pytest
import scipy.sparse as sp

from solverscope import solvers
from solverscope.solvers.declare import Trait
from solverscope.solvers.problems.lipschitz import block_constants, overall_constant
from solverscope.solvers.problems.losses import score_rows
from solverscope.solvers.problems.losses.squared_hinge import indicators
from tests.solvers.helpers import MAKERS, Data, Part, compiled, dense_of, multiclass, multilabel, problem_of
from tests.solvers.oracles import LOSSES

row_derivatives = compiled(score_rows.row_derivatives)

PAIRS = [(kind, loss) for kind in MAKERS for loss in solvers.losses_for(kind)]
ROWS = [p for p in PAIRS if solvers.LOSSES[p[1]].traits & Trait.ROW_KERNELS]
#: Losses whose second derivative, where they are linear, is an upper bound of what it is nearby.
LINEAR = ("smoothed-binary-hinge",)
BOUNDED = [p for p in PAIRS if solvers.LOSSES[p[1]].traits & Trait.LIPSCHITZ]


def row_loss(term, z, y):
    return row_derivatives(term, z, y, None, None)


def with_data(kind, loss, **options):
    data = MAKERS[kind](**options)
    return data, problem_of(data, loss, lam=0.1)


def some_scores(problem, seed=0):
    return problem.design.scores(np.random.default_rng(seed).normal(size=problem.size))


@pytest.mark.parametrize(("kind", "loss"), ROWS)
def test_value_and_residual_are_the_formula(kind, loss):
    data, problem = with_data(kind, loss)
    scores = some_scores(problem)
    value, G, _ = LOSSES[loss](scores.Z, scores.tail, data)
    assert problem.loss.value(scores) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(problem.loss.residual(scores).Z, G, atol=1e-12)
    delta = some_scores(problem, 1)
    moved = problem.loss.values(scores, delta, 0.3)
    np.testing.assert_allclose(moved, problem.loss.values(scores.plus(0.3, delta)), rtol=1e-12)


@pytest.mark.parametrize(("kind", "loss"), ROWS)
def test_derivatives_of_a_row_are_differences_of_its_value(kind, loss):
    _, problem = with_data(kind, loss)
    term, m = problem.loss.term, problem.loss.n_outputs
    labels = problem.loss.labels.reshape(problem.loss.n_instances, -1)
    rng, step = np.random.default_rng(2), 1e-5
    for y in labels[:20]:
        z, g, h = rng.normal(size=m), np.empty(m), np.empty(m)
        assert row_derivatives(term, z, y, g, h) == pytest.approx(row_loss(term, z, y), rel=1e-13)
        for c in range(m):
            e = step * np.eye(m)[c]
            before, here, after = (row_loss(term, z + s * e, y) for s in (-1, 0, 1))
            assert g[c] == pytest.approx((after - before) / (2 * step), abs=1e-6)
            if loss not in LINEAR or 0.0 < abs(g[c]) < 1.0:
                assert h[c] == pytest.approx((after - 2 * here + before) / step**2, abs=1e-3)


@pytest.mark.parametrize(
    ("kind", "loss"), [p for p in ROWS if solvers.LOSSES[p[1]].traits & Trait.DIAGONAL_HESSIAN]
)
def test_second_derivatives_from_the_residual_are_those_of_the_rows(kind, loss):
    _, problem = with_data(kind, loss)
    scores, rows = some_scores(problem), np.arange(problem.loss.n_instances)
    found = problem.loss.diagonal(problem.loss.residual(scores).Z, rows)
    labels = problem.loss.labels.reshape(rows.size, -1)
    for i in rows:
        g, h = np.empty(scores.Z.shape[1]), np.empty(scores.Z.shape[1])
        row_derivatives(problem.loss.term, scores.Z[i], labels[i], g, h)
        np.testing.assert_allclose(found[i], h, atol=1e-14)


@pytest.mark.parametrize(("kind", "loss"), ROWS)
@pytest.mark.parametrize("size", [1.0, 100.0])
def test_values_and_residual_are_those_of_the_rows_one_by_one(kind, loss, size):
    """Of the softmax and the logistic loss too, which NumPy computes a chunk at a time."""
    _, problem = with_data(kind, loss)
    scores, n = some_scores(problem), problem.loss.n_instances
    scores.Z[:] *= size
    labels, term = problem.loss.labels.reshape(n, -1), problem.loss.term
    values, G = problem.loss.values(scores), problem.loss.residual(scores).Z
    for i in range(n):
        g, h = np.empty(scores.Z.shape[1]), np.empty(scores.Z.shape[1])
        assert values[i] == pytest.approx(row_loss(term, scores.Z[i], labels[i]), rel=1e-13)
        assert values[i] == pytest.approx(row_derivatives(term, scores.Z[i], labels[i], g, h), rel=1e-13)
        np.testing.assert_allclose(G[i], g, rtol=1e-12, atol=1e-15)


def hessian(problem, w, at):
    """By differences of the gradient, over the weights ``at``."""
    step, columns = 1e-5, []
    for j in at:
        e = np.zeros(problem.size)
        e[j] = step
        columns.append((problem.at(w + e).gradient() - problem.at(w - e).gradient())[at] / (2 * step))
    return np.array(columns)


@pytest.mark.parametrize(("kind", "loss"), BOUNDED)
@pytest.mark.parametrize("constant", ["tight", "paper"])
def test_constants_bound_the_curvature_at_random_points(kind, loss, constant):
    _, problem = with_data(kind, loss, n=25, d=5, density=0.6)
    K_j, K = block_constants(problem, constant), overall_constant(problem, constant)
    m, rng = problem.loss.n_outputs, np.random.default_rng(3)
    assert K_j.shape == (5,)
    for size in (0.0, 0.01, 0.3, 1.0):
        w = size * rng.normal(size=problem.size)
        assert np.linalg.eigvalsh(hessian(problem, w, np.arange(problem.size))).max() <= K * (1 + 1e-6)
        for j in range(5):
            top = np.linalg.eigvalsh(hessian(problem, w, np.arange(j * m, (j + 1) * m))).max()
            assert top <= K_j[j] * (1 + 1e-6)


@pytest.mark.parametrize(("kind", "loss"), [p for p in BOUNDED if "squared-hinge" in p[1]])
def test_tight_constants_are_reached_where_every_margin_is_active(kind, loss):
    """At w = 0 all hinges are active: the overall constant is near, the paper's far above."""
    _, problem = with_data(kind, loss)
    top = np.linalg.eigvalsh(hessian(problem, np.zeros(problem.size), np.arange(problem.size))).max()
    tight, paper = overall_constant(problem, "tight"), overall_constant(problem, "paper")
    assert top <= tight <= 5.0 * top
    assert paper > 2.0 * tight


def test_constants_as_printed():
    """Appendix A: K_j = 4(m-1)/n Σ x_ij²; section 5.3 for the softmax."""
    data, problem = with_data("multiclass", "multiclass-squared-hinge")
    squares = (dense_of(data.train.X) ** 2).sum(axis=0)
    np.testing.assert_allclose(block_constants(problem, "paper"), 4 * 3 / 150 * squares)
    assert overall_constant(problem, "paper") == pytest.approx(4 * 3 / 150 * squares.sum())
    data, problem = with_data("multiclass", "multiclass-logistic")
    np.testing.assert_allclose(block_constants(problem, "paper"), squares / (2 * 150))
    tight = overall_constant(problem, "tight")
    assert tight == pytest.approx(1.01 * np.linalg.norm(dense_of(data.train.X), 2) ** 2 / (2 * 150), rel=1e-3)


def test_a_ridge_adds_to_the_constants():
    data = multiclass()
    plain = solvers.make_problem(data, penalty="none")
    ridged = solvers.make_problem(data, penalty="l2", lam=0.5)
    np.testing.assert_allclose(block_constants(ridged, "tight"), block_constants(plain, "tight") + 0.5)
    for constant in ("tight", "paper"):
        assert overall_constant(ridged, constant) == pytest.approx(overall_constant(plain, constant) + 0.5)


def test_samples_with_all_labels_or_none_cost_nothing():
    y = sp.csr_array(np.array([[1, 1, 1], [0, 0, 0], [1, 0, 1]], dtype=np.int8))
    data = Data("multilabel", Part(np.eye(3), y), 3, "multilabel-squared-hinge")
    problem = solvers.make_problem(data, penalty="none")
    assert problem.loss.values(some_scores(problem))[:2].tolist() == [0.0, 0.0]
    assert problem.loss.curvature(True).tolist() == [0.0, 0.0, 6.0]
    assert problem.loss.curvature(False).tolist() == [0.0, 0.0, 8.0]


def test_metrics():
    data = multilabel(n=30)
    y = indicators(data.train.y, 4)
    for loss in ("multilabel-squared-hinge", "multitask-squared-hinge"):
        problem = solvers.make_problem(data, loss=loss, penalty="none")
        scores = problem.design.scores(np.zeros(problem.size))
        scores.Z[:] = 2.0 * y - 1.0
        assert problem.loss.metric(scores) == 1.0
        scores.Z *= -1.0
        assert problem.loss.metric(scores) == 0.0
    data = multiclass()
    problem = solvers.make_problem(data, loss="multitask-squared-hinge", penalty="none")
    scores = some_scores(problem)
    assert problem.loss.metric(scores) == np.mean(scores.Z.argmax(axis=1) == data.train.y)
    ranks = solvers.make_problem(multilabel(), penalty="none").loss.predict(scores)
    np.testing.assert_array_equal(np.sort(ranks, axis=1), np.tile(np.arange(4), (150, 1)))


def test_labels_that_do_not_fit_are_refused_with_those_that_do():
    with pytest.raises(ValueError, match="needs multilabel labels, and these are multiclass"):
        solvers.make_problem(multiclass(), loss="multilabel-squared-hinge", lam=0.1)
