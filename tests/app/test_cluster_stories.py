"""What the stories of clusters of weights say is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import datasets
import solvers
from app.runs import library
from app.stories import Story, stories
from app.views import Cursor, Trajectories
from solvers import TRAJECTORIES, WEIGHTS, Problem, Stopping, Trace, relative_gap


def problem_of(story: Story, label: str) -> Problem:
    """The problem that a solver of the story has."""
    setting = story.setting.problem
    own = next(s for s in story.setting.solvers if s.label == label).problem(setting)
    data = library.load(setting.data, setting.options, setting.seed)
    return library.variant(library.problem(data, setting), own)


@pytest.fixture(scope="module")
def ended() -> Callable[[str, str], Trace]:
    """``ended(id, label)`` runs a solver of a story to its end, once for all tests here."""
    traces: dict[tuple[str, str], Trace] = {}

    def run(id: str, label: str) -> Trace:
        if (id, label) not in traces:
            story = stories()[id]
            chosen = next(s for s in story.setting.solvers if s.label == label)
            stopping = Stopping(tol=story.setting.tol, max_seconds=60.0)
            solver = chosen.make().towards(stopping.tol)
            problem = problem_of(story, label)
            observed = solvers.Run(problem, solver, stopping=stopping, probes=(TRAJECTORIES, WEIGHTS))
            traces[id, label] = observed.execute()
            assert traces[id, label].status == "converged"
        return traces[id, label]

    return run


def starts(trace: Trace, phase: str) -> np.ndarray:
    """First rows of a phase."""
    inside = trace.phase == phase
    return np.flatnonzero(inside & ~np.append(False, inside[:-1]))


def pairs(problem: Problem) -> list[tuple[int, int]]:
    """Each word that stands twice, and its double."""
    names = [problem.names.feature(j) for j in range(problem.design.n_features)]
    return [(names.index(name.removesuffix(" (double)")), j) for j, name in enumerate(names) if "(" in name]


def drawn(trace: Trace, iteration: int, **params) -> Trajectories:
    return Trajectories([trace], Cursor(run=trace, iteration=iteration, follow=False), **params)


def test_together_the_hundred_largest_run_side_by_side_after_ten_iterations(ended):
    trace = ended("together", "lbfgs")
    assert problem_of(stories()["together"], "lbfgs").size == 2000
    for iteration in (10, int(trace.iteration[-1])):
        view = drawn(trace, iteration)
        assert len(view._history.places) == 100
        inside, between = view._spreads[view._history.row(iteration)]
        assert inside < 0.25 * between
    crosses = np.array(view._figures.marks.data["x"])
    assert (crosses <= 10).sum() > 10
    assert (crosses > 10).sum() < 0.1 * crosses.size


def test_together_weights_of_a_cluster_are_equal_in_a_coarse_phase_which_f_rises_into(ended):
    trace = ended("together", "clustered")
    coarse = starts(trace, "coarse")
    assert len(coarse) == 2
    np.testing.assert_array_equal(trace.iteration[starts(trace, "cluster")], coarse - 1)
    assert 10 <= trace.iteration[coarse[0]] <= 12, "after ten iterations"
    assert (trace.objective[coarse] > trace.objective[coarse - 1]).all()
    for row in np.flatnonzero(trace.phase == "coarse"):
        _, seen = trace.probes.last("trajectories", int(trace.iteration[row]))
        for label in np.unique(seen["labels"]):
            assert np.ptp(seen["values"][seen["labels"] == label]) == 0.0
        sizes = np.bincount(seen["labels"])
        assert (sizes == 20).mean() > 0.9
    assert trace.crossovers[starts(trace, "cluster")][1] > 0
    view = drawn(trace, int(trace.iteration[coarse[0]]) + 2)
    assert "Lines of one cluster coincide" in view._said.object
    assert "coarse" in view._figures.phases.data["name"]


def test_double_copies_have_equal_weights_under_the_ridge_and_share_a_cluster(ended):
    for label in ("ridge", "clustered"):
        trace, twice = ended("double", label), pairs(problem_of(stories()["double"], label))
        assert len(twice) == 20
        for _, seen in trace.probes.entries("trajectories"):
            for word, double in twice:
                assert seen["values"][word] == seen["values"][double]
                if "labels" in seen:
                    assert seen["labels"][word] == seen["labels"][double]
        w = trace.w
        assert all(w[word] == w[double] for word, double in twice), "to the last bit"
    assert any("labels" in seen for _, seen in trace.probes.entries("trajectories"))


def test_double_two_copies_weigh_more_than_the_word_alone(ended):
    story = stories()["double"]
    setting = story.setting.problem
    alone = solvers.make_problem(
        datasets.load(setting.data, **setting.options | {"double": 0}), penalty="l2", lam=setting.lam
    )
    single = solvers.solve(alone, solvers.make_solver("lbfgs"), tol=1e-8).w[99]
    w, names = ended("double", "ridge").w, problem_of(story, "ridge").names
    double = next(j for word, j in pairs(problem_of(story, "ridge")) if word == 99)
    assert names.feature(99) == "word 100"
    assert (w[99], single) == (pytest.approx(2.74, abs=5e-3), pytest.approx(4.11, abs=5e-3))
    assert w[99] + w[double] > single


def test_double_the_lasso_shares_as_it_comes(ended):
    story = stories()["double"]
    trace, problem = ended("double", "lasso"), problem_of(story, "lasso")
    assert problem.penalty.id == "l1"
    word, double = next(pair for pair in pairs(problem) if pair[0] == 99)
    assert (trace.w[word], trace.w[double]) == (
        pytest.approx(5.98, abs=0.02),
        pytest.approx(3.33, abs=0.02),
    )
    _, first = trace.probes.last("trajectories", 1)
    assert first["values"][word] != first["values"][double], "at once"
    other = trace.w.copy()
    other[[word, double]] = 0.5 * (trace.w[word] + trace.w[double])
    assert problem.at(other).objective == pytest.approx(problem.at(trace.w).objective, rel=1e-12)


def test_clustering_does_not_pay_here(ended):
    story = stories()["clustering"]
    f_star = story.optimum(story.setting.problem)
    plain, twenty, five = (ended("clustering", label) for label in ("plain", "by twenty", "by five"))

    def work(trace: Trace, column: str) -> float:
        return float(trace[column][np.flatnonzero(relative_gap(trace.objective, f_star) <= 1e-8)[0]])

    assert work(twenty, "passes") > 1.5 * work(plain, "passes")
    assert work(five, "passes") > 1.5 * work(plain, "passes")
    assert len(starts(twenty, "coarse")) == len(starts(five, "coarse")) == 2
    patching = [int((trace.phase == "patch-up").sum()) for trace in (twenty, five)]
    assert 0.65 * len(plain) < patching[0] < 0.85 * len(plain)
    assert len(twenty) - patching[0] > patching[0]
    assert work(five, "passes") > 0.9 * work(twenty, "passes")


def test_clustering_an_iteration_with_few_weights_costs_less(ended):
    """In CPU seconds of one run, medians over its iterations."""
    trace = ended("clustering", "by twenty")
    spent = np.diff(trace.cpu_seconds, prepend=0.0)
    inner = {
        phase: np.median(spent[1:][(trace.phase[1:] == phase) & (trace.phase[:-1] == phase)])
        for phase in ("fine", "coarse")
    }
    assert inner["coarse"] < 0.9 * inner["fine"]


def test_clustering_other_ridges_tell_the_same():
    """The story's verdict is not one of its λ."""
    story = stories()["clustering"]
    setting = story.setting.problem
    data = library.load(setting.data, setting.options, setting.seed)
    base = library.problem(data, setting)
    for lam in (1e-3, 1e-7):
        problem = library.variant(base, replace(setting, lam=lam))
        passes = [
            solvers.solve(problem, solvers.make_solver(id, memory=5, **more), tol=1e-6).passes[-1]
            for id, more in (("lbfgs", {}), ("clustered-lbfgs", {"fine_iterations": 10}))
        ]
        assert passes[1] > 1.3 * passes[0]
