"""Runs that are taken along are, where they arrive, the runs that they were."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from solverscope.app.benchopt import results
from solverscope.app.runs import formats
from solverscope.solvers import FIELDS, Trace
from solverscope.solvers.traces.reading import read

PROBLEM = {
    **{"type": "problem", "key": "k", "dataset": "digits", "loss": "logistic", "penalty": "l1", "lam": 0.5},
    **{"options": {"positive": "3", "scale": 16.0, "n": None}, "seed": 0, "average": True},
}


def made(label, n, **params):
    records = [
        {"iteration": k, "objective": 1 / (k + 1), "cpu_seconds": 0.1 * k, "events": ("kink",) * k}
        for k in range(n)
    ]
    info = {"label": label, "solver": label, "params": params, "problem": PROBLEM, "f_star": 0.125}
    trace = Trace.from_records(records, **info)
    trace.w = np.array([0.0, 1.5])
    return trace


@pytest.fixture
def traces():
    return [made("prox-qn", 4, memory=5), made("owl-qn", 3, sigma=None)]


@pytest.mark.parametrize("form", ["jsonl", "npz"])
def test_what_is_taken_along_reads_back(traces, form, tmp_path):
    path = tmp_path / f"taken.{form}"
    path.write_bytes(formats.as_bytes(traces, form))
    for new, old in zip(read(path), traces, strict=True):
        assert new.info.label == old.info.label
        for name in FIELDS:
            np.testing.assert_array_equal(new.column(name), old.column(name))


def test_arrays_are_read_without_pickles(traces):
    with np.load(io.BytesIO(formats.as_bytes(traces, "npz")), allow_pickle=False) as arrays:
        header = json.loads(str(arrays["prox-qn/info"]))
        assert header["params"] == {"memory": 5}
        assert all(arrays[name].dtype != object for name in arrays.files)


def test_a_spreadsheet_has_a_line_an_iterate(traces):
    rows = list(csv.DictReader(io.StringIO(formats.as_bytes(traces, "csv").decode())))
    assert [row["label"] for row in rows] == ["prox-qn"] * 4 + ["owl-qn"] * 3
    assert {row["lam"] for row in rows} == {"0.5"}


def test_benchopt_finds_its_columns(traces):
    columns = results.columns(traces)
    assert columns["solver_name"] == ["prox-qn"] * 4 + ["owl-qn"] * 3
    assert columns["objective_value"] == [*traces[0].objective, *traces[1].objective]
    assert columns["time"] == [*traces[0].cpu_seconds, *traces[1].cpu_seconds]
    assert columns["stop_val"] == [0, 1, 2, 3, 0, 1, 2]
    assert set(columns["idx_rep"]) == {0}
    assert set(columns["objective_name"]) == {"Solverscope[loss=logistic,penalty=l1,lam=0.5,average=True]"}
    assert set(columns["data_name"]) == {"digits[positive=3,scale=16.0,seed=0]"}
    assert columns["p_solver_memory"] == ["5"] * 4 + [None] * 3
    assert columns["objective_suboptimality"][0] == 1 - 0.125


def test_parquet_is_written_where_pyarrow_is_installed(traces):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(formats.as_bytes(traces, "parquet")))
    assert table.column("objective_value").to_pylist() == results.columns(traces)["objective_value"]
    assert table.schema.metadata[b"_meta_json"] == b"{}", "benchopt adds to it when it plots the file"


def test_parquet_is_not_offered_where_nothing_writes_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert list(formats.offered()) == ["csv", "jsonl", "npz"]


@pytest.fixture
def turned():
    """A run whose λ was changed at iteration 2."""
    problem = {"dataset": "digits", "loss": "logistic", "penalty": "l1", "lam": 0.5, "key": "a"}
    records = [{"iteration": k, "objective": 4.0 - k, "cpu_seconds": float(k)} for k in range(3)]
    trace = Trace.from_records(records, label="a", solver="prox-qn", params={}, problem=problem, f_star=2.0)
    change = {"iteration": 2, "lam": 0.1, "key": "b", "f_star": 1.5, "cpu_seconds": 1.0, "wall_seconds": 1.0}
    trace.tell(lams=(change,))
    return trace


def test_each_format_tells_lambda_where_it_was_changed(turned, tmp_path):
    rows = csv.DictReader(io.StringIO(formats.as_bytes([turned], "csv").decode()))
    assert [row["lam"] for row in rows] == ["0.5", "0.5", "0.1"]
    with np.load(io.BytesIO(formats.as_bytes([turned], "npz")), allow_pickle=False) as arrays:
        assert arrays["a/lam"].tolist() == [0.5, 0.5, 0.1]
    problem, _, run, *_ = map(json.loads, formats.as_bytes([turned], "jsonl").decode().splitlines())
    assert (problem["lam"], [(one["iteration"], one["lam"]) for one in run["lams"]]) == (0.5, [(2, 0.1)])


def test_benchopt_finds_an_objective_for_each_lambda_of_a_run(turned):
    columns = results.columns([turned])
    assert columns["p_obj_lam"] == ["0.5", "0.5", "0.1"]
    assert columns["objective_suboptimality"] == [2.0, 1.0, 0.5]
    assert len(set(columns["objective_name"])) == 2
