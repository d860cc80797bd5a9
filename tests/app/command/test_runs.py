"""``solverscope runs`` lists, imports and exports what is kept."""

from __future__ import annotations

import contextlib
import csv
import json
import sqlite3
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from solverscope import solvers
from solverscope.app.runs import archive as archive_module
from solverscope.app.runs.archive import PERSISTENT_LIMITS, Archive, default_path
from solverscope.solvers import Trace
from solverscope.solvers.traces.reading import read
from solverscope.solvers.traces.trace import save


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SOLVERSCOPE_HOME", str(tmp_path / "own"))


@pytest.fixture
def written(command, tmp_path):
    """A file of two runs."""

    def write(ending="jsonl"):
        path = tmp_path / f"runs.{ending}"
        chosen = ("--solver", "quick=prox-qn,memory=4", "--solver", "prox-gd")
        assert command("run", "breast-cancer", *chosen, "--max-iter", "5", "--out", str(path)).status == 0
        return path

    return write


def test_before_the_first_run_there_is_nothing_and_nothing_is_made(command):
    answer = command("runs")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("no runs are kept yet")
    assert command("runs", "--json").out == ""
    assert not default_path().exists()


def test_a_loop_without_a_problem_is_imported_listed_and_compared(command, tmp_path):
    for name, factor in (("a", 0.5), ("b", 0.25)):
        with solvers.OwnLoop(name) as run:
            for k in range(3):
                run.iterate(trust_radius=factor**k)
        run.trace.save(tmp_path / f"{name}.jsonl")
    answer = command("runs", "import", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"))
    assert (answer.status, answer.out) == (0, "1\n2\n"), answer.err
    assert "None" not in command("runs").out
    assert "trust_radius" in command("runs", "export", "1", "--format", "csv").out.splitlines()[0]
    told = command("diff", "1", "2")
    assert (told.status, told.err) == (1, "")
    assert "first difference: iteration 1, trust_radius: 0.5 of a #1 and 0.25 of b #2" in told.out


def test_runs_that_were_imported_are_listed(command, written):
    answer = command("runs", "import", str(written()))
    assert (answer.status, answer.out) == (0, "1\n2\n")
    first, second = command("runs", "--json").records
    assert (first["id"], first["run"], first["solver"], first["dataset"]) == (
        1,
        "quick",
        "prox-qn",
        "breast-cancer",
    )
    assert first["options"]["memory"] == 4
    assert (second["run"], second["iterations"], second["state"]) == ("prox-gd", 5, "max-iter")
    table = command("runs").out
    assert "memory=4" in table
    assert "breast-cancer" in table
    assert f"{second['objective']:.10g}" in table


@pytest.mark.parametrize("ending", ["jsonl", "npz"])
def test_export_and_import_give_the_same_trace(command, written, tmp_path, ending):
    command("runs", "import", str(written("npz")))
    out = tmp_path / f"again.{ending}"
    assert command("runs", "export", "1", "--out", str(out)).status == 0
    assert command("runs", "import", str(out)).out == "3\n"
    archive = Archive(default_path(), PERSISTENT_LIMITS)
    old, new = archive.trace(1), archive.trace(3)
    archive.close()
    assert list(new.records()) == list(old.records())
    assert len(new) == 6
    assert (new.info, new.status, new.message, new.result) == (old.info, old.status, old.message, old.result)
    if ending == "npz":
        np.testing.assert_array_equal(new.w, old.w)


def test_export_prints_what_the_run_had_written(command, written):
    path = written()
    command("runs", "import", str(path))
    lines = path.read_text().splitlines()
    answer = command("runs", "export", "2")
    assert answer.out.splitlines() == [line for line in lines if '"quick"' not in line]
    assert answer.out == command("runs", "export", "2", "--format", "jsonl").out
    rows = list(csv.DictReader(command("runs", "export", "2", "--format", "csv").out.splitlines()))
    assert [row["iteration"] for row in rows] == list("012345")


def test_f_star_that_a_page_found_is_exported_as_a_reference(command, written, tmp_path):
    trace = read(written())[0]
    trace.tell(f_star=0.125)
    archive = Archive(default_path(), PERSISTENT_LIMITS)
    id = archive.enter(trace)
    archive.close()
    (reference,) = command("runs", "export", str(id)).of_type("reference")
    assert reference["f_star"] == 0.125


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("export", "7"), "there is no run 7: see `solverscope runs`"),
        (("export", "x"), "ID x is not possible: give a whole number from 1"),
        (("export", "0"), "ID 0 is not possible: give a whole number from 1"),
        (("export", "1", "--format", "xml"), "--format xml is not possible: choose one of jsonl, csv"),
        (("export", "1", "--format", "csv", "--out", "x.csv"), "give --format or --out, not both"),
        (("export", "1", "--out", "x.txt"), "cannot write x.txt: the name must end in .jsonl, .csv, .npz"),
        (("import", "none.jsonl"), "cannot read none.jsonl: there is no such file"),
        (("import", "runs.csv"), "cannot read runs.csv: a .csv holds no settings, save the run as .jsonl"),
        (("wipe",), "No such command 'wipe'."),
    ],
)
def test_bad_input_gets_one_sentence(command, arguments, sentence):
    answer = command("runs", *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


def test_of_several_files_none_is_imported_if_one_cannot_be_read(command, written, tmp_path):
    (tmp_path / "bad.jsonl").write_text("{")
    assert command("runs", "import", str(written()), str(tmp_path / "bad.jsonl")).status == 2
    assert command("runs", "--json").records == []


def test_a_damaged_history_gets_one_sentence(command, written):
    path = written()
    default_path().parent.mkdir(parents=True, exist_ok=True)
    default_path().write_bytes(b"hello, " * 1000)
    for arguments in ((), ("import", str(path)), ("export", "1")):
        answer = command("runs", *arguments)
        assert (answer.status, answer.out) == (4, "")
        assert (
            answer.err
            == f"solverscope: the history of runs, {default_path()}, is damaged: move that file away\n"
        )


def test_the_list_is_json_where_that_is_wanted(command, written):
    command("runs", "import", str(written()))
    for line in command("runs", "--json").out.splitlines():
        assert json.loads(line)["started"]


@pytest.fixture
def small(tmp_path):
    """A file of two small runs that nobody had to compute."""
    traces = []
    for label in ("quick", "prox-gd"):
        problem = {"key": "k", "dataset": "digits", "loss": "logistic", "penalty": "l1", "lam": 0.5}
        info = {"label": label, "solver": "prox-gd", "params": {}, "problem": {"type": "problem", **problem}}
        traces.append(
            Trace.from_records([{"iteration": k, "objective": 1.0 / (k + 1)} for k in range(3)], **info)
        )
        traces[-1].finish("max-iter")
        traces[-1].w = np.ones(3)
        traces[-1].result = {"type": "result", "status": "max-iter"}
    save(traces, tmp_path / "small.npz")
    return tmp_path / "small.npz"


def test_a_history_that_another_process_has_gets_one_sentence(command, small, monkeypatch):
    command("runs", "import", str(small))
    monkeypatch.setattr(archive_module, "LOCK_TIMEOUT", 0.05)
    with contextlib.closing(sqlite3.connect(default_path(), isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        for arguments in ((), ("import", str(small)), ("export", "1")):
            answer = command("runs", *arguments)
            assert (answer.status, answer.out) == (4, "")
            assert answer.err == (
                f"solverscope: the history of runs, {default_path()}, "
                "is in use by another process: try again\n"
            )
    assert [entry["id"] for entry in command("runs", "--json").records] == [1, 2]


WRITER = """
import sys
from pathlib import Path
from solverscope.app.runs.archive import PERSISTENT_LIMITS, Archive
from solverscope.solvers.traces.reading import read
archive, (trace, _) = Archive(Path(sys.argv[1]), PERSISTENT_LIMITS), read(sys.argv[2])
archive.db.execute("PRAGMA cache_size = 1")  # what is written goes to the disk before it is committed
with archive.transaction():
    for _ in range(30):
        archive.end(archive.begin(trace, 0.0), trace)
    print("in the middle", flush=True)
    sys.stdin.read()
"""


def test_a_process_killed_in_the_middle_of_a_write_leaves_the_history_as_it_was(command, small):
    command("runs", "import", str(small))
    before = command("runs", "--json").records
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(default_path()), str(small)],
        cwd=Path(__file__).resolve().parents[3],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert writer.stdout.readline() == "in the middle\n"
    finally:
        writer.kill()
        writer.communicate()
    assert command("runs", "--json").records == before
    assert command("runs", "import", str(small)).status == 0
    with contextlib.closing(sqlite3.connect(default_path())) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# entries that say something else than this program writes

ABOUT = json.dumps({"problem": {"key": "k", "dataset": "digits", "loss": "logistic", "penalty": "l1"}})


def spoil(id, **columns):
    """Write what somebody else might into the database."""
    with contextlib.closing(sqlite3.connect(default_path(), isolation_level=None)) as db:
        for name, value in columns.items():
            db.execute(f"UPDATE runs SET {name} = ? WHERE id = ?", (value, id))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"about": ABOUT.replace('"k"', '"k", "lam": {"a": [1]}')},
            "has {'a': [1]} for lam, not a number or null",
        ),
        ({"about": "{"}, "has '{' for about, not a record"),
        ({"about": "[" * 50_000}, "for about, not a record"),
        ({"about": "[]"}, "is no record in about"),
        ({"about": '{"problem": 3}'}, "is no record in problem in about"),
        ({"about": '{"params": {"memory": []}}'}, "has {'memory': []} for params, not a table"),
        ({"result": '{"nnz": "many"}'}, "has 'many' for nnz, not a whole number from 0 or null in result"),
        ({"label": b"\xff"}, "has b'\\xff' for label, not a text"),
        ({"iterations": "many"}, "has 'many' for iterations, not a whole number from 0 or null"),
        ({"started": 1e300}, "has 1e+300 for started, not seconds since 1970"),
        (
            {"objective": "low", "alive": 1, "heartbeat": "x", "bytes": "x"},
            "has 'low' for objective, not a number",
        ),
    ],
)
def test_a_damaged_entry_is_listed_as_such_beside_the_others(command, small, columns, said):
    path = str(small)
    command("runs", "import", path)
    spoil(1, **columns)
    for again in (False, True):
        answer = command("runs", "--json")
        assert (answer.status, answer.err) == (0, "")
        damaged, good, *_ = answer.records
        assert (damaged["id"], damaged["state"]) == (1, "damaged")
        assert damaged["damage"].startswith("run 1 of the history is damaged, its entry ")
        assert said in damaged["damage"]
        assert (good["run"], good["state"]) == ("prox-gd", "max-iter")
        if not again:
            assert command("runs", "import", path).out == "3\n4\n"
    table = command("runs").out
    assert "prox-gd" in table
    assert table.count(said) == 1
    answer = command("runs", "export", "1")
    assert (answer.status, answer.err) == (2, f"solverscope: {damaged['damage']}\n")
    assert command("runs", "export", "2").status == 0


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("blocks", "rows", b"garbage"),
        ("blocks", "rows", zlib.compress(b"[]\n")),
        ("blocks", "rows", zlib.compress(b"[" * 50_000 + b"\n")),
        ("blocks", "rows", zlib.compress(b'{"arrays": [["iteration", "O", [1]]], "words": {}}\n12345678')),
        ("blocks", "rows", "text"),
        ("runs", "weights", b"garbage"),
        ("runs", "weights", zlib.compress(b'{"arrays": [], "size": -1}\n')),
        ("runs", "metrics", "{"),
        ("runs", "observations", zlib.compress(b'{"arrays": [], "index": 3}\n')),
    ],
)
def test_a_run_whose_rows_are_damaged_is_refused_in_a_sentence(command, small, table, column, value):
    command("runs", "import", str(small))
    with contextlib.closing(sqlite3.connect(default_path(), isolation_level=None)) as db:
        db.execute(
            f"UPDATE {table} SET {column} = ? WHERE {'run' if table == 'blocks' else 'id'} = 1", (value,)
        )
    answer = command("runs", "export", "1")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        "solverscope: run 1 of the history is damaged, its entry has rows or weights that cannot be "
        "unpacked: delete it in the page's tab Runs\n"
    )
    assert command("runs", "export", "2").status == 0


def test_a_file_with_a_field_of_another_type_is_refused_and_the_list_stays(command, written, tmp_path):
    good = written()
    bad = tmp_path / "bad.jsonl"
    lines = good.read_text().splitlines(keepends=True)
    bad.write_text(json.dumps(json.loads(lines[0]) | {"lam": {"a": [1]}}) + "\n" + "".join(lines[1:]))
    answer = command("runs", "import", str(good), str(bad))
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.endswith("bad.jsonl: line 1 has {'a': [1]} for lam, not a number or null\n")
    assert command("runs", "--json").records == []


def test_labels_reach_a_terminal_without_commands_for_it(command, written, tmp_path):
    lines = written().read_text().replace('"quick"', '"\\u001b]0;owned\\u0007\\u001b[31mred"')
    (tmp_path / "red.jsonl").write_text(lines)
    command("runs", "import", str(tmp_path / "red.jsonl"))
    assert command("runs", "--json").records[0]["run"] == "red"
    spoil(2, label="\x1b[2J\x9b2Jblue")
    assert "\x1b" not in (table := command("runs").out)
    assert "\x9b" not in table
    assert "blue" in table
