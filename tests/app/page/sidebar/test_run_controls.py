"""Run starts what is shown, or says in one sentence why it does not."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from solverscope.app.page.page import Page
from solverscope.solvers.problems.point import Point
from tests.app.helpers import press

SMALL = {"data": "breast-cancer", "solvers": "prox-qn", "lam": "0.05"}


def type_lam(page: Page) -> None:
    page.problem.lam.value = "-1"


def type_option(page: Page) -> None:
    page.problem.options.receive({"name": "degree", "value": "7"})


def type_limit(page: Page) -> None:
    page.limits.receive({"name": "tol", "value": "2"})


def type_penalty_parameter(page: Page) -> None:
    page.problem.penalty.value = "elastic-net"
    page.problem.penalty_form.receive({"name": "rho", "value": "3"})


def type_hyper_parameter(page: Page) -> None:
    page.solvers.receive({"action": "set", "key": key(page, "prox-qn"), "name": "memory", "value": "0"})


def take_all_solvers_out(page: Page) -> None:
    page.solvers.receive({"action": "choose", "key": key(page, "prox-qn"), "value": False})


def key(page: Page, label: str) -> int:
    return next(line["key"] for line in page.solvers.entries if line["label"] == label)


def loaded(page: Page, wait_until: Callable) -> None:
    wait_until(lambda: (page.session.tick(), page.problem.ready)[1])


@pytest.mark.quick("type_lam", "take_all", "type_penalty")
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (type_lam, "λ must be a number above 0"),
        (type_option, "it takes a whole number from 1 to 2"),
        (type_limit, "relative violation ε must be a number above 0 to 1"),
        (type_penalty_parameter, "share of ℓ1, ρ must be"),
        (type_hyper_parameter, "prox-qn: pairs kept m must be a whole number"),
        (take_all_solvers_out, "choose at least one solver"),
    ],
)
def test_run_does_not_start_with_what_is_wrong_and_says_why(visit, wait_until, spoil, said):
    page = visit(**SMALL)
    spoil(page)
    loaded(page, wait_until)
    page.session.tick()
    assert said in page.obstacle
    assert said in page.legend.notice
    assert page.controls.run.disabled
    assert page.controls.step.disabled
    for start in (page.controls.go, page.controls.toggle):
        start()
        assert page.session.runs == []
    press(page.controls.step)
    assert page.session.runs == []


def test_what_is_put_right_can_be_run(visit, wait_until):
    page = visit(**SMALL)
    type_lam(page)
    type_limit(page)
    type_hyper_parameter(page)
    page.problem.lam.value = "0.02"
    page.limits.receive({"name": "tol", "value": "1e-4"})
    page.solvers.receive({"action": "set", "key": key(page, "prox-qn"), "name": "memory", "value": "4"})
    assert page.obstacle is None
    page.controls.go()
    assert page.legend.notice == ""
    wait_until(lambda: not page.session.alive)
    assert [run.problem.lam for run in page.session.runs] == [0.02]


def test_a_wrong_value_of_a_solver_that_does_not_race_is_no_obstacle(visit):
    page = visit(**SMALL)
    page.solvers.receive({"action": "set", "key": key(page, "owl-qn"), "name": "memory", "value": "0"})
    assert page.obstacle is None


def test_runs_that_are_paused_go_on_whatever_is_typed_for_the_next(visit):
    page = visit(**SMALL | {"tol": "1e-12", "speed": "1 a second", "solvers": "prox-gd"})
    page.controls.go()
    page.session.pause()
    type_lam(page)
    page.session.tick()
    assert page.session.state == "paused"
    assert not page.controls.run.disabled
    page.controls.go()
    assert page.session.state == "running"


def test_a_wrong_option_loads_nothing_anew(visit):
    page = visit(**SMALL)
    problem = page.problem.problem
    type_option(page)
    assert page.problem.problem is problem
    assert page.setting.problem.lam == 0.05


def test_at_lambda_max_and_above_it_is_said_that_zero_is_optimal_and_run_runs(visit, wait_until):
    page = visit(**SMALL)
    top = page.problem.problem.lam_max
    page.problem.lam.value = f"{0.9 * top:.17g}"
    assert "optimal" not in page.problem.ratio.object
    page.problem.lam.value = f"{1.5 * top:.17g}"
    assert "= 1.5 λ<sub>max</sub>:<br>w = 0 is optimal" in page.problem.ratio.object
    assert page.obstacle is None
    page.controls.go()
    wait_until(lambda: not page.session.alive)
    (run,) = page.session.runs
    assert run.trace.last["nnz"] == 0


def test_while_data_are_loaded_run_waits_and_says_so(visit, wait_until):
    page = visit(**SMALL)
    page.problem.data.value = "digits"
    assert "loading" in page.obstacle
    page.controls.go()
    assert page.session.runs == []
    loaded(page, wait_until)
    assert page.obstacle is None


@pytest.mark.parametrize("button", ["run", "step"])
def test_a_press_that_comes_before_the_data_is_remembered_and_said(visit, wait_until, button):
    page = visit(**(SMALL | {"solvers": "prox-qn"}))
    page.problem.data.value = "digits"
    assert page.controls.run.disabled
    assert page.controls.step.disabled
    press(getattr(page.controls, button))  # the click was under way
    assert page.session.runs == []
    assert page.legend.notice.endswith("The run starts once the data have loaded.")
    wait_until(lambda: (page.session.tick(), page.problem.ready)[1])
    (run,) = page.session.runs
    wait_until(lambda: run.trace is not None and len(run.trace) > 0)
    assert run.problem.describe()["dataset"] == "digits"
    assert "once the data" not in page.legend.notice
    if button == "step":
        wait_until(lambda: run.state == "paused")
        assert len(run.trace) == 1
    page.session.stop()


def test_a_press_is_forgotten_where_another_problem_is_chosen_before_its_data_are_there(visit, wait_until):
    page = visit(**(SMALL | {"solvers": "prox-qn"}))
    page.problem.data.value = "digits"
    page.controls.go()
    page.problem.data.value = "digit-strings"
    assert "once the data" not in page.legend.notice
    assert page.controls.stop.disabled
    wait_until(lambda: (page.session.tick(), page.problem.ready)[1])
    assert page.session.runs == []


@pytest.mark.parametrize("button", ["stop", "clear"])
def test_stop_and_clear_take_back_a_press_that_waits_for_the_data(visit, wait_until, button):
    page = visit(**SMALL)
    page.problem.data.value = "digits"
    ends = getattr(page.controls, button)
    assert ends.disabled
    page.controls.go()
    assert not ends.disabled
    press(ends)
    assert ends.disabled
    assert "once the data" not in page.legend.notice
    loaded(page, wait_until)
    assert page.session.runs == []


def test_a_press_that_the_loaded_data_cannot_follow_no_longer_waits(visit, wait_until):
    page = visit(**SMALL)
    page.problem.data.value = "digits"
    page.controls.go()
    type_lam(page)
    loaded(page, wait_until)
    assert page.session.runs == []
    assert page.legend.notice == f"Run waits: {page.obstacle}"
    assert "λ must be" in page.legend.notice
    assert page.controls.stop.disabled


@pytest.mark.parametrize("button", ["run", "step"])
def test_run_does_nothing_while_there_is_no_solver(visit, button):
    page = visit(**(SMALL | {"solvers": "prox-qn"}))
    for line in list(page.solvers.entries):
        page.solvers.receive({"action": "choose", "key": line["key"], "value": False})
    press(getattr(page.controls, button))
    assert page.session.runs == []


def test_stop_is_felt_while_the_problem_of_a_run_is_made(as_if_huge, visit, monkeypatch):
    page = visit(**(SMALL | {"solvers": "prox-qn;ridge=prox-gd@l2"}))
    inside = threading.Event()
    gradient = Point.gradient

    def endless(point, *args):
        inside.set()
        while True:
            gradient(point.problem.at(), *args)

    monkeypatch.setattr(Point, "gradient", endless)
    page.problem.lam.value = "0.02"  # a gradient for another λ is due in each run
    page.controls.go()
    assert inside.wait(60)
    assert {run.state for run in page.session.runs} <= {"queued", "loading"}
    page.controls.stop.param.trigger("clicks")
    assert all(run.worker.join(60) for run in page.session.runs)


def test_so_many_runs_at_a_time_and_no_more(visit):
    page = visit(**SMALL | {"solvers": "prox-qn;owl-qn", "repeat": "7"})
    assert page.obstacle == "7 runs of 2 solvers are more than 12: choose fewer of either"
    page.limits.enter("repeat", "6")
    assert page.obstacle is None
    page.limits.enter("repeat", "10")
    assert "9" in page.obstacle


def test_a_pressed_step_starts_and_then_advances_by_one(visit, wait_until):
    page = visit(**SMALL | {"solvers": "prox-gd"})
    for k in (0, 1, 2):
        press(page.controls.step)
        run = page.session.runs[0]
        wait_until(lambda run=run: run.state == "paused")
        assert run.trace.last["iteration"] == k
    page.session.tick()
    assert page.controls.run.label == "Resume"


def ended(page: Page, lams: list[float]) -> bool:
    """Whether the runs on the page, which have these λ, are over."""
    page.session.tick()
    return not page.session.alive and sorted(run.problem.lam for run in page.session.runs) == sorted(lams)


def test_runs_start_again_when_a_setting_changes_and_the_last_ones_stay_for_once(visit, wait_until):
    page = visit(**SMALL | {"rerun": "on"})
    page.session.tick()
    assert page.session.runs == [], "nothing has been run yet"
    page.controls.go()
    wait_until(lambda: ended(page, [0.05]))
    page.problem.lam.value = "0.02"
    wait_until(lambda: ended(page, [0.05, 0.02]))
    assert [run.ghost for run in sorted(page.session.runs, key=lambda run: run.problem.lam)] == [False, True]
    page.problem.lam.value = "0.01"
    wait_until(lambda: ended(page, [0.02, 0.01]))
    page.solvers.receive({"action": "set", "key": key(page, "prox-qn"), "name": "memory", "value": "2"})
    wait_until(lambda: ended(page, [0.01, 0.01]))
    assert page.address()["rerun"] == "on"


def test_runs_under_way_are_stopped_first_and_after_clear_nothing_starts(visit, wait_until):
    page = visit(**SMALL | {"tol": "1e-12", "speed": "1 a second", "solvers": "prox-gd"})
    page.controls.again.value = True
    page.controls.go()
    wait_until(lambda: page.session.state == "running" and len(page.session.runs[0].trace or ()) > 0)
    page.problem.lam.value = "0.02"
    wait_until(lambda: (page.session.tick(), [run.state for run in page.session.runs][1:])[1] == ["stopped"])
    assert [run.problem.lam for run in page.session.runs][1] == 0.05
    press(page.controls.clear)
    page.problem.lam.value = "0.03"
    for _ in range(3):
        page.session.tick()
    assert page.session.runs == []


def test_a_change_that_is_no_change_or_cannot_be_run_starts_nothing(visit, wait_until):
    page = visit(**SMALL | {"rerun": "on"})
    page.controls.go()
    wait_until(lambda: ended(page, [0.05]))
    (run,) = page.session.runs
    for text in ("0.05", "-1"):
        page.problem.lam.value = text
        for _ in range(3):
            page.session.tick()
        assert page.session.runs == [run]
