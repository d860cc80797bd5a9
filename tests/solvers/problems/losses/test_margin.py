"""Losses of margins given by their scalar functions: they reach compiled kernels, and SciPy agrees."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import f1_score

from solverscope import datasets, solvers
from solverscope.app.plugins import load_file
from solverscope.solvers.problems.losses.margin import f1
from tests.solvers.helpers import binary, dense_of

PLUGIN = Path(__file__).parents[3] / "app" / "margin_plugin.py"
ROOT = Path(__file__).parents[4]
WIDTH = 0.8


@pytest.fixture(autouse=True)
def _registered(registries):
    load_file(PLUGIN)


def loss_of(w, X, y):
    """The loss and its gradient, written anew."""
    a = 1.0 - y * (X @ w)
    value = np.where(a < WIDTH, np.maximum(a, 0.0) ** 2 / (2.0 * WIDTH), a - 0.5 * WIDTH)
    return value.mean(), -X.T @ (y * np.clip(a / WIDTH, 0.0, 1.0)) / y.size


def optimum(lam, penalty):
    """Of w = u - v with u, v >= 0 for ℓ1, by SciPy's L-BFGS-B."""
    data = binary()
    X, y = dense_of(data.train.X), np.asarray(data.train.y, dtype=float)
    d = X.shape[1]
    if penalty == "l2":

        def f(w):
            value, g = loss_of(w, X, y)
            return value + 0.5 * lam * w @ w, g + lam * w

        start, bounds = np.zeros(d), None
    else:

        def f(parts):
            value, g = loss_of(parts[:d] - parts[d:], X, y)
            return value + lam * parts.sum(), np.concatenate([g, -g]) + lam

        start, bounds = np.zeros(2 * d), [(0.0, None)] * (2 * d)
    return minimize(f, start, jac=True, bounds=bounds, method="L-BFGS-B", tol=1e-14).fun


def solve(id, lam, penalty, **limits):
    problem = solvers.make_problem(
        binary(), loss="smooth-hinge", penalty=penalty, lam=lam, loss_params={"delta": WIDTH}
    )
    return solvers.solve(problem, solvers.make_solver(id), **limits)


@pytest.mark.parametrize(
    ("id", "penalty", "limits", "rtol"),
    [
        ("bcd-ls", "l1", {"tol": 1e-9}, 1e-9),
        ("bcd-cst", "l1", {"tol": 1e-9}, 1e-9),
        ("dual-cd", "l2", {"tol": 1e-9}, 1e-8),
        ("sgd-l1", "l1", {"max_iter": 300}, 1e-3),
        ("fobos", "l1", {"max_iter": 300}, 1e-2),
    ],
)
def test_solvers_with_the_loss_in_a_kernel_find_the_optimum_that_scipy_finds(id, penalty, limits, rtol):
    assert id in solvers.compatible("smooth-hinge", penalty)
    lam = 0.02
    trace = solve(id, lam, penalty, **limits)
    expected = optimum(lam, penalty)
    assert trace.result["objective"] == pytest.approx(expected, rel=rtol)
    assert trace.result["objective"] >= expected * (1.0 - 1e-9)


def test_the_gap_that_its_dual_proves_holds():
    lam = 0.02
    trace = solve("dual-cd", lam, "l2", max_iter=8, tol=0.0)
    best = optimum(lam, "l2")
    gaps = [gap for gap in trace.dual_gap if np.isfinite(gap)]
    assert len(gaps) > 4
    for objective, gap in zip(trace.objective, trace.dual_gap, strict=True):
        assert not gap < objective - best - 1e-12
    assert gaps[-1] < gaps[0]


SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from solverscope.app.plugins import load_file
load_file(Path(sys.argv[1]))
from solverscope import solvers
from numba.core import event
compiled = event.RecordingListener()
with event.install_listener("numba:compile", compiled):
    problem = solvers.make_problem(np.eye(3), [1, -1, 1], loss="smooth-hinge", penalty="l1", lam=0.1)
    value = problem.at(np.array([0.8, 0.0, 2.0])).loss
names = [e.data["dispatcher"].py_func.__name__ for _, e in compiled.buffer if e.is_start]
print(names.count("margin_values"), value)
"""


@pytest.mark.slow
def test_its_kernels_are_cached_until_its_source_changes(tmp_path):
    plugin = tmp_path / "mine.py"
    text = PLUGIN.read_text(encoding="utf-8")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(source):
        plugin.write_text(source, encoding="utf-8")
        call = [sys.executable, "-c", SCRIPT, str(plugin)]
        out = subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        compiled, value = out.stdout.split()
        return int(compiled), float(value)

    first, again = run(text), run(text)
    assert (first[0], again) == (1, (0, first[1]))
    changed = run(text.replace("(1.0 - margin) / self.delta", "(2.0 - margin) / self.delta"))
    assert changed[0] == 1
    assert changed[1] != first[1]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9, 1.0])
def test_f1_is_that_of_another_program(share):
    rng = np.random.default_rng(0)
    true, found = rng.random(200) < share, rng.random(200) < 0.3
    assert f1(true, found) == pytest.approx(f1_score(true, found, zero_division=0.0))
    assert f1(np.zeros(3, bool), np.zeros(3, bool)) == 0.0


@pytest.mark.parametrize(("id", "name"), [("digits", "3"), ("synthetic-multilabel", None)])
@pytest.mark.parametrize("loss", ["logistic", "binary-hinge"])
def test_a_class_against_the_rest_is_measured_by_f1(id, name, loss):
    """Of a multiclass and of a multilabel set; objective (3) sums over instances."""
    data = datasets.load(id, positive=name or datasets.load(id).label_names[0])
    problem = solvers.make_problem(data, loss=loss, penalty="l2", lam=1.0, average=False)
    assert problem.scale == 1.0
    trace = solvers.solve(problem, solvers.make_solver("lbfgs"), max_iter=30)
    assert trace.result["metric_name"] == "F1"
    test_loss, scores = problem.test_scores(trace.w)
    predicted = test_loss.predict(scores)
    assert 0.0 < trace.result["test_metric"] == pytest.approx(f1_score(data.test.y, predicted))


def test_two_labels_of_their_own_are_measured_by_accuracy():
    problem = solvers.make_problem(binary(), penalty="l2", lam=0.1)
    trace = solvers.solve(problem, solvers.make_solver("lbfgs"), max_iter=3)
    assert trace.result["metric_name"] == "accuracy"
    assert datasets.load("breast-cancer").metric is None


def test_the_measure_is_no_part_of_the_key():
    one, other = (datasets.load("digits", positive="3"), datasets.load("digits", positive="3"))
    object.__setattr__(other, "metric", None)
    problems = [solvers.make_problem(data, penalty="l2", lam=1.0) for data in (one, other)]
    assert problems[0].key == problems[1].key
