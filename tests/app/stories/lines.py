"""What stories about line searches, toys of two variables and cutting planes say."""

from __future__ import annotations

import numpy as np
import pytest

import datasets
import solvers
from app.views import LineSearch
from app.views.base.cursor import Cursor
from app.views.playground.playground_marks import Marks
from solvers import LINE, PLANE, Stopping, Trace
from solvers.probes.study import Study
from tests.app.helpers import said
from tests.app.stories.told import Told, claim


def searches(trace: Trace) -> list[dict]:
    """What was seen of each search."""
    return [seen for _, seen in trace.probes.entries(LINE.name) if len(seen["t"])]


def on_breakpoints(trace: Trace) -> float:
    """The share of the exact searches that ended on a breakpoint."""
    return float(np.mean([float(seen["step"]) in seen["segment"] for seen in searches(trace)]))


@claim(
    "exact-search",
    "Two quasi-Newton methods with exact line searches on the hinge loss, a piecewise quadratic along every "
    "line.",
    "Each dot on φ is a breakpoint: there a sample passes its margin, and the staircase of slopes below "
    "jumps.",
    "The search goes down these stairs to where they cross zero.",
    "Press Zoom to the kink: the stairs cross zero in a jump.",
)
def _(told: Told) -> None:
    problem = told.problem()
    study = Study(problem, searches(told["subL-BFGS"])[5])
    assert study.piecewise
    t = float(study.tried[-1])
    assert study.slope(t, -1) < 0.0 < study.slope(t, 1)
    n = problem.loss.n_instances
    for place in study.breakpoints.t[:3]:
        assert study.slope(place, 1) > study.slope(place, -1)
    assert len(study.breakpoints.t) <= n


@claim(
    "exact-search",
    "subL-BFGS lands on a breakpoint in more than nine of ten searches.",
    "L-BFGS lands on one every time, and is stuck before iteration 60: at a kink the direction of one "
    "subgradient may lead upwards.",
    "Its f is then more than 1 % too high.",
)
def _(told: Told) -> None:
    on, stuck = told.traces()
    assert on_breakpoints(on) > 0.9
    assert on_breakpoints(stuck) == 1.0
    assert stuck.status == "stalled"
    assert stuck.iteration[-1] < 60
    assert told.gap("L-BFGS")[-1] > 0.01
    assert on.objective[-1] < stuck.objective[-1]
    last = int(on.iteration[-1])
    on.problem = told.problem()
    text = said(LineSearch(on, Cursor(run=on, iteration=last, follow=False)))
    count = sum(float(seen["step"]) in seen["segment"] for seen in searches(on))
    assert f"{count} of {len(searches(on))} searches so far ended on a breakpoint" in text


@claim(
    "exact-search",
    "Set λ to 10 and press Run: the ridge bends φ so much that subL-BFGS needs few searches, and most of "
    "them end between two breakpoints.",
)
def _(told: Told) -> None:
    limits = told.story.setting.limits
    stopping = Stopping(tol=limits.tol, max_seconds=limits.max_seconds)
    solver = told.entrant("subL-BFGS").make().towards(limits.tol)
    trace = solvers.Run(told.problem().at_lam(10.0), solver, stopping=stopping, probes=(LINE,)).execute()
    assert on_breakpoints(trace) < 0.5
    assert len(searches(trace)) < 0.1 * len(searches(told["subL-BFGS"]))


def accepted_at_once(told: Told, sigma: float) -> float:
    """The share of searches whose first step Armijo's rule with this σ would take."""
    problem = told.problem()
    return float(np.mean([Study(problem, s).armijo(sigma, 0.5).trials == 1 for s in searches(told["lax"])]))


@claim(
    "armijo",
    "L-BFGS with a lax and with a strict rule for its steps, and a slider that tries others on the same "
    "search.",
    "Click on a bar in the tab Line search: the circles on φ are the steps tried, numbered in their order.",
    "The first that is not above the dashed line is taken.",
    "Lax asks for a ten-thousandth of the promise, and takes the first step that it tries in more than nine "
    "of ten searches.",
    "Strict asks for half of the promise.",
)
def _(told: Told) -> None:
    sigma = {label: told.entrant(label).make().sigma for label in told.labels}
    assert sigma == {"lax": 1e-4, "strict": 0.5}
    for trace in told.traces():
        for seen in searches(trace):
            allowed = seen["phi"] <= seen["allowed"]
            assert allowed.tolist() == [False] * (len(allowed) - 1) + [True]
    assert np.mean(told["lax"].ls_trials[1:] == 1) > 0.9


