"""A file of a visitor's own joins the menu of this page alone; one that is not good changes nothing."""

from __future__ import annotations

import errno
import gzip
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest

from solverscope.app.files.upload_dirs import DIR_PREFIX, LOCK_NAME
from solverscope.app.page.page import Page
from solverscope.app.page.sidebar import own_data
from solverscope.app.page.tabs.tab_views import tab_view
from solverscope.app.runs import problem_cache
from solverscope.app.runs.formats import as_bytes
from solverscope.app.serving.access import Rights
from solverscope.app.sweep.spec import Spec

ROWS = "1 1:0.5 3:2\n-1 2:1\n" * 20


@pytest.fixture
def opened(visit, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(own_data.OwnData, "answer", lambda self, data: None)
    opened = visit(data="breast-cancer", solvers="prox-gd")
    yield opened
    opened.close()


def drop(opened, wait_until, name: str, content: str | bytes, piece: int = 100) -> None:
    """Send a file as the browser does, in pieces, and wait until it is read."""
    content, own = content.encode() if isinstance(content, str) else content, opened.problem.own
    own.receive({"action": "begin", "name": name, "size": len(content)})
    for start in range(0, len(content), piece):
        own.receive({"action": "piece", "data": content[start : start + piece]})
    wait_until(lambda: (opened.session.tick(), not own.busy)[1])


def test_a_good_file_is_shown_and_run_and_gone_with_the_page(opened, visit, wait_until):
    drop(opened, wait_until, "mine.svm", ROWS)
    assert opened.problem.own.error == ""
    wait_until(lambda: (opened.session.tick(), opened.problem.ready)[1])
    id = opened.problem.setting.data
    assert opened.problem.data.options["mine.svm"] == id
    assert opened.problem.setting.kind == "binary"
    assert opened.problem.problem.describe()["n_samples"] == 40
    assert "test" not in {field["name"] for field in opened.problem.options.fields}
    opened.controls.go()
    wait_until(lambda: (opened.session.tick(), not opened.session.alive)[1])
    assert opened.session.runs[0].state == "finished"
    assert "mine.svm" not in visit(data="digits").problem.data.options
    path = Path(id.partition(":")[2])
    assert path.is_file()
    setting = opened.problem.setting
    assert problem_cache.cached(setting) is not None
    opened.close()
    assert not path.exists()
    assert problem_cache.cached(setting) is None


@pytest.mark.parametrize("name", ["mine.csv", "mine.tsv", "mine.npz", "mine.csv.gz"])
def test_a_table_is_read_as_rows_are(opened, wait_until, name):
    text = "size,colour,label\n" + "1.5,red,no\n2.5,blue,yes\n" * 20
    if name.endswith(".npz"):
        stream = io.BytesIO()
        np.savez(stream, X=np.arange(80.0).reshape(40, 2), y=np.arange(40) % 2)
        content = stream.getvalue()
    else:
        content = (text.replace(",", "\t") if name.endswith(".tsv") else text).encode()
        content = gzip.compress(content) if name.endswith(".gz") else content
    drop(opened, wait_until, name, content)
    assert opened.problem.own.error == ""
    wait_until(lambda: (opened.session.tick(), opened.problem.ready)[1])
    assert opened.problem.data.options[name] == opened.problem.setting.data
    assert opened.problem.setting.kind == "binary"
    assert opened.problem.problem.describe()["n_samples"] == 40


def test_a_file_is_known_by_its_name_and_its_folder_nowhere(opened, wait_until):
    drop(opened, wait_until, "mine.svm", ROWS)
    wait_until(lambda: (opened.session.tick(), opened.problem.ready)[1])
    opened.open_tabs()
    for tab in ("path", "sweep", "runs"):
        tab_view(tab, opened)
    path, sweep, runs = opened.session.watchers[-3:]
    opened.controls.go()
    path.press()
    listed = runs.view.list
    wait_until(
        lambda: (opened.session.tick(), listed.entries and not (opened.session.alive or path.alive))[1]
    )
    opened.session.tick()  # the path may have ended after the last one
    sweep.take_over()
    sweep.run()
    sweep.update()
    assert "The file mine.svm is not a listed data set" in sweep.said.object
    assert len(Spec.parse(sweep.text.value).cells) == 5, "which runs in its folder"
    opened.export_panel.receive({"action": "open"})
    traces = [run.trace for run in opened.session.runs]
    said = {
        "λ path": path.said.object,
        "runs": str(listed.entries),
        "export": str(opened.export_panel.texts),
        "address": str(opened.query()),
        "sweep": sweep.text.value,
        "card": opened.problem.card.object,
        **{form: as_bytes(traces, form).decode(errors="replace") for form in ("csv", "jsonl")},
        "records": str([trace.info.record() for trace in traces]),
    }
    folder = str(Path(opened.problem.setting.data.partition(":")[2]).parents[1])
    assert [place for place, text in said.items() if folder in text or DIR_PREFIX in text] == []
    assert [place for place, text in said.items() if "mine.svm" not in text] == ["csv"]


def test_a_file_that_is_gone_is_missed_by_its_name(opened, wait_until):
    drop(opened, wait_until, "mine.svm", ROWS)
    wait_until(lambda: (opened.session.tick(), opened.problem.ready)[1])  # nobody loads it any more
    id = opened.problem.setting.data
    Path(id.partition(":")[2]).unlink()
    problem_cache.cache.clear()
    with pytest.raises(ValueError, match=r"^There is no file mine.svm: check its name.$"):
        problem_cache.load(opened.problem.setting)


class NotClosed(io.BytesIO):
    """A file on a disk that says only at the end that it is full, as one of another machine may."""

    def close(self) -> None:
        super().close()
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_file_that_is_not_wanted_any_more_is_left_also_on_a_full_disk(opened, wait_until, monkeypatch):
    own = opened.problem.own
    drop(opened, wait_until, "mine.svm", ROWS)
    monkeypatch.setattr(Path, "open", lambda self, mode: NotClosed())
    own.receive({"action": "begin", "name": "other.svm", "size": 9})
    assert own.busy
    own.receive({"action": "stop"})
    assert (own.busy, own.notice, own.error) == (False, "", "")


def test_an_address_does_not_name_a_file(opened, visit, wait_until):
    drop(opened, wait_until, "mine.svm", ROWS)
    other = visit(data=opened.problem.setting.data)
    assert other.problem.setting.data != opened.problem.setting.data
    assert "there is no data set" in other.notices[0].objects[0].object
    own = visit(data="digits", options="test=/etc/passwd")
    assert "test" not in own.setting.problem.options


def test_a_file_replaced_by_one_of_the_same_name_is_another_one(opened, wait_until):
    drop(opened, wait_until, "mine.svm", ROWS)
    first = opened.problem.setting.data
    drop(opened, wait_until, "mine.svm", ROWS.replace("-1 ", "2 ") + "3 1:1\n")
    assert opened.problem.setting.data != first
    assert opened.problem.setting.kind == "multiclass"
    assert len([name for name in opened.problem.data.options if name.startswith("mine.svm")]) == 2


@pytest.mark.quick("empty", "not a number", "NUL", "damaged")
@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.svm", "1 1:0.5\n-1 2:x\n", "a.svm, line 2: a value is not a number"),
        ("a.png", b"\x89PNG\0\0\0", "there is a NUL byte; give a text file"),
        ("a.svm.gz", b"\x1f\x8b\x08" + b"x" * 40, "is damaged or cut short"),
        (
            "a.svm.gz",
            gzip.compress(gzip.compress(ROWS.encode(), mtime=0), mtime=0),
            "there is a NUL byte; give a text file",
        ),
        ("a.svm", "\n".join(f"{k} 1:1" for k in range(10_001)), "has more than 10,000 different labels"),
        ("a.svm", ",".join(map(str, range(10_001))) + " 1:1\n", "has more than 10,000 different labels"),
        ("a.svm", "1 1:0.5\n1 2:1\n", "svmlight:a.svm: all training samples have the same label"),
        ("a.csv", "1,2,3\n4,5\n6,7,8\n", "a.csv, line 2 has 2 fields but most rows have 3"),
        ("a.npz", b"PK\3\4\0\0", "a.npz is damaged or no NPZ file"),
        ("a.txt", "1 |f a:1\n-1 |f b:1\n", "has namespaces after |, as Vowpal Wabbit's files have"),
        ("a.svm", "", "is empty"),
        ("../../x\n.svm", "1 9999999:1\n2 1:1\n", "x_.svm, line 1: feature 9,999,999 is beyond"),
    ],
)
def test_a_file_that_is_not_good_is_said_in_a_sentence_and_changes_nothing(
    opened, wait_until, tmp_path, name, content, sentence
):
    before, names = opened.setting, dict(opened.problem.data.options)
    drop(opened, wait_until, name, content)
    assert sentence in opened.problem.own.error
    assert opened.setting == before
    assert opened.problem.data.options == names
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} <= {LOCK_NAME}


