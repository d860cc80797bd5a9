"""Claims of the stories about rules of the working set."""

from __future__ import annotations

import numpy as np

from solverscope import solvers
from solverscope.app.page.tabs.path_panel import RATIOS
from solverscope.app.views.base.run_events import returns
from solverscope.app.views.base.states import PROVED, RETURNED, STATE_COLORS, states
from solverscope.app.views.path.solutions import MEMBERS
from solverscope.solvers import SHRINKING, Problem, Trace, log_spaced
from tests.app.stories.told import Told, claim

WORDS = 5_000


def rules(told: Told) -> list[str]:
    return [entrant.make().rule for entrant in told.story.setting.entrants]


def wrong(trace: Trace) -> int:
    """Guesses that were wrong."""
    return int(returns(trace.since(None)[0]).sum())


def codes(trace: Trace, row: int) -> np.ndarray:
    """What each word is at a row of a run."""
    return states(trace, int(trace.iteration[row]), np.arange(WORDS))


@claim(
    "safe-or-bold",
    "One solver with three rules: one drops a word only with a proof, one drops words by a guess and checks "
    "later, one never checks.",
    "Three runs of one solver start on 5 000 words.",
    "After one iteration bold and rash work on fewer than 150 of them.",
)
def _(told: Told) -> None:
    assert rules(told) == ["gap-safe", "zhong", "no-return"]
    assert told.problem().size == WORDS
    trace, row = told.step(1)
    assert trace is told["bold"]
    for label in ("bold", "rash"):
        assert told[label].working_set[0] == WORDS
        assert told[label].working_set[row] < 150
    assert told["rash"].epoch.max() == 0 < told["bold"].epoch.max()


@claim(
    "safe-or-bold",
    "safe has proved fewer than a thousand of 5 000 words to be zero after twenty iterations, bold works on "
    "fewer than 150 after the first.",
    "After twenty iterations safe still works on more than 4 000 words.",
    "Those that it has proved to be zero are green on the map.",
)
def _(told: Told) -> None:
    trace, row = told.step(2)
    assert trace.iteration[row] == 20
    assert 4_000 < trace.working_set[row] < WORDS
    assert np.count_nonzero(codes(trace, row) == PROVED) == WORDS - trace.working_set[row]
    red, green, blue = bytes.fromhex(STATE_COLORS[PROVED].lstrip("#")[:6])
    assert green > blue > red
    assert told["bold"].working_set[1] < 150


@claim(
    "safe-or-bold",
    "As the gap falls the ball shrinks, and with it the number of words that it touches: here fewer than "
    "half are left.",
    "The ball of the proof is as wide as the gap allows.",
    "Far from the optimum it touches nearly every constraint, and nearly every word has to stay.",
)
def _(told: Told) -> None:
    trace, row = told.step(3)
    seen = [test for _, test in trace.probes.entries(SHRINKING.name)]
    radius, gap = (np.array([float(test[name]) for test in seen]) for name in ("radius", "gap"))
    assert (np.diff(gap) <= 0).sum() > 0.8 * gap.size
    np.testing.assert_allclose(radius / radius[0], np.sqrt(gap / gap[0]), rtol=1e-2)
    assert trace.working_set[row] < WORDS / 2
    assert trace.working_set[0] > 0.95 * WORDS
    assert (np.diff(trace.working_set) <= 0).all()


@claim(
    "safe-or-bold",
    "bold reaches a gap of 1e-6 with less than a third of the passes of safe.",
    "How many passes over the data will bold take to a gap of 1e-6, compared with safe?",
)
def _(told: Told) -> None:
    assert told.truth().right == ("less than half",)
    assert 3.0 * told.work("bold", 1e-6, "passes") < told.work("safe", 1e-6, "passes")


@claim(
    "safe-or-bold",
    "bold has looked at all words again.",
    "Some that it had left out are non-zero one iteration later: its guesses about them were wrong.",
    "What bold risks: some of its guesses are wrong, and it finds out because it looks at all words again.",
)
def _(told: Told) -> None:
    trace, row = told.step(4)
    (begins,) = np.flatnonzero(np.diff(trace.epoch[: row + 1]))
    assert row == begins + 2
    assert wrong(trace) > 0
    assert np.count_nonzero(codes(trace, row) == RETURNED) == trace.returned[row] > 0


