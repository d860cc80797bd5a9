"""Results of benchopt, read from and written to parquet files: a table with a row for each point
of a curve."""

from __future__ import annotations

import importlib.util
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from solverscope.solvers import FIELDS, Trace
from solverscope.solvers.traces.records import MAX_COUNT, printable
from solverscope.solvers.traces.segments import segment_at
from solverscope.solvers.traces.trace import plain

#: Metadata of the file, where benchopt stores plot settings; the key must exist.
METADATA = {"_meta_json": "{}"}
#: Benchopt's name for curves whose points are from a single run.
SAMPLING_STRATEGY = "callback"
#: Bytes of a file that is read, its rows and its curves, at most; and characters of a name.
MAX_RESULTS_BYTES, MAX_ROWS, MAX_CURVES, MAX_CURVE_NAME_LENGTH = 64 << 20, 500_000, 2_000, 300
#: Rows that are unpacked at a time: the size that a file states is not trusted.
BATCH_ROWS = 10_000
#: Columns that are read, with the names that each may have; the first name that is there counts. All other
#: columns are ignored.
TEXT_COLUMNS = {
    "data": ("dataset_name", "data_name"),
    "objective": ("objective_name",),
    "solver": ("solver_name",),
}
NUMBER_COLUMNS = {
    "at": ("stop_val",),
    "repetition": ("idx_rep",),
    "seconds": ("time",),
    "value": ("objective_value",),
    "violation": ("objective_violation",),
    "nnz": ("objective_nnz", "objective_support_size"),
    "dual_gap": ("objective_duality_gap",),
}
REQUIRED = (*TEXT_COLUMNS, "at", "seconds", "value")


def available() -> bool:
    """Return whether pyarrow, which is required for parquet files, is installed."""
    return importlib.util.find_spec("pyarrow") is not None


