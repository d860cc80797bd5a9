"""What the stories say is true."""

from __future__ import annotations

import numpy as np
import pytest

import solvers
from app import library
from app.run_controls import PACES
from app.stories import stories
from app.views import TABS, Rate
from app.views.plot import X_AXES
from solvers import Stopping, Trace, relative_gap


def problem_of(story) -> solvers.Problem:
    setting = story.setting.problem
    return library.problem(library.load(setting.data, setting.options, setting.seed), setting)


@pytest.fixture(scope="module")
def race():
    """``race(story, label, gap)`` runs one solver of a story to a gap, once for all tests here."""
    traces: dict[tuple[str, str, float], Trace] = {}

    def run(story, label: str, gap: float) -> Trace:
        if (story.id, label, gap) not in traces:
            solver = next(s for s in story.setting.solvers if s.label == label).make()
            stopping = Stopping(gap=gap, f_star=story.f_star, max_seconds=60.0)
            traces[story.id, label, gap] = solvers.Run(problem_of(story), solver, stopping=stopping).execute()
        return traces[story.id, label, gap]

    return run


def work(trace: Trace, f_star: float, gap: float, column: str) -> float:
    """Iterations, passes or seconds to a gap."""
    return float(trace[column][np.flatnonzero(relative_gap(trace.objective, f_star) <= gap)[0]])


def test_there_are_three_to_begin_with_and_the_first_is_the_default():
    assert len(stories()) >= 3
    assert next(iter(stories())) == "shrinking"


@pytest.mark.parametrize("story", stories().values(), ids=stories())
def test_a_story_can_be_shown(story):
    assert story.question.endswith("?")
    assert story.look_for
    assert story.summary
    assert story.view.get("tab", "record") in TABS
    assert story.view.get("x", "passes") in X_AXES
    assert story.view.get("speed", "full") in PACES
    assert all(
        solvers.why_not_solver(s.id, story.setting.problem.loss, story.setting.problem.penalty) is None
        for s in story.setting.solvers
    )


def different_problems() -> list:
    """The stories whose f* is not another one's too."""
    return list({(str(s.setting.problem), s.f_star): s for s in stories().values()}.values())


@pytest.mark.parametrize("story", different_problems(), ids=lambda story: story.id)
def test_f_star_is_the_minimum(story):
    problem = problem_of(story)
    near = solvers.solve(
        problem, solvers.make_solver("prox-qn", memory=30), gap=1e-7, f_star=story.f_star, max_seconds=30
    )
    assert near.status == "converged", "f* is not too low"
    far = solvers.Run(
        problem, solvers.make_solver("prox-qn"), stopping=Stopping(tol=1e-7, max_seconds=5), w0=near.w
    )
    assert far.execute().objective.min() > story.f_star * (1 - 1e-9), "f* is not too high"


def test_shrinking_owl_qn_carries_more_non_zeros_than_prox_qn_on_the_way(race):
    story = stories()["shrinking"]
    sparse, dense = (race(story, label, 1e-3) for label in ("prox-qn", "owl-qn"))
    at = min(sparse.cpu_seconds[-1], dense.cpu_seconds[-1]) * 0.9
    nnz = [t.nnz[np.searchsorted(t.cpu_seconds, at)] for t in (sparse, dense)]
    assert nnz[1] > 1.3 * nnz[0]
    assert sparse.working_set[-1] < 0.1 * problem_of(story).size
    assert sparse.returned.max() > 0


def test_memory_ten_pairs_need_less_than_half_the_iterations_of_one_and_fifty_save_little_more(race):
    story = stories()["memory"]
    one, three, ten, fifty = (
        work(race(story, label, 1e-6), story.f_star, 1e-6, "iteration")
        for label in ("one pair", "three", "ten", "fifty")
    )
    assert one > three > ten > fifty
    assert ten < 0.5 * one
    assert fifty > 0.6 * ten


def test_forgetting_less_than_two_thirds_of_the_passes_and_the_same_optimum(race):
    story = stories()["forgetting"]
    shrinking, plain = (race(story, label, 1e-4) for label in ("shrinking", "all weights"))
    passes = [work(t, story.f_star, 1e-4, "passes") for t in (shrinking, plain)]
    assert passes[0] < 2 / 3 * passes[1]
    assert plain.working_set[-1] == problem_of(story).size


def test_q_memory_forty_pairs_on_the_working_set_cost_less_than_ten_on_all_weights(race):
    story = stories()["q-memory"]
    ten, forty, whole = (race(story, label, 1e-4) for label in ("ten", "forty", "all weights"))
    size = [np.max(t.memory_pairs * t.working_set) for t in (forty, whole)]
    assert size[0] < 0.5 * size[1]
    assert forty.memory_pairs.max() > 20
    iterations = [work(t, story.f_star, 1e-4, "iteration") for t in (forty, ten, whole)]
    assert iterations == sorted(iterations)
    starts = np.flatnonzero(np.diff(ten.epoch)) + 1
    assert (ten.memory_pairs[starts] == 0).all()
    assert (np.diff(ten.working_set[starts + 1]) < 0).all()


def test_superlinear_with_all_pairs_the_rate_falls_at_unit_steps_and_with_ten_it_does_not():
    story = stories()["superlinear"]
    stopping = Stopping(tol=story.setting.tol, max_seconds=story.setting.max_seconds, f_star=story.f_star)
    rates, steps = [], []
    for chosen in story.setting.solvers:
        trace = solvers.Run(problem_of(story), chosen.make().towards(story.setting.tol), stopping=stopping)
        curve = next(iter(Rate(trace.execute())._curves.values())).feed.source.data
        drawn = np.flatnonzero(np.isfinite(curve["y"]))[-5:]
        rates.append(np.array(curve["y"])[drawn])
        steps.append(np.array(curve["unit"])[drawn])
    falling, trendless = rates
    assert (np.diff(falling) < 0).all()
    assert falling[-1] < 0.1
    assert (steps[0] == 1.0).all()
    assert not (np.diff(trendless) < 0).all()
    assert trendless.min() > 0.1
