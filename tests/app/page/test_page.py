"""The page without a server: what a visitor does, and what the session does about it."""

from __future__ import annotations

import gc
import html
import weakref
from types import SimpleNamespace

import numpy as np
import panel as pn
import pytest
from bokeh.document import Document
from bokeh.events import ButtonClick
from hypothesis import given, settings
from hypothesis import strategies as st

from solverscope import datasets, solvers
from solverscope.app import ui, views
from solverscope.app.page import serve as serve_module
from solverscope.app.page.page import Page
from solverscope.app.runs import problem_cache
from solverscope.app.stories import stories
from solverscope.app.ui import run_styles
from solverscope.app.views import TABS, ProbeView
from solverscope.solvers import CUTS, DIRECTION, WIDE, Probe
from solverscope.solvers.probes.probe import CODE_LINES
from tests.app.helpers import happen, said


def small(**query: str) -> dict[str, str]:
    """A problem of fractions of a second."""
    return {"data": "breast-cancer", "solvers": "prox-qn;owl-qn", "tol": "1e-6"} | query


def finish(page: Page, wait_until) -> None:
    wait_until(lambda: not page.session.alive)
    page.session.tick()


def texts(page: Page) -> str:
    return " ".join(html.unescape(alert.objects[0].object) for alert in page.notices)


def test_the_first_screen_is_the_first_story_ready_to_run(visit):
    page = visit()
    assert page.story is stories()["shrinking"]
    assert page.setting == page.story.setting
    assert not page.controls.run.disabled
    assert page.controls.pause.disabled
    assert len(page.notices) == 0


def test_threads_chosen_for_runs_change_no_number_and_are_in_address_and_command(visit, wait_until):
    page = visit(**small())
    traces = []
    for threads in ("1", "2"):
        page.limits.enter("threads", threads)
        assert page.limits.obstacle is None
        page.controls.go()
        finish(page, wait_until)
        traces.append([run.trace for run in page.session.runs])
        assert [run.problem.team.threads for run in page.session.runs] == [int(threads)] * 2
    assert page.problem.problem.team.threads == 1
    for one, two in zip(*traces, strict=True):
        np.testing.assert_array_equal(one.objective, two.objective)
    assert "--threads" in page.setting.arguments()
    page.write_address()
    assert visit(**small(threads="2")).setting == page.setting


def test_repeated_runs_have_seeds_and_one_colour_and_are_one_curve(visit, wait_until):
    page = visit(**small(solvers="prox-qn;sgd-l1", repeat="3", max_seconds="0.05"))
    assert page.repeat == 3
    page.controls.go()
    runs = page.session.runs
    assert [run.label for run in runs] == [f"{id} ({k})" for k in (1, 2, 3) for id in ("prox-qn", "sgd-l1")]
    assert [run.solver.seed for run in runs if run.solver.id == "sgd-l1"] == [0, 1, 2]
    finish(page, wait_until)
    looked = {run.label: run_styles.color_and_dash(run.trace) for run in runs}
    assert len({looked[f"prox-qn ({k})"] for k in (1, 2, 3)}) == 1
    assert looked["prox-qn (1)"] != looked["sgd-l1 (1)"]
    assert len({run.style for run in runs}) == 6
    drawn = {
        r.name for r in page.convergence.figure.renderers if len(r.data_source.data.get("iteration", ()))
    }
    assert drawn == {"prox-qn, median of 3", "sgd-l1, median of 3"}
    assert page.query()["repeat"] == "3"
    for run in runs:
        page.session.pin(run, True)
    page.controls.go()  # beside ghosts
    assert len({run.style for run in page.session.runs}) == 12
    finish(page, wait_until)


def test_an_address_brings_the_same_page_back(visit):
    query = small(
        lam="0.01",
        x="passes",
        y="absolute",
        scale="linear",
        x_scale="log",
        tab="steps",
        speed="10 a second",
        plots="at the end",
    )
    page = visit(**query)
    again = visit(**page.query())
    assert again.setting == page.setting
    assert again.query() == page.query()
    assert len(again.notices) == 0
    assert again.session.pace == 10.0
    assert again.session.drawing == 0
    assert again.tabs["steps"].visible
    assert "record" not in again.tabs, "a tab is made when it is first looked at"
    assert all(view.x == "passes" for view in again.session.views if "x" in view.param)


