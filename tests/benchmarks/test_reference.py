"""Which solver finds f* fastest, on a problem of each structure: the order of ``reference.PRECISE``.

CPU seconds to a violation of 1e-9 relative, each solver from w = 0; one that takes more than ``MOST`` is cut.
"""

from __future__ import annotations

import pytest

from solverscope import datasets, solvers
from solverscope.app.runs.reference import PRECISE, TARGET_TOL, candidates

MOST = 60.0
#: Data, loss, penalty and λ/λ_max: norms of rows with losses over rows and over chains, and single weights.
PROBLEMS = [
    ("digits", "multiclass-squared-hinge", "l1-l2", 0.002),
    ("digits", "multiclass-squared-hinge", "l1-linf", 0.02),
    ("digits", "multiclass-squared-hinge", "sparse-group", 0.02),
    ("digits", "multiclass-logistic", "l1-l2", 0.05),
    ("digits-tree", "tree-softmax", "l1-l2", 0.05),
    ("digit-strings", "chain-crf", "l1-l2", 0.05),
    ("digits", "multiclass-squared-hinge", "l1", 0.02),
    ("digit-strings", "chain-crf", "l1", 0.05),
]
RIVALS = [*PRECISE, "prox-gd"]


def seconds(problem: solvers.Problem, id: str) -> float:
    solver = solvers.make_solver(id, **PRECISE.get(id, {})).with_tol(TARGET_TOL)
    result = solvers.solve(problem, solver, tol=TARGET_TOL, max_seconds=MOST).result
    reached = result["violation"] <= TARGET_TOL * problem.violation_at_zero()
    return result["cpu_seconds"] if reached else float("inf")


@pytest.mark.bench
@pytest.mark.parametrize(("data", "loss", "penalty", "ratio"), PROBLEMS)
def test_the_first_choice_is_the_fastest_or_near(data, loss, penalty, ratio):
    problem = solvers.make_problem(datasets.load(data), loss=loss, penalty=penalty, lam_ratio=ratio)
    took = {id: seconds(problem, id) for id in RIVALS if id in solvers.compatible(loss, penalty)}
    print(f"\n{data}, {loss}, {penalty}: " + ", ".join(f"{id} {s:.2f} s" for id, s in took.items()))
    first = next(iter(candidates(problem))).id
    assert min(took.values()) < float("inf")
    if took[first] < float("inf"):  # Prox-QN may leave the last digits to OWL-QN
        assert took[first] <= 2.0 * min(took.values()) + 0.1
