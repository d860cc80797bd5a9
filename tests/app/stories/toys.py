"""What stories about toys of two variables and cutting planes say."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope.app.views.playground.playground_marks import PlaneMarks
from solverscope.solvers import PLANE, Trace
from solverscope.solvers.probes.study import Study
from tests.app.stories.lines import searches
from tests.app.stories.told import Told, claim


def at(told: Told, label: str, row: int) -> PlaneMarks:
    """What a solver of the story sees at a row of its run."""
    trace = told[label]
    return PlaneMarks(trace.probes.last(PLANE.name, int(trace.iteration[row]))[1], told.problem())


def path(trace: Trace) -> np.ndarray:
    return np.array([trace.probes.last(PLANE.name, k)[1]["w"] for k in trace.iteration])


@claim(
    "kink",
    "Three methods on 10|x| + |y|, where an exact step of BFGS ends on a kink.",
    "Three solvers start at (1, 1) on 10|x| + |y|.",
    "The heavy grey lines are its kinks, where it has no gradient.",
)
def _(told: Told) -> None:
    problem, rng = told.problem(), np.random.default_rng(told.seed)
    np.testing.assert_array_equal(problem.start, [1.0, 1.0])
    for w in rng.uniform(-2.0, 2.0, (20, 2)):
        assert problem.at(w).objective == pytest.approx(10.0 * abs(w[0]) + abs(w[1]))
    assert len(told.labels) == 3


@claim(
    "kink",
    "Find the first exact step with the arrow keys: it ends on the kink x = 0, where f has two "
    "subgradients, the grey arrows.",
    "The first exact step ends on the kink x = 0, at (0, 0.9).",
    "subbfgs comes to the same place.",
)
def _(told: Told) -> None:
    for label in ("exact", "subbfgs"):
        seen = at(told, label, 1)
        np.testing.assert_allclose(seen.w, [0.0, 0.9], atol=1e-12)
        assert sorted(seen.subgradients.tolist()) == [[-10.0, 1.0], [10.0, 1.0]]


@claim(
    "kink",
    "exact takes one of the two: its direction p = −Bg leads upwards, and its run is over.",
    "There are two subgradients, the grey arrows, and exact takes one of them: its direction p = −Bg leads "
    "upwards, and its run is over.",
)
def _(told: Told) -> None:
    trace, last = told.step(2)
    assert (trace.status, int(trace.iteration[last])) == ("stalled", 1)
    seen = at(told, "exact", last)
    assert len(seen.subgradients) == 2
    assert np.count_nonzero(seen.shares) == 1
    assert seen.slope > 0
    assert abs(seen.p[0]) > abs(seen.p[1])


@claim(
    "kink",
    "subbfgs mixes the two until its direction descends, along the kink.",
    "It mixes the two subgradients, the heavier arrow, until its direction descends: straight along the "
    "kink.",
    "Its second step ends at the minimum.",
    "In the line search of that step f falls in a straight line along the kink, and the exact search finds "
    "where it turns.",
)
def _(told: Told) -> None:
    (trace, first), (_, end) = told.step(3), told.step(4)
    seen = at(told, "subbfgs", first)
    assert np.count_nonzero(seen.shares) == 2
    assert seen.slope < 0
    assert abs(seen.p[0]) < 1e-6 * abs(seen.p[1])
    assert int(trace.iteration[end]) == 2
    assert trace.objective[end] <= 1e-12
    assert trace.ls_kind[end] == "exact"
    study = Study(told.problem(), searches(trace)[-1])
    t = float(study.tried[-1])
    middle = [study.phi(share * t) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    np.testing.assert_allclose(np.diff(middle), np.diff(middle)[0], rtol=1e-3)
    assert study.phi(1.1 * t) > study.phi(t)


@claim(
    "kink",
    "inexact steps across the kinks, and needs more than 25 iterations to come within 1e-6 of the minimum.",
    "inexact takes steps that end on no kink, and goes to and fro across them.",
    "It needs more than 25 iterations to come within 1e-6 of the minimum.",
)
def _(told: Told) -> None:
    trace, near = told.step(6)
    assert trace.objective[near] <= 1e-6
    assert trace.iteration[near] > 25
    before = path(trace)[:near]
    assert before.all(), "on no kink"
    assert np.count_nonzero(np.diff(np.sign(before[:, 0]))) > 0.3 * near


@claim(
    "steepest",
    "Wolfe's function, unbounded below: steepest descent with exact steps creeps towards a point that is no "
    "minimum.",
    "(0, 0) is no minimum: f falls for ever to the left of it.",
    "The kink that leads out, the heavy line, begins just behind, and no gradient on the way tells of it.",
)
def _(told: Told) -> None:
    f = [told.problem().at(np.array([x, 0.0])).objective for x in (0.0, -1.0, -10.0, -100.0)]
    assert (np.diff(f) < 0).all()
    assert np.diff(f)[-1] < np.diff(f)[-2], "and not ever less"
    assert (path(told["gd"])[:, 0] > 0.0).all()
    left, right = (told.problem().at(np.array([-1.0, y])).gradient() for y in (-1e-6, 1e-6))
    assert np.abs(left - right).max() > 1.0
    left, right = (told.problem().at(np.array([1.0, y])).gradient() for y in (-1e-6, 1e-6))
    assert np.abs(left - right).max() < 1e-3


@claim(
    "steepest",
    "gd turns at a right angle with every step, and its steps get shorter: after ten it is within 1e-5 of "
    "(0, 0).",
)
def _(told: Told) -> None:
    way = path(told["gd"])
    steps = np.diff(way, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    assert (np.diff(lengths) < 0).all()
    turns = np.einsum("ki,ki->k", steps[1:], steps[:-1]) / (lengths[1:] * lengths[:-1])
    assert np.abs(turns[:10]).max() < 1e-6
    assert np.linalg.norm(way[10]) < 1e-5
    np.testing.assert_allclose(path(told["subgd"])[:15], way[:15], rtol=1e-6)


@claim(
    "steepest",
    "subbfgs learns in B how the gradient turned: its second direction leads past (0, 0), and f falls along "
    "it for ever.",
)
def _(told: Told) -> None:
    trace = told["subbfgs"]
    assert (trace.status, trace.iteration[-1]) == ("unbounded", 1)
    B = trace.probes.last(PLANE.name, 1)[1]["B"]
    assert np.abs(B - B[0, 0] * np.eye(2)).max() > 1e-3 * np.abs(B).max()
    seen = at(told, "subbfgs", 1)
    far = [told.problem().at(seen.w + t * seen.p).objective for t in (1e2, 1e4, 1e6)]
    assert (np.diff(far) < 0).all()


@claim("steepest", "gd and subgd end within 1e-12 of (0, 0), stalled.")
def _(told: Told) -> None:
    for label in ("gd", "subgd"):
        trace = told[label]
        assert trace.status == "stalled"
        assert "less than 1e-10 of the first f in 5 iterations" in trace.message
        assert np.linalg.norm(path(trace)[-1]) < 1e-12
        assert trace.objective[-1] > 0.0


def model(seen: dict, w: np.ndarray, lam: float) -> float:
    """The highest cut at w, with the ridge."""
    return float(np.max(seen["A"] @ w + seen["b"])) + 0.5 * lam * float(w @ w)


@claim(
    "bundle",
    "Cutting planes on a function of one variable: a model that grows cut by cut, and a bound that proves "
    "how near the best point is.",
    "Step with the arrow keys: each iteration adds a tangent.",
    "The highest of them at each place, with the ridge, is the model, which lies nowhere above f.",
)
def _(told: Told) -> None:
    trace, problem = told["bmrm"], told.problem()
    entries = trace.probes.entries("cuts")
    assert [len(seen["numbers"]) for _, seen in entries] == list(trace.iteration + 1)
    for _, seen in entries:
        for x in np.linspace(-3.0, 4.0, 29):
            w = np.array([x, 0.0])[: problem.size]
            assert model(seen, w, problem.lam) <= problem.at(w).objective + 1e-9
    assert (trace.objective - trace.dual_gap)[1:].max() <= told.f_star + 1e-9
    assert (trace.objective[-1] - told.f_star) <= trace.dual_gap[-1]


@claim(
    "bundle",
    "bmrm goes where its model is least, at first far out, where the model knows nothing.",
    "After two iterations its best point is still the start.",
)
def _(told: Told) -> None:
    trace, problem = told["bmrm"], told.problem()
    ends = np.linspace(-20.0, 20.0, 4001)
    for _, seen in trace.probes.entries("cuts")[:2]:
        goes = min(ends, key=lambda x, seen=seen: model(seen, np.array([x, 0.0]), problem.lam))
        assert abs(goes - problem.start[0]) > 7.0
        assert problem.at(np.array([goes, 0.0])).objective > problem.at(problem.start).objective
    best = [seen["w"].tolist() for _, seen in trace.probes.entries("plane")]
    assert best[2] == problem.start.tolist() != best[3]


@claim(
    "bundle",
    "ls-bmrm searches the line before it cuts: it is at the minimum after one iteration, and needs five "
    "more to prove it.",
)
def _(told: Told) -> None:
    trace = told["ls-bmrm"]
    assert trace.objective[1] == pytest.approx(told.f_star, rel=1e-12)
    assert (trace.status, trace.iteration[-1]) == ("converged", 6)
    assert trace.dual_gap[1] > 1.0


@claim(
    "kink",
    "Which solver will end its run at a point that is no minimum?",
    "exact takes one of the two subgradients that f has on the kink, and its direction leads upwards.",
)
def _(told: Told) -> None:
    truth = told.truth()
    assert truth.right == ("exact",)
    assert truth.value == pytest.approx(0.9)
    assert max(truth.values[label] for label in ("inexact", "subbfgs")) < 1e-6
    seen = at(told, "exact", -1)
    assert (len(seen.subgradients), np.count_nonzero(seen.shares)) == (2, 1)
    assert seen.slope > 0.0
