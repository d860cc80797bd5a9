"""Clustered L-BFGS and BFGS: where they end, what their phases are, and what their records say."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from solverscope import datasets, solvers
from solverscope.solvers.methods.descent.clustered import Clustered
from solverscope.solvers.problems.coarse import coarse_problem
from solverscope.solvers.problems.problem import TINY_INSTANCES
from tests.solvers.helpers import MAKERS, binary

IDS = ("clustered-lbfgs", "clustered-bfgs")
#: Few enough iterations that a small problem is not solved before the first clustering.
EARLY = {"fine_iterations": 5, "cluster_factor": 3}


def cancer(lam=1.0):
    return solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=lam, average=False)


def by_phase(trace):
    """The runs of iterates of one phase and one epoch, with their numbers."""
    where = list(zip(trace.phase, trace.epoch.tolist(), strict=True))
    return [(phase, epoch, len(list(group))) for (phase, epoch), group in itertools.groupby(where)]


def reuters():
    if not datasets.DATASETS["reuters"].available()[0]:
        pytest.skip("needs the Reuters news")
    return datasets.load("reuters", positive="grain", top_words=200)


@pytest.mark.parametrize("lam", [1.0, 1e-2])
@pytest.mark.parametrize("load", [lambda: datasets.load("breast-cancer"), reuters], ids=["cancer", "reuters"])
def test_all_of_the_family_reach_the_optimum_of_eq_3_and_so_does_another_program(load, lam):
    data = load()
    problem = solvers.make_problem(data, penalty="l2", lam=lam, average=False)
    ends = {
        id: solvers.solve(problem, solvers.make_solver(id), tol=1e-9, max_seconds=30).result["objective"]
        for id in ("bfgs", "lbfgs", *IDS)
    }
    model = LogisticRegression(C=1.0 / lam, fit_intercept=False, tol=1e-10, solver="newton-cholesky")
    w = model.fit(data.train.X, data.train.y).coef_.ravel()
    ends["scikit-learn"] = problem.at(w).objective
    least = min(ends.values())
    assert {id: f for id, f in ends.items() if f > least * (1.0 + (1e-6 if "-" in id[:7] else 1e-8))} == {}
    assert ends["scikit-learn"] == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("kind", MAKERS)
def test_the_phases_are_those_of_figure_4(id, kind):
    """Fine, clustering, coarse, so many times; then the patch-up, which ends the run."""
    loss = "multilabel-squared-hinge" if kind == "multilabel" else None
    problem = solvers.make_problem(MAKERS[kind](), loss=loss, penalty="l2", lam=0.01)
    trace = solvers.solve(problem, solvers.make_solver(id, rounds=2, **EARLY), tol=1e-6)
    assert trace.status == "converged"
    phases = by_phase(trace)
    pattern = [(phase, epoch) for phase, epoch, _ in phases]
    assert pattern == [
        *((phase, epoch) for epoch in (0, 1) for phase in ("fine", "cluster", "coarse")),
        ("patch-up", 2),
    ]
    assert [n for phase, _, n in phases if phase == "fine"] == [6, 6]  # where it starts, and five steps
    assert [n for phase, _, n in phases if phase == "cluster"] == [1, 1]
    assert trace.iteration.tolist() == list(range(len(trace)))
    events = [k for k, words in enumerate(trace.events) if "reclustered" in words]
    assert events == np.flatnonzero(trace.phase == "cluster").tolist()
    assert np.all(np.diff(trace.cpu_seconds) >= 0.0)


@pytest.mark.parametrize("id", IDS)
def test_f_falls_inside_phases_and_a_phase_starts_where_the_one_before_has_led(id):
    trace = solvers.solve(cancer(), solvers.make_solver(id, **EARLY), tol=1e-9)
    f, phase = trace.objective, trace.phase
    rise = np.diff(f)
    begins = phase[1:] != phase[:-1]
    assert np.all(rise[~begins] <= 1e-12 * f[:-1][~begins])
    projected = np.flatnonzero(begins & (phase[1:] == "coarse")) + 1
    assert projected.size == 2
    # averaging moves, and may raise f; nowhere else does f rise
    others = np.flatnonzero(begins) + 1
    stays = [k for k in others if phase[k] != "coarse"]
    assert f[stays] == pytest.approx(f[np.array(stays) - 1], rel=1e-13)
    assert np.all(f[projected] != f[projected - 1])


def test_iterates_carry_lifted_weights_and_the_clusters_they_go_by():
    problem = cancer()
    solver, seen = solvers.make_solver("clustered-lbfgs", **EARLY), []
    for it in itertools.islice(solver.iterate(problem), 40):
        f = problem.at(it.w).objective
        assert it.objective == pytest.approx(f, rel=1e-12)
        seen.append(it.phase)
        if it.phase != "coarse":
            continue
        labels = it.live["clustering"].labels
        assert it.clusters == it.live["clustering"].count == labels.max() + 1
        assert it.working_set == it.live["clustering"].size
        for k in range(it.clusters):
            assert np.ptp(it.w[labels == k]) == 0.0
    assert {"fine", "cluster", "coarse"} <= set(seen)


def test_a_coarse_line_search_is_recorded_as_one_of_the_weights():
    """The line that a probe keeps can be rebuilt on the problem, and passes through the trials."""
    problem = cancer()
    for it in solvers.make_solver("clustered-lbfgs", **EARLY).iterate(problem):
        if it.phase == "coarse" and it.live.get("line") is not None:
            search = it.live["line"]
            before = it.w - it.step * search.d
            for t, f in search.trials:
                assert problem.at(before + t * search.d).objective == pytest.approx(f, rel=1e-10)
            break
    else:
        pytest.fail("no coarse step was recorded")


@pytest.mark.parametrize("id", IDS)
def test_the_coarse_phase_is_minimized_over_the_clusters(id):
    """With δ = 0 it goes on to its end: no step that keeps clusters together leads further down."""
    problem = cancer()
    solver = solvers.make_solver(id, rounds=1, delta=0.0, **EARLY)
    last = None
    for it in solver.iterate(problem):
        if it.phase == "coarse":
            last = it.w.copy(), it.live["clustering"]
        if it.phase == "patch-up":
            break
    w, clusters = last
    g = problem.at(w).gradient()
    assert np.abs(clusters.accumulate(g)).max() <= 1e-6 * np.abs(clusters.accumulate(np.abs(g))).max()
    assert np.abs(g).max() > 1e-3


def test_a_coarse_phase_ends_by_the_window_and_delta():
    problem = cancer()
    f = {delta: [] for delta in (1e-2, 1e-6)}
    for delta, values in f.items():
        trace = solvers.solve(problem, solvers.make_solver("clustered-lbfgs", delta=delta, rounds=1, **EARLY))
        values += trace.objective[trace.phase == "coarse"].tolist()
        for k in range(5, len(values)):
            window = values[k - 5 : k]
            assert max(window) - min(window) >= delta * min(window)
        assert max(values[-5:]) - min(values[-5:]) < delta * min(values[-5:])
    assert len(f[1e-2]) < len(f[1e-6])


@pytest.mark.parametrize("id", IDS)
def test_a_coarse_phase_has_so_many_iterations_at_most(id):
    how = EARLY | {"rounds": 2, "delta": 0.0}
    free, bound = (
        solvers.solve(cancer(), solvers.make_solver(id, coarse_iterations=most, **how), tol=1e-9)
        for most in (0, 3)
    )
    lengths = [n - 1 for phase, _, n in by_phase(bound) if phase == "coarse"]
    assert lengths == [3, 3]  # and the projected point, where each starts
    assert all(n - 1 > 3 for phase, _, n in by_phase(free) if phase == "coarse")
    assert bound.objective[-1] == pytest.approx(free.objective[-1], rel=1e-9)


@pytest.mark.parametrize("aggregate", ["true", "false"])
def test_both_ways_to_coarse_gradients_take_the_same_way(aggregate):
    problem = cancer()
    trace = solvers.solve(problem, solvers.make_solver("clustered-lbfgs", aggregate=aggregate, **EARLY))
    auto = solvers.solve(problem, solvers.make_solver("clustered-lbfgs", **EARLY))
    assert trace.phase.tolist() == auto.phase.tolist()
    assert trace.objective == pytest.approx(auto.objective, rel=1e-9)


def test_truth_values_choose_the_way_as_their_words_do():
    assert solvers.make_solver("clustered-lbfgs", aggregate=True).aggregate == "true"
    assert solvers.make_solver("clustered-lbfgs", aggregate="false").aggregate == "false"
    with pytest.raises(ValueError, match="aggregate must be one of auto, true, false"):
        solvers.make_solver("clustered-lbfgs", aggregate="often")


def doubled(copies=2):
    data = binary(n=120, d=15)
    X = np.hstack([data.train.X] * copies)
    return replace(data, train=replace(data.train, X=X))


@pytest.mark.parametrize("id", ["lbfgs", *IDS])
def test_a_word_and_its_double_get_equal_weights(id):
    """The ridge splits the evidence (section II-B)."""
    problem = solvers.make_problem(doubled(), penalty="l2", lam=0.1, average=False)
    w = solvers.solve(problem, solvers.make_solver(id), tol=1e-10).w
    assert w[:15] == pytest.approx(w[15:], abs=1e-8)


@pytest.mark.parametrize("clustering", ["chunks", "kmeans"])
def test_a_word_and_its_double_end_in_one_cluster_or_in_neighbouring_chunks(clustering):
    problem = solvers.make_problem(doubled(), penalty="l2", lam=0.1, average=False)
    solver = solvers.make_solver("clustered-lbfgs", clustering=clustering, **EARLY)
    labels = next(it for it in solver.iterate(problem) if it.phase == "coarse").live["clustering"].labels
    apart = np.abs(labels[:15] - labels[15:])
    assert apart.max() <= (1 if clustering == "chunks" else 0)
    assert labels.max() >= 8


def test_weights_of_outputs_are_clustered_apart_and_transitions_not_at_all():
    for kind, lam in (("multiclass", 0.01), ("sequences", 0.1)):
        problem = solvers.make_problem(MAKERS[kind](), penalty="l2", lam=lam)
        solver = solvers.make_solver("clustered-lbfgs", **EARLY)
        labels = next(it for it in solver.iterate(problem) if it.phase == "coarse").live["clustering"].labels
        W, tail = problem.design.split(labels)
        columns = [set(column.tolist()) for column in W.T]
        assert len(columns) > 1
        assert sum(map(len, columns)) == len(set().union(*columns)) == labels.max() + 1
        assert np.all(tail == -1)
        assert tail.size == problem.design.n_tail


def test_features_without_data_stay_at_zero_and_in_a_cluster_of_their_own():
    data = binary()
    X = np.hstack([data.train.X, np.zeros((len(data.train.y), 3))])
    problem = solvers.make_problem(X, data.train.y, penalty="l2", lam=0.1)
    for it in solvers.make_solver("clustered-lbfgs", **EARLY).iterate(problem):
        if it.phase == "coarse":
            labels = it.live["clustering"].labels
            assert set(labels[-3:]) == {labels.max()}
            assert np.all(labels[:-3] < labels.max())
            assert np.all(it.w[-3:] == 0.0)


def test_a_target_of_the_error_takes_the_place_of_the_factor():
    counts = []
    for error in (0.3, 1e-3):
        solver = solvers.make_solver("clustered-lbfgs", error=error, **EARLY)
        it = next(it for it in solver.iterate(cancer()) if it.phase == "cluster")
        clusters, w = it.live["clustering"], it.w
        assert np.var(w - clusters.up(clusters.down(w))) <= error * np.var(w)
        counts.append(clusters.count)
    assert counts[0] < counts[1]


def test_pairs_are_kept_from_one_fine_phase_to_the_next_if_asked():
    for keep in (False, True):
        trace = solvers.solve(cancer(), solvers.make_solver("clustered-lbfgs", keep_memory=keep, **EARLY))
        starts = np.flatnonzero((trace.phase[1:] != "coarse") & (trace.phase[:-1] == "coarse")) + 1
        assert trace.memory_pairs[starts].tolist() == ([5, 5] if keep else [0, 0])
        assert trace.memory_pairs[np.flatnonzero(trace.phase == "cluster") + 1].tolist() == [0, 0]


def test_crossovers_are_counted_between_clusterings():
    trace = solvers.solve(cancer(), solvers.make_solver("clustered-lbfgs", rounds=3, **EARLY))
    at = np.flatnonzero(trace.phase == "cluster")
    assert trace.crossovers[at[0]] == -1  # there was none before
    assert np.all((trace.crossovers[at[1:]] >= 0) & (trace.crossovers[at[1:]] <= 30))
    assert trace.crossovers[at[1]] > 0
    others = np.setdiff1d(np.arange(len(trace)), at)
    assert np.all(trace.crossovers[others] == -1)


def test_no_rounds_are_plain_lbfgs():
    plain = solvers.solve(cancer(), solvers.make_solver("lbfgs", memory=5))
    patched = solvers.solve(cancer(), solvers.make_solver("clustered-lbfgs", rounds=0))
    assert set(patched.phase) == {"patch-up"}
    assert patched.objective.tolist() == plain.objective.tolist()


def test_a_rehearsal_gets_to_a_coarse_step_within_four_iterates():
    """So the kernels of all phases are compiled, or loaded, before a run begins."""
    solver = solvers.make_solver("clustered-lbfgs").warm_up_solver()
    assert isinstance(solver, Clustered)
    phases = [it.phase for it in itertools.islice(solver.iterate(cancer().tiny()), 4)]
    assert phases == ["fine", "fine", "cluster", "coarse"]


def test_a_run_rehearses_before_its_clock_starts(monkeypatch):
    """The kernels of the coarse phase are met in the warm-up, by a run on a few instances."""
    met = []

    def coarse(problem, *rest, **options):
        met.append(problem.loss.n_instances)
        return coarse_problem(problem, *rest, **options)

    monkeypatch.setattr("solverscope.solvers.methods.descent.clustered.coarse_problem", coarse)
    trace = solvers.solve(cancer(), solvers.make_solver("clustered-lbfgs"), max_iter=2)
    assert met == [TINY_INSTANCES]
    assert len(trace) == 3
