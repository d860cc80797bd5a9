"""Results of benchopt/benchmark_lasso stand next to runs of ours on the same problem, in our units."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.benchopt import results
from solverscope.app.benchopt.curves import BenchoptCurves
from solverscope.app.benchopt.lasso import Lasso, in_our_units

from .conftest import written

REG = 0.1
NAME = "Lasso Regression[fit_intercept=False,reg=0.1]"
OPTIONS = {"n_samples": 40, "n_features": 30}


@pytest.fixture(scope="module")
def problem():
    data = datasets.load("synthetic-regression", **OPTIONS)
    return solvers.make_problem(data, loss="squared", penalty="l1", lam_ratio=REG)


@pytest.fixture(scope="module")
def run(problem):
    return solvers.solve(problem, solvers.make_solver("newton-cd"), tol=1e-10)


@pytest.fixture
def table(problem):
    """Rows as benchmark_lasso writes them, of proximal gradient steps on its own objective."""
    data = datasets.load("synthetic-regression", **OPTIONS)
    X, y = np.asarray(data.X), np.asarray(data.y, dtype=float)
    lmbd, step = REG * abs(X.T @ y).max(), 1.0 / np.linalg.norm(X, 2) ** 2
    rows, beta = [], np.zeros(X.shape[1])
    for k in range(301):
        diff = y - X @ beta
        value = 0.5 * diff @ diff + lmbd * abs(beta).sum()
        scaled = diff / max(1.0, abs(X.T @ diff).max() / lmbd)
        gap = value - 0.5 * (y @ y - (y - scaled) @ (y - scaled))
        if k % 20 == 0:
            rows.append(
                {
                    **{"objective_name": NAME, "p_obj_reg": REG, "p_obj_fit_intercept": False},
                    **{
                        "data_name": "Simulated[n_features=30,n_samples=40,rho=0.6]",
                        "solver_name": "Python-PGD",
                    },
                    **{"idx_rep": 0, "stop_val": k, "time": 1e-3 * k, "sampling_strategy": "iteration"},
                    **{"objective_value": value, "objective_support_size": int((beta != 0).sum())},
                    **{"objective_duality_gap": gap, "version-numpy": "2.0"},
                }
            )
        beta = beta + step * X.T @ diff
        beta = np.sign(beta) * np.maximum(abs(beta) - step * lmbd, 0.0)
    return rows


def test_the_name_of_the_objective_has_its_share_of_lam_max():
    assert Lasso.of(NAME) == (0.1, False)
    assert Lasso.of("Lasso Regression[fit_intercept=True,reg=0.5]") == (0.5, True)
    for other in ("Lasso Regression", "Lasso Regression[reg=x,fit_intercept=False]", "Ridge[reg=0.1]"):
        assert Lasso.of(other) is None


def test_its_curves_end_at_our_minimum_in_our_units(run, table, tmp_path):
    curves = results.read(written(tmp_path / "lasso.parquet", table))
    (made,) = in_our_units(curves, run)
    n = run.info.problem["n_samples"]
    np.testing.assert_allclose(made["objective"], curves[0]["objective"] / n)
    assert made["objective"][0] == pytest.approx(run["objective"][0], rel=1e-12)
    assert made["objective"][-1] == pytest.approx(run["objective"][-1], rel=1e-6)
    assert made["objective"][-1] - made["dual_gap"][-1] <= run["objective"][-1] * (1 + 1e-12)
    assert made["nnz"][-1] == run["nnz"][-1]
    assert (made.info.label, made.info.problem["key"]) == ("benchopt: Python-PGD", run.info.problem["key"])


def test_other_problems_stay_apart(problem, run, table, tmp_path):
    def matched(**changed):
        rows = [row | changed for row in table]
        return in_our_units(results.read(written(tmp_path / "lasso.parquet", rows)), run)

    assert matched()
    assert matched(objective_name=NAME.replace("0.1", "0.5")) == []
    assert matched(objective_name=NAME.replace("False", "True")) == []
    data = datasets.load("synthetic-regression", **OPTIONS)
    for other in ({"penalty_factors": np.linspace(1.0, 2.0, 30)}, {"sample_weight": np.ones(40)}):
        ours = solvers.make_problem(data, loss="squared", penalty="l1", lam_ratio=REG, **other)
        weighed = solvers.solve(ours, solvers.make_solver("newton-cd"))
        assert in_our_units(results.read(written(tmp_path / "lasso.parquet", table)), weighed) == []
    for row in table:
        row["objective_value"] *= 1.001  # other data
    assert matched() == []


def test_the_plot_has_both_and_one_minimum(run, table, tmp_path):
    view = BenchoptCurves(results.read(written(tmp_path / "lasso.parquet", table)))
    assert [trace.info.label for trace in view.traces] == ["Python-PGD"]
    view.put_beside([run])
    assert [trace.info.label for trace in view.traces] == ["newton-cd", "benchopt: Python-PGD"]
    assert "newton-cd" in view.legend.object
    assert "benchopt: Python-PGD" in view.legend.object
    view.put_beside([])
    assert [trace.info.label for trace in view.traces] == ["Python-PGD"]


def test_the_command_line_imports_them_next_to_a_run_that_is_kept(command, run, table, tmp_path):
    run.save(tmp_path / "ours.npz")
    file = written(tmp_path / "lasso.parquet", table)
    alone = command("runs", "import", str(file))
    assert alone.status == 0, alone.err
    assert command("runs", "import", str(tmp_path / "ours.npz")).status == 0
    assert command("runs", "import", str(file)).status == 0
    first, ours, beside = command("runs", "--json").records
    assert (first["run"], first["loss"]) == ("Python-PGD", NAME)
    assert (beside["run"], beside["loss"], beside["lam"]) == ("benchopt: Python-PGD", "squared", ours["lam"])
    assert beside["objective"] == pytest.approx(ours["objective"], rel=1e-6)
