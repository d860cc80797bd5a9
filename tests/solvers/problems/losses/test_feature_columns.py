"""Columns of the data at a time against rows one by one, and the scores they keep against fresh ones."""

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.declare import Trait
from solverscope.solvers.problems.losses import feature_columns, score_rows
from solverscope.solvers.problems.losses.feature_columns import ColumnData, column_entries, scratch_for
from tests.solvers.helpers import MAKERS, compiled, dense_of, losses_with

row_derivatives = compiled(score_rows.row_derivatives)
column_pass = compiled(feature_columns.column_pass)

PAIRS = losses_with(Trait.ROW_KERNELS)


class Columns:
    """A problem in blocks of 128 rows, its X as an array, some weights and their scores."""

    def __init__(self, kind, loss, storage="dense"):
        data = MAKERS[kind](n=300, d=6, storage=storage)
        self.problem = solvers.make_problem(data, loss=loss, lam=0.1)
        self.X, self.m = dense_of(data.train.X), self.problem.loss.n_outputs
        self.W = np.random.default_rng(1).normal(size=(6, self.m))
        self.Z = self.X @ self.W
        self.labels = self.problem.loss.labels
        self.term, self.work = self.problem.loss.term, scratch_for(self.m)
        assert self.problem.design.n_blocks == 3

    @property
    def arguments(self):
        it = self.problem.design
        data = ColumnData(self.term, self.labels, it.starts, it.edges, it.rows, it.values)
        return self.term, data, self.Z

    def move(self, j, change):
        return column_pass(*self.arguments, j, change, None, None, self.work)

    def losses(self, rows):
        labels = self.labels.reshape(len(self.X), -1)
        return sum(row_derivatives(self.term, self.Z[i], labels[i], None, None) for i in rows)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr("solverscope.solvers.linalg.storage.SLAB_BYTES", 1024)


@pytest.mark.parametrize(("kind", "loss"), PAIRS)
@pytest.mark.parametrize("storage", ["dense", "binary"])
def test_derivatives_along_a_column_are_sums_over_its_rows(kind, loss, storage):
    at = Columns(kind, loss, storage)
    G, H, g, h = (np.empty(at.m) for _ in range(4))
    for j in range(6):
        rows, sums, curvatures = np.flatnonzero(at.X[:, j]), np.zeros(at.m), np.zeros(at.m)
        for i in rows:
            row_derivatives(at.term, at.Z[i], at.labels.reshape(300, -1)[i], g, h)
            sums += at.X[i, j] * g
            curvatures += at.X[i, j] ** 2 * h
        loss_there = column_pass(*at.arguments, j, None, G, H, at.work)
        assert loss_there == pytest.approx(at.losses(rows), rel=1e-12)
        np.testing.assert_allclose(G, sums, atol=1e-11)
        np.testing.assert_allclose(H, curvatures, atol=1e-11)
        assert column_entries(at.problem.design.starts, j) == rows.size


@pytest.mark.parametrize(("kind", "loss"), PAIRS)
@pytest.mark.parametrize("storage", ["dense", "binary"])
def test_a_move_changes_the_scores_and_gives_the_loss_after_it(kind, loss, storage):
    at, rng = Columns(kind, loss, storage), np.random.default_rng(2)
    for j in range(6):
        change = rng.normal(size=at.m)
        at.W[j] += change
        after = at.move(j, change)
        np.testing.assert_allclose(at.Z, at.X @ at.W, atol=1e-12)
        assert after == pytest.approx(at.losses(np.flatnonzero(at.X[:, j])), rel=1e-12)


@pytest.mark.parametrize(
    "loss", ["multiclass-squared-hinge", "multitask-squared-hinge", "multiclass-logistic"]
)
def test_margins_kept_through_100_000_moves_are_those_computed_afresh(loss):
    at, rng = Columns("multiclass", loss), np.random.default_rng(3)
    features, changes = rng.integers(0, 6, size=100_000), rng.normal(size=(100_000, at.m))
    for j, change in zip(features.tolist(), changes, strict=True):
        change -= 0.5 * at.W[j]  # weights stay of order one
        at.W[j] += change
        at.move(j, change)

    def margins(Z):  # A(W)
        return 1.0 - Z[np.arange(300), at.problem.loss.y.reshape(300, -1)[:, 0]][:, None] + Z

    np.testing.assert_allclose(margins(at.Z), margins(at.X @ at.W), atol=1e-9)
