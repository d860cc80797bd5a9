"""A streamed trace: whole and once, whatever happens on the way; and the folder that keeps results."""

import json

import numpy as np
import pytest

import solvers
from app.runs.packing import pack_rows
from app.sweep.results import f_stars, gap_of, seconds_to
from app.sweep.spec import Spec
from app.sweep.store import Store
from app.sweep.watched import Watched

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
    watched = Watched(SPEC.cells[0])
    for first, last in ((0, 3), (3, 4), (4, 9)):
        watched.take(said("a", first, last))
        assert list(watched.trace.iteration) == list(range(last))
    watched.end(outcome("a", 11))
    assert list(watched.trace.iteration) == list(range(11))
    assert watched.state == "finished"
    assert watched.record["objective"] == 1.0 / 11


def test_a_trace_begun_twice_is_one_trace():
    watched = Watched(SPEC.cells[0])
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
    watched = Watched(SPEC.cells[0])
    watched.take(said("a", 0, 3))
    watched.take(said("a", 5, 7))
    assert list(watched.trace.iteration) == [0, 1, 2]
    watched.end(outcome("a", 9))
    assert list(watched.trace.iteration) == list(range(9))


def test_a_thinned_trace_takes_the_place_of_its_rows():
    watched = Watched(SPEC.cells[0])
    watched.take(said("a", 0, 6))
    watched.take(said("a", 0, 3))
    assert list(watched.trace.iteration) == [0, 1, 2]


def test_store_keeps_what_ended_and_knows_what_to_run_again(tmp_path):
    store = Store(tmp_path / "out")
    assert store.open(resume=False) == {}
    done, failed = (Watched(cell) for cell in SPEC.cells[:2])
    done.take(said("a", 0, 3))
    done.end(outcome("a", 5))
    failed.fail("it cannot be made")
    for watched in (done, failed):
        store.put(watched.cell, watched.trace, watched.record)
    with store.ledger.open("a") as file:
        file.write('{"cell": "cut')  # its process was killed in the middle of a line
    with pytest.raises(ValueError, match="has 2 results already: give --resume"):
        Store(tmp_path / "out").open(resume=False)
    again = Store(tmp_path / "out")
    assert list(again.open(resume=True)) == [done.cell.key]
    assert again.records()[failed.cell.key]["message"] == "it cannot be made"
    assert store.ledger.read_bytes().endswith(b"\n"), "the next line stands by itself"
    np.testing.assert_array_equal(again.trace(done.cell).objective, done.trace.objective)
    assert again.trace(failed.cell) is None


def test_a_ledger_of_something_else_is_refused(tmp_path):
    (tmp_path / "cells.jsonl").write_text('{"type": "problem"}\n')
    with pytest.raises(ValueError, match=r"line 1 of .* is no result of a sweep"):
        Store(tmp_path).open(resume=True)


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
