"""What is known at a point, and the runs of solvers, are the same for any number of threads, bit by bit."""

import numpy as np
import pytest

from solverscope import solvers
from tests.solvers.helpers import MAKERS, losses_with

#: Each loss that is a function of scores, on data that it is for.
LOSSES = losses_with()


@pytest.fixture(autouse=True)
def many_small_pieces(monkeypatch):
    """Blocks of rows and of chains, and chunks of rows, of which threads have several each."""
    monkeypatch.setattr("solverscope.solvers.linalg.storage.rows_of_block", lambda *sizes: 11)
    monkeypatch.setattr("solverscope.solvers.problems.losses.chains.chain_packed.BLOCK_TOKENS", 20)
    chunks = [(lo, lo + 13) for lo in range(0, 10_000, 13)]
    for module in ("row_loss", "duals"):
        name = f"solverscope.solvers.problems.losses.{module}.row_chunks"
        monkeypatch.setattr(name, lambda n, width: [slice(lo, min(hi, n)) for lo, hi in chunks if lo < n])


def problems(kind, loss, **options):
    data = MAKERS[kind](storage="sparse")
    return [solvers.make_problem(data, loss=loss, penalty="l1", threads=n, **options) for n in (1, 2, 3)]


@pytest.mark.parametrize(("kind", "loss"), LOSSES)
def test_values_and_gradients_have_the_same_bits(kind, loss):
    alone, *others = problems(kind, loss, lam=0.05)
    assert alone.design.n_blocks > 3
    rng = np.random.default_rng(0)
    w, d = rng.normal(size=alone.size), rng.normal(size=alone.size)
    few = np.flatnonzero(rng.random(alone.size) < 0.3)

    def known(problem):
        point, part = problem.at(w), problem.design.working_set(few)
        some, line = point.gradient(part), problem.line(point, d[few], part)
        return point.loss, line(0.3), line(1.7), *point.gradient(), *some

    expected = known(alone)
    for problem in others:
        assert known(problem) == expected


@pytest.mark.parametrize("kind", ["multiclass", "sequences"])
def test_prox_qn_takes_the_same_steps(kind):
    solver = solvers.make_solver("prox-qn", start="sgd")
    alone, *others = (
        solvers.solve(problem, solver, tol=1e-5) for problem in problems(kind, None, lam_ratio=0.1)
    )
    assert alone.status == "converged"
    for trace in others:
        assert np.array_equal(trace.objective, alone.objective)
        assert np.array_equal(trace.w, alone.w)
