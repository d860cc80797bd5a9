"""What stories about rows of W, a tree and dual variables say."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.page.sidebar.run_controls import PACES
from solverscope.app.runs import problem_cache
from solverscope.app.stories import stories
from solverscope.app.views import RowSparsity
from solverscope.app.views.base.states import subset
from solverscope.app.views.shrinking.row_moves import RowMoves
from solverscope.solvers import ACTIVE
from solverscope.solvers.probes.subsets import INSIDE, contains
from tests.app.stories.told import Told, claim

TREE = stories()["tree"]


def long_at_zero(told: Told) -> int:
    """How many words have a gradient at zero that is longer than λ: those that a step along it takes up."""
    problem = told.problem()
    G, _ = problem.unpack(problem.at().gradient())
    return int((np.linalg.norm(G, axis=1) > problem.lam).sum())


@claim(
    "features-die",
    "Block coordinate descent against a full-gradient and a stochastic solver on 2 000 documents, with a "
    "penalty that removes whole words.",
    "Three solvers race on 5 000 words, five iterates a second, with a penalty that removes whole words.",
)
def _(told: Told) -> None:
    problem = told.problem()
    assert told.labels == ["bcd-ls", "fista-ls", "fobos"]
    assert len(problem_cache.load(told.story.setting.problem).train.y) == 2000
    assert problem.design.n_features == 5000
    assert PACES[told.story.view["speed"]] == 5
    for trace in told.traces():
        W, _ = problem.unpack(trace.w)
        assert (W.any(axis=1).sum(), len(W)) == (trace.nnz_rows[-1], 5000)


@claim("features-die", "The plot on the left counts the words that each of them uses.")
def _(told: Told) -> None:
    (share, *_) = RowSparsity(told["bcd-ls"]).parts
    assert share.id == told.story.steps[0].view == "row-share"


@claim(
    "features-die",
    "Open the tab Rows: bcd-ls takes up at most 200 of the 5 000 words in its first pass, and drops most of "
    "them in the next few.",
    "After its first pass bcd-ls uses fewer than 200 words: it updates one word after the other, and each "
    "update sees those before it.",
    "One pass later it has dropped about two in three of them.",
    "bcd-ls has converged, with fewer than 60 words.",
)
def _(told: Told) -> None:
    (trace, first), (_, second), (_, last) = told.step(2), told.step(3), told.step(6)
    assert 0 < trace.nnz_rows[first] < 200
    assert trace.nnz_rows[second] < 0.4 * trace.nnz_rows[first]
    assert trace.nnz_rows[5] < 0.5 * trace.nnz_rows[1]
    moves = RowMoves(trace, int(trace.iteration[second]))
    assert len(moves.left) > 0.6 * trace.nnz_rows[first]
    assert trace.status == "converged"
    assert trace.nnz_rows[last] < 60
    # updates that do not see each other would take up each word whose gradient at zero is longer than λ
    assert trace.nnz_rows[1] < long_at_zero(told) / 4


@claim(
    "features-die",
    "fista-ls takes up over 800 words with its first step.",
    "Where bcd-ls is within 1e-3 of the optimum, it still has three times as many.",
    "fista-ls steps along the whole gradient.",
    "Its first step takes up more than 800 words, and the next ones drop them bit by bit.",
)
def _(told: Told) -> None:
    trace, step = told.step(4)
    assert trace.nnz_rows[step] == long_at_zero(told) > 800
    assert (np.diff(trace.nnz_rows[step : step + 10]) < 0).all()
    bcd, row = told["bcd-ls"], told.row("bcd-ls", 1e-3)
    meanwhile = trace.nnz_rows[trace.passes <= bcd.passes[row]]
    assert meanwhile[1:].min() > 3 * bcd.nnz_rows[row]


@claim(
    "features-die",
    "fobos never has fewer than 500: steps along the gradient of few documents bring words back.",
    "fobos steps along the gradient of few documents at a time, which brings words back: after five passes "
    "it still uses more than 500.",
)
def _(told: Told) -> None:
    trace, fifth = told.step(5)
    assert trace.passes[fifth] == 5
    assert trace.nnz_rows[1:].min() > 500
    seen = {k for move in (RowMoves(trace, k) for k in range(1, 6)) for k in (*move.left, *move.since_start)}
    back = [set(RowMoves(trace, k).entered) & seen for k in range(2, 6)]
    assert all(back), "words that had been in before"


@cache
def four(told: Told) -> dict[str, np.ndarray]:
    """W of each penalty."""
    return {label: told.problem(label).unpack(told[label].w)[0] for label in told.labels}


@claim(
    "four-patterns",
    "Four penalties on the same pictures, with the same loss and the same λ: Figure 1 of Blondel et al. "
    "2013, computed.",
    "Open the tab Rows: it shows the four weight matrices side by side, pixels down and digits across.",
)
def _(told: Told) -> None:
    problems = [told.problem(label) for label in told.labels]
    assert [p.penalty.id for p in problems] == ["l2", "l1", "elastic-net", "l1-l2"]
    assert {(p.lam, p.loss.id) for p in problems} == {(0.02, "multiclass-logistic")}
    assert {W.shape for W in four(told).values()} == {(64, 10)}
    assert {t.status for t in told.traces()} == {"converged"}


@claim("four-patterns", "Ridge sets no weight to zero, except for pixels that are blank in every picture.")
def _(told: Told) -> None:
    W = four(told)["ridge"]
    np.testing.assert_array_equal(~W.any(axis=1), told.problem().design.column_nnz == 0)
    assert (W[W.any(axis=1)] != 0).all()
    assert all(
        np.abs(W).max() < np.abs(other).max() for label, other in four(told).items() if label == "lasso"
    )


@claim(
    "four-patterns",
    "The lasso keeps the fewest weights, but spreads them: most pixels in use have mostly zero weights.",
    "The elastic net keeps more weights and more pixels than the lasso.",
    "The group lasso uses the fewest pixels, each for all ten digits.",
)
def _(told: Told) -> None:
    W = four(told)
    used = {label: matrix[matrix.any(axis=1)] for label, matrix in W.items()}
    weights = {label: np.count_nonzero(matrix) for label, matrix in W.items()}
    assert min(weights, key=weights.get) == "lasso"
    empty = (used["lasso"] == 0).mean(axis=1)
    assert (empty > 0.5).mean() > 0.5
    assert weights["elastic net"] > weights["lasso"]
    assert len(used["elastic net"]) > len(used["lasso"])
    assert len(used["group lasso"]) < min(len(used[label]) for label in used if label != "group lasso")
    assert (used["group lasso"] != 0).all()


@claim(
    "line-search-pays",
    "Block coordinate descent and FISTA, each with a line search (LS) and with steps from Lipschitz "
    "constants (CST).",
)
def _(told: Told) -> None:
    assert told.labels == ["bcd-ls", "bcd-cst", "fista-ls", "fista-cst"]
    for trace in told.traces():
        assert (trace.ls_trials.max() > 0) == trace.info.solver.endswith("-ls")


@claim(
    "line-search-pays",
    "Count passes over the data: fista-cst follows fista-ls some twenty passes later, so much does its "
    "Lipschitz constant cost.",
    "Its steps are as good as those of the search.",
)
def _(told: Told) -> None:
    searched, safe = told["fista-ls"], told["fista-cst"]
    assert 17 < safe.passes[1] - searched.passes[1] < 25
    for gap in (1e-1, 1e-2, 1e-4):
        iterations = [told.work(label, gap, "iteration") for label in ("fista-ls", "fista-cst")]
        assert iterations[0] == pytest.approx(iterations[1], rel=0.1)
        passes = [told.work(label, gap, "passes") for label in ("fista-ls", "fista-cst")]
        assert 15 < passes[1] - passes[0] < 30


@claim(
    "line-search-pays",
    "bcd-ls needs less than two thirds of the passes of bcd-cst, whose steps are safe in the worst case.",
    "In the tab Steps bcd-ls tries hardly more steps in a pass than it has features in use.",
)
def _(told: Told) -> None:
    searched, safe = (told.work(label, 1e-6, "passes") for label in ("bcd-ls", "bcd-cst"))
    assert searched < 2 / 3 * safe
    assert told.entrant("bcd-cst").make().random
    trace = told["bcd-ls"]
    assert trace.ls_trials[1:].sum() < 1.05 * trace.nnz_rows[1:].sum()


@claim(
    "line-search-pays",
    "Choose the loss Multiclass squared hinge, set λ to 0.05 and press Run: now FISTA's search pays too.",
)
def _(told: Told) -> None:
    setting = replace(told.story.setting.problem, loss="multiclass-squared-hinge")
    assert setting.lam == 0.05
    problem = problem_cache.problem(problem_cache.load(setting), setting)
    searched, safe = (
        solvers.solve(problem, solvers.make_solver(id), tol=1e-3) for id in ("fista-ls", "fista-cst")
    )
    for column in ("iteration", "passes"):
        assert searched[column][-1] < 0.7 * safe[column][-1]


@cache
def small_tree() -> tuple[solvers.Problem, solvers.Trace]:
    """A tree with few weights, and a run that begins as one on very many does."""
    setting = TREE.setting.problem
    data = datasets.load(setting.data, seed=setting.seed, n_features=20_000, n_nodes=200, n_leaves=120)
    problem = solvers.make_problem(data, loss=setting.loss, penalty=setting.penalty, lam=setting.lam)
    solver = solvers.make_solver(TREE.setting.entrant.id, shrink_first="on", **TREE.setting.entrant.params)
    return problem, solvers.solve(problem, solver, max_iter=40)


@claim(
    "tree",
    "A tree with 122 million weights",
    "How many of 121 866 804 weights does a solver have to look at?",
    "Prox-QN on synthetic documents in a tree of 2 388 classes, with as many weights as in the paper's "
    "largest experiment.",
    "Have 5 GB of memory free: one vector of all weights takes 1 GB.",
)
def _(told: Told) -> None:
    options = datasets.describe(TREE.setting.problem.data).parse(TREE.setting.problem.options)
    weights = options["n_features"] * options["n_nodes"]
    assert weights == 121_866_804
    assert options["n_leaves"] == 2388 or options["n_nodes"] == 2388
    assert 0.9e9 < 8 * weights < 1.1e9
    assert TREE.setting.entrant.make().dense_vectors + 1 <= 5


@claim(
    "tree",
    "Follow the thin line, the working set: before the first epoch ends it is below one weight in a "
    "thousand.",
    "All weights are looked at only where a shaded band begins.",
    "40 iterations come within 1e-4 of the optimum with fewer than 20 passes over the data.",
    "prox-gd would need at least 40 passes for them.",
)
def _(told: Told) -> None:
    """At its own size in test_tree_story.py; a tenth of the weights have ten times the share."""
    problem, trace = small_tree()
    begins = ["epoch-start" in events for events in trace.events]
    assert sum(begins) > 1
    np.testing.assert_array_equal(np.isfinite(trace.violation), begins)
    assert trace.working_set[trace.epoch == 0].min() < 0.01 * problem.size
    assert trace.passes[-1] < 20
    plain = solvers.solve(problem, solvers.make_solver("prox-gd"), max_iter=5)
    assert plain.passes[-1] >= 5


@claim(
    "liblinear",
    "How many of 1 438 pictures does a support vector machine have to look at?",
    "Dual coordinate descent, one picture at a time: which pictures it still visits, and which it leaves "
    "out.",
)
def _(told: Told) -> None:
    assert told["shrinking"].working_set[0] == 1438
    assert set(told["all pictures"].working_set.tolist()) == {1438}


@claim(
    "liblinear",
    "Open the tab Shrinking: pictures whose dual variable stays at a bound are left out, nine in ten within "
    "30 iterations.",
    "In the end fewer than 50 of 1 438 are visited.",
    "All come back for one pass where an epoch begins: fewer than one in a hundred had been left out by "
    "mistake.",
)
def _(told: Told) -> None:
    trace = told["shrinking"]
    assert trace.working_set[:31].min() < 144
    assert trace.working_set[-1] < 50
    begins = np.array(["epoch-start" in events for events in trace.events])
    assert trace.epoch.max() >= 3
    assert set(trace.working_set[begins].tolist()) == {1438}
    back = np.flatnonzero(trace.returned > 0)
    assert (trace.returned[back] < 0.01 * (1438 - trace.working_set[back - 1])).all()


@claim(
    "liblinear",
    "shrinking proves a gap of 1e-6 in less than a tenth of the passes over the data that all pictures "
    "takes.",
)
def _(told: Told) -> None:
    few, all_ = told["shrinking"], told["all pictures"]
    assert few.dual_gap[-1] <= 1e-6 * few.objective[-1]
    assert few.result["passes"] < 0.1 * all_.result["passes"]
    assert all_.result["iterations"] < 1.1 * few.result["iterations"]


@claim(
    "features-die",
    "How many of the 5 000 words will bcd-ls use at the end of its run?",
    "The penalty removes a word if the gradient of its weights is shorter than λ, as it is for more than "
    "nine in ten words.",
)
def _(told: Told) -> None:
    trace, problem = told["bcd-ls"], told.problem()
    W, _ = problem.unpack(trace.w)
    assert told.truth().value == W.any(axis=1).sum() < 60
    lengths = np.linalg.norm(problem.unpack(problem.at(trace.w).gradient())[0], axis=1)
    assert (lengths < problem.lam).mean() > 0.9
    assert not W[lengths < 0.999 * problem.lam].any()


@claim(
    "four-patterns",
    "Which penalty will use the fewest pixels?",
    "The group lasso penalises the weights of a pixel together, and removes all of them or none.",
    "The lasso keeps fewer weights, but they lie in more pixels.",
)
def _(told: Told) -> None:
    assert told.truth().right == ("group lasso",)
    W = four(told)
    pixels = {label: int(matrix.any(axis=1).sum()) for label, matrix in W.items()}
    assert told.truth().values == pixels
    used = W["group lasso"][W["group lasso"].any(axis=1)]
    assert (used != 0).all()
    assert np.count_nonzero(W["lasso"]) < np.count_nonzero(used)
    assert pixels["lasso"] > pixels["group lasso"]


@claim(
    "line-search-pays",
    "Which solver will take the fewest passes over the data to a gap of 1e-6?",
    "The rows of W differ in curvature: bcd-ls tries a step for each row, and bcd-cst takes one that is "
    "safe in the worst case.",
)
def _(told: Told) -> None:
    truth = told.truth()
    assert truth.right == ("bcd-ls",)
    assert truth.values == {label: told.work(label, 1e-6, "passes") for label in told.labels}
    setting = told.story.setting.problem
    squares = (problem_cache.load(setting).train.X ** 2).sum(axis=0)
    assert squares.max() > 10 * np.quantile(squares[squares > 0], 0.25)
    assert told["bcd-ls"].ls_trials.max() > 0 >= told["bcd-cst"].ls_trials.max()


@claim(
    "liblinear",
    "How many of the 1 438 pictures will shrinking visit in its last iteration?",
    "Only a picture on the margin has a dual variable between its bounds.",
    "All others stay at a bound, and need no more visits.",
)
def _(told: Told) -> None:
    trace, problem = told["shrinking"], told.problem()
    assert told.truth().value == trace.working_set[-1] < 50
    _, seen = trace.probes.last(ACTIVE.name, int(trace.iteration[-1]))
    free = contains(subset(seen, "support"), np.arange(1438)) == INSIDE
    margin = problem.loss.labels * problem.at(trace.w).scores.Z[:, 0]
    assert np.abs(margin[free] - 1.0).max() < 1e-3 < np.abs(margin[~free] - 1.0).min()
