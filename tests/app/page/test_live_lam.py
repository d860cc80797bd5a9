"""λ as a live dial: with the box ticked, runs under way go on at the λ that is chosen."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope.app.runs.past_run import PastRun
from solverscope.solvers import segments
from tests.app.helpers import drawn, press

#: Slow enough for λ to be changed in the middle, and endless at full speed.
UNDER_WAY = {
    "data": "breast-cancer",
    "solvers": "prox-qn;owl-qn",
    "lam": "0.05",
    "tol": "1e-300",
    "speed": "30 a second",
}


@pytest.fixture
def held(visit, wait_until):
    """Two runs that are held after some iterates."""
    page = visit(**UNDER_WAY)
    page.controls.go()
    runs = page.session.runs
    wait_until(lambda: all(run.trace is not None and len(run.trace) > 3 for run in runs))
    page.session.pause()
    wait_until(lambda: all(run.state == "paused" for run in runs))
    page.session.set_pace(0.0)
    step(page, wait_until)  # a pause may come in the middle of an iterate, and a step ends between two
    return page


def step(held, wait_until):
    """One iterate more of each run."""
    before = [len(run.trace) for run in held.session.runs]
    held.session.step()
    wait_until(
        lambda: (
            [len(run.trace) for run in held.session.runs] == [n + 1 for n in before]
            and all(run.state == "paused" for run in held.session.runs)
        )
    )
    held.session.tick()


def test_lambda_acts_at_the_next_iterate_of_every_run_that_is_under_way(held, wait_until):
    held.problem.live.value = True
    sizes = [len(run.trace) for run in held.session.runs]
    held.problem.lam.value = "0.01"
    assert held.pending.object == ""
    step(held, wait_until)
    for run, n in zip(held.session.runs, sizes, strict=True):
        assert "lam=0.01" in run.trace.events[n]
        assert [s.lam for s in segments(run.trace)] == [0.05, 0.01]
        assert run.problem.lam == 0.01
        assert run.trace.iteration[n] == n
    assert held.session.runs[0].trace.working_set[sizes[0]] == held.problem.problem.size, "it refills"
    assert [row["label"] for row in held.legend.rows] == ["prox-qn", "owl-qn"], "the same rows"


def test_without_the_box_lambda_waits_for_the_next_run_and_the_page_says_what_to_do(held, wait_until):
    held.problem.lam.value = "0.01"
    assert held.pending.object.startswith(
        "λ takes effect on the next Run; tick <i>apply λ to running solvers</i>"
    )
    step(held, wait_until)
    assert all(len(segments(run.trace)) == 1 for run in held.session.runs)
    held.problem.live.value = True
    assert held.pending.object == ""
    step(held, wait_until)
    assert all(segments(run.trace)[-1].lam == 0.01 for run in held.session.runs)


def test_what_else_was_changed_still_waits_for_the_next_run(held):
    held.problem.live.value = True
    held.limits.receive({"name": "tol", "value": "1e-3"})
    held.problem.lam.value = "0.01"
    assert held.pending.object == "Changes take effect on the next Run."
    assert held.running.problem.lam == 0.01


def test_a_lambda_that_is_none_turns_nothing(held, wait_until):
    held.problem.live.value = True
    held.problem.lam.value = "-1"
    step(held, wait_until)
    assert all(len(segments(run.trace)) == 1 for run in held.session.runs)


def test_a_run_that_cannot_be_turned_is_told_and_the_others_are(held, wait_until):
    first, second = held.session.runs
    first.trace.w = None  # as of a solver that does not show its weights
    held.problem.live.value = True
    held.problem.lam.value = "0.01"
    said = [alert.objects[0].object for alert in held.notices]
    assert said == ["prox-qn does not show its weights: it cannot go on from them at another λ"]
    step(held, wait_until)
    assert [len(segments(run.trace)) for run in (first, second)] == [1, 2]


def test_the_address_says_that_the_dial_is_live(visit):
    page = visit(**UNDER_WAY, dial="live")
    assert page.problem.live.value
    assert page.query()["dial"] == "live"
    other = visit(**UNDER_WAY, dial="no")
    assert not other.problem.live.value
    assert "dial='no' in the address was left out" in other.notices[0].objects[0].object.replace(
        "&#x27;", "'"
    )


def test_the_change_is_marked_on_the_plots_in_the_list_of_events_and_on_the_bar(held, wait_until):
    held.problem.live.value = True
    held.problem.lam.value = "0.01"
    step(held, wait_until)
    run = held.session.runs[0]
    n = len(run.trace) - 1
    held.session.cursor.choose(run.trace, follow=True)
    held.convergence.x = "iteration"
    held.session.tick()
    for view in (held.convergence, held.sparsity):
        marks = drawn(view.figure, "said", "foot").data
        assert sorted(marks["x"]) == sorted(float(len(r.trace) - 1) for r in held.session.runs)
        assert "λ = 0.01" in marks["said"]
    assert [n, "turn", "λ = 0.01"] in held.cursor_bar.marks
    assert "λ = 0.01" in held.cursor_bar.state["text"]
    held.session.clear()
    held.session.tick()
    assert drawn(held.convergence.figure, "said", "foot").data["x"] == []


def test_a_branch_from_before_the_change_has_the_lambda_of_its_iterate(held, wait_until):
    held.problem.live.value = True
    held.problem.lam.value = "0.01"
    step(held, wait_until)
    old = held.session.runs[0]
    n = len(old.trace)
    for at, lam in ((2, 0.05), (n - 1, 0.01)):
        held.session.cursor.place(old.trace, at)
        held.cursor_bar.receive({"action": "branch", "name": "same solver"})
        branch = held.session.runs[-1]
        wait_until(lambda branch=branch: branch.trace is not None and len(branch.trace) > 1)
        branch.worker.stop()
        assert branch.worker.join(60)
        assert branch.trace.message in ("", "stopped by the user"), branch.trace.message
        assert branch.trace.info.problem["lam"] == lam
        assert f"lam={lam}" in branch.setting
        upto = min(at + len(branch.trace), n if lam == 0.01 else segments(old.trace)[1].first)
        np.testing.assert_array_equal(branch.trace.objective[: upto - at], old.trace.objective[at:upto])


@pytest.mark.parametrize(("at", "lam"), [(2, 0.05), (-1, 0.01)])
def test_a_run_of_the_past_that_was_turned_goes_on_at_the_lambda_of_its_iterate(held, wait_until, at, lam):
    held.problem.live.value = True
    held.problem.lam.value = "0.01"
    for _ in range(3):
        step(held, wait_until)
    old = held.session.runs[0]
    held.session.stop()
    assert old.worker.join(60)
    history = held.session.history
    wait_until(lambda: old.id is not None and not history.ask(lambda a: a.run(old.id)).result(60).alive)
    kept, trace = history.ask(lambda a: (a.run(old.id), a.trace(old.id))).result(60)
    past = PastRun(kept, trace, 999, held.problem.problem)
    held.session.add(past)
    iteration = int(trace.iteration[at])
    held.session.cursor.place(trace, iteration)
    held.cursor_bar.receive({"action": "branch", "name": "same solver"})
    branch = held.session.runs[-1]
    wait_until(lambda: branch.trace is not None and len(branch.trace) > 1)
    branch.worker.stop()
    assert branch.worker.join(60)
    assert branch.trace.info.problem["lam"] == lam
    assert branch.trace.objective[0] == old.trace.objective[iteration]


def test_f_star_is_that_of_each_lambda_and_the_plot_measures_against_it(held, wait_until):
    held.limits.receive({"name": "tol", "value": "1e-6"})
    held.problem.live.value = True
    held.problem.lam.value = "0.01"
    step(held, wait_until)
    held.session.stop()
    wait_until(lambda: not held.session.alive)
    held.session.tick()
    press(held.optimum.button)
    run = held.session.runs[0]
    wait_until(lambda: (held.session.tick(), all(s.f_star for s in segments(run.trace)))[1])
    before, after = segments(run.trace)
    assert before.f_star > after.f_star, "the minimum falls with λ"
    drawn = held.convergence.values(run.trace, run.trace.since(None)[0])["y"]
    f, turn = run.trace.objective, after.first
    np.testing.assert_allclose(drawn[:turn], f[:turn] / before.f_star - 1.0)
    np.testing.assert_allclose(drawn[turn:], f[turn:] / after.f_star - 1.0)
    assert held.convergence.y_label == "(f − f*) / |f*|"
    assert "at λ" not in held.optimum.text.object
