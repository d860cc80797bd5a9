"""What is offered to be taken along is what is shown, and files are made off the page's thread."""

from __future__ import annotations

import threading

import pytest

from app.page import take_along
from solvers.runs.reading import read


@pytest.fixture
def sent(monkeypatch):
    found = []
    monkeypatch.setattr(take_along.TakeAlong, "_send_msg", lambda self, data: found.append(data))
    return found


@pytest.fixture
def ran(visit, wait_until):
    """A page with two runs that have ended."""
    page = visit(data="breast-cancer", solvers="prox-qn;owl-qn", tol="1e-4")
    page._open_tabs()
    page.controls.go()
    wait_until(lambda: (page.session.tick(), not page.session.alive)[1])
    page.session.tick()
    return page


def ask(page, **message):
    page.take_along._handle_msg(message)


def answered(page, sent, wait_until):
    wait_until(lambda: (page.session.tick(), bool(sent))[1])
    return sent.pop()


def test_without_a_run_it_says_what_to_do(visit):
    page = visit(data="breast-cancer", solvers="prox-gd")
    ask(page, action="open")
    assert page.take_along.runs == []
    assert page.take_along.notice.startswith("Run a solver first")
    ask(page, action="take", form="csv")
    assert page.take_along.notice.startswith("Run a solver first")


def test_it_offers_the_runs_that_are_shown_their_plots_and_how_to_do_them_again(ran):
    page = ran
    ask(page, action="open")
    along = page.take_along
    assert [label for _, label in along.runs] == [run.label for run in page.session.runs]
    assert [title for _, title, _ in along.plots][:2] == ["Distance to f*", "Non-zeros and working set"]
    (line_name, lines), (snippet_name, _) = along.texts
    assert (line_name, snippet_name) == ("Command line", "Python")
    assert lines.count("solverscope run") == len(page.session.runs)
    first = along.runs[0][0]
    ask(page, action="choose", run=first)
    assert along.texts[0][1].count("solverscope run") == 1
    page.session.toggle(page.session.runs[0])
    ask(page, action="open")
    assert len(along.runs) == len(page.session.runs) - 1
    assert along.chosen == take_along.ALL


@pytest.mark.parametrize("form", ["jsonl", "npz"])
def test_a_file_holds_the_runs_and_is_made_off_the_pages_thread(
    ran, sent, wait_until, tmp_path, monkeypatch, form
):
    page, threads = ran, []
    make = take_along.as_bytes
    monkeypatch.setattr(
        take_along, "as_bytes", lambda *given: (threads.append(threading.current_thread()), make(*given))[1]
    )
    ask(page, action="take", form=form)
    assert sent == []
    answer = answered(page, sent, wait_until)
    assert answer["file"] == f"solverscope-runs.{form}"
    path = tmp_path / answer["file"]
    path.write_bytes(answer["data"])
    for new, run in zip(read(path), page.session.runs, strict=True):
        assert new.objective.tolist() == run.trace.objective.tolist()
    assert threads != [threading.current_thread()]
    assert page.take_along.notice == ""


def test_a_report_has_the_settings_in_words_the_numbers_and_the_plots(ran, sent, wait_until):
    page = ran
    ask(page, action="take", form="html")
    text = answered(page, sent, wait_until)["data"].decode()
    record = page.session.runs[0].trace.info["problem"]
    for said in (record["dataset"], record["loss"], "Summary", "solverscope run", "import solvers"):
        assert said in text
    assert all(run.label in text for run in page.session.runs)
    assert f'data-root-id="{page.convergence.figure.id}"' in text


def test_what_fails_is_said(ran, sent, wait_until, monkeypatch, caplog):
    page = ran
    monkeypatch.setattr(take_along, "as_bytes", lambda *given: 1 / 0)
    ask(page, action="take", form="csv")
    wait_until(lambda: (page.session.tick(), "could not" in page.take_along.notice)[1])
    assert sent == []
    assert "ZeroDivisionError" in caplog.text
    caplog.clear()


@pytest.mark.parametrize(
    "message", [{}, {"action": "take", "form": "../x"}, {"action": "choose", "run": 3}, []]
)
def test_other_messages_do_nothing(visit, message):
    take = visit(data="breast-cancer", solvers="prox-gd").take_along
    before = take.param.values()
    take._handle_msg(message)
    assert take.param.values() == before
