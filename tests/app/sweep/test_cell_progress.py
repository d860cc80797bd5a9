"""A streamed trace: whole and once, whatever happens on the way; and the folder that keeps results."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from solverscope import solvers
from solverscope.app.runs.packing import pack_rows
from solverscope.app.sweep.cell_progress import CellProgress
from solverscope.app.sweep.cell_store import Store
from solverscope.app.sweep.results import f_stars, gap_of, seconds_to
from solverscope.app.sweep.spec import Spec

SPEC = Spec.of({"data": "breast-cancer", "solvers": ["prox-qn"], "lam_ratio": [0.1, 0.2, 0.4]})
PROBLEM = {"type": "problem", "key": "p", "dataset": "breast-cancer", "loss": "logistic", "penalty": "l1"}
INFO = {"label": "prox-qn", "solver": "prox-qn", "params": {}, "problem": {**PROBLEM, "lam": 0.1}}


def rows(first, last):
    whole = solvers.Trace.from_records(
        [{"iteration": k, "objective": 1.0 / (k + 1), "cpu_seconds": 0.1 * k} for k in range(last)]
    )
    return pack_rows({name: column[first:] for name, column in whole.since(None)[0].items()})


def said(attempt, first=None, last=None, state="running"):
    message = {"cell": SPEC.cells[0].key, "attempt": attempt, "state": state, "worker": "tcp://here:1"}
    if first == 0:
        message["about"] = json.dumps(INFO)
    return message | ({} if first is None else {"first": first, "rows": rows(first, last)})


def outcome(attempt, n):
    return {
        **{"attempt": attempt, "about": json.dumps(INFO), "rows": rows(0, n), "metrics": []},
        **{"result": {"objective": 1.0 / n, "iterations": n - 1}, "status": "converged", "message": ""},
    }


def test_blocks_become_one_trace_which_grows():
    watched = CellProgress(SPEC.cells[0])
    for first, last in ((0, 3), (3, 4), (4, 9)):
        watched.take(said("a", first, last))
        assert list(watched.trace.iteration) == list(range(last))
    watched.end(outcome("a", 11))
    assert list(watched.trace.iteration) == list(range(11))
    assert watched.state == "finished"
    assert watched.record["objective"] == 1.0 / 11


def test_a_trace_begun_twice_is_one_trace():
    watched = CellProgress(SPEC.cells[0])
    watched.take(said("a", 0, 6))
    trace, cursor = watched.trace, watched.trace.since(None)[1]
    watched.take(said("b", state="loading"))
    watched.take(said("b", 0, 2))
    watched.take(said("a", 6, 8))  # of the worker that died
    assert watched.trace is trace, "views keep the trace that they draw"
    assert list(trace.iteration) == [0, 1]
    assert trace.since(cursor)[2], "a view is told to begin anew"
    watched.end(outcome("b", 5))
    assert list(trace.iteration) == list(range(5))


def test_a_block_that_is_lost_leaves_no_hole():
    watched = CellProgress(SPEC.cells[0])
    watched.take(said("a", 0, 3))
    watched.take(said("a", 5, 7))
    assert list(watched.trace.iteration) == [0, 1, 2]
    watched.end(outcome("a", 9))
    assert list(watched.trace.iteration) == list(range(9))


def test_a_thinned_trace_takes_the_place_of_its_rows():
    watched = CellProgress(SPEC.cells[0])
    watched.take(said("a", 0, 6))
    watched.take(said("a", 0, 3))
    assert list(watched.trace.iteration) == [0, 1, 2]


def test_store_keeps_what_ended_and_knows_what_to_run_again(tmp_path):
    store = Store(tmp_path / "out")
    assert store.open(resume=False) == {}
    done, failed = (CellProgress(cell) for cell in SPEC.cells[:2])
    done.take(said("a", 0, 3))
    done.end(outcome("a", 5) | {"metrics": [[0, 0.0, 0.5], [4, 0.4, 0.75]]})
    failed.fail("it cannot be made")
    for watched in (done, failed):
        store.put(watched.cell, watched.trace, watched.record)
    store.close()
    with store.ledger.open("a") as file:
        file.write('{"cell": "cut')  # its process was killed in the middle of a line
    with pytest.raises(ValueError, match="has 2 results already: give --resume"):
        Store(tmp_path / "out").open(resume=False)
    again = Store(tmp_path / "out")
    assert list(again.open(resume=True)) == [done.cell.key]
    assert again.records()[failed.cell.key]["message"] == "it cannot be made"
    assert store.ledger.read_bytes().endswith(b"\n"), "the next line stands by itself"
    np.testing.assert_array_equal(again.trace(done.cell).objective, done.trace.objective)
    assert again.trace(done.cell).test_metric == [(0, 0.0, 0.5), (4, 0.4, 0.75)]
    assert again.trace(failed.cell) is None
    (measured,) = again.folder.glob("*.metrics.json")
    measured.write_text("[[1]]")
    with pytest.raises(ValueError, match=r"metrics.json is no list of test metrics: delete it"):
        again.trace(done.cell)
    measured.unlink()
    assert again.trace(done.cell).test_metric == [], "as those were kept before"


@pytest.mark.parametrize(
    ("spoilt", "what"),
    [
        (lambda line: "garbage\n", "it is not JSON"),
        (lambda line: "\0\0\0\n", "it is not JSON"),
        (lambda line: "[" * 50_000 + "\n", "it is not JSON"),
        (lambda line: "9" * 5000 + "\n", "it is not JSON"),
        (lambda line: "3\n", "it is no record"),
        (lambda line: '{"type": "problem"}\n', "it has no cell"),
        (
            lambda line: line.replace('"seed": 0', '"seed": "x"'),
            "it has 'x' for seed, not a whole number from 0",
        ),
        (
            lambda line: line.replace('"lam": null', '"lam": {"a": [1]}'),
            r"it has {'a': \[1\]} for lam, not a number",
        ),
        (lambda line: line.replace('"nnz": null', '"nnz": "x"'), "it has 'x' for nnz, not a whole number"),
        (lambda line: line.replace('"status": "failed"', '"status": 3'), "it has 3 for status, not a text"),
        (lambda line: line.replace('"problem": {', '"problem": {"key": 3, "n": '), "it is not JSON"),
    ],
)
def test_a_line_of_the_ledger_that_is_something_else_is_refused_with_advice(tmp_path, spoilt, what):
    store = Store(tmp_path)
    store.open(resume=False)
    lines = []
    for cell in SPEC.cells[:2]:
        watched = CellProgress(cell)
        watched.fail("it cannot be made")
        store.put(cell, None, watched.record)
    store.close()
    lines = store.ledger.read_text().splitlines(keepends=True)
    assert spoilt(lines[1]) != lines[1]
    store.ledger.write_text(lines[0] + spoilt(lines[1]))
    said = f"line 2 of .* is no result of a sweep, {what}.*: delete that line, and its run is done again$"
    with pytest.raises(ValueError, match=said):
        Store(tmp_path).open(resume=True)
    store.ledger.write_text(lines[0])
    store.open(resume=True)
    assert list(store.records()) == [SPEC.cells[0].key]


def test_a_folder_has_one_sweep_at_a_time(tmp_path):
    first, second = Store(tmp_path / "out"), Store(tmp_path / "out")
    first.open(resume=False)
    with pytest.raises(ValueError, match=r"another sweep is at work in .*: wait until it has ended, or give"):
        second.open(resume=True)
    first.close()
    assert second.open(resume=True) == {}
    with pytest.raises(ValueError, match="another sweep is at work"):
        first.open(resume=True)


HOLDER = """
import sys
from pathlib import Path
from solverscope.app.sweep.cell_store import Store
store = Store(Path(sys.argv[1]))
store.open(resume=False)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_sweep_that_is_killed_leaves_its_folder_to_others(tmp_path):
    folder = tmp_path / "out"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        cwd=Path(__file__).resolve().parents[3],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ValueError, match="another sweep is at work"):
            Store(folder).open(resume=True)
        holder.kill()
        holder.communicate()
        assert Store(folder).open(resume=True) == {}
    finally:
        holder.kill()
        holder.communicate()


def test_gaps_are_to_the_best_that_is_known_of_each_problem():
    records = [
        {"problem": {"key": "p"}, "objective": 2.0, "f_star": None},
        {"problem": {"key": "p"}, "objective": 1.0, "f_star": None},
        {"problem": {"key": "q"}, "objective": 3.0, "f_star": 2.0},
        {"problem": {}, "objective": None, "f_star": None},
    ]
    best = f_stars(records)
    assert best == {"p": 1.0, "q": 2.0}
    assert [gap_of(record, best) for record in records] == [1.0, 0.0, 0.5, None]


def test_seconds_to_a_gap_are_those_of_the_first_iterate_within_it():
    trace = solvers.Trace.from_records(
        [{"iteration": k, "objective": f, "cpu_seconds": 0.5 * k} for k, f in enumerate((4.0, 2.1, 2.5, 2.0))]
    )
    assert seconds_to(trace, 2.0, 0.1) == 0.5
    assert seconds_to(trace, 2.0, 0.01) == 1.5
    assert seconds_to(trace, 1.0, 0.01) is None