def test_a_line_of_60_mib_is_refused(opened, wait_until):
    drop(opened, wait_until, "line.svm", b"1 " + b"1:1 " * (15 << 20), own_data.UPLOAD_CHUNK_BYTES)
    assert opened.problem.own.error.startswith("line.svm, line 1 is longer than 16,777,216 bytes")


def test_ten_files_in_a_row_are_seen_by_their_page_alone_and_by_no_other_account(opened, visit, wait_until):
    own = opened.problem.own
    for k in range(10):
        own.receive({"action": "begin", "name": "half.svm", "size": 9999})
        own.receive({"action": "piece", "data": b"1 1:"})
        drop(opened, wait_until, f"mine{k}.svm", ROWS + f"1 {k + 4}:1\n")
        assert own.error == ""
    mine = {id for name, id in opened.problem.data.options.items() if name.startswith("mine")}
    assert len(mine) == 10
    paths = [Path(id.partition(":")[2]) for id in mine]
    (folder,) = {path.parents[1] for path in paths}
    assert sorted(folder.rglob("*.svm")) == sorted(paths), "no half of one"
    assert folder.stat().st_mode & 0o077 == 0
    other = visit(data="digits")
    assert mine.isdisjoint(other.problem.data.options.values())
    before = other.problem.setting
    for id in mine:  # a client may send any value, also one that no menu offers
        with pytest.raises(ValueError, match="is not in the menu of this page"):
            other.problem.data.value = id
    assert other.problem.setting == before
    opened.close()
    assert not folder.exists()


