"""What the benchmarks after Blondel et al. 2013 share: data sets, printed settings, the budget of a run."""

from __future__ import annotations

import os
from typing import Any

import pytest

import datasets
import solvers
from solvers import Problem, Trace
from tests.benchmarks.report import Report

#: CPU seconds of a run.
BUDGET = float(os.environ.get("SOLVERSCOPE_BUDGET", "60"))
LOSS = "multiclass-squared-hinge"
GAPS = (1e-1, 1e-2, 1e-3, 1e-4)
#: Data sets of the paper as far as they can be had, a set like its News20, and two more.
SETS: dict[str, tuple[str, dict[str, Any]]] = {
    "mnist": ("mnist", {"split": "random"}),
    "text20": ("synthetic-text", {"preset": "text20"}),
    "news20": ("news20", {"split": "random"}),
    "news20-tree": ("news20", {"form": "tree", "labels": "flat", "split": "random"}),
    "news20-raw": ("news20", {"form": "sklearn", "split": "random"}),
    "letter": ("letter", {"split": "random"}),
    "reuters-r8": ("reuters-r8", {}),
    "amazon7": ("amazon7", {}),
    # its test part has classes that training lacks, so the two cannot be pooled for random splits
    "rcv1": ("rcv1", {"task": "multiclass"}),
    "sector": ("sector", {"split": "random"}),
}
#: What the paper prints, where the solvers' defaults go beyond it.
PRINTED: dict[str, dict[str, Any]] = {
    "bcd-ls": {"order": "cyclic", "lengthen": 1.0, "revisit": 0.0},
    "bcd-cst": {"constant": "paper", "revisit": 0.0},
    "fista-cst": {"constant": "paper"},
}


def load(report: Report, name: str, seed: int = 0) -> datasets.Dataset:
    """One of ``SETS``; where it is not at hand the report says so and the test is skipped."""
    id, options = SETS[name]
    available, reason = datasets.DATASETS[id].available(**options)
    if not available:
        report.note(f"{name} is left out, because it is not at hand: {reason}")
        pytest.skip(f"{name} is not at hand: {reason}")
    return datasets.load(id, seed=seed, **options)


def drawn(name: str) -> bool:
    """Whether seeds give different splits, or data, of one of ``SETS``."""
    id, options = SETS[name]
    entry = datasets.DATASETS[id]
    return id.startswith("synthetic") or entry.parse(options).get("split") == "random"


def solved(problem: Problem, id: str, params: dict[str, Any], **limits: Any) -> Trace:
    return solvers.solve(problem, solvers.make_solver(id, **params), **limits)
