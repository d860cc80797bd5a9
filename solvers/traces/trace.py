"""The record of one run: typed, append-only columns of bounded length, and functions that write it to
files."""

from __future__ import annotations

import csv
import json
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ..compute.atomic_files import replacing
from ..compute.user_code import UserCode
from ..methods.iterate import FIELDS
from ..methods.iterate_record import Field, own_field
from ..probes.probe import ProbeStore
from ..problems.problem import Problem
from ..problems.weight_names import Names
from .columns import RecordColumns
from .records import for_spreadsheet, printable
from .run_info import RunInfo

if TYPE_CHECKING:
    import pandas as pd

#: Maximal length in bytes of the name of a member of a zip file.
LONGEST_NAME = 65_535
#: Rows stored before every second one is dropped.
CAPACITY = 10_000


class Trace:
    """Record of a run: one row per iterate, the reason why it ended, and the last weights.

    Each field of the record is an attribute, a NumPy array over the rows: ``trace.objective[-1]``. One thread
    may write, and any number may read. If there are more than 10,000 rows, every second one is dropped, and
    from there on only every second iterate is recorded; and so on. The first row, the last one, and rows with
    events stay.

    Parameters
    ----------
    info : RunInfo or mapping, optional
        Settings of the run, or their record.

    Attributes
    ----------
    iteration, objective, nnz, ... : array of shape (n_rows,)
        The columns, one for each of ``solvers.FIELDS``; -1, nan or None if unknown.
    info : RunInfo
        Label and settings of the run.
    status, message : str
        State of the run, or why it ended.
    exception : BaseException or None
        The exception that ended a failed run. Its traceback keeps the run's arrays in memory.
    w : array of shape (d,) or None
        The last weights.
    result : dict
        The record of type "result", once the run has ended.
    problem : Problem or None
        The problem of the run, while another object refers to it.
    names : Names
        Names of the rows and columns of W.
    probes : ProbeStore
        Observations of probes.
    code : UserCode or None
        Source file of a plug-in's solver; not stored in files of runs.
    follows_lines : bool
        Whether iterates should have the executed lines of this file, as the live reference
        ``executed_lines``.

    Examples
    --------
    >>> from solverscope import datasets, solvers
    >>> problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=0.1)
    >>> trace = solvers.solve(problem, solvers.make_solver("lbfgs"), max_iter=3)
    >>> trace.iteration.tolist(), trace.status
    ([0, 1, 2, 3], 'max-iter')
    >>> bool((trace.objective[1:] < trace.objective[:-1]).all())
    True
    """

    def __init__(self, info: RunInfo | Mapping[str, Any] | None = None) -> None:
        self.info = info if isinstance(info, RunInfo) else RunInfo.of(info or {})
        self.status = "queued"
        self.message = ""
        self.exception: BaseException | None = None
        self.w: np.ndarray | None = None
        self.result: dict[str, Any] = {}
        self.test_metric: list[tuple[int, float, float]] = []  # iteration, CPU seconds, value
        self.names = Names()
        self.probes = ProbeStore()
        self.code: UserCode | None = None
        self.follows_lines = False
        self._problem: Callable[[], Problem | None] = lambda: None
        self.cadence = 1
        self._lock = threading.Lock()
        self._generation = 0
        self._columns = RecordColumns(64)
        self._pending: dict[str, Any] | None = None

    def __len__(self) -> int:
        return self._columns.n

    def __repr__(self) -> str:
        return f"<Trace {self.info.sentence(self.status, self.last)}>"

    def _repr_html_(self) -> str:
        return self.info.html(self.status, self.message, self.last)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles, without problem, probes and exception.

        Copies of an estimator in scikit-learn's worker processes have this state.
        """
        state = {name: value for name, value in vars(self).items() if name not in ("_lock", "_problem")}
        return state | {"probes": ProbeStore(), "exception": None}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._lock, self._problem = threading.Lock(), lambda: None

    @property
    def problem(self) -> Problem | None:
        """Return the problem of the run if another object still refers to it, else None.

        A trace keeps no data in memory, and one from a file never had any.
        """
        return self._problem()

    @problem.setter
    def problem(self, problem: Problem) -> None:
        self._problem = ref(problem)

    @property
    def last(self) -> dict[str, Any]:
        """Return the newest record, even if its row is not stored; return {} before the first."""
        with self._lock:
            pending, columns = self._pending, self._columns
            newest, data = columns.n - 1, columns.data
        if pending is not None:
            return pending
        return {name: column[newest] for name, column in data.items()} if newest >= 0 else {}

    @property
    def fields(self) -> dict[str, Field]:
        """Return the fields of the record by name, including the additional ones of this run."""
        return {**FIELDS, **{name: own_field(name) for name in self._columns.own}}

    def tell(self, **changes: Any) -> None:
        """Set fields of ``info``."""
        self.change(lambda info: replace(info, **changes))

    def change(self, how: Callable[[RunInfo], RunInfo]) -> None:
        """Replace ``info`` by ``how(info)`` atomically."""
        with self._lock:
            self.info = how(self.info)

    def append(self, record: Mapping[str, Any]) -> None:
        """Append one record; fields that it lacks are unknown. Numbers with other names become additional
        fields of this run."""
        row = {name: record.get(name, field.unknown) for name, field in FIELDS.items()}
        if not record.keys() <= FIELDS.keys():
            row |= {k: v for k, v in record.items() if k not in FIELDS and isinstance(v, int | float)}
        with self._lock:
            if self._columns.n and row["iteration"] % self.cadence and not row["events"]:
                self._pending = row
                return
            self._append(row)

    def _append(self, row: Mapping[str, Any]) -> None:
        if self._columns.n >= CAPACITY:
            if self.cadence < row["iteration"]:  # otherwise it is events that fill the room
                self.cadence *= 2
            self._generation += 1
            self._columns = self._columns.thinned(self.cadence, CAPACITY)
        self._columns.append(row)
        self._pending = None

    def restart(self) -> None:
        """Drop all rows, result and message, before the run begins or is recorded again."""
        with self._lock:
            self._generation += 1
            self._columns, self._pending, self.cadence = RecordColumns(64), None, 1
            self.result, self.message = {}, ""

    def finish(self, status: str, message: str = "") -> None:
        """Set status and message of a run that has ended, and add the row of the last iterate if it is
        missing."""
        with self._lock:
            if self._pending is not None:
                self._append(self._pending)
            self.message = printable(message)
            self.status = status

    def since(self, cursor: tuple[int, int] | None) -> tuple[dict[str, np.ndarray], tuple[int, int], bool]:
        """Return the rows that a reader has not seen yet.

        Parameters
        ----------
        cursor : (int, int) or None
            The cursor that the last call returned; None at the first call.

        Returns
        -------
        rows : dict of arrays
            The new rows, by field.
        cursor : (int, int)
            The cursor for the next call.
        replaced : bool
            Whether the rows replace all those returned before, since the trace was thinned or restarted.
        """
        with self._lock:
            columns, generation = self._columns, self._generation
            n, data = columns.n, columns.data
        seen = cursor[1] if cursor is not None and cursor[0] == generation else 0
        rows = {name: column[seen:n] for name, column in data.items()}
        return rows, (generation, n), cursor is None or cursor[0] != generation

    def column(self, name: str) -> np.ndarray:
        """Return one field over all stored rows, shape (n_rows,); unknown values are -1, nan or None.

        Raises AttributeError if there is no such field.
        """
        if name not in FIELDS and (name.startswith("_") or name not in self._columns.data):
            raise AttributeError(f"a trace has no field {name!r}; its fields are {', '.join(FIELDS)}")
        with self._lock:
            columns = self._columns
            return columns.data[name][: columns.n]

    __getitem__ = __getattr__ = column

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield rows as plain records, in which unknown or non-finite values are None."""
        rows, _, _ = self.since(None)
        for k in range(len(rows["iteration"])):
            yield plain({name: column[k] for name, column in rows.items()})

    def to_pandas(self) -> pd.DataFrame:
        """Return the record as a table: label and solver of the run, one column per field, and λ.

        Returns
        -------
        pandas.DataFrame
            One row per iterate; unknown values are missing, also in integer columns. Tables of several runs
            can be joined with ``pandas.concat``.

        Examples
        --------
        >>> from solverscope import datasets, solvers
        >>> problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=0.1)
        >>> trace = solvers.solve(problem, solvers.make_solver("lbfgs"), max_iter=3)
        >>> trace.to_pandas()[["label", "iteration", "nnz"]].values.tolist()[-1]
        ['lbfgs', 3, 30]
        """
        import pandas as pd

        rows, _, _ = self.since(None)
        columns: dict[str, Any] = {"label": self.info.label, "solver": self.info.solver}
        for name, field in FIELDS.items():
            columns[name] = pd.Series(rows[name], dtype=field.dtype)
            if field.type is int:
                columns[name] = columns[name].astype("Int64").mask(rows[name] == field.unknown)
        own = {name: column for name, column in rows.items() if name not in FIELDS}
        return pd.DataFrame({**columns, "lam": self.info.along(rows["iteration"], "lam"), **own})

    def save(self, path: str | Path) -> None:
        """Write the run to a file, like :func:`solvers.save` for several runs."""
        save([self], path)

    @classmethod
    def from_columns(
        cls, columns: Mapping[str, Sequence[Any] | np.ndarray], info: RunInfo | Mapping[str, Any]
    ) -> Trace:
        """Return a trace with given columns, all of one length; fields without a column are unknown.

        Raises ValueError if the lengths differ, or if there are no iterations.
        """
        trace = cls(info)
        n = len(columns["iteration"]) if "iteration" in columns else -1
        if any(len(column) != n for column in columns.values()):
            raise ValueError("columns of a trace are equally long, and tell the iterations")
        own = [name for name in columns if name not in FIELDS]
        rows = RecordColumns(max(n, 16), own)
        for name in own:
            rows.data[name][:n] = columns[name]
        for name, field in FIELDS.items():
            known = columns.get(name, [field.unknown] * n)
            # NumPy would else make a matrix of tuples that are equally long
            rows.data[name][:n] = np.fromiter(known, object, n) if field.type is tuple else known
        rows.n = n
        trace._columns = rows
        return trace

    @classmethod
    def from_records(cls, records: list[Mapping[str, Any]], **info: Any) -> Trace:
        """Return a trace with given records, for tests and for plotting stored records."""
        trace = cls(info)
        for record in records:
            trace.append({k: v for k, v in record.items() if v is not None})
        trace.finish(info.get("status", "converged"))
        return trace


