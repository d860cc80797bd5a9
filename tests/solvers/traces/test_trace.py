import csv
import json
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bokeh.models import ColumnDataSource

from solverscope import solvers
from solverscope.solvers.methods.iterate import FIELDS
from solverscope.solvers.methods.iterate_record import MAX_OWN_FIELDS
from solverscope.solvers.traces import trace as module
from solverscope.solvers.traces.trace import Trace, checked_path, lines, plain, save
from tests.solvers.helpers import binary


def record(k, **fields):
    return {"iteration": k, "objective": 1.0 / (k + 1), "nnz": k, **fields}


def filled(n, **at_events):
    trace = Trace({"label": "a", "solver": "prox-qn", "params": {}, "problem": {"type": "problem"}})
    for k in range(n):
        trace.append(record(k, events=("kink",) if k in at_events.get("events", ()) else ()))
    return trace


def test_rows_keep_their_types_and_what_is_missing():
    trace = filled(3)
    assert trace.iteration.dtype == np.int64
    assert trace.objective.dtype == np.float64
    np.testing.assert_array_equal(trace["nnz"], [0, 1, 2])
    assert np.isnan(trace.step).all()
    assert list(trace.epoch) == [-1] * 3
    assert list(trace.phase) == [None] * 3
    assert len(trace) == 3
    assert trace.last["iteration"] == 2


def test_an_empty_trace_has_no_last_record():
    assert Trace().last == {}
    assert len(Trace()) == 0


def test_unknown_fields_are_refused_by_name():
    with pytest.raises(AttributeError, match="a trace has no field 'colour'"):
        Trace().column("colour")
    with pytest.raises(AttributeError):
        Trace().colour  # noqa: B018


def test_it_thins_at_its_capacity_and_keeps_first_last_and_events(monkeypatch):
    monkeypatch.setattr(module, "CAPACITY", 100)
    odd = (1, 33, 131, 777, 1235)
    trace = filled(1238, events=odd)
    assert len(trace) <= 101
    assert trace.cadence == 16
    assert trace.last["iteration"] == 1237
    assert trace.iteration[0] == 0
    trace.finish("converged")
    kept = trace.iteration
    assert kept[-1] == 1237
    assert np.all(np.diff(kept) > 0)
    assert set(odd) <= set(kept)
    regular = set(range(0, 1238, 16))
    assert regular <= set(kept)
    assert len(set(kept) - regular - set(odd)) <= 2
    np.testing.assert_allclose(trace.objective, 1.0 / (kept + 1))


def test_the_capacity_is_ten_thousand_iterates():
    trace = filled(10_000)
    assert len(trace) == 10_000
    trace.append(record(10_000))
    assert len(trace) == 5_001


def test_events_cannot_make_it_grow_without_bound(monkeypatch):
    monkeypatch.setattr(module, "CAPACITY", 100)
    trace = filled(2000, events=range(2000))
    trace.finish("converged")
    assert len(trace) <= 101
    assert (trace.iteration[0], trace.iteration[-1]) == (0, 1999)


def test_cursors_get_each_row_once_and_all_again_after_a_thinning(monkeypatch):
    monkeypatch.setattr(module, "CAPACITY", 64)
    trace, cursor, seen, replaced_times = Trace(), None, [], 0
    for k in range(500):
        trace.append(record(k))
        if k % 7 == 0:
            rows, cursor, replaced = trace.since(cursor)
            seen = list(rows["iteration"]) if replaced else seen + list(rows["iteration"])
            replaced_times += replaced
            assert seen == list(trace.iteration)
    assert replaced_times == 1 + 3
    rows, _, replaced = trace.since(cursor)
    assert not replaced


def test_a_reader_in_another_thread_never_sees_half_a_row(monkeypatch):
    """Neither through a cursor, nor a column, nor the last record, through growing and thinning."""
    monkeypatch.setattr(module, "CAPACITY", 500)
    trace, done, wrong = Trace(), threading.Event(), []

    def read():
        cursor = None
        while not done.is_set():
            try:
                rows, cursor, _ = trace.since(cursor)
                for name in ("nnz", "working_set", "inner_iterations"):
                    if not np.array_equal(rows[name], rows["iteration"]):
                        wrong.append("since")
                last = trace.last
                if last and not last["iteration"] == last["nnz"] == last["inner_iterations"]:
                    wrong.append("last")
                trace.column("objective")
            except Exception as error:
                wrong.append(repr(error))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for k in range(30_000):
        trace.append({"iteration": k, "nnz": k, "working_set": k, "inner_iterations": k})
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong, set(wrong)


