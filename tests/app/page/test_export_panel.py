"""What is offered to be taken along is what is shown, and files are made off the page's thread."""

from __future__ import annotations

import re
import shlex
import threading

import numpy as np
import pytest

from solverscope.app.page import export_panel
from solverscope.solvers import segments
from solverscope.solvers.traces.reading import read


@pytest.fixture
def sent(monkeypatch):
    found = []
    monkeypatch.setattr(export_panel.ExportPanel, "answer", lambda self, data: found.append(data))
    return found


@pytest.fixture
def ran(visit, wait_until):
    """A page with two runs that have ended."""
    page = visit(data="breast-cancer", solvers="prox-qn;owl-qn", tol="1e-4")
    page.open_tabs()
    page.controls.go()
    wait_until(lambda: (page.session.tick(), not page.session.alive)[1])
    page.session.tick()
    return page


def ask(page, **message):
    page.export_panel.receive(message)


def answered(page, sent, wait_until):
    wait_until(lambda: (page.session.tick(), bool(sent))[1])
    return sent.pop()


def test_without_a_run_it_says_what_to_do(visit):
    page = visit(data="breast-cancer", solvers="prox-gd")
    ask(page, action="open")
    assert page.export_panel.runs == []
    assert page.export_panel.notice.startswith("Run a solver first")
    ask(page, action="take", form="csv")
    assert page.export_panel.notice.startswith("Run a solver first")


def test_it_offers_the_runs_that_are_shown_their_plots_and_how_to_do_them_again(ran):
    page = ran
    ask(page, action="open")
    along = page.export_panel
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
    assert along.chosen == export_panel.ALL_RUNS


@pytest.mark.parametrize("form", ["jsonl", "npz"])
def test_a_file_holds_the_runs_and_is_made_off_the_pages_thread(
    ran, sent, wait_until, tmp_path, monkeypatch, form
):
    page, threads = ran, []
    make = export_panel.as_bytes
    monkeypatch.setattr(
        export_panel, "as_bytes", lambda *given: (threads.append(threading.current_thread()), make(*given))[1]
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
    assert page.export_panel.notice == ""


def test_a_report_has_the_settings_in_words_the_numbers_and_the_plots(ran, sent, wait_until):
    page = ran
    ask(page, action="take", form="html")
    text = answered(page, sent, wait_until)["data"].decode()
    record = page.session.runs[0].trace.info.problem
    for said in (
        record["dataset"],
        record["loss"],
        "Summary",
        "solverscope run",
        "from solverscope import datasets, solvers",
    ):
        assert said in text
    assert all(run.label in text for run in page.session.runs)
    assert f'data-root-id="{page.convergence.figure.id}"' in text


@pytest.fixture
def turned(visit, wait_until):
    """A page with a run whose λ was changed on the way, a branch of it, and a ghost of an earlier one."""
    page = visit(data="breast-cancer", solvers="prox-qn", lam="0.05", tol="1e-6")

    def ended():
        wait_until(lambda: (page.session.tick(), not page.session.alive)[1])
        page.session.tick()

    page.controls.go()
    ended()
    wait_until(lambda: page.session.runs[0].id is not None)
    page.session.pin(page.session.runs[0], True)
    page.session.set_pace(10.0)
    page.controls.go()
    run = page.session.runs[0]
    wait_until(lambda: run.trace is not None and len(run.trace) > 2)
    page.session.pause()
    page.problem.live.value = True
    page.problem.lam.value = "0.02"
    page.session.set_pace(0.0)
    page.session.resume()
    ended()
    page.session.cursor.place(run.trace, int(run.trace.iteration[-2]))
    page.cursor_bar.receive({"action": "branch", "name": "same solver"})
    ended()
    return page


def test_a_report_tells_lambda_of_every_run_and_a_ghost_and_a_branch_from_the_others(
    turned, sent, wait_until
):
    ask(turned, action="open")
    ask(turned, action="take", form="html")
    text = answered(turned, sent, wait_until)["data"].decode()
    run, ghost, branch = turned.session.runs
    first = segments(run.trace)[1].first
    table = text.split("<tbody>")[1].split("</tbody>")[0]
    rows = [re.findall("<td>(.*?)</td>", row) for row in table.split("</tr>")[:-1]]
    lam = f"0.05, 0.02 from iteration {first}"
    assert {row[0]: row[2] for row in rows} == {
        "prox-qn": lam,
        f"{branch.label} (branch)": "0.02",
        f"{ghost.label} (ghost)": "0.05",
    }
    for said in (f"λ = {lam}", "λ_max = ", f"--lam-at {first}=0.02", "problem.at_lam(0.02)"):
        assert said in text
    legend = text.split('<ul class="legend">')[1].split("</ul>")[0]
    assert f"prox-qn <small>λ = 0.05, 0.02 from {first}</small>" in legend
    assert f"{branch.label} <small>branch; λ = 0.02</small>" in legend
    faint = next(line for line in legend.split("<li")[1:] if ghost.label in line)
    assert faint.startswith(" class=ghost")
    assert "<small>ghost; λ = 0.05</small>" in faint
    notes = turned.export_panel.notes
    assert notes[ghost.label] == "ghost; λ = 0.05"
    on_the_page = {row["label"]: row["note"] for row in turned.legend.rows}
    assert {label: said.split("; ")[-1] for label, said in notes.items()} == on_the_page


@pytest.mark.slow
def test_the_lines_that_are_offered_have_the_iterates_of_all_runs(turned, command, tmp_path, monkeypatch):
    ask(turned, action="open")
    (_, lines), (_, python) = turned.export_panel.texts
    monkeypatch.chdir(tmp_path)
    found = []
    for words in map(shlex.split, lines.splitlines()):
        if words[0] == "#":
            continue
        out = [] if "--out" in words else ["--out", "found.jsonl"]
        answer = command(*words[1:], *out)
        assert answer.status == 0, answer.err
        found += read("found.jsonl") if out else []
    names = {}
    exec(compile(python, "python", "exec"), names)
    for run, new in zip(turned.session.runs, found, strict=True):
        for again in (new, names["traces"][run.label]):
            np.testing.assert_array_equal(again.iteration, run.trace.iteration)
            np.testing.assert_array_equal(again.objective, run.trace.objective)
            assert [s.lam for s in segments(again)] == [s.lam for s in segments(run.trace)]


def test_what_fails_is_said(ran, sent, wait_until, monkeypatch, caplog):
    page = ran
    monkeypatch.setattr(export_panel, "as_bytes", lambda *given: 1 / 0)
    ask(page, action="take", form="csv")
    wait_until(lambda: (page.session.tick(), "could not" in page.export_panel.notice)[1])
    assert sent == []
    assert "ZeroDivisionError" in caplog.text
    caplog.clear()


@pytest.mark.parametrize(
    "message", [{}, {"action": "take", "form": "../x"}, {"action": "choose", "run": 3}, []]
)
def test_other_messages_do_nothing(visit, message):
    take = visit(data="breast-cancer", solvers="prox-gd").export_panel
    before = take.param.values()
    take.receive(message)
    assert take.param.values() == before
