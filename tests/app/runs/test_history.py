"""The history of runs outlives its server, and does without its file where that cannot be used."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app import views
from solverscope.app.runs import archive as archive_module
from solverscope.app.runs.archive import Archive, ArchiveLimits
from solverscope.app.runs.history import History, HistoryUnavailable
from solverscope.solvers import FIELDS, Trace
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[3]
PROBLEM = {"type": "problem", "key": "k", "dataset": "digits", "loss": "logistic", "penalty": "l1"}
ROOMY = ArchiveLimits(1000, 1 << 30)


class Made:
    """A run that a test advances by hand."""

    def __init__(self, label: str = "a", n: int = 0) -> None:
        self.trace = Trace({"label": label, "solver": "prox-qn", "params": {"memory": 5}, "problem": PROBLEM})
        self.trace.status = "running"
        self.setting = ""
        self.alive = True
        self.go_on(n)

    def go_on(self, n: int) -> None:
        for k in range(len(self.trace), len(self.trace) + n):
            self.trace.append({"iteration": k, "objective": 1.0 / (k + 1), "nnz": k})

    def end(self, status: str = "converged") -> Made:
        self.trace.result = {"type": "result", "status": status, "message": "enough"}
        self.trace.finish(status, "enough")
        self.alive = False
        return self


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "runs.sqlite"


@pytest.fixture
def opened():
    """``opened(path)`` is a history that is closed after the test."""
    made = []

    def make(path, limits=ROOMY):
        made.append(History(path, limits))
        return made[-1]

    yield make
    for history in made:
        history.close()


def listed(history):
    return history.ask(lambda archive: archive.runs()).result(60)


def loaded(history, id):
    return history.ask(lambda archive: archive.trace(id)).result(60)


def same(a, b):
    """Whether two traces have the same rows, words and numbers."""
    for name in FIELDS:
        left, right = a.column(name), b.column(name)
        assert left.dtype == right.dtype, name
        np.testing.assert_array_equal(left, right)
    return True


def test_an_answer_knows_all_that_a_run_told_before_it_was_asked_for(opened):
    history, run = opened(None), Made(n=1)
    history.record(run)
    (kept,) = listed(history)
    run.go_on(3)
    assert len(loaded(history, kept.id)) == 4
    run.end()
    assert loaded(history, kept.id).status == "converged"


def test_a_run_is_kept_with_rows_words_weights_metrics_and_observations(path, opened, small_problem):
    history = opened(path)
    run = solvers.Run(
        small_problem,
        solvers.make_solver("prox-qn"),
        label="mine",
        stopping=solvers.Stopping(tol=1e-6),
        probes=views.probes(small_problem),
    )
    recorded = Made()
    recorded.trace = run.trace
    recorded.setting = "data=breast-cancer"
    history.record(recorded)
    old = run.execute()
    recorded.alive = False
    history.close()

    history = opened(path)
    (kept,) = listed(history)
    assert (kept.label, kept.setting, kept.state, kept.alive) == (
        "mine",
        "data=breast-cancer",
        old.status,
        False,
    )
    assert kept.iterations == old.last["iteration"]
    assert kept.objective == old.last["objective"]
    new = loaded(history, kept.id)
    assert same(new, old)
    assert any(old.events)
    assert any(old.phase)
    assert (new.status, new.message, new.result) == (old.status, old.message, old.result)
    assert new.test_metric == old.test_metric
    assert new.info.problem == small_problem.describe()
    np.testing.assert_array_equal(new.w, old.w)
    assert new.probes.bytes == old.probes.bytes
    for (k, seen), (at, was) in zip(new.probes.everything(), old.probes.everything(), strict=True):
        assert k == at
        assert seen.keys() == was.keys()
        for probe in was:
            for name, array in was[probe].items():
                np.testing.assert_array_equal(seen[probe][name], array)


def test_a_run_that_thins_while_it_is_recorded_is_kept_as_it_is(path, opened, monkeypatch):
    monkeypatch.setattr(solvers.traces.trace, "CAPACITY", 64)
    history, run = opened(path), Made()
    history.record(run)
    for _ in range(10):
        run.go_on(0)
        for k in range(run.trace.last.get("iteration", -1) + 1, run.trace.last.get("iteration", -1) + 40):
            run.trace.append({"iteration": k, "objective": 1.0 / (k + 1), "events": ("kink",) * (k % 9 == 0)})
        last = run.trace.last["iteration"]
        wait_until(lambda last=last: listed(history) and listed(history)[0].iterations == last)
    assert same(loaded(history, 1), run.trace)  # by blocks, while it is alive
    run.end()
    history.close()
    assert same(loaded(opened(path), 1), run.trace)


def test_vectors_that_observations_share_are_kept_once(path, opened, small_problem):
    problem = solvers.make_problem(
        datasets.load("breast-cancer"), loss="binary-hinge", penalty="l2", lam=0.01
    )
    solver = solvers.make_solver("bmrm")
    run = solvers.Run(problem, solver, stopping=solvers.Stopping(max_iter=12), probes=views.probes(problem))
    old = run.execute()
    history = opened(None)
    id = history.change(lambda archive: archive.enter(old)).result(60)
    new = loaded(history, id)
    assert new.probes.bytes == old.probes.bytes
    (_, first), (_, last) = new.probes.entries("cuts")[-2:]
    assert first["A"][0] is last["A"][0]


# people


def test_runs_are_renamed_pinned_deleted_and_put_back(path, opened):
    history = opened(path)
    ids = [history.change(lambda archive: archive.enter(Made("a", 3).end().trace)).result(60) for _ in "abc"]
    history.change(lambda archive: archive.rename(ids[0], "  the\n best ")).result(60)
    history.change(lambda archive: archive.pin(ids[0], True)).result(60)
    assert [(kept.id, kept.name, kept.pinned) for kept in listed(history)] == [
        (ids[0], "the best", True),
        (ids[2], "", False),
        (ids[1], "", False),
    ]
    version = history.version
    history.change(lambda archive: archive.delete(ids[:2])).result(60)
    assert [kept.id for kept in listed(history)] == [ids[2]]
    assert history.version == version + 1
    with pytest.raises(ValueError, match="there is no run 1: see `solverscope runs`"):
        loaded(history, ids[0])
    history.change(lambda archive: archive.restore(ids[:2])).result(60)
    assert [kept.id for kept in listed(history)] == [ids[0], ids[2], ids[1]]
    assert len(loaded(history, ids[0])) == 3


def test_what_was_deleted_long_ago_is_gone(path, opened, monkeypatch):
    history = opened(path)
    history.change(lambda archive: archive.enter(Made("a", 3).end().trace)).result(60)
    history.change(lambda archive: archive.delete([1])).result(60)
    history.close()
    monkeypatch.setattr(archive_module, "RESTORE_SECONDS", -1.0)
    history = opened(path)
    history.change(lambda archive: archive.restore([1])).result(60)
    assert listed(history) == []
    assert history.ask(lambda archive: archive.db.execute("SELECT count(*) FROM blocks").fetchone()).result(
        20
    ) == (0,)


def test_the_oldest_go_beyond_the_limits_and_pinned_ones_stay(opened):
    history = opened(None, ArchiveLimits(runs=3, nbytes=1 << 30))
    enter = lambda: history.change(lambda archive: archive.enter(Made("a", 3).end().trace)).result(60)  # noqa: E731
    enter()
    history.change(lambda archive: archive.pin(1, True)).result(60)
    alive = Made("alive", 2)
    history.record(alive)
    for _ in range(4):
        enter()
    alive.end()
    for run in (Made("x", 2).end(), Made("y", 2).end()):
        history.record(run)
    wait_until(lambda: {"x", "y"} <= {kept.label for kept in listed(history) if not kept.alive})
    assert [kept.label for kept in listed(history)] == ["a", "y", "x"]


def test_bytes_are_limited_too(opened):
    size = Made("a", 500).end()
    history = opened(None, ArchiveLimits(runs=100, nbytes=20_000))
    for k in range(12):
        history.record(Made(f"run {k}", 500).end())
    history.record(size)
    wait_until(lambda: any(kept.label == "a" and not kept.alive for kept in listed(history)))
    total = history.ask(lambda archive: archive.db.execute("SELECT sum(bytes) FROM runs").fetchone()[0])
    assert 0 < total.result(60) <= 20_000
    assert listed(history)[0].label == "a"


# processes


CHILD = """
import json, sys
from pathlib import Path
from solverscope import datasets, solvers
from solverscope.app.runs.history import History
from solverscope.app.runs.live import LiveRun
from solverscope.app.runs.pool import RunPool

