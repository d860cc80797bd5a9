"""What a run has learned is kept as it is: the largest weights, those of pixels, predictions."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers import LEARNED, Scores
from solverscope.solvers.probes import learned

SETS = {
    "breast-cancer": ("logistic", 0.02, {}),
    "digits": ("multiclass-squared-hinge", 0.02, {}),
    "synthetic-multilabel": ("multilabel-squared-hinge", 0.02, {}),
    "synthetic-tree": ("tree-softmax", 0.01, {}),
    "diabetes": ("squared", 0.02, {}),
    "synthetic-regression": ("poisson", 0.05, {"link": "log", "n_samples": 40, "n_features": 10}),
    "digit-strings": ("chain-crf", 2.0, {"n_samples": 40}),
}


def kept(id: str, iterations: int = 4) -> tuple[solvers.Problem, solvers.Trace]:
    loss, lam, options = SETS[id]
    problem = solvers.make_problem(datasets.load(id, **options), loss=loss, lam=lam)
    run = solvers.Run(
        problem,
        solvers.make_solver("prox-gd"),
        stopping=solvers.Stopping(max_iter=iterations),
        probes=(LEARNED,),
    )
    return problem, run.execute()


@pytest.mark.parametrize("id", SETS)
def test_what_is_kept_of_the_last_iterate_is_what_its_weights_say(id):
    problem, trace = kept(id)
    at, seen = trace.probes.last(LEARNED.name, 10**6)
    assert at == trace.last["iteration"] > 0
    w, (W, tail) = trace.w, problem.unpack(trace.w)
    support = np.flatnonzero(w)
    threshold = (
        np.sort(np.abs(w))[-learned.MAX_RECORDED_WEIGHTS]
        if support.size > learned.MAX_RECORDED_WEIGHTS
        else 0.0
    )
    assert np.array_equal(seen["indices"], support[np.abs(w[support]) >= threshold])
    assert np.allclose(seen["values"], w[seen["indices"]], rtol=1e-6)
    examples = problem.examples()
    assert examples.held_out == problem.has_test
    loss, scores = problem.test_scores(w) if problem.has_test else (problem.loss, problem.design.scores(w))
    rows = examples.rows.shape[0]
    whole = loss.predict(Scores(scores.Z, scores.tail))
    if id == "synthetic-multilabel":  # ranks: the first ones, as many as are true
        whole = whole < loss.y.sum(axis=1)[:, None]
    if loss.numeric:
        assert seen["predicted"].dtype == np.float32
        whole = np.asarray(whole).astype(np.float32)
    np.testing.assert_allclose(seen["predicted"], whole[: len(seen["predicted"])], rtol=1e-6)
    assert len(seen["predicted"]) == rows == examples.lengths.sum() > 0
    if problem.names.picture_shape:
        pixels = np.prod(problem.names.picture_shape)
        assert np.allclose(seen["pixels"], W[:pixels], rtol=1e-6)
    assert ("tail" in seen) == (tail.size > 0)


def test_only_the_largest_of_many_weights_are_kept(monkeypatch):
    monkeypatch.setattr(learned, "MAX_RECORDED_WEIGHTS", 7)
    _, trace = kept("digits")
    _, seen = trace.probes.last(LEARNED.name, 10**6)
    assert np.array_equal(seen["indices"], np.sort(np.argsort(-np.abs(trace.w), kind="stable")[:7]))


def test_a_function_has_learned_nothing():
    problem = solvers.make_problem(datasets.load("toy-wolfe"), penalty="l2", lam=1e-9)
    run = solvers.Run(
        problem, solvers.make_solver("subgd"), stopping=solvers.Stopping(max_iter=3), probes=(LEARNED,)
    )
    assert run.execute().probes.iterations(LEARNED.name) == []


def test_the_data_do_not_stay_in_memory_for_it():
    problem = solvers.make_problem(datasets.load("breast-cancer"))
    X, stopping = weakref.ref(problem.design), solvers.Stopping(max_iter=3)
    trace = solvers.Run(
        problem, solvers.make_solver("prox-qn"), stopping=stopping, probes=(LEARNED,)
    ).execute()
    del problem
    gc.collect()
    assert X() is None
    assert trace.probes.iterations(LEARNED.name)
