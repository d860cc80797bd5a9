"""Reading the files that runs were saved to: what :func:`.trace.save` has written, and ``--json`` printed."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..methods.iterate import FIELDS
from .segments import segments
from .trace import Trace

#: Bytes of a file of runs, and of what it unpacks to, at most.
LARGEST = 1 << 30
#: What a run whose file has no result is called: it was cut short.
CUT_SHORT = "interrupted"


def read(path: str | Path) -> list[Trace]:
    """Return the runs of a ``.jsonl`` or ``.npz`` file, in their order.

    Of JSON lines come all fields of the iterates, of arrays the last weights as well. Raises ValueError, one
    sentence, for a file that cannot be read or does not hold runs.
    """
    path = Path(path)
    if path.suffix not in _READERS:
        advice = f"the name must end in {' or '.join(_READERS)}"
        if path.suffix == ".csv":
            advice = "a .csv holds no settings, save the run as .jsonl"
        raise ValueError(f"cannot read {path.name}: {advice}")
    try:
        if not path.is_file():
            raise ValueError(f"cannot read {path}: there is no such file")
        if path.stat().st_size > LARGEST:
            raise ValueError(f"cannot read {path}: it has more than {LARGEST >> 30} GiB")
        traces = _READERS[path.suffix](path)
    except OSError as error:
        raise ValueError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except _Wrong as error:
        raise ValueError(f"cannot read {path}: {error}") from None
    if not traces:
        raise ValueError(f"cannot read {path}: there is no run in it")
    return traces


class _Wrong(Exception):
    """What is wrong with the content of a file, in words to follow its name."""


def _lines(path: Path) -> list[Trace]:
    traces: list[Trace] = []
    about: dict[str, Any] = {}
    for number, record in _records(path):
        try:
            match record.get("type"):
                case "problem":
                    about = {"problem": _with(record, "key", "dataset", "loss", "penalty")}
                case "reference":
                    about |= {"reference": record, "f_star": record.get("f_star")}
                case "run" if about:
                    _with(record, "label", "solver")["params"].items()
                    given = {name: value for name, value in record.items() if name != "type"}
                    traces.append(Trace({"f_star": None, **about, **given}))
                    segments(traces[-1])
                case "iterate" if traces:
                    traces[-1].append(_row(record))
                case "result" if traces:
                    traces[-1].result = record
        except _Wrong as error:
            raise _Wrong(f"line {number} {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise _Wrong(f"line {number} is no record of a run, as `solverscope run` writes them") from None
    for trace in traces:
        _finish(trace)
    return traces


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise _Wrong(f"line {number} is no record")
                yield number, record
    except UnicodeDecodeError:
        raise _Wrong("it is not text in UTF-8") from None
    except (json.JSONDecodeError, RecursionError):
        raise _Wrong(f"line {number} is not JSON: the file may have been cut") from None


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an iterate that are known, each of its type."""
    row = {}
    for name, field in FIELDS.items():
        value = record.get(name)
        if value is None:
            continue
        kinds = {tuple: list, float: (int, float)}.get(field.type, field.type)
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise _Wrong(f"has {value!r:.40} for {name}")
        row[name] = field.type(value)
    if row.get("iteration", -1) < 0:
        raise _Wrong("has no iteration")
    return row


def _with(record: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        if not isinstance(record.get(name), str):
            raise _Wrong(f"has no {name}")
    return record


def _finish(trace: Trace) -> None:
    result = trace.result
    trace.finish(str(result.get("status", CUT_SHORT)), str(result.get("message", "")))


def _arrays(path: Path) -> list[Trace]:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(part.file_size for part in archive.infolist()) > LARGEST:
                raise _Wrong(f"it unpacks to more than {LARGEST >> 30} GiB")
        with np.load(path, allow_pickle=False) as arrays:
            problem = _with(json.loads(str(arrays["problem"])), "key", "dataset", "loss", "penalty")
            labels = [name.removesuffix("/info") for name in arrays.files if name.endswith("/info")]
            return [_from_arrays(label, arrays, problem) for label in labels]
    except _Wrong:
        raise
    except (KeyError, TypeError, ValueError, IndexError, EOFError, zipfile.BadZipFile):
        raise _Wrong("it does not hold runs, as `solverscope run --out FILE.npz` writes them") from None


def _from_arrays(label: str, arrays: Mapping[str, np.ndarray], problem: dict[str, Any]) -> Trace:
    info = json.loads(str(arrays[f"{label}/info"]))
    result = info.pop("result")
    columns = {name: arrays[f"{label}/{name}"] for name in FIELDS if f"{label}/{name}" in arrays}
    for name, column in columns.items():
        if FIELDS[name].type is tuple:
            columns[name] = [tuple(text.split()) for text in column.tolist()]
        elif FIELDS[name].type is str:
            columns[name] = [text or None for text in column.tolist()]
    trace = Trace.from_columns(columns, {"problem": problem, **info})
    segments(trace)
    if f"{label}/w_size" in arrays:
        size = int(arrays[f"{label}/w_size"])
        if not 0 <= 8 * size <= LARGEST:
            raise _Wrong(f"{label} has {size} weights")
        trace.w = np.zeros(size)
        trace.w[arrays[f"{label}/w_indices"]] = arrays[f"{label}/w_values"]
    trace.result = result
    _finish(trace)
    return trace


_READERS = {".jsonl": _lines, ".npz": _arrays}