def test_more_than_was_announced_or_too_much_is_not_taken(opened):
    own = opened.problem.own
    own.receive({"action": "begin", "name": "a.svm", "size": own_data.LIMITS.size + 1})
    assert "more than" in own.error
    assert not own.busy
    own.receive({"action": "begin", "name": "a.svm", "size": 3})
    own.receive({"action": "piece", "data": b"12345"})
    assert "did not arrive whole" in own.error
    own.receive({"action": "piece", "data": b"12345"})
    assert not own.busy


def test_a_page_keeps_so_much_and_no_more(opened, wait_until, monkeypatch):
    own = opened.problem.own
    monkeypatch.setattr(own_data, "QUOTA", 3 * len(ROWS))
    monkeypatch.setattr(own_data, "MOST_FILES", 3)
    for name in ("a.svm", "b.svm"):
        drop(opened, wait_until, name, ROWS)
    before = dict(opened.problem.data.options)
    drop(opened, wait_until, "c.svm", ROWS + ROWS)
    assert own.error == (
        "c.svm exceeds what a page keeps, 3 files of 0 MiB in all: open another page for it."
    )
    assert opened.problem.data.options == before
    for name in ("c.svm", "d.svm"):
        drop(opened, wait_until, name, "1 1:1\n-1 1:2\n" * 5)
    assert "d.svm exceeds what a page keeps" in own.error
    assert opened.problem.data.options.keys() == {*before, "c.svm"}


def test_a_file_that_the_disk_does_not_take_is_said_in_a_sentence(opened, wait_until, tmp_path):
    resource = pytest.importorskip("resource")
    before, limits = opened.setting, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
    try:
        drop(opened, wait_until, "a.svm", ROWS + ROWS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    own = opened.problem.own
    assert own.error == (
        "a.svm cannot be kept on the server, for it would be larger than files may be here: raise that limit."
    )
    assert not own.busy
    assert [path for path in tmp_path.rglob("a.svm")] == []
    assert opened.setting == before
    drop(opened, wait_until, "a.svm", ROWS)
    assert own.error == ""


def test_a_server_without_a_place_for_files_says_so(opened, wait_until, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    drop(opened, wait_until, "a.svm", ROWS)
    assert opened.problem.own.error == (
        "a.svm cannot be kept on the server, for no such file or directory: choose another place."
    )


def test_reading_can_be_stopped(opened, wait_until, monkeypatch):
    own = opened.problem.own
    began = []

    def forever(path, limits, progress):
        while True:
            began.append(path)
            progress("reading", 0.5)

    monkeypatch.setattr(own_data, "check", forever)
    own.receive({"action": "begin", "name": "a.svm", "size": 3})
    own.receive({"action": "piece", "data": b"1 1"})
    wait_until(lambda: (opened.session.tick(), own.notice == "reading: 50 %")[1])
    own.receive({"action": "stop"})
    wait_until(lambda: not opened.session.share.workers)
    assert (own.busy, own.error) == (False, "")
    assert not began[0].exists()


def test_a_visitor_from_elsewhere_is_told_why_there_is_no_place_for_a_file():
    opened = Page({"data": "breast-cancer"}, rights=Rights(own=False))
    assert "visitors of this machine only" in opened.problem.own.object
    opened.close()
