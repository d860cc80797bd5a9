"""The problem side of the page: what options make of the labels, and data that cannot be loaded yet."""

from __future__ import annotations

import pytest

from solverscope.app.page.page import Page
from solverscope.app.runs import problem_cache
from solverscope.app.stories import stories
from solverscope.solvers import LOSSES
from tests.app.helpers import hint

SMALL = {"data": "breast-cancer", "solvers": "prox-qn"}


CHOICES = {
    "data set": lambda page: setattr(page.problem.data, "value", "digits"),
    "option": lambda page: page.problem.options.receive({"name": "scale", "value": "unit"}),
    "penalty": lambda page: setattr(page.problem.penalty, "value", "l2"),
    "story": lambda page: page.load_story(stories()["memory"]),
}


@pytest.mark.quick("data set", "penalty")
@pytest.mark.parametrize("choice", CHOICES)
def test_nothing_of_the_problem_before_is_shown_with_another(visit, wait_until, choice):
    page = visit(**SMALL)
    page.controls.go()
    wait_until(lambda: not page.session.alive)
    page.session.tick()
    page.session.cursor.place(page.session.runs[0].trace, 3)
    assert page.convergence.has_content()
    assert "λ" in page.problem.ratio.object
    CHOICES[choice](page)
    assert page.session.runs == []
    assert page.session.cursor.run is None
    assert not page.convergence.has_content()
    assert not page.sparsity.has_content()
    assert page.problem.ratio.object == ""
    assert page.optimum.text.object == ""
    assert page.problem.loading.startswith("loading ")
    assert page.problem.loading in hint(page.convergence)
    assert page.controls.run.disabled
    assert page.controls.run.icon == "hourglass_empty"
    loaded(page, wait_until)
    assert page.session.runs == []
    assert page.controls.run.icon == "play_arrow"
    assert "loading" not in hint(page.convergence)


def test_a_run_that_goes_on_is_stopped_when_another_problem_is_chosen(visit, wait_until):
    page = visit(**SMALL, tol="1e-300", speed="1 a second")
    page.controls.go()
    workers = [run.worker for run in page.session.runs]
    wait_until(lambda: all(run.trace and len(run.trace) for run in page.session.runs))
    page.problem.data.value = "digits"
    assert all(worker.join(60) for worker in workers)
    assert page.session.state == "idle"


def test_a_problem_that_is_too_large_is_refused_with_what_to_change_and_is_not_made(wait_until, monkeypatch):
    problem_cache.cache.clear()
    monkeypatch.setattr("datasets.load", lambda *how, **more: pytest.fail("it was made"))
    page = Page({"data": "synthetic-tree", "options": "n_nodes=200000,n_leaves=150000"})
    monkeypatch.setattr(problem_cache.budget, "memory", 8 << 30)
    wait_until(lambda: (page.session.tick(), page.problem.error)[1])
    assert "400,000,000 weights: 2,000 features times 200,000" in page.problem.error
    assert "lower n_nodes, n_features or n_samples" in page.problem.card.object
    assert page.controls.run.disabled
    page.session.close()


def loaded(page, wait_until):
    wait_until(lambda: (page.session.tick(), page.problem.ready)[1])


def test_an_option_that_changes_the_kind_of_labels_changes_the_losses_offered(visit, wait_until):
    page = visit(data="synthetic-text", options="n_samples=60,n_features=50")
    assert page.problem.loss.value == "multiclass-logistic"
    page.problem.options.receive({"name": "n_classes", "value": "2"})
    assert page.problem.loss.value == "logistic"
    assert list(page.problem.loss.options.values()) == ["logistic", "binary-hinge", "smoothed-binary-hinge"]
    loaded(page, wait_until)
    assert page.problem.problem.loss.id == "logistic"
    assert "two classes" in page.problem.card.object
    again = visit(**page.query())
    assert again.query() == page.query()
    assert len(again.notices) == 0
    again.controls.go()
    wait_until(lambda: not again.session.alive)
    assert [run.state for run in again.session.runs] == ["finished"] * len(again.setting.entrants)
    page.problem.options.receive({"name": "n_classes", "value": "3"})
    assert page.problem.loss.value == "multiclass-logistic"
    assert LOSSES["multiclass-squared-hinge"].name in page.problem.loss.options


@pytest.mark.parametrize("limit", ["MAX_PER_SHARE", "MAX_WORKERS"])
def test_data_are_loaded_as_soon_as_the_pool_has_room(visit, wait_until, monkeypatch, limit):
    page = visit(**SMALL)
    with monkeypatch.context() as full:
        full.setattr(f"solverscope.app.runs.pool.{limit}", 0)
        page.problem.data.value = "digits"
        page.session.tick()
        assert 'role="alert">' in page.problem.card.object
        assert "waits for a free slot" in page.problem.card.object
        assert page.controls.run.disabled
    page.session.tick()
    assert "loading" in page.problem.card.object
    loaded(page, wait_until)
    assert "10 classes" in page.problem.card.object
    assert not page.controls.run.disabled


def test_a_visitor_who_finds_the_pool_full_gets_the_page_all_the_same(wait_until, monkeypatch):
    problem_cache.cache.clear()
    with monkeypatch.context() as full:
        full.setattr("solverscope.app.runs.pool.MAX_WORKERS", 0)
        page = Page(SMALL)
        page.session.tick()
        assert "try again in a minute" in page.problem.card.object
    loaded(page, wait_until)
    page.session.close()


def test_another_choice_while_the_pool_is_full_is_the_one_that_is_loaded(visit, wait_until, monkeypatch):
    page = visit(**SMALL)
    with monkeypatch.context() as full:
        full.setattr("solverscope.app.runs.pool.MAX_PER_SHARE", 0)
        for id in ("synthetic-text", "digits"):
            page.problem.data.value = id
    loaded(page, wait_until)
    assert page.problem.problem.describe()["dataset"] == "digits"


def test_what_cannot_be_loaded_is_not_tried_again_and_again(visit, wait_until, monkeypatch):
    page, tried = visit(**SMALL), []

    def load(*how):
        tried.append(how)
        raise MemoryError

    monkeypatch.setattr("solverscope.app.runs.problem_cache.load", load)
    page.problem.data.value = "digits"
    wait_until(lambda: (page.session.tick(), page.problem.error)[1])
    page.session.tick()
    assert len(tried) == 1
    assert "out of memory" in page.problem.card.object


def test_penalty_factors_reach_problem_and_address_and_wrong_ones_are_named(visit, wait_until):
    page = visit(data="diabetes", penalty="l1", solvers="newton-cd")
    plain = page.problem.problem.lam_max
    page.problem.factors.value = "sex=0,bmi"
    assert page.problem.obstacle.startswith("penalty factors 'sex=0,bmi': write adaptive, or NAME=FACTOR")
    page.problem.factors.value = "sex=0, bmi=2"
    loaded(page, wait_until)
    assert page.problem.problem.factors.tolist() == [1.0, 0.0, 2.0] + [1.0] * 7
    assert page.problem.problem.lam_max != plain
    assert page.query()["penalty_factors"] == "sex=0, bmi=2"
    again = visit(**page.query())
    assert again.problem.factors.value == "sex=0, bmi=2"
    assert again.problem.problem.key == page.problem.problem.key
    page.problem.factors.value = "tall=2"
    wait_until(lambda: (page.session.tick(), page.problem.error)[1])
    assert "there is no feature 'tall'" in page.problem.error
    page.problem.factors.value = ""
    loaded(page, wait_until)
    assert page.problem.problem.lam_max == plain
    page.problem.penalty.value = "none"
    assert not page.problem.factors.visible
