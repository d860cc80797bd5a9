"""A run stops within half a second of its own time, also in the middle of an iteration that takes seconds."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import datasets
import solvers
from solvers import Run, Stopping
from tests.solvers.helpers import MAKERS
from tests.solvers.stops import stop


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


@pytest.mark.parametrize(
    ("solver", "kind", "loss"),
    [
        (solver, kind, fitting[0])
        for kind in MAKERS
        for solver in solvers.SOLVERS
        if (fitting := [c for c in solvers.losses_for(kind) if solver in solvers.compatible(c, "l1")])
    ],
)
@pytest.mark.parametrize("after", [0.02, 0.2])
def test_a_run_stops_within_half_a_second(solver, kind, loss, after, larges):
    problem = larges(kind, loss)
    run = Run(problem, solvers.make_solver(solver), stopping=Stopping(tol=0.0, max_seconds=60.0))
    took = stop(run, after)
    assert took.seconds < 0.5, took


@pytest.mark.parametrize(
    ("solver", "kind"),
    [
        (solver, kind)
        for kind in ("binary", "multiclass", "multilabel")
        for solver in ("dual-cd", "bmrm", "ls-bmrm", "ocas", "subgd", "subbfgs", "sublbfgs")
        if solver in solvers.compatible(f"{kind}-hinge", "l2")
    ],
)
def test_a_run_on_a_loss_with_kinks_stops_within_half_a_second(solver, kind, larges):
    problem = larges(kind, f"{kind}-hinge", "l2")
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
