"""Stop is felt within half a second of a run's own time, also in an iteration that takes seconds."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from solverscope import datasets, solvers
from solverscope.solvers import Run, Stopping
from tests.benchmarks.stops import stop
from tests.solvers.helpers import MAKERS
from tests.solvers.runs.test_run_stop import KINKED, PAIRS

pytestmark = pytest.mark.bench


def large(kind, loss, penalty="l1"):
    """A problem on which one product takes seconds: X times 30 outputs and more."""
    if kind == "sequences":
        if datasets.DATASETS["ocr"].available()[0]:
            return solvers.make_problem(datasets.load("ocr"), lam=10.0)
        data = datasets.load("synthetic-chain", n_samples=20_000, length=20, n_features=5000, n_labels=20)
        return solvers.make_problem(data, lam_ratio=0.01)
    data = MAKERS[kind](n=40_000, d=400, storage="sparse", density=0.2)
    # columns of very different lengths keep every solver busy for long
    X = sp.csr_array(data.train.X @ sp.diags_array(np.logspace(0.0, -4.0, 400)))
    data = replace(data, train=replace(data.train, X=X))
    if penalty == "l2":
        return solvers.make_problem(data, loss=loss, penalty="l2", lam=1e-5)
    return solvers.make_problem(data, loss=loss, penalty="l1", lam_ratio=1e-6)


@pytest.fixture(scope="module")
def larges():
    made = {}

    def make(*which):
        if which not in made:
            made[which] = large(*which)
        return made[which]

    return make


@pytest.mark.parametrize(("solver", "kind", "loss"), PAIRS)
@pytest.mark.parametrize("after", [0.02, 0.2])
def test_a_run_stops_within_half_a_second(solver, kind, loss, after, larges):
    problem = larges(kind, loss)
    run = Run(problem, solvers.make_solver(solver), stopping=Stopping(tol=0.0, max_seconds=60.0))
    took = stop(run, after)
    assert took.seconds < 0.5, took


@pytest.mark.parametrize(("solver", "kind", "loss"), KINKED)
def test_a_run_on_a_loss_with_kinks_stops_within_half_a_second(solver, kind, loss, larges):
    problem = larges(kind, loss, "l2")
    run = Run(problem, solvers.make_solver(solver), stopping=Stopping(tol=0.0, max_seconds=60.0))
    took = stop(run, 0.2)
    assert took.seconds < 0.5, took


def test_a_warm_started_bundle_stops_within_half_a_second_in_its_first_part(larges):
    solver = solvers.make_solver("ls-bmrm", warm="sublbfgs")
    run = Run(
        larges("multiclass", "multiclass-hinge", "l2"), solver, stopping=Stopping(tol=0.0, max_seconds=60.0)
    )
    took = stop(run, 0.2)
    assert took.seconds < 0.5, took


@pytest.mark.parametrize("clustering", ["chunks", "kmeans"])
def test_stop_is_felt_inside_clustering(clustering):
    """A million weights; the run is stopped while it clusters them."""
    rng = np.random.default_rng(0)
    X, y = sp.random_array((400, 250_000), density=1e-4, rng=rng), np.arange(400) % 4
    problem = solvers.make_problem(X, y, loss="multiclass-logistic", penalty="l2", lam=1e-4)
    assert problem.size == 1_000_000
    solver = solvers.make_solver("clustered-lbfgs", fine_iterations=1, clustering=clustering, rounds=1000)
    for after in (0.1, 0.6):
        took = stop(Run(problem, solver, stopping=Stopping(tol=0.0, max_seconds=60.0)), after)
        assert took.seconds < 0.5, took


@pytest.mark.parametrize("after", [0.02, 0.3])
def test_stop_is_felt_inside_a_round(after):
    """A round over 30 outputs takes seconds."""
    data = MAKERS["multiclass"](n=20_000, d=400, m=30, storage="sparse", density=0.2)
    problem = solvers.make_problem(data, loss="multiclass-logistic", penalty="l2", lam=1e-6)
    run = Run(problem, solvers.make_solver("fis"), stopping=Stopping(tol=0.0, max_seconds=60.0))
    took = stop(run, after)
    assert took.seconds < 0.5, took
    assert len(run.trace) <= 1
