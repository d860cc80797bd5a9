"""Claims of the stories about regression."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solverscope import datasets, solvers
from solverscope.app.page.tabs.path_panel import RATIOS
from solverscope.datasets import DATASETS
from solverscope.solvers import LOSSES, Problem, Stopping, log_spaced
from solverscope.solvers.probes.study import Study
from tests.app.stories.lines import on_breakpoints, searches
from tests.app.stories.told import Told, claim

#: Seeds of the data on which no story was set up.
UNSEEN = (3, 4)


def varied(told: Told, seed: int | None = None, loss: str | None = None, **options) -> Problem:
    """Return the problem of a story with another seed, loss or other options of its data."""
    own = told.story.setting.problem
    changed = replace(
        own,
        seed=own.seed if seed is None else seed,
        loss=loss or own.loss,
        loss_params={} if loss else own.loss_params,
        options={**own.options, **options},
    )
    return changed.make(changed.load())


def title(data: str, option: str) -> str:
    """Return what the page calls an option of a data set."""
    return next(one.title for one in DATASETS[data].options if one.name == option)


def lasso_path(problem: Problem, count: int = 60, last: float = 1e-3) -> np.ndarray:
    """Return the weights at falling λ, a row for each."""
    return np.array(
        [
            solvers.solve(problem.at_lam(lam), solvers.make_solver("newton-cd"), tol=1e-9, max_seconds=5).w
            for lam in log_spaced(problem, count, last=last)
        ]
    )


def order(problem: Problem, path: np.ndarray) -> list[str]:
    """Return the names of features in the order in which they come into the model."""
    steps = [(int(np.flatnonzero(path[:, j])[0]), j) for j in range(path.shape[1]) if path[:, j].any()]
    return [problem.names.feature(j) for _, j in sorted(steps)]


@claim(
    "lasso-path",
    "Least squares with an ℓ1 penalty on ten measurements of 354 patients: coordinate descent and FISTA.",
    "Press Trace the path: bmi and s5 come first, then bp and s3.",
    "On the way to 0.001 λmax s3 goes back to zero, and returns with the other sign.",
)
def _(told: Told) -> None:
    assert "0.001 λmax" in RATIOS
    for seed in (0, 1):  # splits into training and test part
        problem = varied(told, seed)
        assert (problem.loss.n_instances, problem.size) == (354, 10)
        path = lasso_path(problem)
        came = order(problem, path)
        assert set(came[:2]) == {"bmi", "s5"}
        assert came[2:4] == ["bp", "s3"]
        (s3,) = path[:, [problem.names.feature(j) == "s3" for j in range(10)]].T
        signs = np.sign(s3)
        turns = signs[np.flatnonzero(np.diff(signs, prepend=0.0))]
        assert turns.tolist() == [-1.0, 0.0, 1.0]


@claim(
    "lasso-path",
    "Features have variance 1, since λ is a price per unit of a weight.",
    "With scaling none, s1 comes first: its numbers vary most.",
)
def _(told: Told) -> None:
    assert title("diabetes", "scale") == "scaling"
    np.testing.assert_allclose(datasets.load("diabetes").train.X.std(axis=0), 1.0)
    for seed in (0, 1):
        problem = varied(told, seed, scale="none")
        X = datasets.load("diabetes", seed=seed, scale="none").train.X
        assert problem.names.feature(int(X.std(axis=0).argmax())) == "s1"
        assert order(problem, lasso_path(problem))[0] == "s1"


@claim(
    "lasso-path",
    "Targets have mean 0, so an intercept would be 0.",
    "With scaling of targets none, no weights make up for a mean above 150: test R² is below -3.",
    "An intercept would add it unpenalised.",
)
def _(told: Told) -> None:
    assert title("diabetes", "target_scale") == "scaling of targets"
    problem = told.problem()
    errors = problem.loss.labels - problem.at(told["newton-cd"].w).scores.Z[:, 0]
    assert abs(errors.mean()) < 1e-12
    plain = varied(told, target_scale="none")
    mean = plain.loss.labels.mean()
    assert mean > 150
    w = solvers.solve(plain, solvers.make_solver("newton-cd"), tol=1e-8, max_seconds=5).w
    assert plain.test_metric(w) < -3.0
    test, scores = plain.test_scores(w)
    left = np.sum((test.labels - scores.Z[:, 0] - mean) ** 2)
    assert 1.0 - left / np.sum((test.labels - test.labels.mean()) ** 2) > 0.4


@claim(
    "lasso-path",
    "How many of the ten features will have a weight at λ = 0.05?",
    "All weights are zero above λ = 0.59.",
    "A feature stays out while its covariance with the errors of the model is below λ.",
)
def _(told: Told) -> None:
    problem, trace = told.problem(), told["newton-cd"]
    assert problem.lam == 0.05
    assert 0.5 < problem.lam_max < 0.59
    assert told.truth().value == np.count_nonzero(trace.w) == 6
    errors = problem.loss.labels - problem.at(trace.w).scores.Z[:, 0]
    covariances = np.abs(datasets.load("diabetes").train.X.T @ errors) / len(errors)
    np.testing.assert_allclose(covariances[trace.w != 0], problem.lam, rtol=1e-4)
    assert (covariances[trace.w == 0] < problem.lam).all()


@claim(
    "lasso-path",
    "Two solvers start from w = 0.",
    "newton-cd goes through the features one by one, again and again, and is within a millionth of f* after "
    "one iteration.",
    "fista steps along the whole gradient: its first step gives nine of the ten features a weight.",
    "It ends with the same six features as newton-cd.",
    "One of them was dropped on the way, and came back.",
    "bmi and s5 have the largest weights, s3 and sex negative ones.",
    "A line leaves zero where its feature comes in.",
)
def _(told: Told) -> None:
    assert [trace.nnz[0] for trace in told.traces()] == [0, 0]
    trace, row = told.step(1)
    assert (trace, row) == (told["newton-cd"], told.row("newton-cd", 1e-6))
    assert trace.inner_iterations[row] > 2
    fista, first = told.step(2)
    assert (first, fista.nnz[first]) == (1, 9)
    w = trace.w
    np.testing.assert_array_equal(fista.w != 0, w != 0)
    assert np.count_nonzero(w) == 6
    iterates = iterated(told, "fista", int(fista.iteration[-1]))
    returned = [
        j for j in np.flatnonzero(w) if np.diff(np.sign(np.abs(iterates[:, j]))).tolist().count(1) > 1
    ]
    assert len(returned) == 1
    named = {told.problem().names.feature(j): w[j] for j in range(10)}
    assert sorted(named, key=lambda name: abs(named[name]))[-2:] == ["s5", "bmi"]
    assert {name for name, weight in named.items() if weight < 0} == {"s3", "sex"}


def iterated(told: Told, label: str, last: int) -> np.ndarray:
    """Return the weights of a run up to an iterate, a row for each."""
    found = []
    for it in told.entrant(label).make().iterate(told.problem()):
        found.append(it.w.copy())
        if it.iteration == last:
            break
    return np.array(found)


def passes(problem: Problem, told: Told, label: str) -> float:
    """Return the passes of a solver of the story to a gap of 1e-6 on another problem."""
    optimum = solvers.solve(problem, solvers.make_solver("newton-cd"), tol=1e-10, max_seconds=20)
    stopping = Stopping(gap=1e-6, f_star=float(optimum.objective.min()), max_seconds=20)
    trace = solvers.Run(problem, told.entrant(label).make(), stopping=stopping).execute()
    assert trace.status == "converged"
    return float(trace.passes[-1])


@claim(
    "two-columns",
    "Lasso on 100 features, each with a correlation of 0.99 with the next: coordinate descent, plain and "
    "extrapolated, prox-qn and FISTA.",
    "cd needs more than 150 passes to a gap of 1e-6, prox-qn fewer than 100.",
    "fista, whose steps are along the gradient, needs more than 1 000.",
    "anderson extrapolates from the passes of cd, and needs fewer than two thirds as many.",
    "How many passes over the data will cd take to a gap of 1e-6, compared with prox-qn?",
)
def _(told: Told) -> None:
    assert told.problem().size == 100
    assert told.truth().right == ("more than twice as many",)
    found = {label: [told.work(label, 1e-6, "passes")] for label in told.labels}
    for seed in UNSEEN:
        problem = varied(told, seed)
        for label, counts in found.items():
            counts.append(passes(problem, told, label))
    cd, anderson, prox_qn, fista = (np.array(counts) for counts in found.values())
    assert cd.min() > 150
    assert prox_qn.max() < 100
    assert fista.min() > 1_000
    assert (anderson < cd * 2.0 / 3.0).all()
    assert (cd > 2.0 * prox_qn).all()


@claim(
    "two-columns",
    "Set the correlation ρ to 0.5 and press Run: cd needs fewer than 50 passes, at most three times those "
    "of prox-qn.",
)
def _(told: Told) -> None:
    assert title("synthetic-regression", "correlation") == "correlation ρ"
    for seed in (0, *UNSEEN):
        problem = varied(told, seed, correlation=0.5)
        cd, prox_qn = (passes(problem, told, label) for label in ("cd", "prox-qn"))
        assert cd < min(50.0, 3.0 * prox_qn)


@claim(
    "two-columns",
    "f is over a hundred times as curved along the sum of two neighbours' weights as along their "
    "difference: a valley, in which steps along single weights zigzag.",
    "prox-qn learns its direction from pairs.",
)
def _(told: Told) -> None:
    X = told.story.setting.problem.load().train.X
    along, across = X[:, :-1] + X[:, 1:], X[:, :-1] - X[:, 1:]
    ratios = np.sum(along**2, axis=0) / np.sum(across**2, axis=0)
    assert np.min(ratios) > 100.0
    assert told["prox-qn"].memory_pairs.max() > 5


@claim(
    "two-columns",
    "cd goes through the features one by one.",
    "Its first pass takes up more than half of the hundred, of which twenty made the targets.",
    "Here f is 1 % too high.",
    "What is still to come is above all how neighbours share: the differences of their weights are further "
    "from their ends than the sums.",
)
def _(told: Told) -> None:
    cd, row = told.step(1)
    assert cd.nnz[row] > 50
    own = told.story.setting.problem
    plain = replace(own, options={**own.options, "snr": 0.0}).load().train
    made, _, _, _ = np.linalg.lstsq(plain.X, plain.y - plain.y.mean(), rcond=None)
    assert np.count_nonzero(np.abs(made) > 1e-8) == 20
    _, row = told.step(2)
    assert row == told.row("cd", 0.01)
    left = told["prox-qn"].w - iterated(told, "cd", int(cd.iteration[row]))[-1]
    sums, differences = left[1:] + left[:-1], left[1:] - left[:-1]
    assert np.linalg.norm(differences) > 1.5 * np.linalg.norm(sums)


@claim(
    "two-columns",
    "anderson starts with the thirty features whose gradients are largest.",
    "After a few passes over them it extrapolates.",
    "prox-qn keeps pairs of steps and changes of the gradient, ten by now, which tell how curved f is along "
    "the valley.",
    "fista is within 1 % only after more than 200 passes, prox-qn was after fewer than 30.",
    "cd has converged as well, with more than five times the passes of prox-qn.",
)
def _(told: Told) -> None:
    anderson, row = told.step(3)
    first = next(told.entrant("anderson").make().iterate(told.problem())).live["active"].mask()
    g = np.abs(told.problem().at().gradient())
    assert first.sum() == anderson.working_set[0] == 30
    assert g[first].min() >= g[~first].max()
    assert "extrapolated" in anderson.events[row]
    assert anderson.passes[row] > 2 * 0.3
    prox_qn, row = told.step(4)
    assert prox_qn.memory_pairs[row] == 10
    fista, row = told.step(5)
    assert fista.passes[row] > 200
    assert told.work("prox-qn", 0.01, "passes") < 30
    cd, last = told.step(6)
    assert cd.status == prox_qn.status == "converged"
    assert cd.passes[last] > 5 * prox_qn.passes[-1]


def fitted(problem: Problem) -> np.ndarray:
    """Return weights that minimise f up to a gap of 1e-5."""
    id = ("newton-cd" if problem.penalty.sparse else "subbfgs") if problem.smooth else "ls-bmrm"
    return solvers.solve(problem, solvers.make_solver(id), tol=1e-6, max_seconds=10).w


def true_weights(told: Told, seed: int) -> np.ndarray:
    """Return the weights that made the targets, of scaled features."""
    own = told.story.setting.problem
    plain = replace(own, seed=seed, options={**own.options, "outliers": 0.0, "snr": 0.0}).load().train
    w, left, _, _ = np.linalg.lstsq(plain.X, plain.y - plain.y.mean(), rcond=None)
    assert left < 1e-8
    return w


@claim(
    "outliers",
    "Absolute error on data in which one target in ten is moved far away: subBFGS, and a bundle of cuts.",
    "In the tab Test metric both runs end with an R² above 0.98: no test target was moved.",
)
def _(told: Told) -> None:
    assert told.problem().loss.declared.tau == 0.5
    for trace in told.traces():
        assert told.problem().test_metric(trace.w) > 0.98
    own = told.story.setting.problem
    moved, plain = own.load(), replace(own, options={**own.options, "outliers": 0.0}).load()
    np.testing.assert_array_equal(moved.test.y, plain.test.y)
    assert 0.07 < np.mean(moved.train.y != plain.train.y) < 0.13


@claim(
    "outliers",
    "Choose the loss Squared and press Run: R² falls below 0.8, and w is ten times as far from the true "
    "weights.",
    "Choose Huber: R² is above 0.98 again, as its slope stays constant beyond δ.",
    "Set the share of outliers to 0: with all three losses R² is above 0.98.",
)
def _(told: Told) -> None:
    assert (LOSSES["squared"].name, LOSSES["huber"].name) == ("Squared", "Huber")
    assert title("synthetic-regression", "outliers") == "share of outliers"
    assert LOSSES["huber"]().derivatives(9.0, 0.0)[1] == LOSSES["huber"]().derivatives(99.0, 0.0)[1]
    for seed in (told.story.setting.problem.seed, *UNSEEN):
        true, far = true_weights(told, seed), {}
        for loss in ("squared", "huber", "quantile"):
            problem = varied(told, seed, loss)
            w = fitted(problem)
            far[loss] = np.linalg.norm(w - true)
            worth = problem.test_metric(w)
            assert worth < 0.8 if loss == "squared" else worth > 0.98
            clean = varied(told, seed, loss, outliers=0.0)
            assert clean.test_metric(fitted(clean)) > 0.98
        assert far["squared"] > 10.0 * far["quantile"]


@claim(
    "outliers",
    "The fit by absolute error goes exactly through at least fifteen samples.",
    "Others count by their error's sign alone.",
)
def _(told: Told) -> None:
    for seed in (told.story.setting.problem.seed, *UNSEEN):
        problem = varied(told, seed)
        w = solvers.solve(problem, solvers.make_solver("ls-bmrm"), tol=1e-11, max_seconds=20).w
        point = problem.at(w)
        errors = point.scores.Z[:, 0] - problem.loss.labels
        exact = np.abs(errors) < 1e-4
        assert 15 <= exact.sum() <= problem.size
        slopes = problem.loss.residual(point.scores).Z[:, 0]
        np.testing.assert_array_equal(slopes[~exact], 0.5 * np.sign(errors[~exact]))


@claim(
    "outliers",
    "How many passes over the data will bundle take to a gap of 1e-3, compared with subBFGS?",
    "A cut is one subgradient, and it takes more than fifty to outline the kinks.",
    "subBFGS learns from each step, and more than nine in ten of its searches end on a kink.",
)
def _(told: Told) -> None:
    assert told.truth().right == ("more than five times as many",)
    assert told.row("bundle", 1e-3) > 50
    assert on_breakpoints(told["subBFGS"]) > 0.9


@claim(
    "outliers",
    "Along each search f is a sum of kinks: at each dot on φ a sample's error changes its sign.",
    "The search ends on one of them.",
    "subBFGS is within 1 % of f* after fewer than ten iterations.",
)
def _(told: Told) -> None:
    trace, row = told.step(1)
    assert int(trace.iteration[row]) == 3
    seen = searches(trace)[row - 1]
    assert float(seen["step"]) in seen["segment"]
    study = Study(told.problem(), seen)
    for place in study.breakpoints.t[:3]:
        assert study.slope(place, 1) > study.slope(place, -1)
    assert told.step(2)[1] == told.row("subBFGS", 0.01) < 10


@claim(
    "outliers",
    "After three iterations bundle has found nothing better than w = 0.",
    "But its cuts have raised the lower bound in each.",
    "After more than 200 iterations the bounds have met: f is proved to be within a millionth of its "
    "minimum.",
)
def _(told: Told) -> None:
    trace, row = told.step(3)
    assert int(trace.iteration[row]) == 3
    assert trace.objective[row] == trace.objective[0]
    lower = trace.objective - trace.dual_gap
    assert (np.diff(lower[: row + 1]) > 0).all()
    trace, last = told.step(4)
    assert trace.iteration[last] > 200
    assert 0 <= trace.dual_gap[last] < 1e-6 * trace.objective[last]


def relevant(told: Told, seed: int) -> np.ndarray:
    """Mark the features that made the targets."""
    own = told.story.setting.problem
    plain = replace(own, seed=seed, options={**own.options, "snr": 0.0}).load().train
    w, _, _, _ = np.linalg.lstsq(plain.X, plain.y - plain.y.mean(), rcond=None)
    return np.abs(w) > 1e-8


def lasso_and_adaptive(told: Told, seed: int) -> list[Problem]:
    """Return the problem with and without penalty factors, at the λ that the page begins with."""
    own = replace(told.story.setting.problem, seed=seed, lam=None)
    return [replace(own, penalty_factors=factors).make(own.load()) for factors in ("adaptive", None)]


@claim(
    "adaptive-lasso",
    "Least squares with the penalty λ Σ |w|/|ŵ|, ŵ the weights of a ridge, on 100 features of which ten made "
    "the targets.",
    "Both runs end with the ten features that made the targets, and no other.",
    "How many of the 100 features will have a weight when cd ends?",
    "Ten made the targets.",
    "Ten features are left, those that made the targets.",
)
def _(told: Told) -> None:
    problem, made = told.problem(), relevant(told, told.story.setting.problem.seed)
    assert (problem.size, made.sum()) == (100, 10)
    for trace in told.traces():
        assert trace.status == "converged"
        np.testing.assert_array_equal(trace.w != 0, made)
        part = problem.lam * np.sum(problem.factors * np.abs(trace.w))
        assert abs(trace.penalty[-1] - part) < 1e-9
    assert told.truth().value == 10


@claim(
    "adaptive-lasso",
    "Their penalty factors 1/|ŵ| are below 2.",
    "Half of all others have one above 7.",
    "The other features have small weights in the ridge, and pay λ times a large factor.",
    "Empty the field Penalty factors and press Run: the Lasso uses more than 20 features, and its weights "
    "are further from the true ones.",
    "Their factors are small, so that their weights are shrunk less than with a Lasso.",
)
def _(told: Told) -> None:
    for seed in (told.story.setting.problem.seed, *UNSEEN):
        made, true = relevant(told, seed), true_weights(told, seed)
        adaptive, lasso = lasso_and_adaptive(told, seed)
        assert adaptive.factors[made].max() < 2.0
        assert np.median(adaptive.factors[~made]) > 7.0
        w, plain = fitted(adaptive), fitted(lasso)
        assert np.count_nonzero(plain) > 20
        assert np.linalg.norm(plain - true) > np.linalg.norm(w - true)
        assert np.abs(w[made]).sum() > np.abs(plain[made]).sum()


@claim(
    "adaptive-lasso",
    "Trace the path with and without the factors: with them the ten alone are in the model at some λ, "
    "without them at none.",
)
def _(told: Told) -> None:
    for seed in (told.story.setting.problem.seed, *UNSEEN):
        made = relevant(told, seed)
        with_factors, without = (
            sum(np.array_equal(w != 0, made) for w in lasso_path(problem, last=0.01))
            for problem in lasso_and_adaptive(told, seed)
        )
        assert with_factors > 3
        assert without == 0


@claim(
    "adaptive-lasso",
    "cd goes through the features one by one.",
    "Its first pass takes up fewer than twenty of the hundred: the others would have to pay too much.",
    "fista steps along the whole gradient.",
    "Its first step takes up more than twenty, and the next ones drop half of them.",
)
def _(told: Told) -> None:
    cd, row = told.step(1)
    assert cd.nnz[row] < 20
    assert (told.problem().factors > 2.0).sum() > 80
    fista, row = told.step(2)
    assert fista.nnz[row] > 20
    assert fista.nnz[-1] <= fista.nnz[row] / 2
