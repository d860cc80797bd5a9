import dataclasses
import itertools

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers.methods.proximal.prox_qn import ProxQN
from solverscope.solvers.methods.proximal.prox_qn_model import InnerProblem
from solverscope.solvers.search.outcome import SearchLog, SearchResult
from solverscope.solvers.working_sets.shrinking import shrink_weights
from tests.solvers.helpers import binary, chains, multiclass
from tests.solvers.oracles import Oracle


@pytest.fixture(scope="module")
def problem():
    return solvers.make_problem(chains(n=60, d=40, m=4, density=0.15), lam_ratio=0.1)


@pytest.fixture(scope="module")
def average_problem():
    return solvers.make_problem(multiclass(n=200, d=30), lam_ratio=0.05)


def iterates(problem, w0=None, most=500, **params):
    """What the solver yields, with copies of weights and working set, and how it ends."""
    out, generator = [], ProxQN(**params).iterate(problem, w0)
    for _ in range(most):
        try:
            it = next(generator)
        except StopIteration as stop:
            return out, stop.value
        out.append((it, it.w.copy(), it.active.coordinates.copy(), list(it.line.trials) if it.line else []))
    return out, None


def optimum(problem, **params):
    found, ending = iterates(problem, tol=1e-6, **params)
    assert ending.status == "converged", ending
    return found[-1][0].objective


def test_a_few_weights_of_many_samples_take_few_iterations():
    """With one sweep an iteration, ⌊d/|A|⌋ where most weights stay, it took many times as many."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 20)) @ rng.normal(size=(20, 60)) + rng.normal(size=(3000, 60))
    y = np.where(X @ rng.normal(size=60) + 20 * rng.normal(size=3000) > 0, 1, -1)
    problem = solvers.make_problem(X, y, loss="logistic", lam_ratio=1e-3)
    whole, one = (len(iterates(problem, tol=1e-6, balance=b, most=3000)[0]) for b in ("work", "size"))
    assert 2 * whole < one


@pytest.mark.parametrize(("n", "d"), [(60, 25), (200, 50)])
def test_a_few_weights_of_a_few_samples_take_few_iterations(n, d):
    """With one sweep an iteration it took four times as many as with thirty."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 2.0 * rng.normal(size=n) > 0, 1, -1)
    problem = solvers.make_problem(X, y, loss="logistic", lam_ratio=0.005)
    balanced, off = (len(iterates(problem, tol=1e-6, balance=b, most=3000)[0]) for b in ("work", "off"))
    assert balanced <= 1.25 * off


def test_weights_of_unlike_features_take_fewer_iterations_by_their_curvature():
    data = binary(n=500, d=60, seed=3)
    X = np.asarray(data.train.X.todense() if hasattr(data.train.X, "todense") else data.train.X)
    X = X * np.logspace(-2, 1, X.shape[1])
    problem = solvers.make_problem(X, data.train.y, loss="logistic", lam_ratio=0.01)
    metric, plain = (len(iterates(problem, tol=1e-6, diagonal=d, most=3000)[0]) for d in ("on", "off"))
    assert 1.5 * metric < plain
    assert len(iterates(problem, tol=1e-6, most=3000)[0]) == metric  # auto sees the spread


PARAMS = [
    {"shrinking": False},
    {"shrink_first": "on"},
    {"memory": 1},
    {"memory": 3},
    {"memory": "full"},
    {"order": "random", "seed": 3},
    {"gamma": "yy/sy"},
    {"gamma": "ys/ss"},
    {"gamma0": 1.0},
    {"max_inner": 1},
    {"balance": "off", "max_inner": 20},
    {"balance": "size"},
    {"diagonal": "on"},
    {"beta": 0.1, "sigma": 0.3},
    {"cooling_start": 1.0, "cooling": 0.5},
]


@pytest.mark.quick(
    "memory=1", "diagonal=on", "gamma=yy/sy", "shrinking=False", "order=random", "shrink_first=on"
)
@pytest.mark.parametrize("params", PARAMS, ids=lambda p: ",".join(f"{k}={v}" for k, v in p.items()))
def test_every_variant_reaches_the_same_optimum(params, problem, average_problem):
    for each in (problem, average_problem):
        assert optimum(each, **params) == pytest.approx(optimum(each), rel=1e-9)


def test_the_optimum_with_shrinking_is_that_of_all_weights(problem):
    found, _ = iterates(problem, tol=1e-8)
    it, w, _, _ = found[-1]
    data = chains(n=60, d=40, m=4, density=0.15)
    oracle = Oracle(data, "chain-crf", "l1", problem.lam, average=False)
    assert oracle.violation(w) <= 2e-8 * oracle.violation(np.zeros(w.size))
    assert it.violation == pytest.approx(oracle.violation(w), rel=1e-3)
    assert it.objective == pytest.approx(oracle.objective(w), rel=1e-12)


