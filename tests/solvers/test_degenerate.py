"""Data that leave a solver nothing, or next to nothing, to hold on to: every solver ends, or says where it
stands, on every loss and penalty that it takes."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

from solverscope import solvers
from tests.solvers.helpers import ELSEWHERE, LEAVES, MAKERS, PARENTS, chains, dense_of
from tests.solvers.helpers import problem_of as random_problem
from tests.solvers.oracles import Oracle

TOL, MOST = 1e-6, 100


def _features():
    """The family: what is degenerate, and features (n, d) that are so."""
    X = np.random.default_rng(0).normal(size=(24, 3))
    return {
        "no-features": np.zeros((12, 3)),
        "equal-rows": np.tile([1.0, -2.0, 0.5], (12, 1)),
        "contradicting-labels": np.repeat(X[:3], 6, axis=0),
        "one-feature": X[:, :1],
        "two-rows": X[:2],
        "constant-column": np.column_stack([X, np.ones(24)]),
        "duplicated-rows": np.repeat(X[:6], 4, axis=0),
        "columns-of-other-units": X * [1e8, 1e-8, 1.0],
        "huge": X * 1e8,
        "tiny": X * 1e-8,
    }


FEATURES = _features()


def labels(kind, name):
    """Labels in turn: each as often as any other, with each group of equal rows; duplicates share theirs."""
    n = len(FEATURES[name])
    turn = np.arange(n) // (4 if name == "duplicated-rows" else 1)
    if kind == "multilabel":
        return np.stack([turn % 2, turn // 2 % 2, turn % 3 == 0], axis=1).astype(int)
    if kind == "binary":
        return np.where(turn % 2, 1, -1)
    if kind == "multitask":
        return np.stack([turn % 3, turn % 2], axis=1)
    turn = turn % (3 if n > 2 else 2)
    return LEAVES[turn] if kind == "tree" else turn


def problem_of(name, kind, loss, penalty):
    X = FEATURES[name]
    structure = {
        "sequences": {"offsets": np.unique(np.linspace(0, len(X), 5).astype(int))},
        "tree": {"parents": PARENTS},
    }
    lam = 0.01 if solvers.PENALTIES[penalty].takes_lam else None
    return solvers.make_problem(
        X, labels(kind, name), loss=loss, penalty=penalty, lam=lam, average=True, **structure.get(kind, {})
    )


#: Problems on which w = 0 is the optimum, and every smooth solver can know it: no feature says anything, or
#: all labels come equally often with each row.
NOTHING_TO_LEARN = {
    "no-features": {"binary", "multiclass", "multilabel", "tree"},
    "equal-rows": {"binary"},
    "contradicting-labels": {"binary"},
}

KINDS = [
    (kind, loss)
    for loss, declared in solvers.LOSSES.items()
    for kind in declared.kinds
    if loss != "toy" and any(solvers.compatible(loss, penalty) for penalty in solvers.PENALTIES)
]
#: Beside l2, which all solvers take but sgd-l1, each loss has one penalty of either list, in turn.
IN_TURN = ("none", "l1"), ("elastic-net", "l1-l2", "l1-linf", "sparse-group")
CASES = [
    (name, kind, loss, penalty)
    for i, name in enumerate(FEATURES)
    for j, (kind, loss) in enumerate(KINDS)
    for penalty in ("l2", *(turn[(i + j) % len(turn)] for turn in IN_TURN))
]
#: Each loss once, each member of the family once or twice.
FAST = {CASES[3 * (k % len(FEATURES) * len(KINDS) + k) + k % 3] for k in range(len(KINDS))}


def marked(case):
    return pytest.param(case, id="/".join(case), marks=() if case in FAST else pytest.mark.slow)


@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_every_solver_converges_or_says_where_it_stands(case):
    """No exception, no overflow, no number that is none, no iterate without end; what is recorded is so, and
    what is proved is not below what another solver reaches."""
    name, kind, loss, penalty = case
    problem = problem_of(*case)
    traces = {}
    for id in solvers.compatible(loss, penalty):
        if id in ELSEWHERE:  # other people's programs may refuse such data
            continue
        solver = solvers.make_solver(id)
        tol = None if solvers.why_not_tolerance(problem, solver.knows) else TOL
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # it would be the message of a failed run
            trace = solvers.solve(problem, solver, tol=tol, max_iter=MOST)
        assert trace.status in ("converged", "stalled", "max-iter"), (id, trace.status, trace.message)
        assert trace.message
        for column in (trace.objective, trace.loss, trace.penalty, trace.w):
            assert np.isfinite(column).all(), id
        fresh = problem.at(trace.w).objective
        assert trace.result["objective"] == pytest.approx(fresh, rel=1e-9, abs=1e-12), id
        traces[id] = trace
    least = min(trace.objective.min() for trace in traces.values())
    for id, trace in traces.items():
        gap = trace.result["dual_gap"]
        assert gap is None or (math.isfinite(gap) and gap >= 0.0), id
        assert gap is None or trace.result["objective"] - gap <= least + 1e-9 * max(1.0, abs(least)), id
    if kind in NOTHING_TO_LEARN.get(name, ()) and (problem.smooth or penalty == "l2"):
        zero = problem.at().objective
        assert least == pytest.approx(zero, rel=1e-12)
        for id, trace in traces.items():
            known = problem.smooth or name == "no-features"
            assert trace.status == "converged" or not known, (id, trace.message)


@pytest.mark.parametrize("id", ["gd", "bfgs", "lbfgs"])
@pytest.mark.parametrize("line_search", ["exact", "wolfe", "ils", "armijo"])
@pytest.mark.parametrize("penalty", ["none", "l2"])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((4, 2)), [1, -1, 1, -1]),
        ([[1, 2], [1, 2], [3, 1], [3, 1]], [1, -1, 1, -1]),
        ([[0.1], [0.2], [0.3]], [1, 1, -1]),
    ],
    ids=["no-features", "contradicting-labels", "zero-up-to-rounding"],
)
def test_a_first_subgradient_of_zero_is_the_end(id, line_search, penalty, X, y):
    lam = {"lam": 0.1} if penalty == "l2" else {}
    problem = solvers.make_problem(X, y, loss="binary-hinge", penalty=penalty, **lam)
    solver = solvers.make_solver(id, line_search=line_search, first_step="searched", subgradient="sup")
    trace = solvers.solve(problem, solver, max_iter=10)
    assert (trace.status, trace.result["objective"], len(trace)) == ("converged", 1.0, 1)
    assert not trace.w.any()


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("classes", [3, 7])
def test_a_gradient_that_cancels_is_no_violation(classes, unit):
    """All labels equally often with each row: what the gradient at w = 0 is, rounding makes."""
    X = unit * np.tile(np.random.default_rng(0).normal(size=(1, 4)), (10 * classes, 1))
    y = np.arange(len(X)) % classes
    problem = solvers.make_problem(X, y, loss="multiclass-logistic", penalty="none")
    assert 0.0 < problem.violation_at_zero() <= problem.noise < 1e-11 * unit
    for id in solvers.compatible("multiclass-logistic", "none"):
        trace = solvers.solve(problem, solvers.make_solver(id), tol=1e-9, max_iter=5)
        assert trace.status == "converged", (id, trace.message)
        assert trace.result["objective"] == pytest.approx(math.log(classes), rel=1e-12)


#: Solvers that go weight by weight or row by row, or on the support: a weight that nothing bends has no step.
STEPPING = (
    *("newton-cd", "ssn", "anderson-bcd", "bcd-ls", "bcd-cst", "crf-bcd", "prox-qn"),
    *("owl-qn", "prox-gd", "sparsa", "fista-ls"),
)


@pytest.mark.parametrize("penalty", ["l1", "elastic-net", "l1-l2", "l1-linf", "sparse-group"])
@pytest.mark.parametrize(
    ("kind", "loss"),
    [
        *[("binary", "logistic"), ("binary", "smoothed-binary-hinge"), ("multiclass", "multiclass-logistic")],
        *[("multiclass", "multiclass-squared-hinge"), ("sequences", "chain-crf"), ("tree", "tree-softmax")],
    ],
)
def test_weights_that_no_sample_has_go_to_zero_from_anywhere(kind, loss, penalty):
    """As after a warm start from another fold. Formulas that are not the solvers' say that it is optimal."""
    data = MAKERS[kind](d=6)
    X = dense_of(data.train.X).copy()
    X[:, 3] = 0.0
    data = replace(data, train=replace(data.train, X=X))
    problem = random_problem(data, loss, penalty)
    oracle = Oracle(data, loss, penalty, problem.lam, problem.average)
    m = problem.design.n_outputs
    start = np.zeros(problem.size)
    start[3 * m : 4 * m] = np.linspace(1.0, -0.5, m)
    aim = 1e-5 * oracle.violation(np.zeros(problem.size))
    for id in set(STEPPING) & set(solvers.compatible(loss, penalty)):
        trace = solvers.solve(problem, solvers.make_solver(id), tol=1e-6, max_iter=1000, w0=start)
        assert trace.status == "converged", (id, trace.message)
        assert not trace.w[3 * m : 4 * m].any(), id
        assert oracle.violation(trace.w) <= aim, id


