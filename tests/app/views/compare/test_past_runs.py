"""The list of runs says what each was set to."""

from __future__ import annotations

from solverscope.app.views import PastRuns
from solverscope.solvers import Trace


def test_a_line_tells_lambda_where_it_was_changed_and_a_file_by_its_name():
    change = {"iteration": 2, "lam": 0.1, "key": "b", "f_star": None, "cpu_seconds": 1.0, "wall_seconds": 1.0}
    problem = {"dataset": "svmlight:/srv/data/mine.svm", "lam": 0.5}
    records = [{"iteration": k, "objective": 1.0} for k in range(4)]
    traces = [
        Trace.from_records(records, label="a", problem=problem, lams=changes) for changes in ((change,), ())
    ]
    entries = PastRuns(traces).list.entries
    assert [entry["lam"] for entry in entries] == ["0.5, 0.1 from 2", "0.5"]
    assert {entry["data"] for entry in entries} == {"svmlight:mine.svm"}