def test_the_objective_never_rises_and_every_step_keeps_armijos_promise(problem, average_problem):
    for each in (problem, average_problem):
        found, _ = iterates(each, tol=1e-7, sigma=0.05)
        objectives = [it.objective for it, *_ in found]
        assert np.all(np.diff(objectives) <= 1e-14 * objectives[0])
        for (before, w, active, _), (it, _, _, trials) in itertools.pairwise(found):
            t, phi = trials[-1]
            g, d, here = each.at(w).gradient()[active], it.line.d, w[active]
            decrease = g @ d + each.lam * (np.abs(here + d).sum() - np.abs(here).sum())
            slopes = (np.array(it.line.allowed) - it.line.objective) / [t for t, _ in trials]
            np.testing.assert_allclose(slopes, 0.05 * decrease, rtol=1e-6, atol=1e-12 * objectives[0])
            assert t == it.step
            assert phi == pytest.approx(it.objective, rel=1e-14)  # scores are computed afresh now and then
            assert it.line.objective == before.objective
            assert decrease < 0
            assert phi <= before.objective + 0.05 * t * decrease + 1e-14 * abs(phi)
            assert len(trials) == it.ls_trials
            for longer, value in trials[:-1]:
                assert value > before.objective + 0.05 * longer * decrease


def test_the_first_iteration_takes_its_first_trial_with_the_measured_curvature(problem, average_problem):
    for each in (problem, average_problem):
        assert iterates(each, most=2)[0][1][0].ls_trials == 1


@pytest.mark.parametrize("keep_pairs", [False, True])
def test_epochs_shrink_the_set_and_reach_the_tolerance(problem, keep_pairs):
    found, ending = iterates(problem, tol=1e-7, keep_pairs=keep_pairs)
    assert ending.status == "converged"
    epochs = np.array([it.epoch for it, *_ in found])
    assert 2 <= epochs[-1] + 1 <= 8
    np.testing.assert_array_equal(np.unique(epochs), np.arange(epochs[-1] + 1))
    assert np.all(np.diff(epochs) >= 0)
    assert [it.iteration for it, *_ in found] == list(range(len(found)))
    for (before, _, old, _), (it, w, active, _) in itertools.pairwise(found):
        assert set(np.flatnonzero(w)) <= set(old) | set(active)
        starts = it.epoch > before.epoch
        assert ("epoch-start" in it.events) == starts
        assert it.events.count("memory-cleared") == (starts and not keep_pairs)
        if not starts:
            assert set(active) <= set(old)
            assert it.working_set == active.size
            assert it.memory_pairs <= before.memory_pairs + 1 or before.memory_pairs == -1
        assert np.isfinite(it.violation) == (starts or before.working_set == problem.size)


def at_epochs(problem, **params):
    """Iterates where an epoch begins, but the first: weights, pairs, and whether pairs were cleared there."""
    iterates = ProxQN(**params).iterate(problem)
    seen = [(len(i.active), len(i.memory), i.events) for i in iterates if "epoch-start" in i.events]
    return [(active, pairs, "memory-cleared" in events) for active, pairs, events in seen[1:]]


def test_the_paper_clears_the_memory_when_an_epoch_starts(problem):
    assert {pairs for _, pairs, _ in at_epochs(problem, tol=1e-7, keep_pairs=False)} == {0}
    assert ProxQN.presets["paper"]["keep_pairs"] is False


def test_pairs_outlive_an_epoch_unless_its_set_has_shrunk_to_less_than_an_eighth():
    """An epoch that goes from all weights to few ends on what is nearly another problem."""
    problem = solvers.make_problem(chains(n=60, d=600, m=4, density=0.15), lam_ratio=0.25)
    (first, pairs, cleared), *later = at_epochs(problem, tol=1e-8, memory=30)
    assert (pairs, cleared) == (0, True)
    assert first < problem.size / 8
    assert all(active > first / 8 for active, *_ in later)
    assert [cleared for *_, cleared in later] == [False] * len(later)
    assert all(np.diff([pairs for _, pairs, _ in later]) >= 0)
    assert later[0][1] > 0


