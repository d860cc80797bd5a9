"""The same objectives as other people's programs have."""

import re
from itertools import pairwise

import numpy as np
import pytest

from solverscope import datasets, solvers
from tests.solvers.helpers import binary, by_scikit_learn, dense_of, multiclass


def solved(problem, solver="prox-qn"):
    trace = solvers.solve(problem, solvers.make_solver(solver), tol=1e-9, max_iter=5000)
    return trace.result["objective"]


@pytest.mark.parametrize("data", ["breast-cancer", "random"])
def test_logistic_with_l1_is_that_of_liblinear(data):
    """min ‖w‖₁ + C Σ log(1 + exp(-y z)): ours with an average loss at λ = 1/(C n)."""
    data = datasets.load(data) if data != "random" else binary(n=200, d=30)
    lam, n = 0.01, data.train.y.size
    problem = solvers.make_problem(data, penalty="l1", lam=lam)
    w = by_scikit_learn(data, l1_ratio=1.0, solver="liblinear", C=1 / (lam * n), tol=1e-10).ravel()
    theirs, ours = problem.at(w).objective, solved(problem)
    assert abs(theirs - ours) <= 1e-8 * ours


def test_logistic_with_l2_is_that_of_scikit_learn():
    data = datasets.load("breast-cancer")
    lam, n = 0.01, data.train.y.size
    problem = solvers.make_problem(data, penalty="l2", lam=lam)
    w = by_scikit_learn(data, solver="lbfgs", C=1 / (lam * n), tol=1e-10).ravel()
    theirs, ours = problem.at(w).objective, solved(problem, "owl-qn")
    assert abs(theirs - ours) <= 1e-8 * ours


def test_multiclass_with_l2_is_that_of_scikit_learn():
    data = multiclass(n=300, d=12, m=5)
    lam = 0.02
    problem = solvers.make_problem(data, penalty="l2", lam=lam)
    w = by_scikit_learn(data, solver="lbfgs", C=1 / (lam * 300), tol=1e-10).T.ravel()
    theirs, ours = problem.at(w).objective, solved(problem, "owl-qn")
    assert abs(theirs - ours) <= 1e-8 * ours


def test_the_chain_crf_is_that_of_crfsuite(tmp_path):
    """Its training log's loss (with c1 ‖w‖₁) is our objective at the weights it ends with."""
    import pycrfsuite

    data = datasets.load("synthetic-chain", n_samples=500, length=12, n_features=60, n_labels=5, density=0.1)
    X, y, offsets = dense_of(data.train.X), data.train.y, data.train.offsets
    lam = 2.0
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    params = {"c1": lam, "c2": 0.0, "max_iterations": 60, "feature.possible_states": 1}
    trainer.set_params({**params, "feature.possible_transitions": 1})
    for lo, hi in pairwise(offsets):
        rows = [{f"x{j}": float(X[i, j]) for j in np.flatnonzero(X[i])} for i in range(lo, hi)]
        trainer.append(pycrfsuite.ItemSequence(rows), [str(label) for label in y[lo:hi]])
    log = []
    trainer.message = log.append
    model = tmp_path / "model"
    trainer.train(str(model))
    printed = float(re.findall(r"Loss: ([0-9.]+)", "".join(log))[-1])
    assert printed > 1000

    # six decimals of each weight: near the optimum they cost the objective less than its own last digit
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    info = tagger.info()
    problem = solvers.make_problem(data, loss="chain-crf", penalty="l1", lam=lam)
    w = np.zeros(problem.size)
    W, T = problem.unpack(w)
    for (feature, label), weight in info.state_features.items():
        W[int(feature[1:]), int(label)] = weight
    for (before, after), weight in info.transitions.items():
        T[int(before), int(after)] = weight
    assert np.count_nonzero(w) > 20
    print(f"crfsuite {printed}, here {problem.at(w).objective:.6f}")
    assert problem.at(w).objective == pytest.approx(printed, abs=5e-6)
