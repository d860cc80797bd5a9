"""The F1 of entities in the experiments of Mathur and Chakrabarti 2006.

    pytest -m bench tests/benchmarks/test_mathur.py -s

writes build/reports/mathur.html. Figures and tables are run by `solverscope paper mathur2006`; entities are
scored here, and not tokens. Objective (3): the sum over instances, and a ridge.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from solverscope import datasets, solvers
from solverscope.datasets.metrics import entity_scores
from solverscope.solvers import Problem
from tests.benchmarks.report import Report

pytestmark = pytest.mark.bench


@pytest.fixture(scope="module")
def report() -> Iterator[Report]:
    report = Report("Feature redundancy: entities, Mathur and Chakrabarti 2006")
    yield report
    report.write("mathur.html")


@cache
def texts() -> datasets.Dataset:
    """Spanish of CoNLL-2002, with the paper's features."""
    available, reason = datasets.DATASETS["conll2002"].available()
    if not available:
        pytest.skip(f"CoNLL-2002 is not available: {reason}")
    return datasets.load("conll2002", features="mathur")


@cache
def spanish() -> Problem:
    """The chain CRF on it."""
    return solvers.make_problem(texts(), loss="chain-crf", penalty="l2", lam=1e-7)


def test_figure_13_entities(report: Report) -> None:
    """A chain CRF on Spanish: ridge 1e-7, numRounds 1, chunks of 10, no pre-aggregation."""
    problem, data = spanish(), texts()
    coarse = {"rounds": 1, "cluster_factor": 10}
    kinds = {
        "plain": ("lbfgs", {"memory": 5}),
        "fineIters 100": ("clustered-lbfgs", coarse),
        "fineIters 20": ("clustered-lbfgs", {**coarse, "fine_iterations": 20}),
    }
    rows, types = [], ("ORG", "LOC", "PER", "all")
    for kind, (id, params) in kinds.items():
        trace = solvers.solve(problem, solvers.make_solver(id, **params), tol=1e-5, max_seconds=25.0)
        loss, at = problem.test_scores(trace.w)
        scores = entity_scores(data.label_names, data.test.y, loss.predict(at), data.test.offsets)
        f1 = [scores[one].f1 for one in types]
        rows.append([kind, float(trace.cpu_seconds[-1]), float(trace.objective[-1]), *f1])
        assert f1[-1] > 0.3
    columns = ["solver", "s", "f", *(f"F1 {one}" for one in types)]
    report.table("Figure 13 in numbers: Spanish, ridge 1e-7, at most 25 s", columns, rows)
