"""A file of a visitor's own joins the menu of this page alone; one that is not good changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.page import own_data
from app.page.page import Page
from app.runs import library

ROWS = "1 1:0.5 3:2\n-1 2:1\n" * 20


@pytest.fixture
def opened(visit, monkeypatch):
    monkeypatch.setattr(own_data.OwnData, "_send_msg", lambda self, data: None)
    opened = visit(data="breast-cancer", solvers="prox-gd")
    yield opened
    opened.close()


def drop(opened, wait_until, name: str, content: str | bytes) -> None:
    """Send a file as the browser does, in pieces, and wait until it is read."""
    content, own = content.encode() if isinstance(content, str) else content, opened.problem.own
    own._handle_msg({"action": "begin", "name": name, "size": len(content)})
    for start in range(0, len(content), 100):
        own._handle_msg({"action": "piece", "data": content[start : start + 100]})
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
    opened.close()
    assert not path.exists()
    assert library._shelf.peek(library._data_key(id, {}, 0)) is None


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


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.svm", "1 1:0.5\n-1 2:x\n", "a.svm, line 2: a value is not a number"),
        ("a.png", b"\x89PNG\0\0\0", "there is a NUL byte; give a text file"),
        ("a.svm.gz", b"\x1f\x8b\x08" + b"x" * 40, "is damaged or cut short"),
        ("a.svm", "1 1:0.5\n1 2:1\n", "all training samples have the same label"),
        ("a.csv", "1,2,3\n4,5,6\n", "is in no format that is known here"),
        ("a.svm", "", "is empty"),
        ("../../x\n.svm", "1 9999999:1\n2 1:1\n", "x_.svm, line 1: feature 9,999,999 is beyond"),
    ],
)
def test_a_file_that_is_not_good_is_said_in_a_sentence_and_changes_nothing(
    opened, wait_until, name, content, sentence
):
    before, names = opened.setting, dict(opened.problem.data.options)
    drop(opened, wait_until, name, content)
    assert sentence in opened.problem.own.error
    assert opened.setting == before
    assert opened.problem.data.options == names
    folder = opened.problem.own._folder
    assert folder is None or [path for path in folder.rglob("*") if path.is_file()] == []


def test_more_than_was_announced_or_too_much_is_not_taken(opened):
    own = opened.problem.own
    own._handle_msg({"action": "begin", "name": "a.svm", "size": own_data.LIMITS.size + 1})
    assert "more than" in own.error
    assert not own.busy
    own._handle_msg({"action": "begin", "name": "a.svm", "size": 3})
    own._handle_msg({"action": "piece", "data": b"12345"})
    assert "did not come as it was announced" in own.error
    own._handle_msg({"action": "piece", "data": b"12345"})
    assert not own.busy


def test_reading_can_be_stopped(opened, wait_until, monkeypatch):
    own = opened.problem.own
    began = []

    def forever(path, limits, progress):
        while True:
            began.append(path)
            progress("reading", 0.5)

    monkeypatch.setattr(own_data, "check", forever)
    own._handle_msg({"action": "begin", "name": "a.svm", "size": 3})
    own._handle_msg({"action": "piece", "data": b"1 1"})
    wait_until(lambda: (opened.session.tick(), own.notice == "reading: 50 %")[1])
    own._handle_msg({"action": "stop"})
    wait_until(lambda: not opened.session.share.workers)
    assert (own.busy, own.error) == (False, "")
    assert not began[0].exists()


def test_a_visitor_from_elsewhere_is_told_why_there_is_no_place_for_a_file():
    opened = Page({"data": "breast-cancer"}, own_files=False)
    assert "visitors of this machine only" in opened.problem.own.object
    opened.close()
