"""Twenty planted diseases: runs with one known cause of slowness each, its finding, and a cure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from solverscope import datasets, solvers

NO_OPTIONS: Mapping[str, Any] = {}
RIDGE = {"loss": "logistic", "penalty": "l2", "lam": 1e-2}
SOFTMAX = {"loss": "multiclass-logistic", "penalty": "l1", "lam_ratio": 0.01}
SOFTMAX_RIDGE = {"loss": "multiclass-logistic", "penalty": "l2", "lam": 1e-4}
CHAIN_RIDGE = {"loss": "chain-crf", "penalty": "l2", "lam": 5.0}
LASSO = {"loss": "squared", "penalty": "l1", "lam_ratio": 0.02}
HINGE = {"loss": "binary-hinge", "penalty": "l2", "lam": 1e-3}


@dataclass(frozen=True)
class Disease:
    """A run that is slow for one reason; ``cure`` changes the parts that cause it, by their names here."""

    name: str
    finding: str
    data: str
    problem: Mapping[str, Any]
    solver: str
    params: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=lambda: {"tol": 1e-6})
    cure: Mapping[str, Any] = field(default_factory=dict)

    def make(self, **changed: Any) -> tuple[solvers.Problem, solvers.Solver, Mapping[str, Any]]:
        """Return the problem, the solver and the limits, with these parts replaced."""
        now = {name: changed.get(name, value) for name, value in vars(self).items()}
        data = datasets.load(now["data"], **now["options"])
        problem = solvers.make_problem(data, **now["problem"])
        return problem, solvers.make_solver(now["solver"], **now["params"]), now["limits"]


DISEASES = (
    Disease(
        "FISTA on raw columns",
        "columns-of-unlike-scale",
        *("breast-cancer", RIDGE, "fista-ls"),
        options={"scale": "none"},
        limits={"tol": 1e-3, "max_iter": 1000},
        cure={"options": NO_OPTIONS},
    ),
    Disease(
        "L-BFGS on raw columns",
        "columns-of-unlike-scale",
        *("breast-cancer", RIDGE | {"lam": 1e-4}, "lbfgs"),
        options={"scale": "none"},
        limits={"tol": 1e-6, "max_iter": 1000},
        cure={"options": NO_OPTIONS},
    ),
    Disease(
        "coordinate descent on neighbours that are alike",
        "nearly-equal-columns",
        *("synthetic-regression", LASSO | {"lam_ratio": 0.01}, "bcd-ls"),
        options={"n_samples": 200, "n_features": 100, "correlation": 0.999},
        cure={"options": {"n_samples": 200, "n_features": 100, "correlation": 0.5}},
    ),
    Disease(
        "L-BFGS with one pair",
        "memory-too-short",
        *("digits", SOFTMAX_RIDGE, "lbfgs", {"memory": 1}),
        limits={"tol": 1e-5},
        cure={"params": {"memory": 30}},
    ),
    Disease(
        "Prox-QN with one pair",
        "memory-too-short",
        *("digits", SOFTMAX, "prox-qn", {"memory": 1, "start": "none"}),
        cure={"params": {"memory": 30, "start": "none"}},
    ),
    Disease(
        "gradient steps from 1 on a sum over sequences",
        "steps-cut-back",
        *("digit-strings", CHAIN_RIDGE, "gd", {"line_search": "armijo"}),
        options={"n_samples": 100},
        limits={"tol": 1e-2},
        cure={"params": {"line_search": "wolfe"}},
    ),
    Disease(
        "a proximal step that never grows",
        "steps-never-lengthened",
        *("digits", SOFTMAX | {"lam_ratio": 0.02}, "prox-gd", {"growth": 1.0}),
        limits={"tol": 1e-3, "max_iter": 1500},
        cure={"params": {"growth": 1.2}},
    ),
    Disease(
        "L-BFGS from the identity on a sum over samples",
        "unit-step-refused",
        *("digits", SOFTMAX_RIDGE | {"lam": 1.0, "average": False}, "lbfgs", {"scaled": False}),
        limits={"tol": 1e-5},
        cure={"params": {"scaled": True}},
    ),
    Disease(
        "one sweep over a quasi-Newton model",
        "inner-limit",
        *("digits", SOFTMAX, "prox-qn", {"max_inner": 1, "start": "none"}),
        cure={"params": {"start": "none"}},
    ),
    Disease(
        "one sweep over a Newton model",
        "inner-limit",
        *("synthetic-regression", LASSO | {"loss": "huber"}, "newton-cd", {"max_inner": 1}),
        options={"n_samples": 400, "n_features": 100, "correlation": 0.95},
        cure={"params": NO_OPTIONS},
    ),
    Disease(
        "a growing set under a quasi-Newton model",
        "set-drops-what-returns",
        *("digits", SOFTMAX, "prox-qn", {"rule": "growing", "start": "none"}),
        cure={"params": {"start": "none"}},
    ),
    Disease(
        "all weights of a sparse chain model, always",
        "set-never-shrinks",
        *("digit-strings", {"loss": "chain-crf", "penalty": "l1", "lam": 5.0}, "prox-qn"),
        params={"shrinking": False, "start": "none"},
        options={"n_samples": 200},
        limits={"tol": 1e-4, "max_seconds": 1.5},
        cure={"params": {"start": "none"}},
    ),
    Disease(
        "gradient descent on a hinge loss",
        "kink",
        *("breast-cancer", HINGE, "gd"),
        limits={"tol": 1e-4},
        cure={"solver": "ls-bmrm"},
    ),
    Disease(
        "FOBOS with a first step far too long",
        "eta0-too-large",
        *("breast-cancer", {"loss": "logistic", "penalty": "l1", "lam": 0.005}, "fobos", {"eta0": 30.0}),
        limits={"max_iter": 100},
        cure={"params": NO_OPTIONS},
    ),
    Disease(
        "stochastic steps that are far too short",
        "eta0-too-small",
        *("breast-cancer", {"loss": "logistic", "penalty": "l1", "lam": 0.005}, "sgd-l1", {"eta0": 1e-5}),
        limits={"max_iter": 100},
        cure={"params": NO_OPTIONS},
    ),
    Disease(
        "a ridge too weak for separable data",
        "lam-too-small",
        *("breast-cancer", RIDGE | {"lam": 1e-12}, "lbfgs"),
        limits={"tol": 1e-10, "max_iter": 3000},
        cure={"problem": RIDGE},
    ),
    Disease(
        "a tolerance below rounding",
        "tol-below-rounding",
        *("breast-cancer", {"loss": "logistic", "penalty": "l1", "lam_ratio": 0.1}, "owl-qn"),
        limits={"tol": 1e-15},
        cure={"limits": {"tol": 1e-6}},
    ),
    Disease(
        "adaptive factors for a run of two iterations",
        "time-in-setup",
        *("synthetic-regression", LASSO | {"lam_ratio": 0.3, "penalty_factors": "adaptive"}, "newton-cd"),
        options={"n_samples": 3000, "n_features": 400},
        limits={"tol": 1e-4},
        cure={"problem": LASSO | {"lam_ratio": 0.3}},
    ),
    Disease(
        "an exact search where a trial costs as much as a gradient",
        "time-in-search",
        *("digit-strings", CHAIN_RIDGE, "lbfgs", {"line_search": "exact"}),
        options={"n_samples": 200},
        limits={"tol": 1e-4},
        cure={"params": {"line_search": "wolfe"}},
    ),
    Disease(
        "models solved far beyond what the step needs",
        "time-in-inner-sweeps",
        *("digits", SOFTMAX, "newton-cd", {"inner": 1e-4}),
        limits={"tol": 1e-4},
        cure={"params": NO_OPTIONS},
    ),
)


def _raw_dates(rng):
    X = rng.standard_normal((300, 8))
    X[:, 3] = 19000.0 + 400.0 * rng.random(300)  # days since 1970
    return X, np.sign(X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(300))


def _copies(rng):
    base = rng.standard_normal((200, 5))
    X = np.repeat(base, 10, axis=1) + 1e-3 * rng.standard_normal((200, 50))
    return X, base @ [1.0, -2.0, 3.0, -1.0, 0.5] + 0.1 * rng.standard_normal(200)


def _ill_conditioned(rng):
    turned = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    X = rng.standard_normal((400, 60)) @ np.diag(np.logspace(0.0, -2.0, 60)) @ turned
    return X, np.sign(X @ rng.standard_normal(60))


def _noisy_labels(rng, n=300, d=20):
    X = rng.standard_normal((n, d))
    return X, np.sign(X[:, 0] + 0.5 * rng.standard_normal(n))


def _clean_labels(rng):
    X = rng.standard_normal((1000, 30))
    return X, np.sign(X @ rng.standard_normal(30))


#: Written after the rules, with these unseen: finding, data, problem, solver.
UNSEEN_DISEASES = (
    ("columns-of-unlike-scale", _raw_dates, RIDGE | {"lam": 1e-3}, "gd", {}),
    ("nearly-equal-columns", _copies, {"loss": "squared", "penalty": "l1", "lam": 1e-3}, "bcd-cst", {}),
    ("memory-too-short", _ill_conditioned, RIDGE | {"lam": 1e-5}, "lbfgs", {"memory": 1}),
    ("kink", _noisy_labels, HINGE, "lbfgs", {}),
    (
        "lam-too-small",
        lambda rng: _noisy_labels(rng, 60, 300),
        {"loss": "logistic", "penalty": "l1", "lam_ratio": 1e-6},
        "fista-ls",
        {},
    ),
    (
        "eta0-too-small",
        _clean_labels,
        {"loss": "logistic", "penalty": "l1", "lam_ratio": 0.01},
        "sgd-l1",
        {"eta0": 1e-4},
    ),
)
