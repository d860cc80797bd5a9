"""What stories about shrinking and memory say of Prox-QN on chains, pictures and a small table."""

from __future__ import annotations

import numpy as np

from app import theme
from app.page.cursor_bar import marks
from app.views import Rate, Sparsity
from app.views.base.run_events import begins
from app.views.base.states import COLORS, RETURNED, states, subset
from app.views.search.curvature_memory import Bytes
from solvers import ACTIVE, MEMORY, SHRINKING, Trace
from solvers.probes.subsets import contains
from tests.app.helpers import curves, drawn
from tests.app.stories.told import Told, claim

CHAINS = 20910


def epochs(trace: Trace) -> np.ndarray:
    """First rows of all epochs but that of the start."""
    return np.flatnonzero(begins(trace.since(None)[0]))[1:]


@claim(
    "shrinking",
    "Three solvers race on a chain CRF over strings of handwritten digits; one of them works on ever fewer "
    "weights.",
    "Three solvers start together on 20 910 weights.",
    "The thick line of a run counts its non-zeros, the thin one the weights that it works on: of owl-qn and "
    "prox-gd these are always all.",
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
    "prox-qn's thin line, its working set, falls until it lies on the thick one, its non-zeros: in the end "
    "it works on fewer than 400 of 20 910 weights.",
    "At its end prox-qn has the optimum to a gap below 1e-6, with fewer than 400 non-zeros, and its last "
    "sets had no more than 400 weights.",
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
    "At each edge of the shading an epoch begins: all weights come back for one look, and the thin line goes "
    "up to them.",
    "A diamond marks weights that had been missed.",
    "A shaded band begins: epoch 1.",
    "All weights come back for one look, and the memory of the pairs is cleared.",
    "One iteration later some weights are not zero that shrinking had missed: the diamond.",
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
        assert "memory-cleared" in trace.events[k]
    assert (begin, trace.epoch[begin], back) == (at[0], 1, begin + 1)
    told_of = [k for k, kind, _ in marks(trace.since(None)[0]) if kind == "return"]
    assert told_of == list(diamonds["x"])
    assert told_of[0] == trace.iteration[back]


@claim("shrinking", "owl-qn reaches a good objective too, but carries many more non-zeros on the way.")
def _(told: Told) -> None:
    sparse, dense = told["prox-qn"], told["owl-qn"]
    assert told.gap("owl-qn")[-1] < 1e-3
    for gap in (1e-2, 1e-3):
        at = told.work("prox-qn", gap, "cpu_seconds")
        assert dense.nnz[np.searchsorted(dense.cpu_seconds, at)] > 1.3 * sparse.nnz[told.row("prox-qn", gap)]


@claim(
    "shrinking",
    "Here prox-qn works on less than half of the weights for the first time.",
    "Those that left were zero, and their gradients were below λ.",
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
    red, green, blue = bytes.fromhex(COLORS[RETURNED].lstrip("#")[:6])
    assert red > green > blue
    assert COLORS[RETURNED] in theme.COLORS


@claim(
    "shrinking",
    "What it remembers is small as well: its pairs have a row for each weight of the working set, not for "
    "all.",
    "At this iterate that is less than a tenth of all weights.",
)
def _(told: Told) -> None:
    trace, row = told.step(5)
    _, seen = trace.probes.last(MEMORY.name, int(trace.iteration[row]))
    assert int(seen["working_set"]) == trace.working_set[row] < 0.1 * CHAINS
    assert len(seen["SS"]) == trace.memory_pairs[row] > 5


@claim("memory", "One solver four times, remembering 1, 3, 10 and 50 pairs of its last steps.")
def _(told: Told) -> None:
    entrants = told.story.setting.entrants
    assert len({entrant.id for entrant in entrants}) == 1
    assert [entrant.make().memory for entrant in entrants] == [1, 3, 10, 50]


@claim(
    "memory",
    "Count iterations, not seconds: every curve is the same method, only the matrix B it steps with is built "
    "from fewer or more pairs (s, y), on B₀ = γI and with the sweeps of the paper.",
)
def _(told: Told) -> None:
    solvers = [entrant.make() for entrant in told.story.setting.entrants]
    assert {(s.diagonal, s.balance) for s in solvers} == {
        ("off", s.presets["paper"]["balance"]) for s in solvers
    }
    assert told.story.view["x"] == "iteration"


@claim(
    "memory",
    "Ten pairs come to the end in less than half the iterations of one pair, fifty in less than three "
    "quarters of those of ten.",
)
def _(told: Told) -> None:
    one, three, ten, fifty = told.traces()
    assert {t.status for t in told.traces()} == {"converged"}
    assert len(one) > len(three) > len(ten)
    assert ten.iteration[-1] < 0.5 * one.iteration[-1]
    assert fifty.iteration[-1] < 0.75 * ten.iteration[-1]


@claim(
    "memory",
    "The tab Memory shows how it fills, and empties where an epoch of shrinking begins: before it holds "
    "thirty pairs, so that more than fifty would change nothing.",
)
def _(told: Told) -> None:
    for trace in told.traces():
        assert (trace.memory_pairs[epochs(trace)] == 0).all()
    assert 10 < told["fifty"].memory_pairs.max() < 30


@claim("forgetting", "The same proximal quasi-Newton method with and without its shrinking working set.")
def _(told: Told) -> None:
    params = [entrant.params for entrant in told.story.setting.entrants]
    assert params == [{}, {"shrinking": False}]
    assert set(told["all weights"].working_set.tolist()) == {told.problem().size}


@claim(
    "forgetting",
    "Both come within 1e-4 of the same optimum: what shrinking forgets wrongly comes back after an epoch "
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
    "Against passes over the data the shrinking solver is done to a gap of 1e-4 with less than half of the "
    "work.",
)
def _(told: Told) -> None:
    few, all_ = (told.work(label, 1e-4, "passes") for label in told.labels)
    assert few < 0.5 * all_


@claim(
    "forgetting",
    "The tab Shrinking shows the working set: from iteration 50 on it is less than a twentieth of all "
    "weights.",
)
def _(told: Told) -> None:
    trace = told["shrinking"]
    assert trace.working_set[trace.iteration >= 50].max() < 0.05 * told.problem().size


@claim(
    "q-memory",
    "One quasi-Newton method with room for ten and for forty pairs on a shrinking working set, and for "
    "thirty on all weights.",
)
def _(told: Told) -> None:
    solvers = [entrant.make() for entrant in told.story.setting.entrants]
    assert [(s.memory, s.shrinking) for s in solvers] == [(10, True), (40, True), (30, False)]


@claim(
    "q-memory",
    "Every pair adds two columns to the matrix Q, with a row for each weight in the working set: the tab "
    "Memory shows its megabytes, and as a thin line what all 20 910 weights would take.",
)
def _(told: Told) -> None:
    trace = told["forty"]
    (curve,) = curves(Bytes(trace, x="iteration").figure)
    for name, rows in (("y", trace.working_set), ("whole", CHAINS)):
        wanted = 2.0 * 8.0 * trace.memory_pairs * rows / 1e6
        np.testing.assert_allclose(curve.data[name], np.where(wanted > 0, wanted, np.nan), rtol=1e-6)


@claim(
    "q-memory",
    "With room for forty, the pairs on the working set never take a sixth of what those on all weights do, "
    "and come to a gap of 1e-4 in fewer iterations.",
)
def _(told: Told) -> None:
    forty, whole = (np.max(t.memory_pairs * t.working_set) for t in (told["forty"], told["all weights"]))
    assert forty < whole / 6
    assert told["forty"].memory_pairs.max() > 20
    iterations = [told.work(label, 1e-4, "iteration") for label in ("forty", "ten", "all weights")]
    assert iterations == sorted(iterations)


@claim(
    "q-memory",
    "The memory empties where an epoch of shrinking begins, and fills again, at first on less than half the "
    "set each time.",
)
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
    "Proximal quasi-Newton with all of its pairs and with the last ten, and up to 2 000 sweeps over the "
    "inner problem.",
)
def _(told: Told) -> None:
    solvers = [entrant.make() for entrant in told.story.setting.entrants]
    assert [(s.memory, s.max_inner, s.balance) for s in solvers] == [("full", 2000, "off"), (10, 2000, "off")]
    assert max(trace.inner_iterations.max() for trace in told.traces()) == 2000


@claim(
    "superlinear",
    "The tab Rate shows by how much each iteration shortens the distance to the optimum: 0.5 halves it.",
)
def _(told: Told) -> None:
    trace = told["all pairs"]
    curve, away = curves(Rate(trace).figure)[0].data, trace.objective - told.f_star
    np.testing.assert_allclose(curve["y"][1:9], away[1:9] / away[:8], rtol=1e-5)


@claim(
    "superlinear",
    "With all pairs kept the rate falls towards 0 in the last iterations: that is superlinear convergence, "
    "Theorem 1 of Zhong et al. 2014.",
    "With ten pairs it goes up and down without such a trend.",
    "The steps of the tail are unit steps, drawn as filled dots.",
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
    "How many of the 20 910 weights will be other than zero where prox-qn ends?",
    "At the optimum a weight can be other than zero only where its gradient is as large as λ, and more than "
    "nine of ten gradients are smaller.",
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
    "With ten pairs B has learned how the gradient changes along ten directions, with one pair along one "
    "alone.",
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
    "Near the end each of them goes through fewer columns of the data, and costs less than two thirds of "
    "one on all weights.",
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
    "One solver twice: with all weights back at the end of each epoch, and with weights that never come "
    "back.",
    "Two runs of one solver start on 20 910 weights.",
    "Both leave out weights that are zero and look as if they stayed so.",
    "Until the first epoch ends the two runs are the same, to the last bit.",
    "An epoch of looking back ends: all weights come back for one look.",
    "Until here both runs were the same.",
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
    "One iteration later looking back has weights other than zero that it had left out, orange on the map.",
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
    "Look at the gap: never back stays about a ten-thousandth of f* too high, and looking back comes below "
    "1e-6.",
    "never back ends at the optimum of the weights that it has left, about a ten-thousandth of f* too high.",
    "never back is at the optimum of the weights that it has left, to the tolerance that was asked for.",
    "It lacks more than fifteen weights of the optimum of all.",
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
    "Over all weights its largest violation is more than a thousand times what was asked for.",
    "So its run is called stalled, and not converged: put the pointer on the word to read how far off it is.",
    "A weight is left out because its gradient is below λ at that iterate, and gradients still change.",
    "Where the run ends, some weights that are left out have gradients above λ, and should not be zero.",
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
