"""Results of a benchmark of benchopt become curves, and a file of anything else a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from solverscope.app.benchopt import results

from .conftest import written

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")


def test_each_repetition_of_a_solver_on_a_problem_is_a_curve(table, tmp_path):
    traces = results.read(written(tmp_path / "a.parquet", table))
    labels = ["gd[step=1] (1)", "gd[step=1] (2)", "gd[step=1] (3)", "cd", "cd"]
    assert [trace.info.label for trace in traces] == labels
    second = traces[1]
    assert second.iteration.tolist() == [0, 2, 4]
    np.testing.assert_allclose(second.wall_seconds, [0.0, 0.2, 0.4])
    assert second.objective.tolist() == [4.0, 4.0, 2.0]
    assert second.nnz.tolist() == [5, 5, 5]
    assert np.isnan(second.cpu_seconds).all()
    assert traces[3].nnz.tolist() == [-1, -1]
    assert [trace.info.problem["dataset"] for trace in traces[3:]] == ["simulated[n=10]", "leukemia"]
    assert len({trace.info.problem["key"] for trace in traces}) == 2


def test_a_tolerance_numbers_the_points_and_a_name_of_old_is_known(table, tmp_path):
    for k, row in enumerate(table):
        row["data_name"] = row.pop("dataset_name")
        row["stop_val"] = 0.1 / (k + 1)
    traces = results.read(written(tmp_path / "a.parquet", table))
    assert traces[0].iteration.tolist() == [0, 1, 2]
    assert traces[0].info.problem["dataset"] == "simulated[n=10]"


def test_what_we_write_is_read(tmp_path):
    from tests.app.runs.test_formats import made

    given = [made("prox-qn", 4, memory=5), made("owl-qn", 3, sigma=None)]
    results.write(given, tmp_path / "a.parquet")
    found = results.read(tmp_path / "a.parquet")
    assert [trace.info.label for trace in found] == ["prox-qn", "owl-qn"]
    for one, other in zip(given, found, strict=True):
        np.testing.assert_array_equal(one.objective, other.objective)
        np.testing.assert_array_equal(one.cpu_seconds, other.wall_seconds)


def test_a_file_of_something_else_is_refused_in_a_sentence(table, tmp_path, monkeypatch):
    def refused(path: Path, sentence: str) -> None:
        with pytest.raises(ValueError, match=sentence):
            results.read(path)

    text = tmp_path / "text.parquet"
    text.write_text("a,b\n1,2\n")
    refused(text, "no parquet file")
    whole = written(tmp_path / "whole.parquet", table)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole.read_bytes()[:-40])
    refused(cut, "no parquet file")
    middle = bytearray(whole.read_bytes())
    middle[4:200] = bytes(196)
    cut.write_bytes(middle)
    refused(cut, "no parquet file")
    less = [{name: value for name, value in row.items() if name != "time"} for row in table]
    refused(written(tmp_path / "less.parquet", less), "no column 'time'")
    objects = [{**row, "solver_name": [1.0]} for row in table]
    refused(written(tmp_path / "objects.parquet", objects), "'solver_name' .* holds list<.*not texts")
    pickled = [{**row, "objective_value": b"\x80\x04N."} for row in table]
    refused(written(tmp_path / "pickled.parquet", pickled), "'objective_value' .* holds binary, not numbers")
    monkeypatch.setattr(results, "MAX_ROWS", 5)
    refused(whole, "more than 5 rows")
    monkeypatch.setattr(results, "MAX_ROWS", 500)
    monkeypatch.setattr(results, "MAX_CURVES", 4)
    refused(whole, "more than 4 curves")
    monkeypatch.setattr(results, "MAX_RESULTS_BYTES", 10)
    refused(whole, "give a smaller file")
    monkeypatch.setattr(results, "available", lambda: False)
    refused(whole, r"install solverscope\[benchopt\]")


def test_other_columns_are_left_alone_whatever_they_hold(table, tmp_path):
    more = [{**row, "final_results": b"\x80\x04N.", "objective_image": [[1.0]]} for row in table]
    assert len(results.read(written(tmp_path / "a.parquet", more))) == 5
