"""What the stories of clusters of weights say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.runs import problem_cache
from solverscope.app.views import Convergence, Cursor, Trajectories
from solverscope.app.views.base.phases import turns
from solverscope.solvers import Problem, Trace
from tests.app.helpers import said
from tests.app.stories.told import Told, claim, starts


def drawn(trace: Trace, iteration: int, **params) -> Trajectories:
    return Trajectories([trace], Cursor(run=trace, iteration=iteration, follow=False), **params)


@claim(
    "together",
    "A thousand synthetic documents in two topics: the weights of a solver that moves them in clusters, and "
    "those of plain L-BFGS.",
    "Open the tab Trajectories: it draws the hundred largest of 2 000 weights, in the colours of their "
    "clusters.",
    "Two solvers start on 2 000 weights, ten iterates a second.",
    "Each line is one of the hundred largest weights of clustered, in the colour of its cluster.",
)
def _(told: Told) -> None:
    assert told.labels == ["clustered", "lbfgs"]
    assert told.problem().size == 2000
    setting = told.story.setting.problem
    assert len(problem_cache.load(setting).train.y) == 1000
    assert setting.options["n_classes"] == 2
    assert told.story.view["speed"] == "10 a second"
    trace = told["clustered"]
    view = drawn(trace, int(trace.iteration[-1]))
    _, seen = trace.probes.last("trajectories", int(trace.iteration[-1]))
    assert len(view.history.places) == 100
    w = np.abs(trace.w)
    shown = np.abs(seen["values"][view.history.places])
    assert np.sort(shown).min() >= 0.9 * np.sort(w)[-100]


@claim(
    "together",
    "After ten iterations clustered takes each twenty neighbours for one weight: in these coarse phases, "
    "which are shaded, the lines of a cluster coincide.",
    "After ten iterations clustered sorts the weights, and takes each twenty neighbours for one weight.",
    "This coarse phase has 91 weights in place of 2 000, and the lines of a cluster coincide.",
)
def _(told: Told) -> None:
    trace, begin = told.step(2)
    coarse = starts(trace, "coarse")
    assert begin == coarse[0]
    assert list(trace.phase[: begin - 1]) == ["fine"] * 11
    assert trace.working_set[begin] == trace.clusters[begin] == 91
    for row in np.flatnonzero(trace.phase == "coarse"):
        _, seen = trace.probes.last("trajectories", int(trace.iteration[row]))
        for label in np.unique(seen["labels"]):
            assert np.ptp(seen["values"][seen["labels"] == label]) == 0.0
        assert (np.bincount(seen["labels"]) == 20).mean() > 0.9
    view = drawn(trace, int(trace.iteration[begin]) + 2)
    assert "The lines of a cluster coincide" in said(view)
    assert "coarse" in view.figures.phases.data["name"]


@claim(
    "together",
    "Where a coarse phase begins each weight jumps to the mean of its cluster, and f rises.",
    "Where the coarse phase began, each weight jumped to the mean of its cluster, and f went up.",
    "Squares mark where a phase ends.",
)
def _(told: Told) -> None:
    trace, rises = told.step(3)
    coarse = starts(trace, "coarse")
    assert rises == coarse[0]
    assert trace.phase[rises - 1] == "cluster"
    assert (trace.objective[coarse] > trace.objective[coarse - 1]).all()
    ends = np.flatnonzero(trace.phase[1:] != trace.phase[:-1])
    assert set(turns(trace.since(None)[0]).tolist()) <= set(ends.tolist())
    assert len(turns(trace.since(None)[0])) >= 2
    assert "phase" in Convergence.help["convergence"].marks[1].words


@claim(
    "together",
    "Click on the row of lbfgs, which has no clusters: weights that k-means puts together run side by side "
    "all the same.",
    "lbfgs has no clusters.",
    "Weights that k-means puts together run side by side all the same: that is why a solver may take them "
    "for one for a while.",
)
def _(told: Told) -> None:
    trace, last = told.step(5)
    assert trace.clusters.max() == -1
    for iteration in (10, int(trace.iteration[last])):
        view = drawn(trace, iteration)
        course, row = view.figures.course.data, view.history.row(iteration)
        assert course["inside"][row] < 0.25 * course["between"][row]
    crosses = np.array(view.figures.marks.data["x"])
    assert (crosses <= 10).sum() > 10
    assert (crosses > 10).sum() < 0.1 * crosses.size


@claim(
    "together",
    "After the next fine phase the weights are sorted again.",
    "A cross marks each that has gone over to another cluster.",
)
def _(told: Told) -> None:
    trace, crossed = told.step(4)
    assert "fine" in trace.phase[starts(trace, "coarse")[0] : crossed]
    assert trace.phase[crossed] == "cluster"
    assert trace.crossovers[crossed] > 0
    marks = drawn(trace, int(trace.iteration[crossed])).figures.marks.data["x"]
    assert int(trace.iteration[crossed]) in np.array(marks)


def pairs(problem: Problem) -> list[tuple[int, int]]:
    """Each word that stands twice, and its double."""
    names = [problem.names.feature(j) for j in range(problem.design.n_features)]
    return [(names.index(name.removesuffix(" (double)")), j) for j, name in enumerate(names) if "(" in name]


@claim(
    "double",
    "Twenty words have an exact copy in every document: what a ridge, clusters and a lasso make of the "
    "pairs.",
    "In the tab Trajectories choose by name under Weights, and type: word 100, word 100 (double).",
)
def _(told: Told) -> None:
    problem = told.problem()
    assert len(pairs(problem)) == 20
    X = problem.design.X if hasattr(problem.design, "X") else None
    word, double = next(pair for pair in pairs(problem) if pair[0] == 99)
    assert (problem.names.feature(word), problem.names.feature(double)) == ("word 100", "word 100 (double)")
    assert X is None or (X[:, [word]] != X[:, [double]]).nnz == 0


@claim(
    "double",
    "With the ridge the two lines coincide: copies have equal gradients.",
    "clustered puts a word and its double into one cluster.",
)
def _(told: Told) -> None:
    labelled = 0
    for label in ("ridge", "clustered"):
        trace, twice = told[label], np.array(pairs(told.problem(label))).T
        for _, seen in trace.probes.entries("trajectories"):
            np.testing.assert_array_equal(*seen["values"][twice])
            if "labels" in seen:
                labelled += 1
                np.testing.assert_array_equal(*seen["labels"][twice])
        np.testing.assert_array_equal(*trace.w[twice])
    assert labelled


@claim(
    "double",
    "Together they weigh more than the word alone would: twice 2.74 against 4.11, since two halves cost the "
    "ridge half as much.",
)
def _(told: Told) -> None:
    setting = told.story.setting.problem
    data = datasets.load(setting.data, **setting.options | {"double": 0})
    alone = solvers.make_problem(data, penalty="l2", lam=setting.lam)
    single = solvers.solve(alone, solvers.make_solver("lbfgs"), tol=1e-8).w[99]
    w = told["ridge"].w
    double = dict(pairs(told.problem()))[99]
    assert (w[99], single) == (pytest.approx(2.74, abs=5e-3), pytest.approx(4.11, abs=5e-3))
    assert w[99] + w[double] > single
    one, halves = np.zeros((2, len(w)))
    one[99], halves[[99, double]] = w[99], 0.5 * w[99]
    costs = [told.problem().at(weights).penalty for weights in (one, halves)]
    assert costs[1] == pytest.approx(0.5 * costs[0])


@claim(
    "double",
    "Click on the row of lasso: the two lines part at once.",
    "Any split of |a| + |b| costs the same.",
)
def _(told: Told) -> None:
    trace, problem = told["lasso"], told.problem("lasso")
    assert problem.penalty.id == "l1"
    word, double = 99, dict(pairs(problem))[99]
    _, first = trace.probes.last("trajectories", 1)
    assert first["values"][word] != first["values"][double]
    assert min(trace.w[word], trace.w[double]) > 0.0
    other = trace.w.copy()
    other[[word, double]] = 0.5 * (trace.w[word] + trace.w[double])
    assert problem.at(other).objective == pytest.approx(problem.at(trace.w).objective, rel=1e-12)


@claim(
    "clustering",
    "L-BFGS with five pairs, plain and in turn with clusters of twenty and of five weights, against the "
    "clock.",
    "In a coarse phase clustering moves one weight for each twenty, or five.",
)
def _(told: Told) -> None:
    assert [entrant.make().memory for entrant in told.story.setting.entrants] == [5, 5, 5]
    for label, factor in (("by twenty", 20), ("by five", 5)):
        trace = told[label]
        sizes = trace.working_set[trace.phase == "coarse"]
        assert sizes.max() < 1.05 * told.problem().size / factor


@claim("clustering", "Compare CPU seconds: plain L-BFGS is first.")
def _(told: Told) -> None:
    for column in ("passes", "cpu_seconds"):
        plain, *others = (told.work(label, 1e-8, column) for label in told.labels)
        assert plain < min(others)


@claim(
    "clustering",
    "After two rounds of clusters the patch-up, on all weights, needs about three quarters of the "
    "iterations of plain L-BFGS.",
    "The rounds before it have taken more than that already.",
)
def _(told: Told) -> None:
    plain, twenty, five = told.traces()
    assert len(starts(twenty, "coarse")) == len(starts(five, "coarse")) == 2
    assert set(twenty.phase[-5:]) == set(five.phase[-5:]) == {"patch-up"}
    patching = int((twenty.phase == "patch-up").sum())
    assert 0.65 * len(plain) < patching < 0.85 * len(plain)
    assert len(twenty) - patching > patching


@claim("clustering", "Smaller clusters or another ridge do not change the result.")
def _(told: Told) -> None:
    smaller, plain = (told.work(label, 1e-8, "passes") for label in ("by five", "plain"))
    assert smaller > 1.3 * plain
    setting = told.story.setting.problem
    data = problem_cache.load(setting)
    base = problem_cache.problem(data, setting)
    for lam in (1e-3, 1e-7):
        problem = problem_cache.variant(base, replace(setting, lam=lam))
        plain, clustered = (
            solvers.solve(problem, solvers.make_solver(id, memory=5, **more), tol=1e-6).passes[-1]
            for id, more in (("lbfgs", {}), ("clustered-lbfgs", {"fine_iterations": 10}))
        )
        assert clustered > 1.3 * plain


@claim(
    "clustering",
    "Which solver will be first at a gap of 1e-6, in CPU seconds?",
    "The coarse phases do not save plain L-BFGS's work: the patch-up after them takes more than half of its "
    "iterations.",
)
def _(told: Told) -> None:
    truth = told.truth()
    assert truth.right == ("plain",)
    assert truth.value == told.work("plain", 1e-6, "cpu_seconds")
    for label in ("by twenty", "by five"):
        assert (told[label].phase == "patch-up").sum() > 0.5 * len(told["plain"])