@claim(
    "armijo",
    "Turn σ up, and the dashed line gets steeper.",
    "At 0.4 more than three in four of the first steps would still do, at 0.9 none: the minimum of a "
    "parabola lies on the line of σ = 0.5.",
)
def _(told: Told) -> None:
    assert Study(told.problem(), searches(told["lax"])[5]).promised < 0.0, (
        "the line is as steep as σ times this"
    )
    assert accepted_at_once(told, 0.4) > 0.75
    assert accepted_at_once(told, 0.9) == 0.0
    t = np.linspace(0.0, 2.0, 101)
    phi = 3.0 - 2.0 * t + t * t
    assert phi.min() == phi[50] == 3.0 + 0.5 * t[50] * -2.0


@claim("armijo", "It tries more steps a search, and saves less than one iteration in five.")
def _(told: Told) -> None:
    lax, strict = told.traces()
    assert lax.status == strict.status == "converged"
    assert strict.ls_trials[1:].mean() > 1.2 * lax.ls_trials[1:].mean()
    assert 0.8 * lax.iteration[-1] < strict.iteration[-1] < lax.iteration[-1]


def at(told: Told, label: str, row: int) -> Marks:
    """What a solver of the story sees at a row of its run."""
    trace = told[label]
    return Marks.of(trace.probes.last(PLANE.name, int(trace.iteration[row]))[1], told.problem())


def path(trace: Trace) -> np.ndarray:
    return np.array([trace.probes.last(PLANE.name, k)[1]["w"] for k in trace.iteration])


def elsewhere(told: Told, label: str, data: str = "", **options: str) -> Trace:
    """A run on the function of a story from another start, or on another function."""
    problem = solvers.make_problem(datasets.load(data or told.story.setting.problem.data, **options))
    return solvers.solve(problem, told.entrant(label).make(), max_iter=200, probes=(PLANE,))


@claim(
    "kink",
    "10|x| + |y|, where an exact step of BFGS ends on a kink, and what three methods make of it.",
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
    "The first exact step ends on the kink x = 0, at (0, 0.9): f has two subgradients there, (10, 1) and "
    "(−10, 1), the grey arrows.",
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
    "exact takes one of the two, and its p = −Bg leads upwards, off the kink: after one step its run is "
    "over.",
    "There are two subgradients there, the grey arrows, and exact takes one of them: its p = −Bg leads off "
    "the kink and upwards, so that its run is over.",
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
    "subbfgs mixes the two by Algorithm 2 until its direction descends: straight along the kink.",
    "It mixes the two subgradients, the heavier arrow, until its direction descends: straight along the "
    "kink.",
    "Its second step ends at the minimum.",
    "The line search of that step: f falls along the kink in a straight line, and the exact search finds "
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
    "inexact steps across the kinks and on none of them.",
    "It goes to and fro, and takes over 25 iterations to come within 1e-6 of the minimum.",
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
    "kink",
    "Click into the plane to choose another start, and press Run: exact ends on a kink again from nearly "
    "everywhere.",
)
def _(told: Told) -> None:
    stuck, rng = 0, np.random.default_rng(3)
    for x, y in rng.uniform(-2.0, 2.0, (20, 2)).round(2):
        trace = elsewhere(told, "exact", start=f"{x},{y}")
        stuck += trace.status == "stalled" and trace.objective[-1] > 1e-3
    assert stuck >= 18