def test_the_first_picture_has_data_that_are_at_hand_but_loads_none_and_waits_for_no_tab(visit, monkeypatch):
    import panel as pn

    problem_cache.cache.clear()
    page = Page(small())
    page.view()
    assert page.controls.run.disabled
    assert not page.session.computing
    page.session.close()
    visit(**small())
    later = []
    monkeypatch.setattr(pn.state, "onload", later.append)
    page = Page(small(tab="steps"))
    try:
        assert page.tabs == {}
        page.view()
        assert not page.controls.run.disabled
        (open_tabs,) = later
        open_tabs()
        assert set(page.tabs) == {"steps"}
        page.tab_bar.chosen = "shrinking"
        assert len(page.tabs) == 2
    finally:
        page.session.close()


def test_the_first_visitor_finds_the_data_of_the_first_story_loaded(visit):
    problem_cache.cache.clear()
    serve_module.prepare()
    page = Page()
    try:
        assert page.problem.ready
        assert not page.controls.run.disabled
    finally:
        page.close()


def test_a_story_in_the_address_brings_its_view_unless_the_address_has_one_of_its_own(visit):
    shown = stories()["superlinear"].view
    page = visit(story="superlinear")
    assert page.query() | shown == page.query()
    assert visit(story="superlinear", tab="steps").query()["tab"] == "steps"


def test_a_story_opens_after_another_as_it_does_alone(visit):
    page, alone = visit(view="large", dial="live", story="kink"), visit(view="large", story="memory")
    page.load_story(stories()["memory"])
    assert page.query() == alone.query()


@pytest.mark.quick("kink", "superlinear")
@pytest.mark.parametrize("story", stories())
def test_the_address_of_a_story_is_its_name(story):
    page = Page({"story": story})
    try:
        assert page.address() == {"story": story}
    finally:
        page.close()


def test_an_address_says_only_what_differs_from_the_story(visit):
    page = visit()
    page.problem.lam.value = "20"
    page.tab_bar.chosen = "events"
    page.type_size.view = "large"
    assert page.address() == {"story": "shrinking", "lam": "20", "tab": "events", "view": "large"}
    again = visit(**page.address())
    assert (again.query(), again.setting) == (page.query(), page.setting)
    long = visit(**page.query())
    assert (long.address(), long.setting) == (page.address(), page.setting)


def test_plots_that_stand_alone_have_no_tab_below_them(visit):
    page = visit(view="plots", tab="events")
    assert page.tabs == {}, "nothing is made that is not seen"
    assert (page.tab_lines.visible, page.view().sidebar_open) == (False, False)
    page.type_size.view = "normal"
    assert [id for id, view in page.tabs.items() if view.visible] == ["events"]
    assert page.tab_lines.visible
    page.type_size.view = "plots"
    assert not page.tabs["events"].visible


CHANGES = {
    "lam": st.sampled_from(["0.002", "0.5"]),
    "penalty": st.sampled_from(["elastic-net,rho=0.25", "l2"]),
    "seed": st.sampled_from(["1", "7"]),
    "solvers": st.sampled_from(["fista-ls", "few=prox-qn,memory=3;prox-gd"]),
    "tol": st.sampled_from(["1e-05"]),
    "x": st.sampled_from(["iteration", "passes"]),
    "scale": st.sampled_from(["linear"]),
    "tab": st.sampled_from(["summary", "events"]),
    "speed": st.sampled_from(["2 a second"]),
    "view": st.sampled_from(["large", "plots"]),
    "break": st.sampled_from(["nnz > 3; step < 0.5"]),
    "plots": st.sampled_from(["at the end"]),
    "dial": st.sampled_from(["live"]),
    "data": st.sampled_from(["breast-cancer"]),
}


@pytest.mark.slow
@settings(deadline=None, max_examples=20)
@given(st.sampled_from(list(stories())), st.fixed_dictionaries({}, optional=CHANGES))
def test_whatever_is_changed_comes_back_from_the_short_address(story, changes):
    pages = [Page({"story": story, **changes})]
    pages.append(Page(pages[0].address()))
    try:
        first, again = pages
        assert again.setting == first.setting
        assert again.query() == first.query()
        assert again.address() == first.address()
        assert len(again.notices) == 0
    finally:
        for page in pages:
            page.close()