@claim(
    "safe-or-bold",
    "rash does not look, and ends more than a ten-thousandth of f* too high.",
    "rash has made the same guesses and never looked again.",
    "It ends more than a ten-thousandth of f* too high.",
)
def _(told: Told) -> None:
    trace, bold = told["rash"], told["bold"]
    epoch = np.flatnonzero(np.diff(bold.epoch))[0] + 1
    for column in ("objective", "nnz"):
        np.testing.assert_array_equal(trace[column][:epoch], bold[column][:epoch])
    assert trace.status == "stalled"
    assert 1e-4 < told.gap("rash")[-1] < 1e-2
    violation = told.problem().at(trace.w).violation()
    assert violation > 1000 * told.story.setting.limits.tol * told.problem().violation_at_zero()


@claim(
    "safe-or-bold",
    "safe ends at the same optimum as bold, and none of its proofs was wrong.",
    "They came when most of the work was done.",
)
def _(told: Told) -> None:
    safe, bold = told["safe"], told["bold"]
    assert safe.status == bold.status == "converged"
    np.testing.assert_allclose(safe.w, bold.w, atol=1e-3 * np.abs(bold.w).max())
    for row in range(len(safe)):
        assert not bold.w[codes(safe, row) == PROVED].any()
    half = np.flatnonzero(safe.working_set < WORDS / 2)[0]
    assert safe.passes[half] > 0.5 * safe.passes[-1]


@claim(
    "growing",
    "One solver with three rules: one starts with all words and drops some, two start with thirty words and "
    "add more.",
    "growing starts with 30 of 5 000 words and never works on more than 90, shrinking starts with all of "
    "them.",
    "growing starts with the 30 words whose gradients are largest, shrinking with all 5 000.",
)
def _(told: Told) -> None:
    assert rules(told) == ["growing", "growing-dual", "zhong"]
    assert [trace.working_set[0] for trace in told.traces()] == [30, 30, WORDS]
    trace, row = told.step(1)
    assert (row, trace) == (0, told["growing"])
    assert trace.working_set.max() <= 90
    inside = codes(trace, 0) == 1
    g = np.abs(told.problem().at(np.zeros(WORDS)).gradient())
    assert g[inside].min() >= g[~inside].max()


@claim(
    "growing",
    "growing reaches a gap of 1e-2 with less than a third of the passes of shrinking, for which its first "
    "passes over all words are too dear.",
    "How many passes over the data will growing take to a gap of 1e-2, compared with shrinking?",
    "Most words stay at zero, so a set of thirty is enough for the first percent of the way.",
    "An iteration on it costs less than a third of the first one on all words.",
)
def _(told: Told) -> None:
    assert told.truth().right == ("less than half",)
    growing, shrinking = told["growing"], told["shrinking"]
    assert 3.0 * told.work("growing", 1e-2, "passes") < told.work("shrinking", 1e-2, "passes")
    first = np.diff(shrinking.passes)[0]
    assert first > 0.2 * told.work("shrinking", 1e-2, "passes")
    assert np.diff(growing.passes)[0] < first / 3
    assert growing.objective[1] < 0.9 * growing.objective[0]
    assert growing.working_set[1] <= 60


@claim(
    "growing",
    "At a gap of 1e-6 the lead is gone: each look at all words on the way finds some that growing still "
    "lacks.",
    "At its first look at all words growing takes in as many again.",
    "What it lacked until then counts as a wrong guess once it is non-zero.",
)
def _(told: Told) -> None:
    assert told.work("growing", 1e-6, "passes") > 0.9 * told.work("shrinking", 1e-6, "passes")
    trace, row = told.step(2)
    looks = np.flatnonzero(np.diff(trace.epoch)) + 1
    assert trace.working_set[looks[0]] == 2 * trace.working_set[0]
    assert trace.returned[row] > 0
    on_the_way = looks[looks < told.row("growing", 1e-6)]
    assert len(on_the_way) > 1
    assert (trace.returned[on_the_way + 1] > 0).all()


@claim(
    "growing",
    "by the dual chooses by the distance to the constraints of the dual, and drops for ever what it has "
    "proved to be zero.",
)
def _(told: Told) -> None:
    trace, row = told.step(3)
    assert np.count_nonzero(codes(trace, row) == PROVED) > 0
    test = trace.probes.last(SHRINKING.name, int(trace.iteration[row]))[1]
    distance = (float(test["l1"]) - test["centre"]) / test["reach"]
    found = codes(trace, row)[test["members"]]
    zero_inside = distance[found == 1]
    assert zero_inside.max() <= distance[np.isin(found, (0, PROVED))].min() * (1 + 1e-5)