problem = solvers.make_problem(datasets.load("breast-cancer"), loss="logistic", penalty="l1", lam_ratio=0.05)
history, share = History(Path(sys.argv[1])), RunPool(2).share()
runs = [
    LiveRun(share, lambda worker: problem, solvers.make_solver("sgd-l1", seed=k), label=f"run {k}", pace=50.0)
    for k in range(3)
]
for run in runs:
    history.record(run)
while sys.stdin.readline():  # it is asked what has been written down
    kept = history.ask(lambda archive: archive.runs()).result()
    print(json.dumps({run.label: run.iterations or 0 for run in kept}), flush=True)
"""


@pytest.mark.slow
def test_a_killed_server_loses_nothing_that_was_written_down(path, opened):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], cwd=ROOT, env=environment, **pipes)
    written: dict[str, int] = {}

    def ask():
        print(file=child.stdin, flush=True)
        written.update(json.loads(child.stdout.readline()))
        return written

    try:
        wait_until(lambda: len(ask()) == 3 and min(written.values()) > 60, period=0.1)
        child.send_signal(signal.SIGKILL)
    finally:
        child.kill()
        child.wait(60)

    history = opened(path)
    runs = sorted(listed(history), key=lambda kept: kept.label)
    assert [(kept.label, kept.state, kept.alive) for kept in runs] == [
        (f"run {k}", "interrupted", False) for k in range(3)
    ]
    for kept in runs:
        trace = loaded(history, kept.id)
        assert trace.status == "interrupted"
        assert trace.iteration[-1] >= written[kept.label] > 60
        np.testing.assert_array_equal(trace.iteration, np.arange(len(trace)))
        assert np.isfinite(trace.objective).all()


OTHER = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(sys.argv[2])))
from test_history import Made
from solverscope.app.runs.history import History
history, run = History(Path(sys.argv[1])), Made("other", 5)
history.record(run)
seen = lambda: {k.label: k.alive for k in history.ask(lambda archive: archive.runs()).result(60)}
while "other" not in seen():
    pass
print(sorted(seen().items()), flush=True)
sys.stdin.readline()
run.end(); history.close()
"""