def columns(traces: Sequence[Trace]) -> dict[str, list[Any]]:
    """Return the columns of benchopt's table for these runs, which has a row for each iterate.

    There are columns for names and parameters (``p_``) of objective, data set and solver, for the position on
    the curve, and for the machine. Each numeric field of an iterate has a column with the prefix
    ``objective_``. Times are CPU seconds.
    """
    rows = [row for trace in traces for row in _rows(trace)]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def write(traces: Sequence[Trace], path: Path) -> None:
    """Write the table of these runs to a parquet file."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table(columns(traces)).replace_schema_metadata(METADATA)
    pyarrow.parquet.write_table(table, path)


def read(path: Path) -> list[Trace]:
    """Return the curves in a file of results that benchopt wrote for any benchmark.

    There is a trace for each repetition of a solver, with its parameters, on a data set and an objective,
    with theirs. Its label is the solver with parameters, and the number of the repetition if there are
    several; ``info.problem`` names data set and objective. Seconds are benchopt's wall seconds. Iterations
    are benchopt's stopping values if these are increasing integers, else points are numbered. Only columns of
    numbers and strings are read, and nothing is unpickled.

    Raises
    ------
    ValueError
        If pyarrow is missing, or the file is too large, damaged or not from benchopt.
    """
    if not available():
        raise ValueError("reading results of benchopt needs pyarrow: install solverscope[benchopt]")
    if path.stat().st_size > MAX_RESULTS_BYTES:
        raise ValueError(f"{path.name} has more than {MAX_RESULTS_BYTES >> 20} MiB: give a smaller file")
    import pyarrow

    try:
        columns = _columns_of(path)
    except (pyarrow.ArrowException, OSError, OverflowError, UnicodeDecodeError):
        raise ValueError(f"{path.name} is no parquet file, or a damaged one: give one of benchopt") from None
    curves: dict[tuple[str, str, str, int], list[int]] = {}
    keys = (columns[what] for what in (*TEXT_COLUMNS, "repetition"))
    for row, (data, objective, solver, repetition) in enumerate(zip(*keys, strict=True)):
        number = int(repetition) if abs(repetition) < MAX_COUNT else 0
        curves.setdefault((data, objective, solver, number), []).append(row)
    if not curves:
        raise ValueError(f"{path.name} has no rows: run its benchmark first")
    if len(curves) > MAX_CURVES:
        raise ValueError(f"{path.name} has more than {MAX_CURVES:,} curves: give a part of it")
    times = Counter(key[:3] for key in curves)
    return [_trace(key, columns, np.array(rows), times[key[:3]] > 1) for key, rows in curves.items()]


def _columns_of(path: Path) -> dict[str, Any]:
    """Return the known columns of a file; missing numbers are NaN."""
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    types = {field.name: field.type for field in file.schema_arrow}
    known = TEXT_COLUMNS | NUMBER_COLUMNS
    wanted = {what: name for what in known for name in reversed(known[what]) if name in types}
    if missing := [known[what][0] for what in REQUIRED if what not in wanted]:
        raise ValueError(
            f"{path.name} has no column {missing[0]!r}: give the results of a benchmark of benchopt"
        )
    for what, name in wanted.items():
        if not _holds(types[name], text=what in TEXT_COLUMNS):
            kind = "texts" if what in TEXT_COLUMNS else "numbers"
            raise ValueError(
                f"column {name!r} of {path.name} holds {types[name]}, not {kind}: it is not read"
            )
    found: dict[str, list[Any]] = {what: [] for what in wanted}
    for batch in file.iter_batches(BATCH_ROWS, columns=list(wanted.values())):
        for what, name in wanted.items():
            found[what] += batch.column(name).to_pylist()
        if len(found["at"]) > MAX_ROWS:
            raise ValueError(f"{path.name} has more than {MAX_ROWS:,} rows: give a part of it")
    texts = {
        what: [printable(str(text))[:MAX_CURVE_NAME_LENGTH] for text in found[what]] for what in TEXT_COLUMNS
    }
    unknown = [None] * len(found["at"])
    return texts | {what: np.array(found.get(what, unknown), dtype=float) for what in NUMBER_COLUMNS}


def _holds(kind: Any, *, text: bool) -> bool:
    from pyarrow import types

    if text:
        kind = kind.value_type if types.is_dictionary(kind) else kind
        return types.is_string(kind) or types.is_large_string(kind)
    return types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind)


def _trace(
    key: tuple[str, str, str, int], columns: Mapping[str, Any], rows: np.ndarray, several: bool
) -> Trace:
    data, objective, solver, repetition = key
    at, numbers = columns["at"][rows], np.arange(len(rows))
    if (at == at.round()).all() and (np.diff(at) > 0).all() and at[0] >= 0 and at[-1] <= MAX_COUNT:
        numbers = at.astype(np.int64)
    nnz = columns["nnz"][rows]
    counted = (nnz >= 0) & (nnz <= MAX_COUNT)
    known = {
        "iteration": numbers,
        "wall_seconds": columns["seconds"][rows],
        "objective": columns["value"][rows],
        "nnz": np.where(counted, nnz, FIELDS["nnz"].unknown).astype(np.int64),
        "violation": columns["violation"][rows],
        "dual_gap": columns["dual_gap"][rows],
    }
    problem = {"dataset": data, "loss": objective, "key": f"benchopt: {data}, {objective}"}
    label = f"{solver} ({repetition + 1})" if several else solver
    trace = Trace.from_columns(known, {"label": label, "solver": solver, "problem": problem})
    trace.result = {"status": "finished"}
    trace.finish("finished")
    return trace


def _rows(trace: Trace) -> list[dict[str, Any]]:
    problem, info = trace.info.problem, trace.info
    loss_and_penalty = {
        name: problem.get(name)
        for name in ("loss", "penalty", "lam", "average", "intercept", "penalty_factors")
    }
    loss_and_penalty |= {**problem.get("loss_params", {}), **problem.get("penalty_params", {})}
    data = {**problem.get("options", {}), "seed": problem.get("seed")}
    about = {
        "data_name": _named(str(problem.get("dataset")), data),
        "solver_name": info.label,
        "solver_description": _named(info.solver, info.params),
        "obj_description": "",
        **_prefixed("p_dataset_", data),
        **_prefixed("p_solver_", info.params),
        "platform": platform.system(),
        "platform-architecture": platform.machine(),
        "platform-release": platform.release(),
        "version-numpy": np.__version__,
        "version-scipy": scipy.__version__,
    }
    found = []
    for record in trace.records():
        numbers = {name: record[name] for name, field in FIELDS.items() if field.numeric}
        point = {
            "stop_val": record["iteration"],
            "idx_rep": 0,
            "time": record["cpu_seconds"],
            "sampling_strategy": SAMPLING_STRATEGY,
            "objective_value": record["objective"],
            **{f"objective_{name}": value for name, value in numbers.items() if name != "objective"},
        }
        here = segment_at(trace, record["iteration"])  # an objective of its own at each λ
        if here.f_star is not None:
            point["objective_suboptimality"] = record["objective"] - here.f_star
        objective = loss_and_penalty | {"lam": here.lam}
        named = {"objective_name": _named("Solverscope", objective), **_prefixed("p_obj_", objective)}
        found.append({**named, **about, **point})
    return found


def _named(name: str, params: Mapping[str, Any]) -> str:
    given = ",".join(f"{key}={value}" for key, value in params.items() if value is not None)
    return f"{name}[{given}]" if given else name


def _prefixed(prefix: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by column name, as strings, because a column has values of several solvers."""
    return {prefix + key: None if value is None else str(value) for key, value in plain(params).items()}
