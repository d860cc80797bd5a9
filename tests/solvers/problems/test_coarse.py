"""The coarse problem is f(Cγ), by whichever products."""

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.curvature.clusters import Clusters, chunked
from solverscope.solvers.problems import coarse as module
from solverscope.solvers.problems.coarse import coarse_problem, lifted
from solverscope.solvers.search.line_search import Wolfe
from tests.solvers.helpers import MAKERS, problem_of

LAM = 0.3
#: Data, loss, storage: one output and several, with transitions and without, ones and other values.
CASES = [
    ("binary", "logistic", "dense"),
    ("binary", "logistic", "binary"),
    ("multiclass", "multiclass-logistic", "dense"),
    ("multiclass", "multiclass-squared-hinge", "binary"),
    ("multilabel", "multilabel-squared-hinge", "dense"),
    ("sequences", "chain-crf", "binary"),
    ("sequences", "chain-crf", "dense"),
    ("tree", "tree-softmax", "binary"),
]


def smooth(kind, loss, storage, penalty="l2"):
    return problem_of(kind, loss, penalty, lam=LAM if penalty == "l2" else None, storage=storage)


def clusters_of(problem, seed=0, factor=3):
    rng, design = np.random.default_rng(seed), problem.design
    w = rng.normal(size=problem.size)
    return Clusters.of_columns(
        lambda j: chunked(w[j], factor), problem.size, design.n_features, design.n_outputs
    )


def matrix(clusters):
    """C as a matrix."""
    C = np.zeros((clusters.labels.size, clusters.size))
    C[np.arange(clusters.labels.size), clusters.cmap] = 1.0
    return C


