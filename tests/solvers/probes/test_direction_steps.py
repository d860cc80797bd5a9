"""The steps of direction finding, as a probe keeps them, obey Theorem 7 of Yu et al. 2010."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers.curvature.inverse import DenseInverse, Identity
from solverscope.solvers.methods.iterate import Iterate
from solverscope.solvers.probes.direction_steps import gap_bound, largest_eigenvalue


@pytest.fixture(scope="module")
def entries():
    problem = solvers.make_problem(datasets.load("breast-cancer"), loss="logistic", penalty="l1", lam=0.01)
    solver = solvers.make_solver("owl-qn-star")
    stopping = solvers.Stopping(max_iter=15)
    return solvers.Run(problem, solver, stopping=stopping, probes=(solvers.DIRECTION,)).execute()


def seen_at(trace):
    return trace.probes.entries("direction")


def test_each_step_decreases_the_gap_as_theorem_7_promises(entries):
    long = 0
    for _, seen in seen_at(entries):
        gap, c = seen["gap"], 1.0 / (8.0 * seen["G"] ** 2 * seen["H"])
        assert (gap <= gap_bound(seen) * (1.0 + 1e-9) + 1e-15).all()
        assert (gap[:-1] - gap[1:] >= c * gap[:-1] ** 2 * (1.0 - 1e-9) - 1e-15).all()
        long += gap.size > 10
    assert long >= 3


def test_the_gap_is_that_of_the_smallest_m_and_of_d_which_increases(entries):
    for _, seen in seen_at(entries):
        np.testing.assert_allclose(
            seen["gap"], np.minimum.accumulate(seen["model"]) - seen["dual"], rtol=1e-12, atol=1e-15
        )
        assert (np.diff(seen["dual"]) >= -1e-15).all()
        assert seen["steps"] == seen["gap"].size == seen["model"].size


def test_shares_are_convex_combinations_of_what_was_met_by_then(entries):
    for _, seen in seen_at(entries):
        for i, share in enumerate(seen["shares"]):
            known = share[~np.isnan(share)]
            assert known.size == i + 1
            assert known.sum() == pytest.approx(1.0, abs=1e-5)
            assert (known >= 0.0).all()


def test_iterates_that_find_no_direction_are_left_out():
    assert solvers.DIRECTION.take(Iterate(0)) is None


def test_the_largest_eigenvalue_of_b_is_that_of_its_matrix():
    rng = np.random.default_rng(0)
    B = DenseInverse(6)
    for s in rng.normal(size=(4, 6)):
        B.push(s, np.arange(1.0, 7.0) * s)
    matrix = np.stack([B.inverse_product(unit) for unit in np.eye(6)])
    assert largest_eigenvalue(B, 6) == pytest.approx(np.linalg.eigvalsh(matrix)[-1])
    assert largest_eigenvalue(Identity(), 6) == 1.0
    assert np.isnan(largest_eigenvalue(None, 6))
    assert np.isnan(largest_eigenvalue(B, 10**6))


def test_by_products_it_is_approached_from_below(monkeypatch):
    B = DenseInverse(6)
    for s in np.random.default_rng(0).normal(size=(4, 6)):
        B.push(s, np.arange(1.0, 7.0) * s)
    exact = largest_eigenvalue(B, 6)
    monkeypatch.setattr("solverscope.solvers.probes.direction_steps.MOST_MATRIX_WEIGHTS", 1)
    assert 0.9 * exact <= largest_eigenvalue(B, 6) <= exact * (1.0 + 1e-12)