def test_bad_values_in_an_address_fall_back_with_a_notice_each(visit):
    page = visit(story="none", lam="-3", x="lunch", tab="9", solvers="simplex")
    assert len(page.notices) == 5
    assert "no story 'none'" in texts(page)
    assert "λ must be a number above 0" in texts(page)
    assert "cpu_seconds" in texts(page)
    assert page.setting == page.story.setting


def test_names_that_the_page_does_not_know_are_said_in_one_sentence(visit):
    page = visit(story="shrinking", solver="lbfgs", lambda_="3", lam="5")
    assert texts(page) == (
        "Left out of the address, since the page has no such setting: "
        "lambda_ (did you mean lam?), solver (did you mean solvers?)."
    )
    assert page.setting.problem.lam == 5.0


def test_an_address_of_a_finding_says_what_is_wrong(visit, tmp_path):
    case = solvers.CheckCase.made("binary", "logistic", "l1")
    case.save(tmp_path / "steps_descend.npz")
    (tmp_path / "steps_descend.finding").write_text("my-gd, step at iteration 3: it raises f by 0.2.\n")
    entry = datasets.offer(f"npz:{tmp_path / 'steps_descend.npz'}")
    try:
        page = visit(data=entry.id, finding="steps_descend")
        assert texts(page) == "my-gd, step at iteration 3: it raises f by 0.2."
        for data, finding in ((entry.id, "another"), ("breast-cancer", "steps_descend")):
            told = texts(visit(data=data, finding=finding))
            assert told == (
                f"finding={finding!r} in the address was left out: the data are not those of that finding."
            )
    finally:
        del datasets.DATASETS[entry.id]


def test_nothing_in_an_address_becomes_part_of_the_page(visit, wait_until):
    bad = "<img src=x onerror=alert(1)>"
    page = visit(**small(solvers=f"{bad}=prox-qn", lam=bad, tab=bad, story=bad))
    assert len(page.notices) == 3
    assert all("<" not in alert.objects[0].object for alert in page.notices)
    page.tab_bar.chosen = "line-search"
    page.controls.go()
    finish(page, wait_until)
    page.session.tick()
    told = said(page.tabs["line-search"])
    assert "&lt;img" in told
    assert "<img" not in told
    page.problem.data.value = "digits"
    page.problem.options.receive({"name": "positive", "value": bad})
    wait_until(lambda: (page.session.tick(), bool(page.problem.error))[1])
    assert bad in page.problem.error
    assert "<img" not in page.problem.card.object


def test_run_starts_the_chosen_solvers_and_they_end_with_f_star_found(visit, wait_until):
    page = visit(**small())
    page.controls.go()
    assert [run.label for run in page.session.runs] == ["prox-qn", "owl-qn"]
    finish(page, wait_until)
    assert [run.state for run in page.session.runs] == ["finished", "finished"]
    wait_until(lambda: (page.session.tick(), all(t.info.f_star is not None for t in page.session.traces))[1])
    assert "f* = " in page.optimum.text.object
    assert page.convergence.y_label == "(f − f*) / |f*|"


def test_runs_are_observed_for_all_views_also_for_one_that_a_plug_in_brings(visit, wait_until, monkeypatch):
    norm = Probe("norm", lambda iterate: {"norm": np.array(np.linalg.norm(iterate.w))})

    class Norms(ProbeView):
        id = "norms"
        title = "Norms"
        probe = norm
        shown = None

        def build(self):
            self.text = ui.html()
            self._body.append(self.text)

        def draw_seen(self, iteration, seen):
            self.text.object = f"‖w‖ = {seen['norm']:.6f} at {iteration}"

    monkeypatch.setitem(TABS, Norms.id, Norms)
    page = visit(**small(tab="norms", solvers="prox-qn"))
    page.open_tabs()
    page.controls.go()
    finish(page, wait_until)
    (trace,) = page.session.traces
    # prox-qn has no cutting planes, finds no directions by them, is no plug-in, and its iterates are sparse
    missing = {CUTS, DIRECTION, CODE_LINES, WIDE}
    for probe in set(views.probes(page.problem.problem)) - missing:
        assert trace.probes.iterations(probe.name), probe.name
    page.session.tick()
    last = int(trace.last["iteration"])
    assert page.tabs["norms"].text.object == f"‖w‖ = {np.linalg.norm(trace.w):.6f} at {last}"


