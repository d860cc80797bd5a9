"""The tab "Runs": what was kept is listed, shown beside the others, compared, named, deleted and put back."""

from __future__ import annotations

import tempfile
import time
from urllib.parse import parse_qsl

import pytest

from solverscope import solvers
from solverscope.app import ui, views
from solverscope.app.benchopt import results
from solverscope.app.page.page import Page
from solverscope.app.page.session import Session
from solverscope.app.page.tabs.runs_panel import MOST_SHOWN, RunsPanel
from solverscope.app.runs.archive import ArchiveLimits
from solverscope.app.runs.history import History
from solverscope.app.runs.live import LiveRun
from solverscope.app.runs.past_run import PastRun
from solverscope.app.runs.pool import RunPool
from solverscope.app.serving.access import Rights
from solverscope.app.settings.experiment import Experiment
from solverscope.solvers import Trace
from tests.app.helpers import fake_page, hint, text


@pytest.fixture
def history():
    history = History(None, ArchiveLimits(100, 1 << 28))
    yield history
    history.close()


@pytest.fixture
def session(history):
    session = Session(RunPool(2), history=history)
    yield session
    session.close()


@pytest.fixture
def enter(history, small_problem):
    """``enter(label, ...)`` puts a finished run among those that are kept, with what the page observes."""

    def make(label="prox-qn", setting="", started=None, recorded=(), **params):
        solver = solvers.make_solver("prox-qn", **params)
        probes = views.probes(small_problem)
        stopping = solvers.Stopping(tol=1e-6)
        trace = solvers.Run(small_problem, solver, label=label, stopping=stopping, probes=probes).execute()
        trace.tell(f_star=0.2, problem={**trace.info.problem, **dict(recorded)})
        return history.change(lambda archive: archive.enter(trace, started, setting)).result(60)

    return make


@pytest.fixture
def panel(session, wait_until):
    """A panel whose list is there; ``panel.act(action, ids)`` waits until all is answered."""
    panel = RunsPanel(fake_page(session))
    session.watchers.append(panel)

    def settle():
        wait_until(lambda: (panel.update(), panel.settled)[1])

    def act(action, ids=(), **more):
        panel.view.list.receive({"action": action, "ids": list(ids), **more})
        settle()

    panel.act, panel.settle = act, settle
    return panel


def titles(panel):
    return [entry["title"] for entry in panel.view.list.entries]


def test_runs_are_listed_with_what_they_were_and_how_they_ended(enter, panel, small_problem):
    enter("prox-qn")
    enter("mine", setting="solvers=mine%3Dprox-qn%2Cmemory%3D3", started=time.time() + 1, memory=3)
    panel.settle()
    newest, oldest = panel.view.list.entries
    assert (newest["title"], newest["options"], newest["data"]) == (
        "mine #2",
        "pairs kept m 3",
        "breast-cancer",
    )
    assert (oldest["title"], oldest["state"], oldest["shown"]) == ("prox-qn #1", "converged", False)
    assert float(oldest["lam"]) == pytest.approx(small_problem.lam, rel=1e-3)


def test_a_run_of_the_past_is_drawn_beside_those_of_the_page_and_stays(
    enter, panel, session, small_problem, wait_until
):
    id = enter()
    view = views.Convergence((), session.cursor)
    session.show_in(view)
    panel.settle()
    panel.act("show", [id])
    (past,) = session.runs
    assert (past.label, past.state, past.word, past.alive) == ("prox-qn #1", "finished", "converged", False)
    assert [trace.info.label for trace in session.traces] == ["prox-qn #1"]

    def maker(share, **options):
        return live_run(share, small_problem, **options)

    session.launch([maker])
    session.tick()
    assert [run.label for run in session.runs] == ["new", "prox-qn #1"]
    wait_until(lambda: not session.alive)
    session.tick()
    assert [trace.info.label for trace in view.traces] == ["new", "prox-qn #1"]
    assert panel.view.list.entries[-1]["shown"]
    panel.act("put-away", [id])
    assert [run.label for run in session.runs] == ["new"]
    assert not any(entry["shown"] for entry in panel.view.list.entries)