def test_an_epoch_begins_with_no_more_pairs_than_cost_as_much_as_the_rest_of_an_iteration():
    problem = solvers.make_problem(chains(n=60, d=600, m=4, density=0.15), lam_ratio=0.15)
    rest = 10 * problem.design.n_rows * problem.design.n_outputs
    some, all_of_them = at_epochs(problem, tol=1e-8), at_epochs(problem, tol=1e-8, memory=30)
    # weights come in where these epochs begin; where none does, the pairs cost what they cost before
    assert all(active * pairs**2 <= rest for active, pairs, _ in some[:3])
    assert all(active * pairs**2 > rest for active, pairs, _ in all_of_them[:3])


def test_pairs_that_outlive_an_epoch_save_a_fifth_of_the_iterations():
    problem = solvers.make_problem(datasets.load("digits-tree"), penalty="l1")
    kept, cleared = (ProxQN(keep_pairs=keep, memory=30) for keep in (True, False))
    best = solvers.solve(problem, kept, tol=1e-9)
    needed = [
        solvers.solve(problem, solver, gap=1e-4, f_star=best.objective[-1]).iteration[-1]
        for solver in (kept, cleared)
    ]
    assert needed[0] <= 0.8 * needed[1]


def test_gamma_is_kept_when_an_epoch_clears_the_memory(problem, monkeypatch):
    """Not back to one: the direction after an epoch start is that of the last γ."""
    gammas, solve = [], InnerProblem.solve

    def spy(self, w, g, lam, memory, gamma):
        gammas.append((len(memory), gamma))
        return solve(self, w, g, lam, memory, gamma)

    monkeypatch.setattr(InnerProblem, "solve", spy)
    found, _ = iterates(problem, tol=1e-7, keep_pairs=False)
    reported = {it.gamma for it, *_ in found}
    after = [gamma for pairs, gamma in gammas[1:] if pairs == 0]
    assert after
    assert set(after) <= reported


def test_full_memory_keeps_all_pairs_and_the_first_gamma(problem):
    found, _ = iterates(problem, most=15, memory="full", shrinking=False, tol=0.0)
    assert [it.memory_pairs for it, *_ in found[1:]] == list(range(1, 15))
    assert len({it.gamma for it, *_ in found[1:]}) == 1


def test_a_limited_memory_holds_so_many_pairs(problem):
    found, _ = iterates(problem, most=15, memory=3, shrinking=False, tol=0.0)
    assert [it.memory_pairs for it, *_ in found[1:]] == [1, 2, 3, *[3] * 11]


def test_full_memory_converges_superlinearly():
    """Theorem 1: with all pairs and a fixed B₀ each gap is a smaller share of the last; with 10 it is not."""
    scale = np.geomspace(1.0, 0.01, 20)
    data = binary(n=200, d=20, density=1.0)
    hard = dataclasses.replace(data, train=dataclasses.replace(data.train, X=data.train.X * scale))
    logistic = solvers.make_problem(hard, lam_ratio=0.001)
    exact = {"shrinking": False, "balance": "off", "max_inner": 50, "diagonal": "off"}
    gaps = {}
    for memory in ("full", 10):
        found, _ = iterates(logistic, memory=memory, tol=1e-9, **exact)
        gaps[memory] = np.array([it.objective for it, *_ in found])
    best = min(f[-1] for f in gaps.values())
    ratios = {}
    for memory, f in gaps.items():
        gap = f[f - best > 1e-11 * best] - best
        ratios[memory] = gap[1:] / gap[:-1]
    assert np.all(np.diff(ratios["full"][-4:]) < 0)
    assert ratios["full"][-1] < 0.1
    assert ratios[10][-4:].mean() > 0.3


def test_without_shrinking_the_working_set_is_full_and_every_violation_known(problem):
    found, ending = iterates(problem, shrinking=False, tol=1e-6)
    assert ending.status == "converged"
    for it, _, active, _ in found:
        assert it.working_set == active.size == problem.size
        assert np.isfinite(it.violation)
        assert (it.epoch, it.returned) == (0, 0)


def test_shrinking_first_shrinks_before_the_first_iteration(problem):
    assert iterates(problem, most=1)[0][0][0].working_set == problem.size
    found, _ = iterates(problem, most=1, shrink_first="on")
    it, _, active, _ = found[0]
    g = problem.at().gradient()
    slack = it.violation / problem.loss.n_instances
    np.testing.assert_array_equal(active, np.flatnonzero(np.abs(g) > problem.lam - slack))
    assert it.working_set < problem.size


def test_random_order_is_reproducible_and_depends_on_the_seed(problem):
    one, two, other = (
        [it.objective for it, *_ in iterates(problem, most=8, order="random", seed=s)[0]] for s in (1, 1, 2)
    )
    assert one == two
    assert one != other