def test_the_story_gives_f_star_only_to_its_own_problem(visit, wait_until):
    page = visit(solvers="prox-qn")
    page.controls.go()
    wait_until(lambda: bool(page.session.traces))
    assert page.session.traces[0].info.f_star == page.story.f_star["l1"]
    other = visit(solvers="prox-qn", lam="6")
    other.controls.go()
    wait_until(lambda: bool(other.session.traces))
    assert other.session.traces[0].info.f_star is None


def test_runs_with_penalties_of_their_own_share_the_data_and_lambda(visit, wait_until):
    page = visit(**small(solvers="prox-qn;ridge=prox-gd@l2;both=prox-gd@elastic-net", lam="0.02"))
    page.controls.go()
    finish(page, wait_until)
    problems = [run.problem for run in page.session.runs]
    assert [(p.penalty.id, p.lam) for p in problems] == [("l1", 0.02), ("l2", 0.02), ("elastic-net", 0.02)]
    assert all(p.design.rows is problems[0].design.rows for p in problems)
    assert page.session.traces[1].nnz[-1] > page.session.traces[0].nnz[-1]
    own = [page.convergence.references(trace)[-1][1] for trace in page.session.traces]
    assert len(set(own)) == 3, "each is measured from an optimum of its own"
    assert own[1] <= page.session.traces[1].objective.min()


def test_a_change_during_a_run_says_that_it_waits_for_the_next_one(visit):
    page = visit(**small(tol="1e-12", speed="1 a second", solvers="prox-gd"))
    page.controls.go()
    assert page.pending.object == ""
    page.problem.slider.value = page.problem.slider.options[40]
    assert "next Run" in page.pending.object
    assert (
        page.session.runs[0].problem is None or page.session.runs[0].problem.lam != page.problem.setting.lam
    )


def test_lambda_is_typed_slid_and_shown_against_lambda_max(visit):
    page = visit(**small())
    problem = page.problem
    problem.lam.value = "0.05"
    assert page.setting.problem.lam == 0.05
    assert "λ<sub>max</sub>" in problem.ratio.object
    problem.lam.value = "minus one"
    assert problem.lam.error_state
    assert "above 0" in problem.lam.helper_text
    assert page.setting.problem.lam == 0.05
    problem.slider.value = problem.slider.options[-1]
    assert page.setting.problem.lam == pytest.approx(problem.problem.lam_max, rel=5e-3)
    assert not problem.lam.error_state


def test_choosing_another_data_set_offers_what_fits(visit, wait_until):
    page = visit(**small())
    page.problem.data.value = "digits"
    assert page.setting.problem.loss == "multiclass-logistic"
    assert not page.problem.ready
    assert page.controls.run.disabled
    wait_until(lambda: (page.session.tick(), page.problem.ready)[1])
    assert "10 classes" in page.problem.card.object


def test_unusable_options_are_told_in_the_card_and_the_page_lives_on(visit, wait_until):
    page = visit(**small())
    page.problem.options.receive({"name": "degree", "value": "7"})
    field = next(f for f in page.problem.options.fields if f["name"] == "degree")
    assert "from 1 to 2" in field["error"]
    page.problem.data.value = "digits"
    page.problem.options.receive({"name": "positive", "value": "eleven"})
    wait_until(lambda: (page.session.tick(), bool(page.problem.error))[1])
    assert "eleven" in page.problem.card.object
    assert page.controls.run.disabled
    page.problem.options.receive({"name": "positive", "value": "3"})
    wait_until(lambda: (page.session.tick(), page.problem.ready)[1])
    assert page.setting.problem.loss == "logistic"
    assert not page.controls.run.disabled


def test_a_solver_that_does_not_fit_says_why_and_cannot_be_chosen(visit, monkeypatch):
    from solverscope.app.page.sidebar import solver_panel

    page = visit(**small())
    monkeypatch.setattr(
        solver_panel,
        "fits",
        lambda solver, problem: "needs a smooth loss" if solver.id == "owl-qn" else None,
    )
    page.solvers.set_problem(page.problem.setting)
    line = next(line for line in page.solvers.entries if line["label"] == "owl-qn")
    assert line["reason"] == "needs a smooth loss"
    assert not line["chosen"]
    assert [solver.id for solver in page.setting.entrants] == ["prox-qn"]


