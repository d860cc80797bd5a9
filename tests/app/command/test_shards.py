"""``solverscope run --shards``: rows on several workers, the same run."""

from __future__ import annotations

import importlib.util

import pytest

pytest.importorskip("distributed")


@pytest.mark.slow
def test_a_run_on_shards_prints_what_one_on_one_machine_does(command):
    arguments = ("run", "breast-cancer", "--solver", "prox-qn", "--max-iter", "12", "--json")
    alone, split = command(*arguments), command(*arguments, "--shards", "2")
    assert split.status == alone.status == 0, split.err
    one, other = ([record["objective"] for record in done.of_type("iterate")] for done in (alone, split))
    assert other == pytest.approx(one, rel=1e-9)
    assert split.of_type("problem")[0]["key"] == alone.of_type("problem")[0]["key"]
    assert "bytes an iteration on the wires of 2 shards" in split.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--shards", "0"), "--shards 0 is not possible: give a whole number from 1"),
        (("--shards", "two"), "--shards two is not possible: give a whole number from 1"),
        (("--shards", "1000"), "1000 shards of 456 samples are not possible: give from 1 to that many"),
        (("--shards", "2", "--loss", "hingy"), "there is no loss 'hingy'"),
        (("--shards", "2", "--loss", "chain-crf"), "loss chain-crf needs"),
        (("--shards", "2", "--option", "class_weight=balanced"), "shards take no intercept and no sample"),
        (("--shards", "2", "--scheduler", "tcp://127.0.0.1:1"), "there is no scheduler at"),
        (("--scheduler", "tcp://127.0.0.1:1"), "--scheduler names the cluster of shards: give --shards too"),
        (("--shards", "2", "--from", "x.jsonl@3"), "--from replays a run on this machine"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(command, monkeypatch, arguments, said):
    monkeypatch.setattr("solverscope.app.sweep.cluster.CONNECT", 0.5)
    done = command("run", "breast-cancer", "--solver", "prox-qn", *arguments)
    assert done.status == 2
    assert said in done.err
    assert "Traceback" not in done.err
    assert done.err.strip().count("\n") == 0


def test_a_solver_that_looks_at_single_rows_is_refused_before_a_worker_is_asked(command, monkeypatch):
    asked = []
    monkeypatch.setattr("solverscope.app.command.shards.hired", lambda *call: asked.append(call))
    done = command("run", "breast-cancer", "--solver", "sgd-l1", "--shards", "1")
    assert asked == []
    assert done.status == 2
    assert (
        "solver sgd-l1 needs a loss with compiled kernels for single instances, unlike "
        "logistic with penalty l1 on shards: choose one of prox-qn, " in done.err
    )


def test_without_dask_it_says_what_to_install(command, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "distributed" else found(name, *a)
    )
    done = command("run", "breast-cancer", "--solver", "prox-qn", "--shards", "2")
    assert done.status == 2
    assert 'shards need Dask: install it with python -m pip install "solverscope[cluster]"' in done.err
