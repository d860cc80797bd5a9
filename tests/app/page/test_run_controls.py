"""Run starts what is shown, or says in one sentence why it does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.page.page import Page

SMALL = {"data": "breast-cancer", "solvers": "prox-qn", "lam": "0.05"}


def type_lam(page: Page) -> None:
    page.problem.lam.value = "-1"


def type_option(page: Page) -> None:
    page.problem.options._handle_msg({"name": "degree", "value": "7"})


def type_limit(page: Page) -> None:
    page.limits._handle_msg({"name": "tol", "value": "2"})


def type_penalty_parameter(page: Page) -> None:
    page.problem.penalty.value = "elastic-net"
    page.problem.penalty_form._handle_msg({"name": "rho", "value": "3"})


def type_hyper_parameter(page: Page) -> None:
    page.solvers._handle_msg({"action": "set", "key": key(page, "prox-qn"), "name": "memory", "value": "0"})


def take_all_solvers_out(page: Page) -> None:
    page.solvers._handle_msg({"action": "choose", "key": key(page, "prox-qn"), "value": False})


def key(page: Page, label: str) -> int:
    return next(line["key"] for line in page.solvers.entries if line["label"] == label)


def loaded(page: Page, wait_until: Callable) -> None:
    wait_until(lambda: (page.session.tick(), page.problem.ready)[1])


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (type_lam, "λ must be a number above 0"),
        (type_option, "it takes a whole number from 1 to 2"),
        (type_limit, "tol must be a number above 0 to 1"),
        (type_penalty_parameter, "rho must be"),
        (type_hyper_parameter, "prox-qn: memory=0"),
        (take_all_solvers_out, "choose at least one solver"),
    ],
)
def test_run_does_not_start_with_what_is_wrong_and_says_why(visit, wait_until, spoil, said):
    page = visit(**SMALL)
    spoil(page)
    loaded(page, wait_until)
    page.session.tick()
    assert said in page.controls.obstacle
    assert said in page.legend.notice
    assert page.controls.run.disabled
    assert page.controls.step.disabled
    for press in (page.controls.go, page.controls.toggle):
        press()
        assert page.session.runs == []
    page.controls._one_step()
    assert page.session.runs == []


def test_what_is_put_right_can_be_run(visit, wait_until):
    page = visit(**SMALL)
    type_lam(page)
    type_limit(page)
    type_hyper_parameter(page)
    page.problem.lam.value = "0.02"
    page.limits._handle_msg({"name": "tol", "value": "1e-4"})
    page.solvers._handle_msg({"action": "set", "key": key(page, "prox-qn"), "name": "memory", "value": "4"})
    assert page.controls.obstacle is None
    page.controls.go()
    assert page.legend.notice == ""
    wait_until(lambda: not page.session.alive)
    assert [run.problem.lam for run in page.session.runs] == [0.02]


def test_a_wrong_value_of_a_solver_that_does_not_race_is_no_obstacle(visit):
    page = visit(**SMALL)
    page.solvers._handle_msg({"action": "set", "key": key(page, "owl-qn"), "name": "memory", "value": "0"})
    assert page.controls.obstacle is None


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
    assert page.controls.obstacle is None
    page.controls.go()
    wait_until(lambda: not page.session.alive)
    (run,) = page.session.runs
    assert run.trace.last["nnz"] == 0


def test_while_data_are_loaded_run_waits_and_says_so(visit, wait_until):
    page = visit(**SMALL)
    page.problem.data.value = "digits"
    assert "loading" in page.controls.obstacle
    page.controls.go()
    assert page.session.runs == []
    loaded(page, wait_until)
    assert page.controls.obstacle is None