@claim(
    "steepest",
    "Wolfe's function, unbounded below: steepest descent with exact steps creeps towards a point that is no "
    "minimum.",
    "No minimum is there: to the left f falls for ever.",
    "But the heavy line, the kink that leads out, begins just behind (0, 0), and no gradient on the way "
    "tells of it.",
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
    "gd turns at a right angle with every exact step, and every step is shorter: after ten it is within 1e-5 "
    "of (0, 0).",
    "subgd lies on gd: it is steepest descent for functions with kinks, and meets none here.",
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
    "subbfgs remembers in B how the gradient turned on its first step.",
    "Its second direction leads past (0, 0), and f falls along it for ever: unbounded.",
)
def _(told: Told) -> None:
    trace = told["subbfgs"]
    assert (trace.status, trace.iteration[-1]) == ("unbounded", 1)
    B = trace.probes.last(PLANE.name, 1)[1]["B"]
    assert np.abs(B - B[0, 0] * np.eye(2)).max() > 1e-3 * np.abs(B).max()
    seen = at(told, "subbfgs", 1)
    far = [told.problem().at(seen.w + t * seen.p).objective for t in (1e2, 1e4, 1e6)]
    assert (np.diff(far) < 0).all()


@claim(
    "steepest",
    "gd and subgd end within 1e-12 of (0, 0), stalled: five steps lowered f by less than 1e-10 of its first "
    "value.",
)
def _(told: Told) -> None:
    for label in ("gd", "subgd"):
        trace = told[label]
        assert trace.status == "stalled"
        assert "less than 1e-10 of the first f in 5 iterations" in trace.message
        assert np.linalg.norm(path(trace)[-1]) < 1e-12
        assert trace.objective[-1] > 0.0


@claim(
    "steepest",
    "Choose the data set Toy: five planes, and press Run: subgd goes to and fro between two kinks.",
    "f falls to a third with each step, towards 0, and there subgd stalls, though the minimum is −100.",
    "subbfgs gets to it in two steps.",
)
def _(told: Told) -> None:
    subgd, mixed = (elsewhere(told, label, "toy-hull") for label in ("subgd", "subbfgs"))
    np.testing.assert_allclose(subgd.objective[1:], 11.0 * 3.0 ** -np.arange(len(subgd) - 1), rtol=1e-6)
    assert subgd.status == "stalled"
    assert 0.0 < subgd.objective[-1] < 1e-9
    sides = np.sign(path(subgd)[1:10, 0])
    assert (sides[1:] == -sides[:-1]).all()
    assert mixed.iteration[-1] == 2
    assert mixed.objective[-1] == pytest.approx(-100.0, rel=1e-12)


def model(seen: dict, w: np.ndarray, lam: float) -> float:
    """The highest cut at w, with the ridge."""
    return float(np.max(seen["A"] @ w + seen["b"])) + 0.5 * lam * float(w @ w)


@claim(
    "bundle",
    "Cutting planes on a function of one variable: a model that grows cut by cut, and a bound that proves "
    "how near the best point is.",
    "Press Run, then go back with Home and forth with the arrow keys: each iteration adds a tangent, and the "
    "highest of them at each place, with the ridge, is the model.",
    "It is nowhere above f.",
    "Choose L and its cuts in the tab: without the ridge the model is made of straight lines.",
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
    "bmrm goes where its model is least.",
    "At first that is far out, where it knows nothing: after two iterations its best point is still the "
    "start.",
)
def _(told: Told) -> None:
    trace = told["bmrm"]
    best = [seen["w"].tolist() for _, seen in trace.probes.entries("plane")]
    assert best[2] == told.problem().start.tolist() != best[3]


@claim(
    "bundle",
    "In the end two cuts carry all of bmrm's weight α, one from each side of the minimum: see the picture of "
    "the weights in the tab Bundle.",
    "Earlier cuts are there, and without weight.",
)
def _(told: Told) -> None:
    trace = told["bmrm"]
    _, seen = trace.probes.last("cuts", int(trace.iteration[-1]))
    carrying = np.flatnonzero(seen["alpha"] > 1e-9)
    assert len(carrying) == 2 < len(seen["alpha"])
    slopes = [seen["A"][i][0] + 0.5 * trace.w[0] for i in carrying]
    assert min(slopes) < 0.0 < max(slopes)


