"""Results of a benchmark of benchopt become curves, and a file of anything else a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from solverscope.app.runs import benchopt
from solverscope.app.views import BenchoptCurves

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")


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
    parquet.write_table(pyarrow.Table.from_pylist(table), path)
    return path


@pytest.fixture
def table() -> list[dict[str, object]]:
    slow = [row for r in range(3) for row in rows("gd[step=1]", r, [4.0, 3.0 + r, 2.0], objective_nnz=5)]
    other = rows("cd", 0, [1.0, 0.5], dataset_name="leukemia")
    return [*slow, *rows("cd", 0, [4.0, 1.0]), *other]


def test_each_repetition_of_a_solver_on_a_problem_is_a_curve(table, tmp_path):
    traces = benchopt.read(written(tmp_path / "a.parquet", table))
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
    traces = benchopt.read(written(tmp_path / "a.parquet", table))
    assert traces[0].iteration.tolist() == [0, 1, 2]
    assert traces[0].info.problem["dataset"] == "simulated[n=10]"


def test_what_we_write_is_read(tmp_path):
    from tests.app.runs.test_formats import made

    given = [made("prox-qn", 4, memory=5), made("owl-qn", 3, sigma=None)]
    benchopt.write(given, tmp_path / "a.parquet")
    found = benchopt.read(tmp_path / "a.parquet")
    assert [trace.info.label for trace in found] == ["prox-qn", "owl-qn"]
    for one, other in zip(given, found, strict=True):
        np.testing.assert_array_equal(one.objective, other.objective)
        np.testing.assert_array_equal(one.cpu_seconds, other.wall_seconds)


def test_a_file_of_something_else_is_refused_in_a_sentence(table, tmp_path, monkeypatch):
    def refused(path: Path, sentence: str) -> None:
        with pytest.raises(ValueError, match=sentence):
            benchopt.read(path)

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
    monkeypatch.setattr(benchopt, "MOST_ROWS", 5)
    refused(whole, "more than 5 rows")
    monkeypatch.setattr(benchopt, "MOST_ROWS", 500)
    monkeypatch.setattr(benchopt, "MOST_CURVES", 4)
    refused(whole, "more than 4 curves")
    monkeypatch.setattr(benchopt, "MOST_BYTES", 10)
    refused(whole, "give a smaller file")
    monkeypatch.setattr(benchopt, "available", lambda: False)
    refused(whole, r"install solverscope\[benchopt\]")


def test_other_columns_are_left_alone_whatever_they_hold(table, tmp_path):
    more = [{**row, "final_results": b"\x80\x04N.", "objective_image": [[1.0]]} for row in table]
    assert len(benchopt.read(written(tmp_path / "a.parquet", more))) == 5


def test_repetitions_are_drawn_as_a_median_one_problem_at_a_time(table, tmp_path):
    view = BenchoptCurves(benchopt.read(written(tmp_path / "a.parquet", table)))
    assert list(view.problem.options) == ["simulated[n=10] · Lasso[lmbd=0.1]", "leukemia · Lasso[lmbd=0.1]"]
    assert len(view.traces) == 4
    names = {r.name for r in view.figure.renderers if len(r.data_source.data.get("iteration", ()))}
    assert names == {"gd[step=1], median of 3", "cd"}
    assert "gd[step=1], median of 3" in view.legend.object
    view.problem.value = "leukemia · Lasso[lmbd=0.1]"
    assert [trace.info.label for trace in view.traces] == ["cd"]
    assert "gd" not in view.legend.object


def test_a_name_in_a_file_is_text_on_the_page(table, tmp_path):
    for row in table:
        row["solver_name"] = "<img src=x onerror=alert(1)>\x1b[2J"
    view = BenchoptCurves(benchopt.read(written(tmp_path / "a.parquet", table)))
    assert "<img" not in view.legend.object
    assert "\x1b" not in view.legend.object
