"""What stories about shrinking and memory say of Prox-QN on chains, pictures and a small table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solverscope.app import ui
from solverscope.app.page.cursor_bar import marks
from solverscope.app.views import Rate, Sparsity
from solverscope.app.views.base.run_events import begins
from solverscope.app.views.base.states import RETURNED, STATE_COLORS, states, subset
from solverscope.app.views.search.curvature_memory import Bytes
from solverscope.solvers import ACTIVE, MEMORY, SHRINKING, Trace
from solverscope.solvers.probes.subsets import contains
from tests.app.helpers import curves, drawn
from tests.app.stories.told import Told, claim

CHAINS = 20910


def epochs(trace: Trace) -> np.ndarray:
    """First rows of all epochs but that of the start."""
    return np.flatnonzero(begins(trace.since(None)[0]))[1:]


@claim(
    "shrinking",
    "Three solvers race on a chain CRF over strings of handwritten digits; one of them shrinks its working "
    "set.",
    "Three solvers start together on 20 910 weights.",
    "The thick line of a run counts its non-zeros, the thin one its working set: owl-qn and prox-gd always "
    "work on all weights.",
)
def _(told: Told) -> None:
    setting = told.story.setting.problem
    assert (setting.data, setting.loss) == ("digit-strings", "chain-crf")
    assert told.problem().size == CHAINS
    sizes = [trace.working_set for trace in told.traces()]
    assert [size[0] for size in sizes] == [CHAINS] * 3
    assert [len(set(size.tolist())) > 1 for size in sizes] == [True, False, False]
    view = Sparsity(told["prox-qn"], x="iteration")
    thick, thin = (r.glyph for r in view.figure.y_range.renderers)
    assert (thick.y, thin.y, thick.line_width > thin.line_width) == ("y", "working_set", True)


@claim(
    "shrinking",
    "Follow prox-qn's thin line, its working set: it falls until it lies on the thick one, its non-zeros, "
    "with fewer than 400 of 20 910 weights.",
    "prox-qn ends with a gap below 1e-6 and fewer than 400 non-zeros.",
    "Its last working sets held fewer than 400 weights.",
)
def _(told: Told) -> None:
    trace, _ = told.step(6)
    ends = trace.working_set[epochs(trace) - 1]
    assert (np.diff(ends[:4]) < 0).all()
    last = trace.epoch >= trace.epoch[-1] - 1
    assert trace.working_set[last].max() < 400
    assert (trace.working_set[last] <= 1.02 * trace.nnz[last]).all()
    assert trace.status == "converged"
    assert told.gap("prox-qn")[-1] < 1e-6


@claim(
    "shrinking",
    "Find where the shading changes: an epoch begins there with a look at all weights, the vertical line.",
    "A diamond marks weights that shrinking had missed.",
    "Epoch 1 begins, and with it a shaded band.",
    "All weights come back for one look; the newest curvature pairs are kept.",
    "One iteration later some weights that shrinking had missed are non-zero: the diamond.",
)
def _(told: Told) -> None:
    (trace, begin), (_, back) = told.step(3), told.step(4)
    view, at = Sparsity(trace, x="iteration"), epochs(trace)
    bands, looks, diamonds = (drawn(view.figure, name).data for name in ("x0", "high", "n"))
    np.testing.assert_array_equal(
        sorted([*bands["x0"], *bands["x1"]]), trace.iteration[at][: 2 * len(bands["x0"])]
    )
    np.testing.assert_array_equal(looks["x"], trace.iteration[at])
    assert set(looks["high"]) == {CHAINS}
    for k in at:
        _, seen = trace.probes.last(SHRINKING.name, int(trace.iteration[k]))
        assert int(seen["tested"]) == CHAINS
    assert (begin, trace.epoch[begin], back) == (at[0], 1, begin + 1)
    before, after = (
        trace.probes.last(MEMORY.name, int(trace.iteration[row]))[1]["SS"] for row in (begin - 1, begin)
    )
    kept = len(after) - 1  # the last one came in with the first step of the epoch
    assert 1 < kept <= len(before)
    np.testing.assert_array_equal(after[:kept, :kept], before[-kept:, -kept:])
    told_of = [k for k, kind, _ in marks(trace.since(None)[0]) if kind == "return"]
    assert told_of == list(diamonds["x"])
    assert told_of[0] == trace.iteration[back]


@claim(
    "shrinking",
    "Compare the thick lines: owl-qn reaches a good objective too, but with many more non-zeros on the way.",
)
def _(told: Told) -> None:
    sparse, dense = told["prox-qn"], told["owl-qn"]
    assert told.gap("owl-qn")[-1] < 1e-3
    for gap in (1e-2, 1e-3):
        at = told.work("prox-qn", gap, "cpu_seconds")
        assert dense.nnz[np.searchsorted(dense.cpu_seconds, at)] > 1.3 * sparse.nnz[told.row("prox-qn", gap)]


@claim(
    "shrinking",
    "Here prox-qn works on fewer than half of the weights for the first time.",
    "Each weight that left was zero, and its gradient was below λ.",
)
def _(told: Told) -> None:
    (trace, row), problem = told.step(2), told.problem()
    assert trace.working_set[row] < CHAINS / 2 <= trace.working_set[:row].min()
    for k in trace.iteration[1 : row + 1].tolist():
        test, active = (trace.probes.last(probe.name, k)[1] for probe in (SHRINKING, ACTIVE))
        left = contains(subset(active, "inside"), test["members"]) == 0
        assert left.any() or k > 1
        assert np.abs(test["gradient"][left]).max(initial=0.0) < problem.lam
        assert not contains(subset(active, "support"), test["members"][left]).any()


@claim("shrinking", "On the map they are orange.")
def _(told: Told) -> None:
    trace, row = told.step(4)
    k = int(trace.iteration[row])
    back = trace.probes.last(SHRINKING.name, k)[1]["returned"]
    assert (states(trace, k, back) == RETURNED).all()
    red, green, blue = bytes.fromhex(STATE_COLORS[RETURNED].lstrip("#")[:6])
    assert red > green > blue
    assert STATE_COLORS[RETURNED] in ui.COLORS


@claim(
    "shrinking",
    "Its memory is small as well: the curvature pairs have a row for each weight of the working set alone.",
    "Here that is less than a tenth of all weights.",
)
def _(told: Told) -> None:
    trace, row = told.step(5)
    _, seen = trace.probes.last(MEMORY.name, int(trace.iteration[row]))
    assert int(seen["working_set"]) == trace.working_set[row] < 0.1 * CHAINS
    assert len(seen["SS"]) == trace.memory_pairs[row] > 5


@claim("memory", "One solver four times, with a memory of 1, 3, 10 and 50 curvature pairs.")
def _(told: Told) -> None:
    entrants = told.story.setting.entrants
    assert len({entrant.id for entrant in entrants}) == 1
    assert [entrant.make().memory for entrant in entrants] == [1, 3, 10, 50]


@claim(
    "memory",
    "Count iterations: the four runs differ only in how many pairs (s, y) the matrix B is built from.",
)
def _(told: Told) -> None:
    solvers = [entrant.make() for entrant in told.story.setting.entrants]
    assert len({replace(solver, memory=10) for solver in solvers}) == 1
    assert told.story.view["x"] == "iteration"


@claim(
    "memory",
    "Ten pairs need less than half the iterations of one pair, and fifty less than three quarters of those "
    "of ten.",
)
def _(told: Told) -> None:
    one, three, ten, fifty = told.traces()
    assert {t.status for t in told.traces()} == {"converged"}
    assert len(one) > len(three) > len(ten)
    assert ten.iteration[-1] < 0.5 * one.iteration[-1]
    assert fifty.iteration[-1] < 0.75 * ten.iteration[-1]


@claim(
    "memory",
    "Open the tab Memory: the memory empties where an epoch of shrinking begins.",
    "Until then it never holds thirty pairs, so room for more than fifty would change nothing.",
)
def _(told: Told) -> None:
    for trace in told.traces():
        assert (trace.memory_pairs[epochs(trace)] == 0).all()
    assert 10 < told["fifty"].memory_pairs.max() < 30


@claim("forgetting", "The same proximal quasi-Newton method with and without shrinking.")
def _(told: Told) -> None:
    params = [entrant.params for entrant in told.story.setting.entrants]
    assert params == [{}, {"shrinking": False}]
    assert set(told["all weights"].working_set.tolist()) == {told.problem().size}


@claim(
    "forgetting",
    "Both runs come within 1e-4 of the same optimum: weights left out by mistake come back after an epoch "
    "begins.",
)
def _(told: Told) -> None:
    assert max(told.gap(label)[-1] for label in told.labels) < 1e-4
    trace = told["shrinking"]
    back = np.flatnonzero(trace.returned > 0)
    assert back.size
    assert (trace.epoch[back] >= 1).all()


@claim(
    "forgetting",
    "Count passes over the data: to a gap of 1e-4 shrinking needs less than half of those of all weights.",
)
def _(told: Told) -> None:
    few, all_ = (told.work(label, 1e-4, "passes") for label in told.labels)
    assert few < 0.5 * all_


@claim(
    "forgetting",
    "Open the tab Shrinking: from iteration 50 on the working set is less than a twentieth of all weights.",
)
def _(told: Told) -> None:
    trace = told["shrinking"]
    assert trace.working_set[trace.iteration >= 50].max() < 0.05 * told.problem().size


@claim(
    "q-memory",
    "One quasi-Newton method with room for ten and for forty curvature pairs on a shrinking working set, "
    "and for thirty on all weights.",
)
def _(told: Told) -> None:
    solvers = [entrant.make() for entrant in told.story.setting.entrants]
    assert [(s.memory, s.shrinking) for s in solvers] == [(10, True), (40, True), (30, False)]
    assert not any(s.keep_pairs for s in solvers[:2])


@claim(
    "q-memory",
    "Open the tab Memory: each pair adds two columns to the matrix Q, with a row for each weight of the "
    "working set.",
    "The thin line shows the megabytes for all 20 910 weights.",
)
def _(told: Told) -> None:
    trace = told["forty"]
    (curve,) = curves(Bytes(trace, x="iteration").figure)
    for name, rows in (("y", trace.working_set), ("whole", CHAINS)):
        wanted = 2.0 * 8.0 * trace.memory_pairs * rows / 1e6
        np.testing.assert_allclose(curve.data[name], np.where(wanted > 0, wanted, np.nan), rtol=1e-6)


@claim(
    "q-memory",
    "Compare forty with all weights: its pairs never take a sixth of the megabytes, and it comes to a gap "
    "of 1e-4 in fewer iterations.",
)
def _(told: Told) -> None:
    forty, whole = (np.max(t.memory_pairs * t.working_set) for t in (told["forty"], told["all weights"]))
    assert forty < whole / 6
    assert told["forty"].memory_pairs.max() > 20
    iterations = [told.work(label, 1e-4, "iteration") for label in ("forty", "ten", "all weights")]
    assert iterations[0] < iterations[1] < iterations[2]


@claim("q-memory", "The memory empties where an epoch of shrinking begins, and fills again.")
def _(told: Told) -> None:
    for label in ("ten", "forty"):
        trace = told[label]
        at = epochs(trace)
        assert (trace.memory_pairs[at] == 0).all()
        assert (trace.working_set[at[1:3]] < 0.5 * trace.working_set[at[:2]]).all()


def rates(told: Told) -> list[tuple[np.ndarray, np.ndarray]]:
    """The last five rates that are drawn of each run, and whether their steps are drawn as unit steps."""
    found = []
    for trace in told.traces():
        curve = curves(Rate(trace).figure)[0].data
        last = np.flatnonzero(np.isfinite(curve["y"]))[-5:]
        found.append((np.array(curve["y"])[last], np.array(curve["unit"])[last]))
    return found


@claim(
    "superlinear",
    "Proximal quasi-Newton with all of its curvature pairs and with the last ten, and up to 2 000 sweeps "
    "over the inner problem.",
)
def _(told: Told) -> None:
    solvers = [entrant.make() for entrant in told.story.setting.entrants]
    assert [(s.memory, s.max_inner, s.balance) for s in solvers] == [("full", 2000, "off"), (10, 2000, "off")]
    assert max(trace.inner_iterations.max() for trace in told.traces()) == 2000


@claim(
    "superlinear",
    "Open the tab Rate: it shows which share of the distance to the optimum each iteration leaves.",
)
def _(told: Told) -> None:
    trace = told["all pairs"]
    curve, away = curves(Rate(trace).figure)[0].data, trace.objective - told.f_star
    np.testing.assert_allclose(curve["y"][1:9], away[1:9] / away[:8], rtol=1e-5)


@claim(
    "superlinear",
    "all pairs: the rate falls towards 0 in the last iterations.",
    "That is superlinear convergence, Theorem 1 of Zhong et al. 2014.",
    "ten pairs: the rate goes up and down, and stays above 0.1 at the end.",
    "The last steps of all pairs are unit steps, drawn as filled dots.",
)
def _(told: Told) -> None:
    (falling, steps), (trendless, _) = rates(told)
    assert (np.diff(falling) < 0).all()
    assert falling[-1] < 0.1
    assert (steps == 1.0).all()
    assert not (np.diff(trendless) < 0).all()
    assert trendless.min() > 0.1


@claim(
    "shrinking",
    "How many of the 20 910 weights will be non-zero when prox-qn ends?",
    "At the optimum a weight is non-zero only if its gradient is as large as λ, and more than nine in ten "
    "gradients are smaller.",
)
def _(told: Told) -> None:
    trace, problem = told["prox-qn"], told.problem()
    assert told.truth().value == np.count_nonzero(trace.w) < 400
    assert told.story.ask.high == problem.size == CHAINS
    g = np.abs(problem.at(trace.w).gradient())
    assert g[trace.w != 0].min() > 0.999 * problem.lam
    assert (g < 0.999 * problem.lam).mean() > 0.9


@claim(
    "memory",
    "How many iterations will ten pairs take to the end, compared with one pair?",
    "Ten pairs tell B how the gradient changes along ten directions, one pair along one alone.",
)
def _(told: Told) -> None:
    truth = told.truth()
    assert truth.right == ("fewer than half",)
    assert truth.value == told["ten"].iteration[-1] / told["one pair"].iteration[-1] < 0.5
    assert [told[label].memory_pairs.max() for label in ("ten", "one pair")] == [10, 1]


@claim(
    "forgetting",
    "How many passes over the data will shrinking take to a gap of 1e-4, compared with all weights?",
    "It takes less than half as many iterations.",
    "Near the end each goes through fewer columns of the data, and costs less than two thirds of an "
    "iteration on all weights.",
)
def _(told: Told) -> None:
    truth = told.truth()
    assert truth.right == ("less than half",)
    assert truth.values == {label: told.work(label, 1e-4, "passes") for label in told.labels}
    few, all_ = (told.work(label, 1e-4, "iteration") for label in told.labels)
    assert few < 0.5 * all_
    few, all_ = (np.median(np.diff(told[label].passes)[-20:]) for label in told.labels)
    assert few < 2 / 3 * all_


def missed(told: Told) -> np.ndarray:
    """Weights of the optimum that the run lacks in which none comes back."""
    return np.flatnonzero((told["looking back"].w != 0) & (told["never back"].w == 0))


@claim(
    "wrong-guess",
    "One solver twice: one run looks at all weights at the end of each epoch, the other never looks back.",
    "Two runs of one solver start on 20 910 weights.",
    "Both leave out weights that are zero and seem to stay so.",
    "looking back ends its first epoch with a look at all weights.",
    "Until here both runs were the same, to the last bit.",
)
def _(told: Told) -> None:
    assert [entrant.params for entrant in told.story.setting.entrants] == [{}, {"look_back": False}]
    back, never = told.traces()
    assert back.working_set[0] == never.working_set[0] == CHAINS
    (_, begins) = told.step(3)
    for column in ("objective", "nnz", "step"):
        np.testing.assert_array_equal(back[column][: begins + 1], never[column][: begins + 1])
    np.testing.assert_array_equal(back.working_set[:begins], never.working_set[:begins])
    assert back.working_set[begins] < CHAINS, "its next direction is one of fewer again"
    test = back.probes.last(SHRINKING.name, int(back.iteration[begins]))[1]
    assert int(test["tested"]) == CHAINS
    assert (np.diff(never.working_set) <= 0).all()
    assert (never.epoch == 0).all()


@claim(
    "wrong-guess",
    "Here never back works on less than a tenth of the weights for the first time.",
    "Each weight that left was zero, and its gradient was below λ.",
)
def _(told: Told) -> None:
    trace, row = told.step(2)
    assert trace.working_set[row] < CHAINS / 10 <= trace.working_set[:row].min()
    for k in trace.iteration[1 : row + 1].tolist():
        test, active = (trace.probes.last(probe.name, k)[1] for probe in (SHRINKING, ACTIVE))
        left = contains(subset(active, "inside"), test["members"]) == 0
        assert np.abs(test["gradient"][left]).max(initial=0.0) < told.problem().lam
        assert not contains(subset(active, "support"), test["members"][left]).any()


@claim(
    "wrong-guess",
    "One iteration later some weights that looking back had left out are non-zero, orange on the map.",
    "never back does not get them back.",
)
def _(told: Told) -> None:
    (trace, begins), (_, row) = told.step(3), told.step(4)
    assert row == begins + 1
    back = trace.probes.last(SHRINKING.name, int(trace.iteration[row]))[1]["returned"]
    assert len(back) > 0
    assert (states(trace, int(trace.iteration[row]), back) == RETURNED).all()
    never = told["never back"]
    assert (never.returned <= 0).all()
    assert not never.w[back].any()


@claim(
    "wrong-guess",
    "Compare the gaps: never back stays about a ten-thousandth of f* too high, looking back comes below "
    "1e-6.",
    "never back ends at the optimum of the weights that it has left, about a ten-thousandth of f* too high.",
    "never back is at the optimum of the weights that it has left, but lacks more than fifteen weights of "
    "the optimum of all.",
    "looking back ends with a gap below 1e-6, and with more than fifteen weights that never back lacks.",
    "How high will f of never back be at its end, compared with looking back?",
)
def _(told: Told) -> None:
    assert told.gap("looking back")[-1] < 1e-6
    assert 0.5e-4 < told.gap("never back")[-1] < 2e-4
    assert told.truth().right == ("up to a thousandth higher",)
    assert len(missed(told)) > 15
    trace, problem = told["never back"], told.problem()
    asked = told.story.setting.limits.tol * problem.violation_at_zero()
    on = trace.w != 0
    g = problem.at(trace.w).gradient()[on]
    assert np.abs(g + problem.lam * np.sign(trace.w[on])).max() <= asked


@claim(
    "wrong-guess",
    "Over all weights its violation is more than a thousand times the tolerance, so its run is called "
    "stalled: put the pointer on the word to read more.",
    "A weight is left out because its gradient is below λ at that iterate, and gradients still change.",
    "At the end some weights that are left out have gradients above λ, and should not be zero.",
)
def _(told: Told) -> None:
    trace, problem = told["never back"], told.problem()
    asked = told.story.setting.limits.tol * problem.violation_at_zero()
    violation = problem.at(trace.w).violation()
    assert trace.result["violation"] == violation > 1000 * asked
    assert trace.status == "stalled"
    assert f"over all weights the violation is {violation:.3g}" in trace.message
    g = np.abs(problem.at(trace.w).gradient())
    above = np.flatnonzero((trace.w == 0) & (g > problem.lam))
    assert np.isin(above, missed(told)).any()