def to_pandas(runs: Sequence[Trace]) -> pd.DataFrame:
    """Return the records of runs as one table.

    Parameters
    ----------
    runs : sequence of Trace
        The runs, of one problem or of several.

    Returns
    -------
    pandas.DataFrame
        One row per iterate. ``run`` is the index of the run. ``dataset``, ``loss_id``, ``penalty_id`` and
        ``problem`` are the ids and the key of its problem, missing if unknown. The other columns are those of
        :meth:`Trace.to_pandas`, where ``loss`` and ``penalty`` are the two parts of the objective. Names of
        columns are unique.

    Examples
    --------
    >>> from solverscope import datasets, solvers
    >>> problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=0.1)
    >>> runs = [solvers.solve(problem, solvers.make_solver(id), max_iter=3) for id in ("gd", "lbfgs")]
    >>> table = solvers.to_pandas(runs)
    >>> table.groupby(["dataset", "label"])["iteration"].max().tolist()
    [3, 3]
    """
    import pandas as pd

    tables = [_told(run, place) for place, run in enumerate(runs)]
    return pd.concat(tables or [_told(Trace(), 0)], ignore_index=True)


def _told(run: Trace, place: int) -> pd.DataFrame:
    """Return the table of a run, with columns for its index ``place`` and its problem."""
    problem, table = run.info.problem, run.to_pandas()
    # the record's own ``loss`` and ``penalty`` are numbers, so the ids have other names than in the problem
    keys = {"dataset": "dataset", "loss_id": "loss", "penalty_id": "penalty", "problem": "key"}
    about = {"run": place} | {name: problem.get(key) for name, key in keys.items()}
    return table.assign(**about)[[*about, *table.columns]]


def plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with types of JSON: Python numbers, lists, and None for unknown or non-finite
    values."""
    out: dict[str, Any] = {}
    for name, value in record.items():
        field = FIELDS.get(name)
        if isinstance(value, np.generic):
            value = value.item()
        infinite = isinstance(value, float) and not math.isfinite(value)
        if infinite or (field is not None and not field.is_known(value)):
            value = None
        elif isinstance(value, tuple):
            value = list(value)
        out[name] = value
    return out


def save(traces: Sequence[Trace], path: str | Path) -> None:
    """Write runs to one file; :func:`solvers.read` reads ``.jsonl`` and ``.npz`` files.

    Parameters
    ----------
    traces : sequence of Trace
        The runs.
    path : str or Path
        The file: ``.jsonl`` (all records), ``.csv`` (iterates) or ``.npz`` (columns and weights). The last
        two also have λ as a column.

    Raises
    ------
    ValueError
        If the suffix is another one, or if no file may be written there.
    NotWritten
        If writing fails; an existing file of this name is then unchanged.
    """
    path = checked_path(path)
    _FILE_WRITERS[path.suffix](list(traces), path)


def checked_path(path: str | Path) -> Path:
    """Return ``path`` if runs can be saved there; raise ValueError with the reason otherwise."""
    path = Path(path)
    if path.suffix not in _FILE_WRITERS:
        raise ValueError(f"cannot write {path.name}: the name must end in {', '.join(_FILE_WRITERS)}")
    try:
        if not path.parent.is_dir():
            raise ValueError(f"cannot write {path}: there is no folder {path.parent}")
        there = path.exists()
    except OSError as error:
        raise ValueError(f"cannot write {path.name[:80]}: {error.strerror}, choose another name") from None
    if (there and not path.is_file()) or not os.access(path if there else path.parent, os.W_OK):
        raise ValueError(f"cannot write {path}: choose a file that may be written")
    folder = Path(os.path.realpath(path)).parent
    if not os.access(folder, os.W_OK):  # the new file is written next to the old one
        raise ValueError(f"cannot write {path}: choose a folder that may be written, unlike {folder}")
    return path


def _write_jsonl(traces: list[Trace], path: Path) -> None:
    with replacing(path, encoding="utf-8") as file:
        for line in lines(traces):
            file.write(json.dumps(line) + "\n")


def _write_csv(traces: list[Trace], path: Path) -> None:
    with replacing(path, encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        own = list(dict.fromkeys(name for trace in traces for name in trace.fields if name not in FIELDS))
        writer.writerow(["label", "solver", *FIELDS, "lam", *own])
        for trace in traces:
            records = list(trace.records())
            lams = trace.info.along(np.array([record["iteration"] for record in records]), "lam")
            for record, lam in zip(records, lams.tolist(), strict=True):
                values = [" ".join(v) if isinstance(v, list) else v for v in map(record.get, FIELDS)]
                line = [trace.info.label, trace.info.solver, *values, None if math.isnan(lam) else lam]
                line += map(record.get, own)
                writer.writerow([for_spreadsheet(value) for value in line])


def _write_npz(traces: list[Trace], path: Path) -> None:
    arrays: dict[str, Any] = {}
    first = traces[0].info.problem if traces else {}
    for trace in traces:
        label, n = trace.info.label, 2
        while f"{label}/info" in arrays:  # two runs may have one label
            label, n = f"{trace.info.label} ({n})", n + 1
        rows, _, _ = trace.since(None)  # at one moment: a run may go on meanwhile
        for name, field in FIELDS.items():
            column = rows[name]
            if field.type is tuple:
                column = np.array([" ".join(v) for v in column], dtype=np.str_)
            elif field.type is str:
                column = np.array([v or "" for v in column], dtype=np.str_)
            arrays[f"{label}/{name}"] = column
        arrays |= {f"{label}/own.{name}": column for name, column in rows.items() if name not in FIELDS}
        arrays[f"{label}/lam"] = trace.info.along(rows["iteration"], "lam")
        if trace.w is not None:
            support = np.flatnonzero(trace.w != 0.0)
            arrays[f"{label}/w_indices"], arrays[f"{label}/w_values"] = support, trace.w[support]
            arrays[f"{label}/w_size"] = np.array(trace.w.size)
        header = {k: v for k, v in trace.info.record().items() if k != "problem" or v != first}
        arrays[f"{label}/info"] = np.array(json.dumps(header | {"result": trace.result}))
    if traces:
        arrays["problem"] = np.array(json.dumps(first))
    if (longest := max((len(f"{name}.npy".encode()) for name in arrays), default=0)) > LONGEST_NAME:
        raise ValueError(f"{path.name} cannot hold a label of {longest:,} bytes: give the run a shorter one")
    with replacing(path, "wb") as file:
        np.savez_compressed(file, **arrays)


_FILE_WRITERS = {".jsonl": _write_jsonl, ".csv": _write_csv, ".npz": _write_npz}


def lines(traces: list[Trace]) -> Iterator[Mapping[str, Any]]:
    """Yield the records of runs for a JSON Lines file, in the contract's order.

    The records of each problem and, if known, of its f* precede the first run on it.
    """
    before = None
    for trace in traces:
        about = trace.info.problem, _reference(trace.info)
        if about != before:
            yield from (line for line in about if line)
            before = about
        yield run_line(trace)
        for record in trace.records():
            yield iterate_line(trace, record)
        if trace.result:
            yield trace.result


def _reference(info: RunInfo) -> Mapping[str, Any] | None:
    """Return the record with f*; return None if f* is unknown."""
    if info.reference is not None or info.f_star is None:
        return info.reference
    return {"type": "reference", "f_star": info.f_star, "violation": None, "solver": None, "cached": True}


def run_line(trace: Trace) -> dict[str, Any]:
    """Return the record that begins a run. A branch has its origin in ``from``. If λ was changed during the
    run, ``lams`` has each λ with its first iteration."""
    record = trace.info.record()
    said = ("label", "solver", "params", "from", "lams", "code")
    return {"type": "run", **{name: record[name] for name in said if name in record}}


def iterate_line(trace: Trace, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of one iterate."""
    return {"type": "iterate", "label": trace.info.label, "solver": trace.info.solver, **plain(record)}