@pytest.mark.slow
def test_two_processes_leave_each_others_runs_alone(path, opened):
    history, mine = opened(path), Made("mine", 3)
    history.record(mine)
    wait_until(lambda: listed(history))
    child = subprocess.Popen(
        [sys.executable, "-c", OTHER, str(path), str(Path(__file__).parent)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "[('mine', True), ('other', True)]\n"
        assert {kept.label: kept.state for kept in listed(history)} == {"mine": "running", "other": "running"}
        mine.go_on(4)
        child.communicate("\n", timeout=60)
        states = {kept.label: (kept.state, kept.alive) for kept in listed(history)}
        assert states == {"mine": ("running", True), "other": ("converged", False)}
    finally:
        child.kill()
        child.wait(60)
    mine.end()
    wait_until(lambda: not any(kept.alive for kept in listed(history)))
    assert len(loaded(history, 1)) == 7


def test_a_process_with_the_number_of_one_that_is_gone_is_not_taken_for_it(path, opened):
    history, run = opened(path), Made("old", 2)
    history.record(run)
    wait_until(lambda: listed(history))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE runs SET began = '1' WHERE id = 1")
    assert archive_runs(path) == [("interrupted", False)]


def archive_runs(path):
    other = Archive(path, ROOMY)
    try:
        return [(kept.state, kept.alive) for kept in other.runs()]
    finally:
        other.close()


@pytest.mark.parametrize(("silent", "alive"), [(2.0, True), (100.0, False)])
def test_a_process_of_another_machine_is_gone_when_it_is_silent(path, silent, alive):
    archive = Archive(path, ROOMY)
    id = archive.begin(Made("far").trace, 0.0)
    archive.db.execute(
        "UPDATE runs SET place = 'elsewhere', heartbeat = ? WHERE id = ?", (time.time() - silent, id)
    )
    assert [kept.alive for kept in archive.runs()] == [alive]
    archive.close()


def test_closing_the_server_marks_runs_at_work_as_interrupted(path, opened):
    history, run = opened(path), Made("a", 4)
    history.record(run)
    history.close()
    assert archive_runs(path) == [("interrupted", False)]
    with pytest.raises(HistoryUnavailable, match="The history of runs is closed"):
        listed(history)


# a file that cannot be used


def notice(history, run, caplog):
    """What is said of a history that cannot record a run, which goes on."""
    with caplog.at_level(logging.WARNING):
        history.record(run)
        wait_until(lambda: history.trouble)
        run.go_on(10)
        history.record(Made("b", 2))
        with contextlib.suppress(HistoryUnavailable):  # it is answered after what came before
            history.ask(lambda archive: archive.runs()).result(60)
    assert len(run.trace) >= 10
    said = [record.getMessage() for record in caplog.records if record.name == "solverscope.app.runs.history"]
    assert said == [history.trouble]
    return history.trouble


def test_a_home_that_is_no_folder_gives_one_notice(tmp_path, opened, caplog):
    (tmp_path / "home").write_text("a file")
    history = opened(tmp_path / "home" / "runs.sqlite")
    text = notice(history, Made("a", 5), caplog)
    assert "cannot be used" in text
    assert "runs go on without it; name a folder that may be written in SOLVERSCOPE_HOME" in text
    with pytest.raises(HistoryUnavailable, match="cannot be used"):
        listed(history)


def test_a_read_only_database_gives_one_notice(path, opened, caplog, monkeypatch):
    Archive(path, ROOMY).close()
    connect = sqlite3.connect
    monkeypatch.setattr(
        archive_module.sqlite3,
        "connect",
        lambda place, **options: connect(f"file:{place}?mode=ro", uri=True, **options),
    )
    assert "(attempt to write a readonly database)" in notice(opened(path), Made("a", 5), caplog)


def test_a_database_cut_in_half_gives_one_notice(path, opened, caplog):
    archive = Archive(path, ROOMY)
    for k in range(5):
        archive.enter(Made(f"run {k}", 3000).end().trace)
    archive.close()
    size = path.stat().st_size
    os.truncate(path, size // 2)
    text = notice(opened(path), Made("a", 5), caplog)
    assert "is damaged: runs go on without it; move that file away" in text
    assert path.stat().st_size == size // 2  # whoever wants it can still rescue what there is


def test_a_file_that_is_no_database_gives_one_notice(path, opened, caplog):
    path.parent.mkdir()
    path.write_bytes(b"hello, " * 1000)
    assert "is damaged" in notice(opened(path), Made("a", 5), caplog)
    assert path.read_bytes() == b"hello, " * 1000


def test_a_full_disk_gives_one_notice_and_what_was_kept_stays(path, opened, caplog):
    history = opened(path)
    history.change(lambda archive: archive.enter(Made("first", 30).end().trace)).result(60)

    def fill(archive):
        (pages,) = archive.db.execute("PRAGMA page_count").fetchone()
        archive.db.execute(f"PRAGMA max_page_count = {pages + 1}")

    history.ask(fill).result(60)
    run = Made("a")
    for k, (f, step, violation) in enumerate(np.random.default_rng(0).random((9000, 3))):  # not to be packed
        run.trace.append({"iteration": k, "objective": f, "step": step, "violation": violation})
    text = notice(history, run, caplog)
    assert "has no room on the disk: runs go on without it; make room" in text
    assert [kept.label for kept in listed(history)] == ["first"]
    assert len(loaded(history, 1)) == 30


# versions


def test_an_older_database_is_migrated_and_keeps_its_runs(path, opened, monkeypatch):
    archive = Archive(path, ROOMY)
    archive.enter(Made("old", 8).end().trace)
    archive.close()
    later = (
        *archive_module.MIGRATIONS,
        ("ALTER TABLE runs ADD COLUMN colour TEXT", "UPDATE runs SET colour = 'blue'"),
    )
    monkeypatch.setattr(archive_module, "MIGRATIONS", later)
    history = opened(path)
    assert [kept.label for kept in listed(history)] == ["old"]
    assert len(loaded(history, 1)) == 8
    found = history.ask(lambda archive: archive.db.execute("SELECT colour FROM runs").fetchall())
    assert found.result(60) == [("blue",)]
    assert history.ask(lambda archive: archive.db.execute("PRAGMA user_version").fetchone()).result(60) == (
        len(later),
    )


def test_a_migration_that_fails_changes_nothing(path, monkeypatch):
    archive = Archive(path, ROOMY)
    archive.enter(Made("old", 8).end().trace)
    archive.close()
    later = (*archive_module.MIGRATIONS, ("ALTER TABLE runs ADD COLUMN colour TEXT", "NONSENSE"))
    with monkeypatch.context() as patch:
        patch.setattr(archive_module, "MIGRATIONS", later)
        with pytest.raises(sqlite3.Error, match="NONSENSE"):
            Archive(path, ROOMY)
    archive = Archive(path, ROOMY)
    assert "colour" not in [row[1] for row in archive.db.execute("PRAGMA table_info(runs)")]
    assert len(archive.trace(1)) == 8
    archive.close()


def test_a_database_of_a_later_version_is_left_alone(path, opened, caplog):
    archive = Archive(path, ROOMY)
    archive.db.execute("PRAGMA user_version = 99")
    archive.close()
    assert "is from a later version of Solverscope" in notice(opened(path), Made("a", 5), caplog)
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (99,)