def test_returned_counts_what_shrinking_had_missed():
    """Recomputed from weights and working sets, on runs in which some variables do come back."""
    most = 0
    for seed in range(6):
        problem = solvers.make_problem(chains(n=80, d=60, m=4, density=0.1, seed=seed), lam_ratio=0.01)
        found, _ = iterates(problem, tol=1e-6, cooling_start=0.5)
        outside = np.zeros(problem.size, dtype=bool)
        for (before, w_old, old, _), (it, w, _, _) in itertools.pairwise(found):
            if it.epoch > before.epoch:  # the set shrank once more at this point before its epoch ended
                _, M = shrink_weights(w_old[old], problem.at(w_old).gradient()[old], problem.lam, np.inf)
                slack = M / problem.loss.n_instances
                keep, _ = shrink_weights(w[old], problem.at(w).gradient()[old], problem.lam, slack)
                outside[:] = True
                outside[old[keep]] = False
            assert it.returned == np.count_nonzero(w[outside])
            most = max(most, it.returned)
    assert most > 0


def test_a_warm_start_near_the_optimum_takes_few_iterations(problem):
    cold, _ = iterates(problem, tol=1e-6)
    warm, ending = iterates(problem, w0=cold[-1][1], tol=1e-6)
    assert ending.status == "converged"
    assert len(warm) == 1
    nearby, _ = iterates(problem.at_lam(0.98 * problem.lam), w0=cold[-1][1], tol=1e-6)
    afresh, _ = iterates(problem.at_lam(0.98 * problem.lam), tol=1e-6)
    assert len(nearby) < len(afresh)


@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_at_lam_max_it_ends_at_zero_from_anywhere(problem, ratio):
    there = problem.at_lam(ratio * problem.lam_max)
    found, ending = iterates(there)
    assert (len(found), ending.status) == (1, "converged")
    w0 = np.random.default_rng(0).normal(size=problem.size) * 0.1
    found, ending = iterates(there, w0=w0)
    assert ending.status in ("converged", "stalled")
    assert found[-1][0].objective == pytest.approx(there.at().objective, rel=1e-12)
    assert found[-1][0].nnz == 0


def test_it_ends_where_rounding_hides_every_decrease(problem):
    found, ending = iterates(problem, tol=0.0, most=2000)
    assert ending.status in ("stalled", "converged")
    assert found[-1][0].objective == pytest.approx(optimum(problem), rel=1e-12)


def test_an_epoch_whose_set_allows_no_step_is_followed_by_another(problem, monkeypatch):
    """Line searches that fail on every shrunk set: each iterate is yielded once, and the run goes on."""
    armijo = solvers.Line.armijo

    def failing(line, *args, **kwargs):
        if line.active.full:
            return armijo(line, *args, **kwargs)
        return SearchResult(line.point, 0.0, SearchLog(line.point.objective), 30)

    monkeypatch.setattr(solvers.Line, "armijo", failing)
    found, ending = iterates(problem, tol=1e-5, most=60)
    assert [it.iteration for it, *_ in found] == list(range(len(found)))
    assert ending is None or ending.status in ("stalled", "converged")


def test_an_epoch_that_goes_on_until_rounding_says_so_and_the_next_gets_back_what_was_missed():
    problem = solvers.make_problem(multiclass(n=300, d=60), lam_ratio=0.1)
    found, ending = iterates(problem, cooling_start=1e-18, shrink_first="on", tol=1e-9, most=500)
    stalled = [k for k, (it, *_) in enumerate(found) if "stalled-on-working-set" in it.events]
    assert stalled
    before, after = found[stalled[0] - 1][0], found[stalled[0]][0]
    assert after.events.index("stalled-on-working-set") < after.events.index("epoch-start")
    assert after.epoch == before.epoch + 1
    assert after.objective < before.objective
    assert max(it.returned for it, *_ in found) > 0
    assert ending.status == "converged"


@pytest.mark.parametrize("short", [1e-9, 1e-15])
def test_a_hair_below_the_largest_lambda_it_converges(short):
    """There w = 0 is violated by less than rounding makes of it: that counts as none."""
    problem = solvers.make_problem(binary(), loss="logistic", penalty="l1", lam=1.0)
    problem = problem.at_lam(problem.lam_max * (1.0 - short))
    trace = solvers.solve(problem, solvers.make_solver("prox-qn"), tol=1e-6, max_iter=100)
    assert trace.status == "converged", trace.message
    *_, ending = returned(solvers.make_solver("prox-qn").iterate(problem))
    assert ending.status == "converged"


def returned(generator):
    """What a generator yields, and at the end what it returns."""
    while True:
        try:
            yield next(generator)
        except StopIteration as stop:
            yield stop.value
            return
