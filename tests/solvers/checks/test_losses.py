"""Losses by definition: those of the registry, and some that are wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers import Trait

QUICK = ("logistic", "binary-hinge", "multiclass-logistic", "squared", "chain-crf")


@pytest.mark.quick(*QUICK)
@pytest.mark.parametrize("loss", [id for id in solvers.LOSSES if id != "toy"])
def test_a_loss_is_what_it_claims(loss):
    report = solvers.check_loss(solvers.LOSSES[loss])
    assert report.findings == []
    assert len(report.passed) + len(report.inapplicable) == 12
    offered = solvers.LOSSES[loss].traits
    assert ("dual_value_is_a_minimum" in report.inapplicable) == (Trait.CONJUGATE not in offered)


@dataclass(frozen=True)
class Quartic(solvers.Loss):
    """Σ (yz - 1)⁴/4, right unless a subclass of what it binds to changes something."""

    id, name, summary = "quartic", "Quartic", "for tests"
    kinds, average = ("binary",), True
    traits = Trait.SMOOTH | Trait.DIAGONAL_HESSIAN | Trait.HESSIAN | Trait.ONE_SCORE

    def bind(self, part, n_classes, parents=None):
        return BoundQuartic(self, 1, np.asarray(part.y, dtype=float))


@dataclass(frozen=True, eq=False)
class BoundQuartic(solvers.RowLoss):
    least = 0.0

    def chunk_values(self, Z, y, out):
        out[:] = 0.25 * (y * Z[:, 0] - 1.0) ** 4

    def chunk_residual(self, Z, y, G):
        G[:, 0] = y * (y * Z[:, 0] - 1.0) ** 3

    def diagonal(self, G, rows):
        return 3.0 * np.cbrt(G) ** 2

    def predict(self, scores):
        return np.where(scores.Z[:, 0] >= 0.0, 1, -1)


@dataclass(frozen=True)
class WrongSign(Quartic):
    def bind(self, part, n_classes, parents=None):
        return BoundWrongSign(self, 1, np.asarray(part.y, dtype=float))


@dataclass(frozen=True, eq=False)
class BoundWrongSign(BoundQuartic):
    def chunk_residual(self, Z, y, G):
        super().chunk_residual(Z, y, G)
        G[-1] = -G[-1]


@dataclass(frozen=True)
class HalfCurvature(Quartic):
    def bind(self, part, n_classes, parents=None):
        return BoundHalfCurvature(self, 1, np.asarray(part.y, dtype=float))


@dataclass(frozen=True, eq=False)
class BoundHalfCurvature(BoundQuartic):
    def diagonal(self, G, rows):
        return 0.5 * super().diagonal(G, rows)


def test_a_loss_of_ones_own_need_not_be_registered():
    assert solvers.check_loss(Quartic).findings == []
    assert "quartic" not in solvers.LOSSES


@pytest.mark.parametrize(("loss", "quantity"), [(WrongSign, "gradient"), (HalfCurvature, "curvature")])
def test_what_is_wrong_with_a_loss_is_named(loss, quantity):
    found = solvers.check_loss(loss).findings
    assert quantity in {finding.quantity for finding in found}
    assert "a difference" in found[0].sentence
