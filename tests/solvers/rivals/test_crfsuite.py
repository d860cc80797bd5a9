"""CRFsuite: its features are our weights, and its objective is ours."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers.rivals.crfsuite import (
    ALL_PAIRS,
    CRFSUITE_BEGINS,
    CRFsuite,
    append,
    trainer_of,
    weights,
)
from solverscope.solvers.rivals.external_solver import Task
from tests.solvers.helpers import chains, dense_of

pycrfsuite = pytest.importorskip("pycrfsuite", reason="CRFsuite is not installed")
#: A penalty that each algorithm takes.
PENALTY = {"lbfgs": "elastic-net", "l2sgd": "l2", "ap": "none", "pa": "none", "arow": "none"}


class Clocks:
    """Counts what is told and how often the clocks begin and end."""

    def __init__(self):
        self.told, self.begun, self.ended = [], 0, 0

    def __call__(self, n, w):
        assert self.begun > self.ended - 1 == len(self.told)
        self.told.append((n, w))

    def begin(self):
        self.begun += 1

    def end(self):
        self.ended += 1


def trained(problem, algorithm, path, n=4, seed=0):
    """A trainer after some iterations, whose model is in the file, and the weights read there."""
    solver, task = CRFsuite(algorithm=algorithm, seed=seed), Task.of(problem, None, 0.0)
    assert solver.refuses(problem) is None
    trainer = trainer_of(algorithm, Clocks())
    trainer.set_params(ALL_PAIRS | solver.settings(task))
    trainer.set("max_iterations", n)
    append(trainer, task)
    trainer.train(str(path))
    with open(path, "rb") as file:
        return trainer, weights(file, task)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("algorithm", list(CRFSUITE_BEGINS))
def test_f_is_its_own_objective_at_its_weights(tmp_path, algorithm, average):
    """Σ -log p(y|x) + c₁‖w‖₁ + c₂‖w‖², with the probabilities that its tagger gives."""
    data = chains(n=60, storage="sparse")
    penalty = PENALTY[algorithm]
    problem = solvers.make_problem(
        data, penalty=penalty, lam=None if penalty == "none" else 0.02, average=average
    )
    _, w = trained(problem, algorithm, tmp_path / "model")
    assert np.count_nonzero(w) > 10
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    X, y, total = dense_of(data.train.X), data.train.y, 0.0
    for lo, hi in pairwise(data.train.offsets):
        tagger.set([{f"{j:08d}": X[i, j] for j in np.flatnonzero(X[i])} for i in range(lo, hi)])
        total -= np.log(tagger.probability([f"{c:08d}" for c in y[lo:hi]]))
    task = Task.of(problem, None, 0.0)
    settings = CRFsuite(algorithm=algorithm).settings(task)
    total += float(settings.get("c1", 0)) * np.abs(w).sum() + float(settings.get("c2", 0)) * w @ w
    assert task.scale * total == pytest.approx(problem.at(w).objective, rel=1e-10)


@pytest.mark.parametrize("penalty", ["l1", "l2", "elastic-net"])
def test_the_loss_that_it_prints_is_our_f(tmp_path, penalty):
    """It prints six digits after the point: 1e-10 of a loss above 5000."""
    data = datasets.load("synthetic-chain", n_samples=1000, length=12, n_features=60, n_labels=5)
    problem = solvers.make_problem(data, penalty=penalty, lam=2.0)
    trainer, w = trained(problem, "lbfgs", tmp_path / "model")
    assert trainer.loss > 5000
    assert problem.at(w).objective == pytest.approx(trainer.loss, rel=1e-10)


def test_its_features_are_our_weights_one_to_one(tmp_path):
    """Names and six digits of each weight, as its own dump of the model has them."""
    problem = solvers.make_problem(chains(n=60, storage="sparse"), penalty="l1", lam=1.0)
    _, w = trained(problem, "lbfgs", tmp_path / "model", n=50)
    assert 0 < np.count_nonzero(w) < w.size
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    info, dumped = tagger.info(), np.zeros(problem.size)
    W, T = problem.unpack(dumped)
    for (feature, label), weight in info.state_features.items():
        W[int(feature), int(label)] = weight
    for (before, after), weight in info.transitions.items():
        T[int(before), int(after)] = weight
    np.testing.assert_allclose(w, dumped, atol=5.1e-7, rtol=0)


def test_weights_that_are_all_zero_are_read(tmp_path):
    problem = solvers.make_problem(chains(), penalty="l1", lam_ratio=1.1)
    _, w = trained(problem, "lbfgs", tmp_path / "model")
    assert w.shape == (problem.size,)
    assert not w.any()


@pytest.mark.parametrize("algorithm", list(CRFSUITE_BEGINS))
def test_longer_runs_begin_like_shorter_ones_and_its_work_alone_is_timed(algorithm, monkeypatch):
    monkeypatch.setattr("solverscope.solvers.rivals.crfsuite.growing_lengths", lambda: iter((1, 3, 3)))
    penalty = PENALTY[algorithm]
    problem = solvers.make_problem(chains(), penalty=penalty, lam=None if penalty == "none" else 0.1)
    solver, task, report = CRFsuite(algorithm=algorithm, tol=1e-12), Task.of(problem, None, 0.0), Clocks()
    with pytest.raises(AssertionError):  # after the last of these numbers of iterations
        solver.advance(task, report)
    assert [n for n, _ in report.told] == [1, 3, 3]
    assert report.begun == report.ended == 3
    (_, one), (_, first), (_, again) = report.told
    np.testing.assert_array_equal(first, again)
    assert (one != first).any()
    other = Clocks()
    with pytest.raises(AssertionError):
        replace(solver, seed=7).advance(task, other)
    assert solver.random == (algorithm != "lbfgs") == (other.told[-1][1] != again).any()


@pytest.mark.parametrize("penalty", ["l1", "elastic-net"])
def test_owl_qn_comes_to_our_optimum(penalty):
    problem = solvers.make_problem(chains(n=80, storage="sparse"), penalty=penalty, lam=0.5)
    best = solvers.solve(problem, solvers.make_solver("prox-qn"), tol=1e-9).result["objective"]
    trace = solvers.solve(problem, solvers.make_solver("crfsuite"), tol=1e-9, max_seconds=20)
    assert trace.status in ("converged", "stalled"), trace.message
    assert abs(trace.result["objective"] - best) <= 1e-8 * best


def test_what_an_algorithm_does_not_take_is_refused_in_a_sentence():
    def sentence(algorithm, penalty):
        problem = solvers.make_problem(chains(), penalty=penalty, lam=None if penalty == "none" else 0.1)
        return solvers.make_solver("crfsuite", algorithm=algorithm).refuses(problem)

    ridge = "crfsuite with l2sgd takes a ridge alone: take the penalty l2, or algorithm=lbfgs"
    for penalty in ("none", "l1", "l2", "elastic-net"):
        assert sentence("lbfgs", penalty) is None
        assert sentence("l2sgd", penalty) == (None if penalty == "l2" else ridge)
    for algorithm in ("ap", "pa", "arow"):
        none = f"crfsuite with {algorithm} takes no penalty: take the penalty none, or algorithm=lbfgs"
        assert [sentence(algorithm, penalty) for penalty in ("none", "l2")] == [None, none]
    assert "crfsuite" not in solvers.compatible("chain-crf", "l1-l2")


def test_a_label_without_a_token_is_refused_in_a_sentence():
    data = chains(m=4)
    data.train.y[data.train.y == 3] = 0
    problem = solvers.make_problem(data, lam=0.1)
    sentence = "crfsuite leaves labels without a token out: take data that have some of each label"
    assert solvers.make_solver("crfsuite").refuses(problem) == sentence
