"""What weights do, and the F1 of entities, in the experiments of Mathur and Chakrabarti 2006.

    pytest -m bench tests/benchmarks/test_mathur.py -s

writes build/reports/mathur.html. Other figures and all tables are run by `solverscope paper mathur2006`; what
stands here asks for weights, which a sweep does not keep. Objective (3): the sum over instances, and a ridge.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pytest

import datasets
import solvers
from datasets.metrics import entity_scores
from solvers import Problem
from solvers.parts.clusters import crossed, kmeans, spreads
from tests.benchmarks.report import Report

pytestmark = pytest.mark.bench


@pytest.fixture(scope="module")
def report() -> Iterator[Report]:
    report = Report("Feature redundancy: weights and entities, Mathur and Chakrabarti 2006")
    yield report
    report.write("mathur.html")


def grain() -> Problem:
    """Documents of Reuters, grain against the rest, in 500 words."""
    available, reason = datasets.DATASETS["reuters"].available()
    if not available:
        pytest.skip(f"the Reuters news are not at hand: {reason}")
    data = datasets.load("reuters", positive="grain", top_words=500)
    return solvers.make_problem(data, penalty="l2", lam=1e-2, average=False)


def way_of(problem: Problem, id: str, iterations: int, **params: object) -> np.ndarray:
    """The weights of iterates 0 to ``iterations``, a row each."""
    iterates = solvers.make_solver(id, **params).iterate(problem)
    return np.array([it.w.astype(np.float32) for it in itertools.islice(iterates, iterations + 1)])


def evolution(
    report: Report, figures: str, what: str, W: np.ndarray, size: int, at: Sequence[int]
) -> list[list]:
    """Table and picture of weights W (a row an iterate) that move in groups: clusters of some ``size`` by
    k-means on (β, Δβ) at iterates ``at``, and what becomes of them 20 iterates later. Returns the rows."""

    def clusters(t: int) -> np.ndarray:
        return kmeans(np.stack([W[t], W[t] - W[t - 1]], axis=1), -(-W.shape[1] // size))

    rows = []
    for t in at:
        later, labels = min(t + 20, len(W) - 1), clusters(t)
        left = [
            within / (within + between) for within, between in (spreads(W[k], labels) for k in (t, later))
        ]
        crossovers = int(crossed(labels, clusters(later)).sum())
        rows.append([t, int(labels.max()) + 1, *left, crossovers, crossovers / W.shape[1]])
    report.table(
        f"Figures {figures} in numbers: {what}, clusters of {size} weights in the mean",
        [
            "t",
            "clusters",
            "variance inside at t",
            "inside 20 iterates later",
            "weights that crossed over by then",
            "share of them",
        ],
        rows,
    )
    largest = np.argsort(-np.abs(W[-1]))[:60]
    shown = {}
    for k, cluster in enumerate(np.array_split(largest[np.argsort(W[-1][largest])], 6)):
        steps = np.append(np.arange(len(W), dtype=float), np.nan)
        shown[f"group {k + 1}"] = (
            np.tile(steps, cluster.size),
            np.concatenate([np.append(W[:, j], np.nan) for j in cluster]),
        )
    report.curves(
        f"Figure {figures[:2].strip()}: β of 60 weights, {what}", "iteration", "β", shown, log=False
    )
    return rows


def test_figures_2_and_3_weights_move_in_groups(report: Report) -> None:
    W = way_of(grain(), "bfgs", 100)
    rows = evolution(report, "2 and 3", "BFGS, 500 words, grain", W, 15, (5, 20, 60))
    assert all(inside < 0.1 for _, _, inside, *_ in rows)


def test_figures_10_and_11_weights_of_a_chain_move_in_groups(report: Report) -> None:
    """L-BFGS on Spanish: the emission weights of one label that are largest at the end."""
    problem = spanish()
    W = way_of(problem, "lbfgs", 80, memory=5)
    emissions, _ = problem.unpack(np.arange(problem.size))
    label = emissions[:, list(problem.names.outputs).index("B-PER")]
    largest = label[np.argsort(-np.abs(W[-1][label]))[:500]]
    rows = evolution(report, "10 and 11", "L-BFGS, Spanish, B-PER", W[:, largest], 10, (5, 20, 60))
    assert all(inside < 0.2 for _, _, inside, *_ in rows)


@cache
def texts() -> datasets.Dataset:
    """Spanish of CoNLL-2002, with the paper's features."""
    available, reason = datasets.DATASETS["conll2002"].available()
    if not available:
        pytest.skip(f"CoNLL-2002 is not at hand: {reason}")
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