@pytest.mark.parametrize("aggregated", [False, True])
@pytest.mark.parametrize("penalty", ["l2", "none"])
@pytest.mark.parametrize("case", CASES, ids="/".join)
def test_objective_and_gradient_are_the_fine_ones_composed_with_the_projection(case, penalty, aggregated):
    problem = smooth(*case, penalty)
    clusters = clusters_of(problem)
    coarse, C = coarse_problem(problem, clusters, aggregated=aggregated), matrix(clusters)
    gamma = np.random.default_rng(1).normal(size=coarse.size)
    point, fine = coarse.at(gamma), problem.at(C @ gamma)
    assert point.objective == pytest.approx(fine.objective, rel=1e-12)
    assert point.gradient() == pytest.approx(C.T @ fine.gradient(), rel=1e-9, abs=1e-11)
    direction, h = np.random.default_rng(2).normal(size=coarse.size), 1e-5
    rise = coarse.at(gamma + h * direction).objective - coarse.at(gamma - h * direction).objective
    assert point.gradient() @ direction == pytest.approx(rise / (2 * h), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("case", CASES, ids="/".join)
def test_both_ways_to_the_products_agree_along_a_line(case):
    problem = smooth(*case)
    clusters = clusters_of(problem)
    rng = np.random.default_rng(3)
    gamma, d = rng.normal(size=clusters.size), rng.normal(size=clusters.size)
    lines = []
    for aggregated in (False, True):
        coarse = coarse_problem(problem, clusters, aggregated=aggregated)
        lines.append(coarse.line(coarse.at(gamma), d))
    fine = problem.line(problem.at(clusters.up(gamma)), clusters.up(d))
    for line in lines:
        for t in (0.0, 0.3, 2.0):
            assert line(t) == pytest.approx(fine(t), rel=1e-12)
            assert line.slope(t) == pytest.approx(fine.slope(t), rel=1e-9, abs=1e-9)
        assert line.curvature() == pytest.approx(fine.curvature(), rel=1e-6)
    found = [line.wolfe(Wolfe()) for line in lines]
    assert found[0].t == pytest.approx(found[1].t, rel=1e-9)
    assert found[0].point.objective == pytest.approx(found[1].point.objective, rel=1e-12)


def test_a_point_on_the_line_lifts_to_the_fine_point_without_a_product():
    problem = smooth("binary", "logistic", "dense")
    clusters = clusters_of(problem)
    coarse = coarse_problem(problem, clusters, aggregated=True)
    gamma = np.random.default_rng(4).normal(size=coarse.size)
    found = coarse.line(coarse.at(gamma), -coarse.at(gamma).gradient()).wolfe(Wolfe())
    touched = problem.design.touched
    point = lifted(problem, clusters, found.point)
    assert problem.design.touched == touched
    exact = problem.at(clusters.up(found.point.w))
    assert point.w.tolist() == exact.w.tolist()
    assert point.objective == pytest.approx(exact.objective, rel=1e-12)
    assert point.gradient() == pytest.approx(exact.gradient(), rel=1e-9, abs=1e-11)


def test_members_of_a_working_set_are_the_entries_of_the_whole():
    problem = smooth("multiclass", "multiclass-logistic", "binary")
    clusters = clusters_of(problem)
    for aggregated in (False, True):
        coarse = coarse_problem(problem, clusters, aggregated=aggregated)
        some = coarse.design.working_set(np.arange(1, coarse.size, 2))
        gamma = np.zeros(coarse.size)
        gamma[some.coordinates] = np.random.default_rng(5).normal(size=len(some))
        Z = coarse.design.scores(gamma[some.coordinates], some).Z
        np.testing.assert_allclose(Z, problem.design.scores(clusters.up(gamma)).Z, atol=1e-12)
        point = coarse.at(gamma)
        assert point.gradient(some) == pytest.approx(point.gradient()[some.coordinates])


def test_products_over_many_blocks_and_in_pieces_agree(monkeypatch):
    """Rows fill several blocks, clusters several runs of the kernels, each with a pulse after it."""
    rng = np.random.default_rng(6)
    X, calls = (rng.random((500, 40)) < 0.2) * rng.normal(size=(500, 40)), []
    monkeypatch.setattr(
        "solverscope.solvers.linalg.storage.SLAB_BYTES", 1
    )  # 128 rows a block, the least there is
    problem = solvers.make_problem(X, np.sign(rng.normal(size=500)).astype(int), penalty="l2", lam=LAM)
    assert problem.design.n_blocks == 4
    problem = problem.with_pulse(lambda: calls.append(1))
    monkeypatch.setattr(module, "ENTRIES_PER_CALL", 300)
    clusters = clusters_of(problem, factor=7)
    columns = module.aggregate(problem.design, clusters)[1]
    assert len(calls) > 16
    XC, dense = X @ matrix(clusters), np.zeros((500, clusters.size))
    for b, (lo, hi) in enumerate(zip(problem.design.edges[:-1], problem.design.edges[1:], strict=True)):
        for k in range(clusters.size):
            part = slice(columns.starts[b, k], columns.starts[b, k + 1])
            assert np.unique(columns.rows[part]).size == columns.rows[part].size
            dense[lo:hi][columns.rows[part], k] = columns.values[part]
    assert dense == pytest.approx(XC)


def test_passes_count_what_is_touched_of_the_data():
    """(14) walks through X, (15) through X̂, once it is made, which takes a product with X."""
    problem = smooth("binary", "logistic", "binary").with_pulse(lambda: None)
    clusters = clusters_of(problem, factor=10)
    gamma = np.ones(clusters.size)
    for aggregated, passes in ((False, 0.5), (True, None)):
        before = problem.passes
        coarse = coarse_problem(problem, clusters, aggregated=aggregated)
        made = problem.passes - before
        assert made == (0.5 if aggregated else 0.0)
        coarse.at(gamma)
        product = problem.passes - before - made
        entries = np.count_nonzero(MAKERS["binary"](storage="binary").train.X @ matrix(clusters))
        assert product == pytest.approx(passes or 0.5 * entries / problem.design.nnz)


def test_a_penalty_with_kinks_is_not_known_of_weights_that_stand_for_several():
    problem = smooth("binary", "logistic", "dense").with_penalty(solvers.PENALTIES["l1"](lam=1.0))
    with pytest.raises(TypeError, match="l1 has kinks"):
        coarse_problem(problem, clusters_of(problem), aggregated=False)