@pytest.mark.parametrize("penalty", ["l1", "elastic-net", "l1-l2", "l1-linf"])
@pytest.mark.parametrize("ends", [False, True])
def test_transitions_that_no_sequence_has_go_to_zero_from_anywhere(penalty, ends):
    problem = solvers.make_problem(
        chains(n=30, longest=1), loss="chain-crf", penalty=penalty, lam=1.0, loss_params={"ends": ends}
    )
    m, body = problem.design.n_outputs, problem.design.n_features * problem.design.n_outputs
    start = np.zeros(problem.size)
    start[body : body + m * m] = 0.5
    for id in set(STEPPING) & set(solvers.compatible("chain-crf", penalty)):
        trace = solvers.solve(problem, solvers.make_solver(id), tol=1e-6, max_iter=3000, w0=start)
        assert trace.status == "converged", (id, trace.message)
        assert not trace.w[body : body + m * m].any(), id


@pytest.mark.parametrize("far", [1e2, 1e4])
@pytest.mark.parametrize(("kind", "loss"), [("binary", "logistic"), ("multiclass", "multiclass-logistic")])
def test_where_all_samples_are_saturated_a_step_is_still_found(kind, loss, far):
    """Second derivatives underflow there: no solver may say that no direction decreases f."""
    problem = random_problem(kind, loss, "l1")
    start = far * np.random.default_rng(3).normal(size=problem.size)
    begin = problem.at(start).objective
    for id in set(STEPPING) & set(solvers.compatible(loss, "l1")):
        trace = solvers.solve(problem, solvers.make_solver(id), tol=1e-6, max_iter=60, w0=start)
        assert trace.status in ("converged", "max-iter"), (id, trace.message)
        assert trace.objective[-1] < begin, id
