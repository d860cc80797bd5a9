"""Penalties by definition: those of the registry, and some that are wrong."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from solverscope import solvers
from solverscope.solvers.problems.penalties import L1, L1L2, ElasticNet, SparseGroup

ENDS = [ElasticNet(0.7, rho=1.0), SparseGroup(0.7, rho=0.0), SparseGroup(0.7, rho=1.0)]


@solvers.parametrize_with_checks([*solvers.PENALTIES.values(), *ENDS])
def test_a_penalty_is_what_it_claims(solver, check):
    check(solver)


@dataclass(frozen=True)
class TwiceTheThreshold(L1):
    def prox(self, v, step):
        return super().prox(v, 2.0 * step)


@dataclass(frozen=True)
class InPlace(L1):
    def prox(self, v, step):
        v[:] = super().prox(v, step)
        return v


@dataclass(frozen=True)
class OneSided(L1):
    def slope(self, w, d, side=1):
        return super().slope(w, d, 1)


@dataclass(frozen=True)
class ZeroAtZero(L1L2):
    def subgradient(self, w, g):
        return super().subgradient(w, g) * (w != 0.0)


@dataclass(frozen=True)
class HalfLamMax(L1):
    def lam_max(self, g0):
        return 0.5 * super().lam_max(g0)


@dataclass(frozen=True)
class Concave(L1):
    def value(self, w):
        return super().value(w) ** 0.5


@pytest.mark.parametrize(
    ("penalty", "quantity"),
    [
        (TwiceTheThreshold, "prox"),
        (InPlace, "prox"),
        (OneSided, "slope"),
        (ZeroAtZero, "subgradient"),
        (HalfLamMax, "lam_max"),
        (Concave, "penalty"),
    ],
)
def test_what_is_wrong_with_a_penalty_is_named(penalty, quantity):
    found = solvers.check_penalty(penalty).findings
    assert quantity in {finding.quantity for finding in found}
    assert all(any(letter.isdigit() for letter in str(finding)) for finding in found)