def live_run(share, problem, **options):
    stopping = solvers.Stopping(tol=1e-4)
    solver = solvers.make_solver("prox-qn")
    return LiveRun(share, lambda worker: problem, solver, label="new", stopping=lambda p: stopping, **options)


def test_runs_of_the_page_are_kept_while_they_are_at_work(panel, session, small_problem, wait_until):
    session.set_pace(1.0)
    session.launch([lambda share, **options: live_run(share, small_problem, **options)])
    wait_until(lambda: (panel.update(), [e["alive"] for e in panel.view.list.entries] == [True])[1])
    session.set_pace(0.0)
    wait_until(lambda: (panel.update(), [e["state"] for e in panel.view.list.entries] == ["converged"])[1])


def test_a_run_that_is_still_at_work_elsewhere_is_shown_as_far_as_it_is(history, panel, session):
    class Other:
        alive, setting = True, ""
        trace = Trace({"label": "far", "solver": "x", "params": {}, "problem": {"key": "k"}})

    Other.trace.status = "running"
    Other.trace.append({"iteration": 0, "objective": 1.0})
    history.record(Other)
    while not panel.view.list.entries:
        panel.settle()
    panel.act("show", [1])
    (past,) = session.runs
    assert (past.state, past.word, len(past.trace)) == ("stopped", "so far", 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("told", [{}, {"objective": 1.0}])
def test_a_loop_without_a_problem_is_listed_and_all_views_draw_what_it_tells(history, panel, session, told):
    with solvers.OwnLoop("mine") as run:
        for k in range(8):
            run.iterate(trust_radius=0.5**k, **told)
    id = history.change(lambda archive: archive.enter(run.trace)).result(60)
    panel.settle()
    (listed,) = panel.view.list.entries
    assert (listed["title"], listed["data"], listed["lam"]) == ("mine #1", "", "–")
    panel.act("show", [id])
    for kind in (*views.ABOVE_TABS, *views.TABS.values()):
        if kind not in (views.Path, views.PastRuns):
            session.show_in(kind((), session.cursor))
    session.cursor.place(session.runs[0].trace, 3)
    session.tick()  # an error in drawing is logged, and fails the test
    drawn = {view.id for view in session.views if view.has_content()}
    assert {"convergence", "record", "summary"} <= drawn


def test_all_views_draw_a_run_of_the_past(enter, panel, session):
    id = enter()
    panel.settle()
    panel.act("show", [id])
    for kind in (*views.ABOVE_TABS, *views.TABS.values()):
        if kind not in (views.Path, views.PastRuns):
            session.show_in(kind((), session.cursor))
    for iteration in (0, 3, 5):
        session.cursor.place(session.runs[0].trace, iteration)
        session.tick()  # an error in drawing is logged, and fails the test
    drawn = {view.id for view in session.views if view.has_content()}
    assert {"convergence", "shrinking", "memory", "line-search", "trajectories", "summary"} <= drawn


def test_what_differs_between_two_is_told(enter, panel):
    ids = [enter(), enter(memory=2)]
    panel.settle()
    panel.act("choose", ids, value=True)
    told = text(panel.view)
    assert "<td>solver: pairs kept m</td><td>auto</td><td>2</td>" in told
    assert "They part at iteration 4, objective f: " in told
    assert "; first difference: iteration 3, L-BFGS pairs held: 3 of prox-qn #1 and 2 of prox-qn #2." in told
    assert "<th>prox-qn #1</th><th>prox-qn #2</th>" in told
    panel.act("choose", ids[1:], value=False)
    assert "<table" not in text(panel.view)


def test_the_cursor_goes_to_the_first_difference(enter, panel, session):
    ids = [enter(), enter(memory=2)]
    panel.settle()
    panel.act("choose", ids, value=True)
    panel.act("go", iteration=3)
    assert [run.label for run in session.runs] == ["prox-qn #1", "prox-qn #2"]
    assert (session.cursor.run.info.label, session.cursor.iteration) == ("prox-qn #1", 3)
    session.cursor.place(session.runs[1].trace, 0)
    panel.act("go", iteration=3)  # both are there
    assert (session.cursor.run.info.label, session.cursor.iteration) == ("prox-qn #1", 3)
    assert len(session.runs) == 2


def test_equal_runs_are_told_to_be_equal(enter, panel):
    ids = [enter(), enter()]
    panel.settle()
    panel.act("choose", ids, value=True)
    assert "Prox-qn #1 and prox-qn #2 are the same in" in text(panel.view)
    assert not panel.view.there.visible


def test_that_problems_differ_is_told_in_words(enter, panel, small_problem):
    ids = [enter(), enter(recorded={"penalty": "elastic-net", "loss": "logistic-2", "lam": 0.5})]
    panel.settle()
    panel.act("choose", ids, value=True)
    told = text(panel.view)
    assert "<td>penalty</td><td>l1</td><td>elastic-net</td>" in told
    assert "<td>loss</td><td>logistic</td><td>logistic-2</td>" in told
    assert f"<td>λ</td><td>{ui.number(small_problem.lam)}</td><td>0.5</td>" in told


def test_deleted_runs_are_put_back(enter, panel):
    ids = [enter(), enter(), enter()]
    panel.settle()
    panel.act("choose", ids, value=True)
    panel.act("delete", ids[:2])
    assert titles(panel) == ["prox-qn #3"]
    assert (panel.view.list.notice, panel.view.list.undo) == ("2 runs were deleted.", True)
    assert panel.view.list.chosen == [3]
    panel.act("undo")
    assert titles(panel) == ["prox-qn #3", "prox-qn #2", "prox-qn #1"]
    assert (panel.view.list.notice, panel.view.list.undo) == ("", False)


def test_runs_are_named_and_pinned_ones_stand_first(enter, panel):
    ids = [enter(), enter()]
    panel.settle()
    panel.act("rename", ids[:1], name="the best <b>")
    panel.act("pin", ids[:1], value=True)
    assert titles(panel) == ["the best <b> #1", "prox-qn #2"]
    panel.act("choose", ids, value=True)
    assert "the best &lt;b&gt; #1" in text(panel.view)


@pytest.mark.parametrize("message", [None, 3, {}, {"action": "show", "ids": ["x", None]}, {"action": "show"}])
def test_messages_that_make_no_sense_change_nothing(enter, panel, session, message):
    enter()
    panel.settle()
    panel.view.list.receive(message)
    panel.settle()
    assert session.runs == []
    assert titles(panel) == ["prox-qn #1"]


def test_a_run_that_is_gone_is_said_to_be(enter, panel, session):
    panel.act("show", [77])
    assert panel.view.list.notice == "There is no run 77: see `solverscope runs`"
    assert session.runs == []


def test_a_damaged_entry_is_said_to_be_while_the_others_are_listed(enter, panel, session, history):
    ids = [enter("bad"), enter("good")]
    about = '{"problem": {"key": "k", "lam": {"a": [1]}}}'
    spoil = "UPDATE runs SET about = ? WHERE id = ?"
    history.change(lambda archive: archive.db.execute(spoil, (about, ids[0]))).result(20)
    panel.settle()
    good, bad = panel.view.list.entries
    assert (good["title"], good["state"]) == ("good #2", "converged")
    assert (bad["title"], bad["state"]) == ("bad #1", "damaged")
    assert "has {'a': [1]} for lam, not a number or null" in bad["message"]
    panel.act("show", ids)
    assert [run.label for run in session.runs] == ["good #2"]
    assert panel.view.list.notice.startswith("Run 1 of the history is damaged")
    panel.act("choose", ids, value=True)
    assert panel.view.list.notice.startswith("Run 1 of the history is damaged")
    panel.act("delete", ids[:1])
    assert titles(panel) == ["good #2"]


def test_so_many_runs_of_the_past_are_shown_and_no_more(enter, panel, session):
    enter()
    panel.settle()
    panel.act("show", list(range(1, MOST_SHOWN + 2)))
    assert "hide some first" in panel.view.list.notice
    assert session.runs == []


def test_the_page_tells_trouble_with_the_history_once(tmp_path, wait_until):
    (tmp_path / "home").write_text("a file")
    history, said = History(tmp_path / "home" / "runs.sqlite"), []
    session = Session(RunPool(2), history=history)
    session.notify = said.append
    session.tick()
    assert said == []
    history.ask(lambda archive: None)
    wait_until(lambda: history.trouble)
    session.tick()
    session.tick()
    assert said == [history.trouble]


def test_f_star_of_the_page_is_that_of_past_runs_on_the_same_problem(visit, history, wait_until):
    page = visit(data="breast-cancer", solvers="prox-qn", speed="full")
    page.start(False)
    session = page.session
    wait_until(lambda: (session.tick(), not session.alive)[1])
    live = session.runs[0]
    trace = Trace({"label": "old", "solver": "x", "params": {}, "problem": live.trace.info.problem})
    trace.append({"iteration": 0, "objective": live.trace.objective[0]})
    trace.finish("converged")
    id = history.change(lambda archive: archive.enter(trace)).result(60)
    kept = history.ask(lambda archive: archive.run(id)).result(60)
    session.add(PastRun(kept, history.ask(lambda archive: archive.trace(id)).result(60), 9999))
    wait_until(lambda: (session.tick(), live.trace.info.f_star is not None)[1])
    session.tick()
    assert session.runs[-1].trace.info.f_star == live.trace.info.f_star


def test_the_address_of_a_run_leads_back_to_it_alone(visit, wait_until):
    page = visit(data="breast-cancer", solvers="prox-qn", speed="full")
    page.start(False)
    wait_until(lambda: (page.session.tick(), not page.session.alive)[1])

    def runs():
        return page.session.history.ask(lambda archive: archive.runs()).result(60)

    wait_until(runs)  # it is written down by a thread of its own
    kept = runs()[0]
    setting, notices = Experiment.from_address(
        dict(parse_qsl(kept.setting, keep_blank_values=True)), page.setting
    )
    assert notices == []
    assert [solver.label for solver in setting.entrants] == [kept.label]
    assert setting.problem == page.setting.problem


def test_the_tab_is_made_with_its_panel(visit, wait_until):
    page = visit(tab="runs", data="breast-cancer", solvers="prox-qn", speed="full")
    page.open_tabs()
    view = page.tabs["runs"]
    assert isinstance(view, views.PastRuns)
    assert "are listed here after the first one" in hint(view)
    page.start(False)
    wait_until(lambda: (page.session.tick(), len(view.list.entries) == len(page.session.runs))[1])


def test_a_page_without_a_history_keeps_its_runs_in_memory():
    first, second = Page(), Page()
    assert first.session.history is not second.session.history
    assert first.session.history.path is None
    first.session.close()
    second.session.close()


def test_results_of_benchopt_are_opened_and_drawn_above_the_list(
    panel, session, wait_until, monkeypatch, tmp_path
):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    panel.file.answer = lambda data: None
    trace = Trace.from_records(
        [{"iteration": k, "objective": 1.0 / (k + 1), "cpu_seconds": 0.1 * k} for k in range(4)],
        **{"label": "mine", "solver": "mine", "problem": {"dataset": "d"}},
    )
    results.write([trace], tmp_path / "a.parquet")

    def give(name: str, content: bytes) -> None:
        panel.file.receive({"action": "begin", "name": name, "size": len(content)})
        panel.file.receive({"action": "piece", "data": content})
        wait_until(lambda: (session.tick(), not panel.file.busy)[1])

    give("no.parquet", b"nothing")
    assert "no.parquet is no parquet file" in panel.file.error
    assert panel.curves is None
    give("a.parquet", (tmp_path / "a.parquet").read_bytes())
    assert panel.file.error == ""
    assert [one.info.label for one in panel.curves.traces] == ["mine"]
    assert session.runs == []
    assert not [
        path for path in tmp_path.rglob("*.parquet") if path.name != "a.parquet" or path.parent != tmp_path
    ]


def test_a_visitor_who_may_give_no_files_is_offered_none(session):
    assert RunsPanel(fake_page(session, rights=Rights(own=False))).file is None
