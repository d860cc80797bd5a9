"""Serialization of runs without pickle: a JSON header that describes the arrays, followed by the arrays.

Both are compressed together.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from solverscope.solvers import FIELDS
from solverscope.solvers.methods.iterate import is_own_name
from solverscope.solvers.probes.probe import ProbeStore, arrays_of

#: Bytes that a block unpacks to, at most.
MAX_UNPACKED_BYTES = 1 << 28
#: Bytes and arrays of a run's observations that are kept, at most.
MAX_OBSERVATION_BYTES, MAX_OBSERVATION_ARRAYS = 8 << 20, 20_000
#: What stands before the names of a run's own fields.
OWN_PREFIX = "own."
#: Level of zlib: half the size in a few milliseconds a megabyte, without Python's lock.
COMPRESSION_LEVEL = 1


def pack(arrays: Mapping[str, np.ndarray], **header: Any) -> bytes:
    """Return arrays of numbers or strings, and a header of JSON values, as compressed bytes."""
    shapes = [[name, array.dtype.str, array.shape] for name, array in arrays.items()]
    line = json.dumps({"arrays": shapes, **header}, separators=(",", ":")).encode() + b"\n"
    return zlib.compress(line + b"".join(array.tobytes() for array in arrays.values()), COMPRESSION_LEVEL)


def unpack(block: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and the header of packed bytes. Raises ValueError if the bytes are invalid."""
    try:
        unpacked = zlib.decompressobj()
        data = unpacked.decompress(block, MAX_UNPACKED_BYTES)
        if not unpacked.eof:
            raise ValueError("a block is cut, or too large")
        place = data.index(b"\n") + 1
        header = json.loads(data[:place])
        arrays = {}
        for name, dtype, shape in header.pop("arrays"):
            kind, count = np.dtype(dtype), int(np.prod(shape, dtype=np.int64))
            found = np.frombuffer(data, kind, count, place) if count else np.empty(0, kind)
            arrays[name], place = found.reshape(shape), place + count * kind.itemsize
        return arrays, header
    except (zlib.error, KeyError, TypeError) as error:
        raise ValueError(f"a block cannot be unpacked: {error}") from None


def pack_rows(rows: Mapping[str, np.ndarray]) -> bytes:
    """Return columns of a trace as bytes: numeric columns as arrays, strings as JSON."""
    numbers = {name: rows[name] for name, field in FIELDS.items() if field.numeric}
    numbers |= {f"{OWN_PREFIX}{name}": column for name, column in rows.items() if name not in FIELDS}
    words = {
        name: [[k, value] for k, value in enumerate(rows[name].tolist()) if value]
        for name, field in FIELDS.items()
        if not field.numeric
    }
    return pack(numbers, words=words)


def unpack_rows(blocks: Sequence[bytes]) -> dict[str, Sequence[Any]]:
    """Return the columns of consecutive packed blocks, as arguments of :meth:`solvers.Trace.from_columns`.

    Fields that are unknown to this version, or missing from some block, are omitted. Fields of the run's own
    are NaN in blocks without them. Raises ValueError if the bytes are invalid.
    """
    parts = [unpack(block) for block in blocks]
    columns: dict[str, Sequence[Any]] = {}
    for name, field in FIELDS.items():
        if field.numeric:
            if parts and all(name in arrays for arrays, _ in parts):
                columns[name] = np.concatenate([arrays[name] for arrays, _ in parts])
        elif all(name in header["words"] for _, header in parts):
            columns[name] = [word for part in parts for word in _words(name, *part)]
    counts = [len(arrays["iteration"]) for arrays, _ in parts]
    for own in dict.fromkeys(name for arrays, _ in parts for name in arrays if name.startswith(OWN_PREFIX)):
        if is_own_name(name := own.removeprefix(OWN_PREFIX)):
            blanks = [np.full(n, np.nan) for n in counts]
            found = [arrays.get(own, blank) for (arrays, _), blank in zip(parts, blanks, strict=True)]
            columns[name] = np.concatenate(found)
    columns.setdefault("iteration", np.empty(0, np.int64))
    return columns


def _words(name: str, arrays: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> list[Any]:
    column = [FIELDS[name].unknown] * len(arrays["iteration"])
    for k, value in header["words"][name]:
        column[k] = FIELDS[name].type(value)
    return column


def pack_weights(w: np.ndarray) -> bytes:
    """Return weights as bytes: indices and values of the nonzeros."""
    support = np.flatnonzero(w != 0.0)  # of an array of its own: the run may be at work on w
    return pack({"support": support, "values": w[support]}, size=w.size)


def unpack_weights(block: bytes) -> np.ndarray:
    """Return the weights in packed bytes."""
    arrays, header = unpack(block)
    w = np.zeros(header["size"])
    w[arrays["support"]] = arrays["values"]
    return w


def pack_observations(probes: ProbeStore) -> bytes:
    """Return the observations of probes as bytes, thinned evenly to the permitted size.

    The first and the last observation of each probe are always kept. Arrays shared by several observations
    are stored once.
    """
    everything = probes.everything()
    firsts: dict[str, int] = {}
    for k, (_, seen) in enumerate(everything):
        for name in seen:
            firsts.setdefault(name, k)
    always, stride = {*firsts.values(), len(everything) - 1}, 1
    while True:
        kept = [entry for k, entry in enumerate(everything) if k % stride == 0 or k in always]
        pool = {id(array): array for _, seen in kept for array in arrays_of(seen)}
        fits = (
            len(pool) <= MAX_OBSERVATION_ARRAYS
            and sum(array.nbytes for array in pool.values()) <= MAX_OBSERVATION_BYTES
        )
        if fits or stride >= len(everything):
            break
        stride *= 2
    if not fits:
        kept, pool = [], {}
    places = {address: str(place) for place, address in enumerate(pool)}
    index = _changed(
        kept,
        lambda seen: [places[id(one)] for one in seen] if isinstance(seen, tuple) else places[id(seen)],
    )
    return pack({places[address]: array for address, array in pool.items()}, index=index)


def _changed(
    everything: Sequence[tuple[int, dict[str, Any]]], change: Callable[[Any], Any]
) -> list[tuple[int, dict[str, Any]]]:
    """Return observations with ``change`` applied to each value that a probe recorded."""
    return [
        (
            iteration,
            {probe: {name: change(value) for name, value in found.items()} for probe, found in seen.items()},
        )
        for iteration, seen in everything
    ]


def unpack_observations(block: bytes) -> ProbeStore:
    """Return the observations in packed bytes."""
    arrays, header = unpack(block)
    return ProbeStore.of(
        _changed(
            header["index"],
            lambda told: tuple(arrays[one] for one in told) if isinstance(told, list) else arrays[told],
        )
    )
