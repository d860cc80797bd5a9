"""A file of results as benchopt writes it."""

from __future__ import annotations

from pathlib import Path

import pytest


def rows(solver: str, repetition: int, values: list[float], **more: object) -> list[dict[str, object]]:
    """The rows of one curve, as benchopt 1.10 writes them."""
    return [
        {
            **{"objective_name": "Lasso[lmbd=0.1]", "dataset_name": "simulated[n=10]", "solver_name": solver},
            **{"idx_rep": repetition, "sampling_strategy": "Iteration", "stop_val": 2 * k},
            **{"time": 0.1 * k * (repetition + 1), "objective_value": value, "p_solver_step": None, **more},
        }
        for k, value in enumerate(values)
    ]


def written(path: Path, table: list[dict[str, object]]) -> Path:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    parquet.write_table(pyarrow.Table.from_pylist(table), path)
    return path


@pytest.fixture
def table() -> list[dict[str, object]]:
    slow = [row for r in range(3) for row in rows("gd[step=1]", r, [4.0, 3.0 + r, 2.0], objective_nnz=5)]
    other = rows("cd", 0, [1.0, 0.5], dataset_name="leukemia")
    return [*slow, *rows("cd", 0, [4.0, 1.0]), *other]
