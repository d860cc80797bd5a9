"""What stories about line searches, subgradients and the hinge of many classes say."""

from __future__ import annotations

import numpy as np

from solverscope import solvers
from solverscope.app.views import LineSearch
from solverscope.app.views.base.cursor import Cursor
from solverscope.solvers import LINE, Stopping, Trace
from solverscope.solvers.probes.study import Study
from solverscope.solvers.search.line_search import Armijo
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
    "Each dot on φ is a breakpoint, where a sample passes its margin and the slope jumps.",
    "The search ends where the slope crosses zero.",
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
    "subL-BFGS ends on a breakpoint in more than nine in ten searches: press Zoom to the kink to see the "
    "slope jump across zero.",
    "L-BFGS stalls before iteration 60, more than 1 % too high: at a kink the direction of one subgradient "
    "may lead upwards.",
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


@claim("exact-search", "Set λ to 10 and press Run: now most searches end between two breakpoints.")
def _(told: Told) -> None:
    limits = told.story.setting.limits
    stopping = Stopping(tol=limits.tol, max_seconds=limits.max_seconds)
    solver = told.entrant("subL-BFGS").make().with_tol(limits.tol)
    trace = solvers.Run(told.problem().at_lam(10.0), solver, stopping=stopping, probes=(LINE,)).execute()
    assert on_breakpoints(trace) < 0.5
    assert len(searches(trace)) < 0.1 * len(searches(told["subL-BFGS"]))


def accepted_at_once(told: Told, sigma: float) -> float:
    """The share of searches whose first step Armijo's rule with this σ would take."""
    problem = told.problem()
    return float(
        np.mean([Study(problem, s).armijo(Armijo(sigma=sigma)).trials == 1 for s in searches(told["lax"])])
    )


@claim(
    "armijo",
    "L-BFGS with a lax and with a strict Armijo rule, and a slider that tries other rules on the same "
    "search.",
    "Click on a bar of the tab Line search: circles on φ are the steps tried, in their order.",
    "The first that is not above the dashed line is taken.",
    "lax asks for a ten-thousandth of the promised decrease, and takes its first step in more than nine in "
    "ten searches.",
)
def _(told: Told) -> None:
    sigma = {label: told.entrant(label).make().sigma for label in told.labels}
    assert sigma == {"lax": 1e-4, "strict": 0.5}
    for trace in told.traces():
        for seen in searches(trace):
            allowed = seen["phi"] <= seen["allowed"]
            assert allowed.tolist() == [False] * (len(allowed) - 1) + [True]
    assert np.mean(told["lax"].ls_trials[1:] == 1) > 0.9


@claim("armijo", "Turn σ up: the dashed line gets steeper, and at 0.9 no first step would be taken.")
def _(told: Told) -> None:
    assert Study(told.problem(), searches(told["lax"])[5]).promised < 0.0, (
        "the line is as steep as σ times this"
    )
    assert accepted_at_once(told, 0.4) > 0.75
    assert accepted_at_once(told, 0.9) == 0.0
    t = np.linspace(0.0, 2.0, 101)
    phi = 3.0 - 2.0 * t + t * t
    assert phi.min() == phi[50] == 3.0 + 0.5 * t[50] * -2.0


@claim(
    "armijo",
    "strict asks for half of it, tries more steps a search, and saves fewer than one in five iterations.",
)
def _(told: Told) -> None:
    lax, strict = told.traces()
    assert lax.status == strict.status == "converged"
    assert strict.ls_trials[1:].mean() > 1.2 * lax.ls_trials[1:].mean()
    assert 0.8 * lax.iteration[-1] < strict.iteration[-1] < lax.iteration[-1]


@claim(
    "random-subgradients",
    "Two methods with the shortest subgradients and with random ones: the robustness experiment of Yu et "
    "al. 2010, section 8.4.",
    "owl-qn takes the shortest subgradient at each point, and comes to the minimum.",
    "random is the same method with random subgradients where weights are zero: its search fails about 1 % "
    "above the minimum, and the run is over.",
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
    "star finds its directions by Algorithm 2, and comes within 2e-4 of the minimum, also with random "
    "subgradients.",
    "Choose inner iterations in the tab Record: random subgradients cost Algorithm 2 at least a fifth more "
    "of them.",
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
    "To within 50 % of the minimum sublbfgs needs half the iterations of ls-bmrm.",
    "At 10 % they are level, and to 2 % ls-bmrm needs little more than half of them.",
    "both begins as sublbfgs, and goes over to cutting planes where f falls slowly: it is as fast early, "
    "and nearly as fast late.",
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
    "Compare the dual gaps in the tab Record: that of ls-bmrm proves its f to 1e-4, that of sublbfgs next "
    "to nothing, though its f is within 1 %.",
)
def _(told: Told) -> None:
    best = told["ls-bmrm"].objective[-1]
    assert told["ls-bmrm"].dual_gap[-1] <= 1e-4 * best
    assert told.gap("sublbfgs").min() < 0.01
    assert np.nanmin(told["sublbfgs"].dual_gap) > 0.3 * best


def landed(told: Told) -> tuple[Study, float]:
    """φ of the search that the story asks about, and the step that its run took."""
    trace, ask = told[told.story.ask.run], told.story.ask
    return Study(told.problem(), trace.probes.last(LINE.name, ask.search)[1]), told.truth().value


@claim(
    "exact-search",
    "Where will subL-BFGS's exact search for iteration 6 end?",
    "An exact search ends where φ is least.",
    "Here that is a breakpoint: φ turns upwards there in a kink.",
)
def _(told: Told) -> None:
    study, t = landed(told)
    ask = told.story.ask
    assert t == told["subL-BFGS"].step[6]
    assert ask.low < t < ask.high
    assert study.phi(t) <= min(map(study.phi, np.linspace(ask.low, ask.high, 201)))
    assert t in study.segment
    assert study.slope(t, -1) < 0.0 < study.slope(t, 1)


@claim(
    "armijo",
    "Which step will lax take in its search for iteration 6?",
    "Armijo's rule does not look for the least f.",
    "It tries t = 1 first, and takes it, because f is below the dashed line there.",
)
def _(told: Told) -> None:
    study, t = landed(told)
    ask = told.story.ask
    assert t == study.tried[0] == 1.0 < ask.high
    assert min(map(study.phi, np.linspace(ask.low, ask.high, 41))) < study.phi(1.0)
    assert study.phi(1.0) < study.start + told.entrant("lax").make().sigma * study.promised


@claim(
    "random-subgradients",
    "Which run will end farthest above the minimum?",
    "Where weights are zero, the direction of a random subgradient need not descend, and then the search "
    "finds no step.",
)
def _(told: Told) -> None:
    truth, trace = told.truth(), told["random"]
    assert truth.right == ("random",)
    assert truth.value - told.f_star > 10 * (truth.values["star random"] - told.f_star)
    assert (trace.w == 0).any()
    assert trace.status == "stalled"


@claim(
    "early-bird",
    "Which solver will take the fewest iterations to come within 2 % of the minimum?",
    "ls-bmrm keeps all its cuts, and by then its model of f is good: its bound is tighter than that of "
    "sublbfgs ever gets.",
)
def _(told: Told) -> None:
    truth = told.truth()
    assert truth.right == ("ls-bmrm",)
    assert truth.values == {label: told.work(label, 0.02, "iteration") for label in told.labels}
    assert told["ls-bmrm"].dual_gap[told.row("ls-bmrm", 0.02)] < np.nanmin(told["sublbfgs"].dual_gap)