@claim(
    "growing",
    "shrinking is right about most words at once: after one iteration it works on fewer than 150, and only a "
    "few come back.",
    "All three end within a millionth of f*.",
    "growing has guessed wrong more than twenty times, shrinking fewer than five times.",
)
def _(told: Told) -> None:
    trace, row = told.step(4)
    assert trace.working_set[row] < 150
    assert all(told.gap(label)[-1] < 1e-6 for label in told.labels)
    assert wrong(told["growing"]) > 20
    assert 0 < wrong(told["shrinking"]) < 5


def strong_bound(problem: Problem) -> float:
    """Return the gradient at w = 0 below which the strong rule leaves features out."""
    return 2.0 * problem.lam - problem.lam_max


@claim(
    "screening-drops",
    "Lasso on 2 000 features with three rules: strong guesses once which features are zero, safe proves it, "
    "none keeps all.",
    "Open the tab Rules: strong leaves out three quarters of the features before its first step, and then no "
    "more.",
    "strong has screened 2 000 features before its first step, and left out more than 1 500: those with |g| "
    "below 2λ − λmax.",
    "To need one of them, its gradient would have to move by more than λ does.",
)
def _(told: Told) -> None:
    assert [entrant.make().rule for entrant in told.story.setting.entrants] == ["strong", "gap-safe", "none"]
    problem, (strong, row) = told.problem(), told.step(1)
    assert (row, problem.size) == (0, 2_000)
    assert (strong.working_set == strong.working_set[0]).all()
    assert strong.working_set[0] < 500
    assert (told["none"].working_set == 2_000).all()
    kept = next(told.entrant("strong").make().iterate(problem)).live["active"].mask()
    g = np.abs(problem.at().gradient())
    np.testing.assert_array_equal(kept, g >= strong_bound(problem))
    assert (problem.lam - g[~kept] > problem.lam_max - problem.lam).all()


@claim(
    "screening-drops",
    "safe drops none at first.",
    "After one step fewer than 100 are left, at its end only the non-zero ones.",
    "safe has dropped none: at w = 0 the gap is wide, and so is the ball in which the dual optimum is proved "
    "to be.",
    "One step later the gap is less than a fiftieth of what it was.",
    "Fewer than 100 features are left; the others, green on the map, are proved to be zero.",
    "safe ends with eleven features, each of them non-zero.",
    "Each step narrows the ball of safe, which in the end touches the constraints of non-zero features "
    "alone.",
)
def _(told: Told) -> None:
    safe, row = told.step(2)
    assert (row, safe.working_set[0]) == (0, 2_000)
    _, row = told.step(3)
    assert safe.working_set[row] < 100
    assert safe.dual_gap[row] < safe.dual_gap[0] / 50
    found = states(safe, int(safe.iteration[row]), np.arange(2_000))
    assert np.count_nonzero(found == PROVED) == 2_000 - safe.working_set[row]
    _, last = told.step(4)
    assert safe.working_set[last] == np.count_nonzero(safe.w) == 11
    radii = np.array([float(test["radius"]) for _, test in safe.probes.entries(SHRINKING.name)])
    assert radii[0] > 5 * radii[1]
    assert (np.diff(radii) < 0).all()


@claim(
    "screening-drops",
    "Neither rule was wrong: no feature comes back, although strong has no proof.",
    "Which run will work on the fewest features at its end?",
    "strong guesses once, at w = 0.",
    "strong had to look at all features once more when those that it kept had converged.",
    "No other one was needed, but it worked on more than 400 to its end.",
    "none reaches the same optimum, with more than twice the passes of either rule.",
)
def _(told: Told) -> None:
    assert told.truth().right == ("safe",)
    for trace in told.traces():
        assert trace.status == "converged"
        assert trace.returned.max() == 0
        np.testing.assert_allclose(trace.w, told["none"].w, atol=1e-4)
    strong, last = told.step(5)
    assert strong.working_set[last] > 400
    assert np.diff(strong.epoch).tolist() == [0] * (last - 1) + [1]
    none, last = told.step(6)
    assert none.passes[last] > 2 * max(told["strong"].passes[-1], told["safe"].passes[-1])


@claim(
    "screening-drops",
    "Trace the path to 0.1 λmax, and choose Working set at the start: by the third λ safe starts with all "
    "features, strong never with more than 600, since the λ before is near.",
)
def _(told: Told) -> None:
    assert MEMBERS["at the start"] == "members_start"
    lams = log_spaced(told.problem(), last=RATIOS["0.1 λmax"])
    strong, safe = (
        [
            trace.working_set[0]
            for trace in solvers.solve_path(
                told.problem(), told.entrant(label).make(), lams, tol=1e-6, max_seconds=5
            )
        ]
        for label in ("strong", "safe")
    )
    assert safe[2:] == [2_000] * 8
    assert max(strong) <= 600