@claim(
    "bundle",
    "ls-bmrm searches the line before it cuts: it stands at the minimum after one iteration, and needs five "
    "more to prove it.",
)
def _(told: Told) -> None:
    trace = told["ls-bmrm"]
    assert trace.objective[1] == pytest.approx(told.f_star, rel=1e-12)
    assert (trace.status, trace.iteration[-1]) == ("converged", 6)
    assert trace.dual_gap[1] > 1.0


@claim(
    "random-subgradients",
    "The same two methods by the shortest subgradient and by random ones: the robustness experiment of Yu et "
    "al. 2010, section 8.4.",
    "owl-qn goes by the shortest subgradient at each point, and comes to the minimum.",
    "random is the same method, given any other subgradient where weights are zero.",
    "Its search fails at an iterate about 1 % above the minimum, and the run is over: look at its status.",
)
def _(told: Told) -> None:
    entrants = told.story.setting.entrants
    assert [(e.id, e.make().subgradient) for e in entrants] == [
        *(("owl-qn", way) for way in ("shortest", "random")),
        *(("owl-qn-star", way) for way in ("shortest", "random")),
    ]
    assert told["owl-qn"].status == "converged"
    assert told.gap("owl-qn")[-1] < 1e-6
    assert told["random"].status == "stalled"
    assert "random subgradient" in told["random"].result["message"]
    assert 5e-3 < told.gap("random")[-1] < 2e-2


@claim(
    "random-subgradients",
    "star finds its directions by Algorithm 2.",
    "Whether it begins with the shortest subgradient or with a random one, it comes within 2e-4 of the "
    "minimum.",
    "With random subgradients Algorithm 2 takes at least a fifth more steps an iteration.",
    "It ends with more weights that are not zero than owl-qn: no direction of Algorithm 2 has exact zeros.",
)
def _(told: Told) -> None:
    plain, _, star, both = told.traces()
    assert max(told.gap(label)[-1] for label in ("star", "star random")) < 2e-4
    steps = [t.inner_iterations[t.inner_iterations >= 0].mean() for t in (star, both)]
    assert steps[1] > 1.2 * steps[0] > 0.0
    assert plain.result["nnz"] < min(star.result["nnz"], both.result["nnz"])


@claim(
    "early-bird",
    "A quasi-Newton method for losses with kinks, cutting planes, and both in turn, on handwritten digits.",
    "sublbfgs has halved the distance twice while ls-bmrm still learns what f looks like: it takes half as "
    "many iterations to come within 50 % of the minimum.",
    "At 10 % they are level, and ls-bmrm wins from there: to 2 % it takes little more than half of the "
    "other's iterations.",
    "both starts as sublbfgs, whose subgradients are its first cuts, and goes over where f falls by less "
    "than 1 % in five iterations: early it is as fast as the one, late nearly as fast as the other.",
)
def _(told: Told) -> None:
    labels = ("sublbfgs", "ls-bmrm", "both")
    half, tenth, near = ([told.work(label, gap, "iteration") for label in labels] for gap in (0.5, 0.1, 0.02))
    assert half[0] == half[2] <= 0.5 * half[1]
    early = told["sublbfgs"].objective[: int(half[1])] - told.f_star
    assert early.min() < 0.25 * early[0]
    assert 0.9 < tenth[0] / tenth[1] < 1.1
    assert near[1] < 0.6 * near[0]
    assert near[2] < 1.25 * near[1]
    both = told["both"]
    assert set(both.phase) == {"warm", "cuts"}
    over = int(np.flatnonzero(both.phase == "cuts")[0])
    warm = both.objective[:over]
    falls = 1.0 - warm[5:] / warm[:-5]
    assert (falls[:-2] > 0.01).all()


@claim(
    "early-bird",
    "ls-bmrm has a lower bound that closes in, see the tab Bundle: it proves that it is within 1e-4.",
    "The bound of sublbfgs proves next to nothing, though its f is fine: compare the dual gaps in the tab "
    "Record.",
)
def _(told: Told) -> None:
    best = told["ls-bmrm"].objective[-1]
    assert told["ls-bmrm"].dual_gap[-1] <= 1e-4 * best
    assert told.gap("sublbfgs").min() < 0.01
    assert np.nanmin(told["sublbfgs"].dual_gap) > 0.3 * best