def test_records_are_plain_json():
    trace = Trace()
    trace.append(record(0, step=float("inf"), events=("kink", "backtracked")))
    (row,) = trace.records()
    assert json.loads(json.dumps(row)) == row
    assert (row["step"], row["violation"], row["epoch"], row["events"]) == (
        None,
        None,
        None,
        ["kink", "backtracked"],
    )
    assert list(row) == list(FIELDS)
    assert plain({"iteration": np.int64(3), "x": np.float64("nan")}) == {"iteration": 3, "x": None}


def test_saved_runs_read_back(tmp_path):
    traces = [filled(4, events=(2,)), filled(3)]
    traces[1].tell(label="b")
    traces[0].w = np.array([0.0, 2.5, 0.0, -1.0])
    for trace in traces:
        trace.result = {"type": "result", "status": "converged"}
        trace.finish("converged")
    for ending in ("jsonl", "csv", "npz"):
        save(traces, tmp_path / f"runs.{ending}")

    rows = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert [r["type"] for r in rows] == [
        "problem", "run", *["iterate"] * 4, "result", "run", *["iterate"] * 3, "result"
    ]  # fmt: skip
    assert rows == list(lines(traces))
    back = Trace.from_records([r for r in rows if r.get("label") == "a" and r["type"] == "iterate"])
    for name in FIELDS:
        if name == "events":
            assert [list(e) for e in back.events] == [list(e) for e in traces[0].events]
        else:
            np.testing.assert_array_equal(back.column(name), traces[0].column(name))

    with (tmp_path / "runs.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["label"] for row in table] == ["a"] * 4 + ["b"] * 3
    assert (table[2]["events"], table[2]["objective"], table[2]["step"]) == ("kink", repr(1 / 3), "")

    with np.load(tmp_path / "runs.npz", allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["a/iteration"], np.arange(4))
        w = np.zeros(arrays["a/w_size"])
        w[arrays["a/w_indices"]] = arrays["a/w_values"]
        np.testing.assert_array_equal(w, traces[0].w)
        assert arrays["b/events"].tolist() == [""] * 3
        assert json.loads(str(arrays["a/info"]))["result"]["status"] == "converged"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("runs.txt", "the name must end in .jsonl, .csv, .npz"),
        ("nowhere/runs.csv", "there is no folder"),
        ("folder.csv", "choose a file that may be written"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_beforehand(tmp_path, name, sentence):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match=sentence):
        checked_path(tmp_path / name)


def test_a_label_that_no_npz_can_hold_is_refused_and_the_file_stays(tmp_path):
    path = tmp_path / "runs.npz"
    filled(2).save(path)
    before, trace = path.read_bytes(), filled(2)
    trace.info = replace(trace.info, label="a" * 70_000)
    with pytest.raises(ValueError, match=r"runs\.npz cannot hold a label of 70,\d{3} bytes"):
        trace.save(path)
    assert path.read_bytes() == before


def test_a_long_run_with_an_event_in_every_iterate_can_be_recorded(monkeypatch):
    """The cadence stops growing where it no longer drops anything."""
    monkeypatch.setattr(module, "CAPACITY", 16)
    trace = filled(3000, events=range(3000))
    assert trace.cadence < 2 * 3000
    assert trace.last["iteration"] == 2999


def test_a_trace_that_restarts_has_its_new_rows_alone_and_tells_its_readers():
    trace = filled(7)
    _, cursor, _ = trace.since(None)
    trace.restart()
    trace.append(record(0))
    rows, _, replaced = trace.since(cursor)
    assert replaced
    assert list(rows["iteration"]) == [0]


def test_csv_has_no_text_that_a_spreadsheet_computes(tmp_path):
    info = {"label": "=HYPERLINK(1)", "solver": "@x"}
    trace = Trace.from_records(
        [{"iteration": 0, "objective": -1.5, "phase": "-2+3", "events": ("+a", "b")}], **info
    )
    trace.save(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["label"], row["solver"]) == ("'=HYPERLINK(1)", "'@x")
    assert (row["phase"], row["events"], row["objective"]) == ("'-2+3", "'+a b", "-1.5")


def test_a_trace_is_a_table_of_pandas():
    problem = solvers.make_problem(binary(), lam_ratio=0.1)
    trace = solvers.solve(problem, solvers.make_solver("prox-qn"), max_iter=3)
    table = trace.to_pandas()
    assert list(table.columns) == ["label", "solver", *solvers.FIELDS, "lam"]
    assert len(table) == len(trace)
    assert set(table.label) == set(table.solver) == {"prox-qn"}
    assert set(table.lam) == {problem.lam}
    for name, field in solvers.FIELDS.items():
        known = [field.is_known(value) for value in trace[name]]
        if field.numeric:
            assert table[name].notna().tolist() == known, name
            assert table[name].dropna().tolist() == trace[name][known].tolist(), name
        else:
            assert table[name].tolist() == trace[name].tolist(), name
    assert table.clusters.isna().all(), "what a solver does not know is missing"
    assert pd.concat([table, table]).dtypes.equals(table.dtypes)


def test_a_trace_without_iterates_is_an_empty_table():
    assert solvers.Trace().to_pandas().shape == (0, len(solvers.FIELDS) + 3)


def test_runs_are_one_table_that_tells_run_and_problem():
    problems = [solvers.make_problem(binary(), lam_ratio=ratio) for ratio in (0.1, 0.2)]
    runs = [solvers.solve(problem, solvers.make_solver("prox-qn"), max_iter=3) for problem in problems]
    table = solvers.to_pandas(runs)
    columns = ["run", "dataset", "loss_id", "penalty_id", "problem", *runs[0].to_pandas().columns]
    assert list(table.columns) == columns
    assert table.groupby("run")["problem"].unique().tolist() == [[problem.key] for problem in problems]
    assert table.groupby("run")["objective"].last().tolist() == [run.objective[-1] for run in runs]
    assert table.index.tolist() == list(range(sum(map(len, runs))))
    assert solvers.to_pandas([]).columns.tolist() == columns
    assert table.columns.is_unique
    assert (set(table.loss_id), set(table.penalty_id)) == ({"logistic"}, {"l1"})
    for name in ("loss", "penalty"):  # the parts of the objective
        assert table[name].tolist() == [value for run in runs for value in run[name]], name


@pytest.mark.parametrize("known", [True, False], ids=["of known problems", "with one of no problem"])
def test_a_table_of_runs_becomes_parquet_json_and_plots(tmp_path, known):
    """As other programs read it."""
    problem = solvers.make_problem(binary(), lam_ratio=0.1)
    runs = [solvers.solve(problem, solvers.make_solver(id), max_iter=3) for id in ("prox-qn", "fista-ls")]
    runs += [] if known else [Trace.from_records([record(0)])]
    table = solvers.to_pandas(runs)
    table.to_parquet(tmp_path / "runs.parquet", engine="pyarrow")
    read = pd.read_parquet(tmp_path / "runs.parquet", engine="pyarrow")
    assert read.columns.tolist() == table.columns.tolist()
    numbers = table.select_dtypes("number")
    assert {"loss", "penalty", "objective", "step", "lam"} <= set(numbers)
    pd.testing.assert_frame_equal(read[numbers.columns], numbers)
    assert read.label.tolist() == table.label.tolist()
    assert [tuple(events) for events in read.events] == table.events.tolist()
    rows = json.loads(table.to_json(orient="records"))
    told = np.array([row["loss"] for row in rows], dtype=float)  # null becomes nan
    np.testing.assert_allclose(told, table.loss, rtol=1e-9)
    drawn = ColumnDataSource(table).data
    np.testing.assert_array_equal(drawn["loss"], table.loss)


def test_fields_of_its_own_are_kept_while_a_trace_grows_and_is_thinned(monkeypatch):
    monkeypatch.setattr(module, "CAPACITY", 100)
    trace = Trace({"label": "a"})
    for k in range(1000):
        late = {"radius": float(k)} if k >= 90 else {}
        trace.append({"iteration": k, "objective": 1.0, **late})
    assert trace.fields["radius"].title == "radius"
    known = trace.iteration >= 90
    assert trace.radius[known].tolist() == trace.iteration[known].tolist()
    assert np.isnan(trace.radius[~known]).all()
    with pytest.raises(AttributeError, match="no field 'width'"):
        trace.column("width")


def test_a_csv_file_has_the_own_fields_of_all_runs_at_its_end(tmp_path):
    one = Trace.from_records([{"iteration": 0, "objective": 1.0, "radius": 0.5}], label="a")
    other = Trace.from_records([{"iteration": 0, "objective": 1.0, "tried": 2}], label="b")
    solvers.save([one, other], tmp_path / "runs.csv")
    head, first, second = (line.split(",") for line in (tmp_path / "runs.csv").read_text().splitlines())
    assert head[-3:] == ["lam", "radius", "tried"]
    assert (first[-2:], second[-2:]) == (["0.5", ""], ["", "2.0"])


def test_a_run_has_so_many_fields_of_its_own_and_no_more():
    trace = Trace({"label": "a"})
    trace.append({"iteration": 0} | {f"own_{k}": 1.0 for k in range(100)})
    assert len(trace.fields) - len(solvers.FIELDS) == MAX_OWN_FIELDS
