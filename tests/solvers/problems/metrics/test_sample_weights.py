"""Sample weights of a data set: in the loss, and in the metrics of both parts as scikit-learn weighs them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    d2_tweedie_score,
    f1_score,
    mean_absolute_error,
    mean_squared_error,
    mean_tweedie_deviance,
    r2_score,
)

from solverscope import datasets, solvers
from solverscope.solvers.runs.lam_path import measured


@pytest.fixture
def weighted_set(tmp_path):
    """Loads 60 + 40 rows with these labels, made of features and noise, and weights of which some are 0."""

    def load(labels, **options):
        rng = np.random.default_rng(7)
        X = rng.normal(size=(100, 3))
        y, s = labels(X @ [1.0, -0.5, 0.2] + rng.normal(size=100)), rng.integers(0, 4, 100)
        arrays = {}
        for part, rows in (("train", slice(60)), ("test", slice(60, None))):
            arrays |= {f"X_{part}": X[rows], f"y_{part}": y[rows], f"s_{part}": s[rows]}
        np.savez(tmp_path / "a.npz", **arrays)
        return datasets.load(f"npz:{tmp_path / 'a.npz'}", weights="s", **options)

    return load


@dataclass(frozen=True)
class Measured:
    """One part of a data set: scores, targets, sample weights, and the metric of some weights w."""

    Z: np.ndarray
    y: np.ndarray
    s: np.ndarray
    metric: float


def of_both_parts(data, **given):
    """The problem, some weights w, and the training and the test part."""
    problem = solvers.make_problem(data, lam=0.1, penalty="l2", **given)
    w = np.random.default_rng(3).normal(size=problem.size)
    W, _ = problem.unpack(w)
    metrics = (problem.train_metric(problem.at(w)), problem.test_metric(w))
    parts = zip((data.train, data.test), metrics, strict=True)
    return problem, w, [Measured(p.X @ W, p.y, p.sample_weight, metric) for p, metric in parts]


def of_a_path(problem, w):
    """What a path measures at the weights w."""
    run = solvers.Run(problem, solvers.make_solver("prox-gd"), w0=w, stopping=solvers.Stopping(max_iter=0))
    run.execute()
    return measured(run)


def classes(z):
    return np.digitize(z, [-0.5, 0.5])


def test_the_accuracy_of_classes_counts_weights(weighted_set):
    problem, _, parts = of_both_parts(weighted_set(classes))
    for p in parts:
        expected = accuracy_score(p.y, p.Z.argmax(axis=1), sample_weight=p.s)
        assert p.metric == pytest.approx(expected, rel=1e-14)
    assert problem.loss.metric_name == "weighted accuracy"


def test_the_f1_of_one_class_counts_weights(weighted_set):
    problem, _, parts = of_both_parts(weighted_set(classes, positive="1"))
    for p in parts:
        expected = f1_score(p.y, np.where(p.Z[:, 0] >= 0, 1, -1), sample_weight=p.s)
        assert p.metric == pytest.approx(expected, rel=1e-14)
    assert problem.loss.metric_name == "weighted F1"


def test_errors_of_targets_count_weights(weighted_set):
    problem, w, parts = of_both_parts(weighted_set(lambda z: z, kind="regression"))
    for p in parts:
        assert p.metric == pytest.approx(r2_score(p.y, p.Z[:, 0], sample_weight=p.s), rel=1e-13)
    found, p = of_a_path(problem, w), parts[1]
    assert found["test_mse"] == pytest.approx(mean_squared_error(p.y, p.Z[:, 0], sample_weight=p.s))
    assert found["test_mae"] == pytest.approx(mean_absolute_error(p.y, p.Z[:, 0], sample_weight=p.s))


def test_deviances_of_counts_count_weights(weighted_set):
    data = weighted_set(lambda z: np.round(np.exp(z)), kind="regression")
    problem, w, parts = of_both_parts(data, loss="poisson")
    for p in parts:
        expected = d2_tweedie_score(p.y, np.exp(p.Z[:, 0]), sample_weight=p.s, power=1)
        assert p.metric == pytest.approx(expected, rel=1e-12)
    p = parts[1]
    deviance = mean_tweedie_deviance(p.y, np.exp(p.Z[:, 0]), sample_weight=p.s, power=1)
    assert of_a_path(problem, w)["test_deviance"] == pytest.approx(deviance, rel=1e-12)


@pytest.mark.parametrize("options", [{}, {"positive": "8"}])
def test_balanced_classes_have_scikit_learn_s_optimum(options):
    data = datasets.load("digits", class_weight="balanced", **options)
    problem = solvers.make_problem(data, penalty="l2", lam=0.01, intercept=True)
    ours = solvers.solve(problem, solvers.make_solver("lbfgs"), tol=1e-8)
    theirs = LogisticRegression(
        C=1.0 / (0.01 * data.n_samples), class_weight="balanced", tol=1e-10, max_iter=2000
    ).fit(data.X, data.y)
    W, b = theirs.coef_.T, theirs.intercept_
    at = problem.at(np.vstack([W, b[None, :]]).ravel())
    assert ours.result["objective"] == pytest.approx(at.objective, rel=1e-9)
    found, _ = problem.unpack(ours.w)
    np.testing.assert_allclose(found[:-1], W, atol=2e-5)
    assert ours.result["metric_name"] == ("F1" if options else "accuracy")
