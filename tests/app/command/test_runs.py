"""``solverscope runs`` lists, imports and exports what is kept."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from app.runs.archive import LASTING, Archive, place
from solvers.runs.reading import read


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SOLVERSCOPE_HOME", str(tmp_path / "own"))


@pytest.fixture
def written(command, tmp_path):
    """A file of two runs."""

    def write(ending="jsonl"):
        path = tmp_path / f"runs.{ending}"
        solvers = ("--solver", "quick=prox-qn,memory=4", "--solver", "prox-gd")
        assert command("run", "breast-cancer", *solvers, "--max-iter", "5", "--out", str(path)).status == 0
        return path

    return write


def test_before_the_first_run_there_is_nothing_and_nothing_is_made(command):
    answer = command("runs")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("no runs are kept yet")
    assert command("runs", "--json").out == ""
    assert not place().exists()


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
    archive = Archive(place(), LASTING)
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
    trace.info["f_star"] = 0.125
    archive = Archive(place(), LASTING)
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
    place().parent.mkdir(parents=True, exist_ok=True)
    place().write_bytes(b"hello, " * 1000)
    for arguments in ((), ("import", str(path)), ("export", "1")):
        answer = command("runs", *arguments)
        assert (answer.status, answer.out) == (4, "")
        assert answer.err == f"solverscope: the history of runs, {place()}, is damaged: move that file away\n"


def test_the_list_is_json_where_that_is_wanted(command, written):
    command("runs", "import", str(written()))
    for line in command("runs", "--json").out.splitlines():
        assert json.loads(line)["started"]
