"""The curves of results of benchopt: one problem at a time, repetitions as a median."""

from __future__ import annotations

from solverscope.app.benchopt import results
from solverscope.app.benchopt.curves import BenchoptCurves

from .conftest import written


def test_repetitions_are_drawn_as_a_median_one_problem_at_a_time(table, tmp_path):
    view = BenchoptCurves(results.read(written(tmp_path / "a.parquet", table)))
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
    view = BenchoptCurves(results.read(written(tmp_path / "a.parquet", table)))
    assert "<img" not in view.legend.object
    assert "\x1b" not in view.legend.object
