"""Runs as benchopt keeps them: a table with a row an iterate, in a parquet file."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from solvers import FIELDS, Trace
from solvers.runs.segments import segment_at
from solvers.runs.trace import plain

#: Where benchopt keeps, in the file, how it is plotted: it must be there, if only empty.
SETTINGS = {"_meta_json": "{}"}
#: What benchopt says of a curve with one run for all its points.
SAMPLED = "callback"


def available() -> bool:
    """Tell whether what writes parquet files is installed."""
    return importlib.util.find_spec("pyarrow") is not None


def columns(traces: Sequence[Trace]) -> dict[str, list[Any]]:
    """Return the columns of the table: names and parameters (``p_``) of objective, data set and solver, the
    point of the curve, ``objective_`` for each number of the record, and the machine. Time is CPU seconds."""
    rows = [row for trace in traces for row in _rows(trace)]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def write(traces: Sequence[Trace], path: Path) -> None:
    """Write the table to a file."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table(columns(traces)).replace_schema_metadata(SETTINGS)
    pyarrow.parquet.write_table(table, path)


def _rows(trace: Trace) -> list[dict[str, Any]]:
    problem, info = trace.info.problem, trace.info
    loss_and_penalty = {name: problem.get(name) for name in ("loss", "penalty", "lam", "average")}
    loss_and_penalty |= {**problem.get("loss_params", {}), **problem.get("penalty_params", {})}
    data = {**problem.get("options", {}), "seed": problem.get("seed")}
    about = {
        "data_name": _named(str(problem.get("dataset")), data),
        "solver_name": info.label,
        "solver_description": _named(info.solver, info.params),
        "obj_description": "",
        **_prefixed("p_dataset_", data),
        **_prefixed("p_solver_", info.params),
    }
    found = []
    for record in trace.records():
        numbers = {name: record[name] for name, field in FIELDS.items() if field.numeric}
        point = {
            "stop_val": record["iteration"],
            "idx_rep": 0,
            "time": record["cpu_seconds"],
            "sampling_strategy": SAMPLED,
            "objective_value": record["objective"],
            **{f"objective_{name}": value for name, value in numbers.items() if name != "objective"},
        }
        here = segment_at(trace, record["iteration"])  # an objective of its own at each λ
        if here.f_star is not None:
            point["objective_suboptimality"] = record["objective"] - here.f_star
        objective = loss_and_penalty | {"lam": here.lam}
        named = {"objective_name": _named("Solverscope", objective), **_prefixed("p_obj_", objective)}
        found.append({**named, **about, **point, **_machine()})
    return found


def _machine() -> dict[str, str]:
    return {
        "platform": platform.system(),
        "platform-architecture": platform.machine(),
        "platform-release": platform.release(),
        "version-numpy": np.__version__,
        "version-scipy": scipy.__version__,
    }


def _named(name: str, params: Mapping[str, Any]) -> str:
    given = ",".join(f"{key}={value}" for key, value in params.items() if value is not None)
    return f"{name}[{given}]" if given else name


def _prefixed(prefix: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters under their column names, of one type each whatever solver has them: texts."""
    return {prefix + key: None if value is None else str(value) for key, value in plain(params).items()}