def test_the_same_solver_races_twice_with_different_settings(visit, wait_until):
    page = visit(**small(solvers="prox-qn"))
    page.solvers.receive({"action": "copy", "key": 0})
    page.solvers.receive({"action": "set", "key": 1, "name": "memory", "value": "2"})
    page.solvers.receive({"action": "set", "key": 1, "name": "beta", "value": "3"})
    line = page.solvers.entries[1]
    assert "backtracking factor β must be" in next(f["error"] for f in line["fields"] if f["name"] == "beta")
    page.solvers.receive({"action": "set", "key": 1, "name": "beta", "value": "0.5"})
    assert list(map(str, page.setting.entrants)) == ["prox-qn", "prox-qn-2=prox-qn,memory=2"]
    page.controls.go()
    finish(page, wait_until)
    assert [t.info.params["memory"] for t in page.session.traces] == ["auto", 2]
    page.solvers.receive({"action": "remove", "key": 1})
    assert list(map(str, page.setting.entrants)) == ["prox-qn"]


def test_two_sessions_do_not_see_each_others_runs(visit):
    one, two = visit(**small()), visit(**small())
    one.controls.go()
    two.session.tick()
    assert two.session.runs == []
    assert two.legend.rows == []
    assert one.session.share is not two.session.share
    assert one.session.share.pool is two.session.share.pool


def test_hidden_tabs_are_not_drawn(visit, wait_until, monkeypatch):
    page = visit(**small(tab="record"))
    for id in ("steps", "record"):
        page.tab_bar.chosen = id
    drawn: list[str] = []
    for id, view in page.tabs.items():
        monkeypatch.setattr(view, "draw", lambda id=id: drawn.append(id))
    page.controls.go()
    finish(page, wait_until)
    assert set(drawn) == {"record"}


def test_a_full_pool_is_told_in_a_notice(visit, monkeypatch):
    monkeypatch.setattr("solverscope.app.runs.pool.MAX_PER_SHARE", 1)
    page = visit(**small(tol="1e-14", speed="1 a second"))
    page.controls.go()
    assert "stop some" in texts(page)


def shown_in_place_of_a_page(monkeypatch, **request) -> list[str]:
    """Serve what is asked for like this, which is no page, and return the texts that are shown."""
    import panel as pn

    request = SimpleNamespace(headers={"Host": "localhost:5006"}, arguments={}, **request)
    document = type("Document", (), {"session_context": SimpleNamespace(request=request)})
    shown = []
    monkeypatch.setattr(serve_module, "Page", lambda *query, **how: pytest.fail("there is a page"))
    monkeypatch.setattr(type(pn.state), "curdoc", property(lambda self: document))
    monkeypatch.setattr(pn.pane.Str, "servable", lambda self, **how: shown.append(self.object))
    serve_module.serve()
    return shown


def test_strangers_get_one_line_instead_of_the_page(monkeypatch):
    (line,) = shown_in_place_of_a_page(monkeypatch, remote_ip="192.0.2.7")
    assert "--args --public" in line


def test_a_server_that_warms_up_makes_no_page(monkeypatch):
    assert shown_in_place_of_a_page(monkeypatch) == []


def test_events_of_others_do_not_touch_the_page(visit):
    shown = visit().view()
    changes, seen = [], []
    shown.param.watch(changes.append, list(shown.param))
    button = pn.widgets.Button()
    button.on_click(lambda event: seen.append(pn.state.busy))
    happen(ButtonClick(button.get_root(Document())))
    assert seen == [True]
    assert changes == []


def test_nothing_is_left_of_a_page_that_was_closed(wait_until):
    def use() -> list[weakref.ref]:
        page = Page(small(tab="steps"))
        shown = page.view()
        wait_until(lambda: (page.session.tick(), page.problem.ready)[1])
        page.controls.go()
        finish(page, wait_until)
        page.session.close()
        return [weakref.ref(thing) for thing in (page, shown, page.session.cursor)]

    left = use()
    wait_until(lambda: gc.collect() >= 0 and [ref() for ref in left] == [None] * 3)


def test_a_story_draws_the_list_of_solvers_once_also_where_its_data_are_loaded(visit, wait_until):
    page, drawn = visit(**small()), []
    problem_cache.cache.clear()
    page.solvers.param.watch(lambda event: drawn.append(page.setting.entrants), "entries", onlychanged=False)
    story = stories()["memory"]
    page.load_story(story)
    wait_until(lambda: page.session.tick() or page.problem.ready)
    assert drawn == [story.setting.entrants]
    assert page.setting == story.setting
