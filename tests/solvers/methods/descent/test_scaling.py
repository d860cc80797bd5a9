"""Iterative scaling: it never goes up, and it ends at the optimum."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from solverscope import datasets, solvers
from solverscope.solvers.methods.descent.scaling import absolute_sums
from tests.solvers.helpers import MAKERS, binary, dense_of
from tests.waiting import PATIENCE

#: Rounding of f from one iterate to the next.
ROUNDING = 1e-13


def cancer(lam=1.0):
    return solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=lam, average=False)


def reuters():
    if not datasets.DATASETS["reuters"].available()[0]:
        pytest.skip("needs the Reuters news")
    return datasets.load("reuters", positive="grain", top_words=50)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    lam=st.sampled_from([0.0, 1e-6, 0.1, 3.0]),
    classes=st.sampled_from([2, 4]),
    signed=st.booleans(),
    large=st.sampled_from([0.1, 1.0, 30.0]),
    variant=st.sampled_from(["fis", "iis"]),
    newton=st.sampled_from([1, 3]),
    average=st.booleans(),
)
def test_f_never_rises(seed, lam, classes, signed, large, variant, newton, average):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 6)) * (rng.random((20, 6)) < 0.5) * large
    if not signed:
        X = np.abs(X)
    y = rng.integers(0, classes, size=20)
    problem = solvers.make_problem(
        X,
        2 * y - 1 if classes == 2 else np.concatenate([y[:-classes], np.arange(classes)]),
        loss="logistic" if classes == 2 else "multiclass-logistic",
        penalty="l2" if lam else "none",
        lam=lam or None,
        average=average,
    )
    solver = solvers.make_solver("fis", variant=variant, newton=newton)
    w0 = rng.normal(size=problem.size) if seed % 2 else None
    f = [it.objective for it, _ in zip(solver.iterate(problem, w0), range(15), strict=False)]
    assert np.all(np.isfinite(f))
    assert np.all(np.diff(f) <= ROUNDING * np.array(f[:-1]))
    assert len(f) == 1 or f[-1] < f[0]


@pytest.mark.parametrize("power", [-26, -13, 13, 26])
@pytest.mark.parametrize("variant", ["fis", "iis"])
@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_features_in_another_unit_take_the_same_rounds(kind, variant, power):
    """Weights of features of 1e-4 are thousands: no length of a step is long by itself."""
    data, solver = MAKERS[kind](), solvers.make_solver("fis", variant=variant)
    X, y = dense_of(data.train.X), data.train.y
    X = np.column_stack([X, y == y.min()])  # a feature whose best weight is infinite
    loss = "logistic" if kind == "binary" else "multiclass-logistic"

    def rounds(unit):
        problem = solvers.make_problem(unit * X, y, loss=loss, penalty="none")
        return [it.objective for it, _ in zip(solver.iterate(problem), range(40), strict=False)]

    assert rounds(2.0**power) == rounds(1.0)


@pytest.mark.parametrize("storage", ["dense", "sparse", "binary"])
@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_it_ends_at_the_optimum(kind, storage):
    problem = solvers.make_problem(MAKERS[kind](storage=storage), penalty="l2", lam=0.1)
    trace = solvers.solve(problem, solvers.make_solver("fis"), tol=1e-7, max_seconds=20)
    other = solvers.solve(problem, solvers.make_solver("lbfgs"), tol=1e-10)
    assert trace.status == "converged"
    assert trace.result["objective"] == pytest.approx(other.result["objective"], rel=1e-9)


@pytest.mark.parametrize("load", [lambda: datasets.load("breast-cancer"), reuters], ids=["cancer", "reuters"])
def test_at_ridge_one_it_agrees_to_1e_6_with_lbfgs_and_with_another_program(load):
    data = load()
    problem = solvers.make_problem(data, penalty="l2", lam=1.0, average=False)
    trace = solvers.solve(problem, solvers.make_solver("fis"), tol=1e-5, max_seconds=30)
    other = solvers.solve(problem, solvers.make_solver("lbfgs"), tol=1e-10)
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
    theirs = problem.at(model.fit(data.train.X, data.train.y).coef_.ravel()).objective
    assert trace.result["objective"] == pytest.approx(other.result["objective"], rel=1e-6)
    assert trace.result["objective"] == pytest.approx(theirs, rel=1e-6)


def test_the_tighter_bound_is_faster_and_bfgs_faster_still():
    """Table I, in iterates, which do not hang on the machine; an iterate of FIS costs more than one of
    BFGS."""
    problem = cancer()
    best = solvers.solve(problem, solvers.make_solver("lbfgs"), tol=1e-10).result["objective"]
    iterates = {}
    for name, id, params in (("fis", "fis", {}), ("iis", "fis", {"variant": "iis"}), ("bfgs", "bfgs", {})):
        solver = solvers.make_solver(id, **params)
        trace = solvers.solve(problem, solver, gap=0.1, f_star=best, max_seconds=20)
        assert trace.status == "converged"
        iterates[name] = len(trace)
    assert iterates["bfgs"] < iterates["fis"] < iterates["iis"]


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_a_difference_vector_of_the_start_is_added_until_f_would_rise(kind):
    problem = solvers.make_problem(MAKERS[kind](), penalty="l2", lam=0.1)
    solver = solvers.make_solver("fis", preset="paper")
    ways, each = ([], [])
    for way, one in ((ways, solver), (each, solvers.make_solver("fis"))):
        for it, _ in zip(one.iterate(problem), range(200), strict=False):
            way.append((it.w.copy(), it.objective))
    delta = each[1][0] - each[0][0]
    assert len(ways) >= 2
    for k, (w, f) in enumerate(ways):
        np.testing.assert_allclose(w, k * delta, rtol=1e-12, atol=1e-14)
        assert f == pytest.approx(problem.at(k * delta).objective, rel=1e-12)
    assert np.all(np.diff([f for _, f in ways]) <= 0.0)
    assert problem.at(len(ways) * delta).objective > ways[-1][1]
    assert solvers.solve(problem, solver).status == "stalled"


def test_a_difference_vector_of_the_start_spoils_the_solution_and_bfgs_is_better():
    """Section II-A.5: the approximation may have caused the quality of FIS to suffer, and BFGS attains better
    objective values."""
    problem = cancer()
    best = solvers.solve(problem, solvers.make_solver("bfgs"), tol=1e-8, max_seconds=20).result["objective"]
    once = solvers.solve(problem, solvers.make_solver("fis", preset="paper"))
    each = solvers.solve(problem, solvers.make_solver("fis"), max_iter=len(once) - 1)
    assert best < each.result["objective"] < once.result["objective"]
    assert once.result["objective"] > 1.1 * best


def test_what_it_proves_of_its_distance_holds():
    problem = cancer()
    best = solvers.solve(problem, solvers.make_solver("lbfgs"), tol=1e-10).result["objective"]
    trace = solvers.solve(problem, solvers.make_solver("fis"), max_iter=200)
    assert np.all(trace.objective - best <= trace.dual_gap * (1.0 + 1e-9))
    assert trace.dual_gap[-1] < trace.dual_gap[0]


@pytest.mark.parametrize("storage", ["dense", "sparse", "binary"])
def test_sums_of_rows_are_of_absolute_values(storage):
    data = binary(storage=storage)
    problem = solvers.make_problem(data, penalty="l2", lam=0.1)
    assert absolute_sums(problem.design) == pytest.approx(np.abs(dense_of(data.train.X)).sum(axis=1))


def test_no_pulse_comes_while_other_runs_wait_for_the_sums_of_rows():
    problem, pulses = cancer(), []

    def pulse():
        numbered = f"number {len(pulses)}"
        other = threading.Thread(
            target=problem.design.attached(int).derived, args=(numbered, int), daemon=True
        )
        other.start()
        other.join(PATIENCE)
        pulses.append(not other.is_alive())

    gate = SimpleNamespace(pulse=pulse, step=lambda run, iterate: None)
    solvers.Run(
        problem, solvers.make_solver("fis"), stopping=solvers.Stopping(max_iter=2), gate=gate
    ).execute()
    assert len(pulses) > 2
    assert all(pulses)


def test_it_is_for_logistic_losses_alone_and_says_so():
    assert {"logistic", "multiclass-logistic"} == {
        loss for loss in solvers.LOSSES if "fis" in solvers.compatible(loss, "l2")
    }
    said = solvers.why_not_solver("fis", "multiclass-squared-hinge", "l2")
    assert said == "needs a logistic loss of one label, binary or multiclass"
    assert "smooth penalty" in solvers.why_not_solver("fis", "logistic", "l1")


def test_products_count_as_passes():
    problem = cancer()
    trace = solvers.solve(problem, solvers.make_solver("fis"), max_iter=3)
    # a gradient, the scores, and at least the slopes at 0 and after each of three Newton steps
    assert np.all(np.diff(trace.passes) >= 0.5 * (2 + 4))
    assert np.all(np.diff(trace.passes) <= 0.5 * (2 + 5))
