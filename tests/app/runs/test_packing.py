"""Runs as blocks of columns: what is packed comes back, and what is no such block is refused."""

from __future__ import annotations

import threading
import zlib

import numpy as np
import pytest

from solverscope.app.runs import packing
from solverscope.solvers import Trace
from solverscope.solvers.probes.probe import ProbeStore


def test_of_many_observations_the_first_of_each_probe_and_the_last_are_kept(monkeypatch):
    monkeypatch.setattr(packing, "MAX_OBSERVATION_BYTES", 3000)
    seen = [(k, {"weights": {"values": np.full(20, k)}} if k else {}) for k in range(50)]
    seen[7][1]["line"] = {"t": np.arange(3.0)}
    store = ProbeStore.of(seen)
    back = packing.unpack_observations(packing.pack_observations(store))
    assert back.iterations("line") == [7]
    assert back.iterations("weights")[0] == 1
    assert back.iterations("weights")[-1] == 49
    assert 5 < len(back.everything()) < 20


def test_weights_of_a_run_at_work_are_packed_while_they_change():
    w, over = np.zeros(200_000), threading.Event()

    def work():
        while not over.is_set():
            w[:] = 1.0 - w

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(50):
            assert packing.unpack_weights(packing.pack_weights(w)).size == w.size
    finally:
        over.set()
        worker.join()


def test_objects_and_cut_blocks_are_refused():
    block = packing.pack({"a": np.arange(5)})
    with pytest.raises(ValueError, match="cut"):
        packing.unpack(block[:-3])
    objects = zlib.compress(b'{"arrays":[["a","|O",[1]]]}\n' + b"12345678")
    with pytest.raises(ValueError, match="OBJECT"):
        packing.unpack(objects)


def test_rows_of_a_version_with_other_fields_are_read_by_name():
    n = np.arange(3)
    block = packing.pack(
        {"iteration": n, "objective": n / 2, "mood": n}, words={"events": [[1, ["kink"]]], "phase": []}
    )
    trace = Trace.from_columns(packing.unpack_rows([block]), {"label": "a"})
    assert trace.objective.tolist() == [0.0, 0.5, 1.0]
    assert list(trace.nnz) == [-1] * 3
    assert list(trace.events) == [(), ("kink",), ()]


def test_fields_of_a_run_of_its_own_are_packed_and_unknown_in_blocks_without_them():
    blocks = []
    for k, own in enumerate([{}, {"radius": 0.5}]):
        rows, _, _ = Trace.from_records([{"iteration": k, "objective": 1.0, **own}], label="a").since(None)
        blocks.append(packing.pack_rows(rows))
    trace = Trace.from_columns(packing.unpack_rows(blocks), {"label": "a"})
    assert np.isnan(trace.radius[0])
    assert trace.radius[1] == 0.5
