import gc

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers.curvature.memory import pairs_of
from solverscope.solvers.methods.iterate import Iterate
from solverscope.solvers.probes import probe as module
from solverscope.solvers.probes import subsets
from solverscope.solvers.probes.probe import (
    ACTIVE,
    LINE,
    MEMORY,
    ROWS,
    SCORES,
    SHRINKING,
    WEIGHTS,
    ProbeStore,
    binned,
)
from solverscope.solvers.runs.recorder import Recorder
from tests.solvers.helpers import chains, multiclass


def mask_of(active, name):
    """Which weights are in the set ``name`` that the active probe saw."""
    seen = {key.removeprefix(f"{name}_"): kept for key, kept in active.items() if key.startswith(f"{name}_")}
    return subsets.contains(seen, np.arange(int(active["size"]))) == subsets.INSIDE


def observe(store, iterations, size=100):
    for k in iterations:
        store.observe(Iterate(k, objective=1.0, w=np.full(size, float(k + 1))))


def test_a_memory_of_a_class_of_its_own_fails_no_run():
    store = ProbeStore((MEMORY,))
    store.observe(Iterate(0, objective=1.0, w=np.zeros(2), live={"memory": object()}))
    assert store.last(MEMORY.name, 0) is None


def test_a_list_of_pairs_is_seen_as_the_memory_that_holds_them():
    pairs = [(np.array([1.0, 2.0]), np.array([3.0, 1.0])), (np.array([0.5, 0.0]), np.array([2.0, 1.0]))]
    memory = solvers.PairMemory(2)
    for pair in pairs:
        memory.push(*pair)
    shown = []
    for live, gamma in ((pairs, np.nan), (memory, memory.scaling("yy/sy"))):
        store = ProbeStore((MEMORY,))
        store.observe(Iterate(0, objective=1.0, w=np.zeros(2), gamma=gamma, live={"memory": live}))
        shown.append(store.last(MEMORY.name, 0)[1])
    assert shown[0].keys() == shown[1].keys()
    for name, value in shown[0].items():
        np.testing.assert_array_equal(value, shown[1][name])


def test_a_list_of_something_else_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"a PairMemory, or a list of pairs \(s, y\)"):
        pairs_of([np.zeros(3), np.zeros(3)])


def test_a_run_is_observed_through_its_live_references():
    problem = solvers.make_problem(chains(), lam_ratio=0.1)
    trace = solvers.solve(
        problem, solvers.make_solver("prox-qn"), max_iter=6, probes=(WEIGHTS, ACTIVE, LINE, MEMORY)
    )
    store = trace.probes
    assert store.iterations("weights") == list(range(7))
    assert store.iterations("line") == list(range(1, 7))
    for k in range(7):
        _, seen = store.last("weights", k)
        assert seen["indices"].size == trace.nnz[k]
        assert seen["size"] == problem.size
        _, active = store.last("active", k)
        mask = mask_of(active, "inside")
        assert mask.sum() == trace.working_set[k] == active["inside_count"]
        assert mask[seen["indices"]].all()
    np.testing.assert_array_equal(np.flatnonzero(trace.w), store.last("weights", 6)[1]["indices"])
    for k in range(1, 7):
        _, line = store.last("line", k)
        assert line["t"].size == trace.ls_trials[k]
        assert line["t"][-1] == trace.step[k]
        assert line["start"][0] == pytest.approx(trace.objective[k - 1])
        assert store.last("memory", k)[1]["YY"].size == trace.memory_pairs[k]


def test_a_reader_finds_a_row_for_all_that_probes_and_metrics_have_seen(monkeypatch):
    """A run waits at its gate while it observes: what has been seen of an iterate without a row then would
    stay so for long."""
    problem = solvers.make_problem(datasets.load("digits"), penalty="l1", lam_ratio=0.1)
    run = solvers.Run(
        problem, solvers.make_solver("prox-qn"), probes=(MEMORY,), stopping=solvers.Stopping(max_iter=3)
    )
    found = []

    def look():
        rows, _, _ = run.trace.since(None)
        seen = run.trace.probes.iterations("memory") + [k for k, _, _ in run.trace.test_metric]
        found.append(set(seen) <= set(rows["iteration"].tolist()))

    def then_look(step):
        return lambda self, *args: (step(self, *args), look())[0]

    for cls, name in ((ProbeStore, "observe"), (Recorder, "_measure_metric"), (solvers.Trace, "append")):
        monkeypatch.setattr(cls, name, then_look(getattr(cls, name)))
    run.execute()
    assert len(found) > 8
    assert all(found)


def test_what_a_probe_has_seen_once_is_never_all_gone(monkeypatch):
    monkeypatch.setattr(module, "RUN_LIMIT", 10_000)
    rare = solvers.Probe("rare", lambda it: {"k": np.array(it.iteration)} if it.iteration == 73 else None)
    store = ProbeStore([WEIGHTS, rare])
    for k in range(200):
        observe(store, [k])
        assert (store.last("rare", 0) is not None) == (k >= 73)
        assert store.iterations("weights")[-1] == k
    assert store.cadence > 4
    assert store.bytes < 10_000 + 2_000, "the limit, and one entry more"
    assert store.iterations("rare") == [73]


def test_the_shrinking_test_tells_who_stays_and_why():
    problem = solvers.make_problem(chains(n=60), lam_ratio=0.1)
    lam, N = problem.lam, problem.loss.n_instances
    trace = solvers.solve(
        problem, solvers.make_solver("prox-qn"), tol=1e-6, max_iter=60, probes=(SHRINKING, ACTIVE, WEIGHTS)
    )
    store, largest = trace.probes, np.inf
    assert trace.working_set.min() < problem.size
    for k in store.iterations("shrinking"):
        test, active = store.last("shrinking", k)[1], store.last("active", k)[1]
        if "epoch-start" not in trace.events[k]:  # M̂ is then that of the test before, which ended the epoch
            assert test["bound"] == lam - largest / N
        largest = float(test["largest"])
        w = np.zeros(problem.size)
        weights = store.last("weights", k)[1]
        w[weights["indices"]] = weights["values"]
        stay = (np.abs(test["gradient"]) > test["bound"]) | (w[test["members"]] != 0.0)
        np.testing.assert_array_equal(test["members"][stay], np.flatnonzero(mask_of(active, "inside")))
        np.testing.assert_array_equal(mask_of(active, "support"), w != 0.0)
        assert test["target"] > 0.0
        assert test["returned"].size == trace.returned[k]
        assert (w[test["returned"]] != 0.0).all()


def test_of_very_many_weights_the_test_is_seen_at_a_sample_and_the_working_set_whole(monkeypatch):
    monkeypatch.setattr(module, "MAX_TEST_GRADIENTS", 10)
    problem = solvers.make_problem(chains(n=60), lam_ratio=0.1)
    solver = solvers.make_solver("prox-qn")
    trace = solvers.solve(problem, solver, max_iter=20, probes=(SHRINKING, ACTIVE))
    whole = solvers.solve(problem, solver, max_iter=20, probes=(WEIGHTS,)).probes.entries("weights")
    monkeypatch.undo()
    exact = solvers.solve(problem, solver, max_iter=20, probes=(SHRINKING,)).probes
    for k in trace.probes.iterations("shrinking"):
        seen, full = trace.probes.last("shrinking", k)[1], exact.last("shrinking", k)[1]
        assert seen["tested"] == full["members"].size
        assert seen["members"].size <= 20
        assert seen["share"] == 1.0 or seen["share"] * seen["tested"] <= 10
        for members, gradient in (("members", "gradient"), ("stayed", "stayed_gradient")):
            places = np.searchsorted(full["members"], seen[members])
            np.testing.assert_array_equal(full["members"][places], seen[members])
            np.testing.assert_array_equal(full["gradient"][places], seen[gradient])
    for (_, active), (_, weights) in zip(trace.probes.entries("active"), whole, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(mask_of(active, "support")), weights["indices"])
        assert not (mask_of(active, "support") & ~mask_of(active, "inside")).any(), "not zero, so it stays"


def test_a_solver_that_does_not_shrink_tells_of_no_test():
    problem = solvers.make_problem(chains(), lam_ratio=0.1)
    for solver in (solvers.make_solver("prox-qn", shrinking=False), solvers.make_solver("owl-qn")):
        trace = solvers.solve(problem, solver, max_iter=3, probes=(SHRINKING,))
        assert trace.probes.iterations("shrinking") == []


def test_scores_are_kept_of_small_problems_only(monkeypatch):
    problem = solvers.make_problem(chains(), lam_ratio=0.1)
    solver = solvers.make_solver("prox-qn")
    trace = solvers.solve(problem, solver, max_iter=5, probes=(SCORES, WEIGHTS))
    weights = trace.probes.last("weights", 5)[1]
    w = np.zeros(problem.size)
    w[weights["indices"]] = weights["values"]
    scores = problem.at(w).scores
    expected = np.concatenate([scores.Z.ravel(), scores.tail])
    np.testing.assert_allclose(trace.probes.last("scores", 5)[1]["z"], expected, atol=1e-12)
    monkeypatch.setattr(module, "MAX_KEPT_SCORES", 10)
    assert solvers.solve(problem, solver, max_iter=2, probes=(SCORES,)).probes.iterations("scores") == []


@pytest.mark.parametrize("id", ["bcd-ls", "fista-ls", "fobos"])
def test_rows_are_seen_in_the_order_of_their_norms(id, monkeypatch):
    data = multiclass(d=30)
    problem = solvers.make_problem(data, loss="multiclass-squared-hinge", penalty="l1-l2", lam_ratio=0.2)
    trace = solvers.solve(problem, solvers.make_solver(id), max_iter=8, probes=(ROWS, WEIGHTS))
    for (k, seen), (_, weights) in zip(
        trace.probes.entries("rows"), trace.probes.entries("weights"), strict=True
    ):
        w = np.zeros(problem.size)
        w[weights["indices"]] = weights["values"]
        W, _ = problem.unpack(w)
        norms = np.linalg.norm(W, axis=1)
        assert seen["count"] == trace.nnz_rows[k] == np.count_nonzero(norms)
        assert seen["size"] == 30
        np.testing.assert_array_equal(np.unpackbits(seen["support"], count=30), norms > 0)
        np.testing.assert_array_equal(seen["rows"], np.argsort(-norms, kind="stable")[: seen["count"]])
        np.testing.assert_allclose(seen["norms"], norms[seen["rows"]], rtol=1e-6)
        np.testing.assert_allclose(seen["pattern"], W[seen["rows"]], rtol=1e-6)
    monkeypatch.setattr(module, "MAX_KEPT_ROWS", 2)
    store = solvers.solve(problem, solvers.make_solver(id), max_iter=8, probes=(ROWS,)).probes
    kept = store.last("rows", 8)[1]
    assert kept["rows"].tolist() == seen["rows"].tolist()[:2]
    assert kept["count"] == seen["count"]
    monkeypatch.setattr(module, "MAX_ROW_WEIGHTS", problem.size - 1)
    unseen = solvers.solve(problem, solvers.make_solver(id), max_iter=1, probes=(ROWS,))
    assert unseen.probes.iterations("rows") == []


def test_rows_of_a_chain_are_those_of_its_features():
    problem = solvers.make_problem(chains(), lam_ratio=0.1)
    solver = solvers.make_solver("prox-qn")
    trace = solvers.solve(problem, solver, max_iter=6, probes=(ROWS,))
    counts = [int(seen["count"]) for _, seen in trace.probes.entries("rows")]
    np.testing.assert_array_equal(counts, trace.nnz_rows)
    assert trace.working_set.min() < problem.size, "also where weights were left out"


def test_a_large_matrix_is_seen_in_bins_as_mean_sizes_under_the_sign_of_their_sum(monkeypatch):
    monkeypatch.setattr(module, "PATTERN", (2, 2))
    W = np.array([[3.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, -4.0, 2.0], [-2.0, 0.0, 0.0]])
    np.testing.assert_allclose(binned(W), [[2.0, -0.25], [-1.0, -1.5]])
    np.testing.assert_array_equal(binned(W[:2, :2]), W[:2, :2])
    assert binned(W[:0]).shape == (0, 3)


def test_a_probe_without_anything_to_take_is_refused_and_one_that_saw_nothing_has_no_entry():
    with pytest.raises(TypeError, match="the probe empty has neither take nor begin: give one"):
        ProbeStore([solvers.Probe("empty")])
    with pytest.raises(LookupError, match="the probe weights has seen nothing"):
        ProbeStore([WEIGHTS]).entry("weights", 0)


def test_what_was_seen_is_a_copy():
    w = np.ones(3)
    store = ProbeStore([WEIGHTS])
    store.observe(Iterate(0, objective=1.0, w=w))
    w[:] = 5.0
    np.testing.assert_array_equal(store.last("weights", 0)[1]["values"], np.ones(3))


def test_the_nearest_earlier_observation_is_shown():
    store = ProbeStore([WEIGHTS])
    assert store.last("weights", 3) is None
    observe(store, [0, 2, 5])
    assert [store.last("weights", k)[0] for k in (0, 1, 2, 4, 5, 99)] == [0, 0, 2, 2, 5, 5]
    assert store.last("line", 2) is None


def test_a_full_store_halves_its_cadence_and_keeps_the_first_and_the_newest(monkeypatch):
    monkeypatch.setattr(module, "RUN_LIMIT", 20_000)
    store = ProbeStore([WEIGHTS])
    for k in range(200):
        observe(store, [k])
        kept = store.iterations("weights")
        assert (kept[0], kept[-1]) == (0, k)
        assert all(i % store.cadence == 0 for i in kept[:-1])
        assert store.bytes <= 20_000
    assert store.cadence > 4
    assert len(kept) >= 4


def test_the_process_has_a_limit_too_and_gets_back_what_a_run_held(monkeypatch):
    gc.collect()
    before = module.in_use()
    monkeypatch.setattr(module, "PROCESS_LIMIT", before + 30_000)
    monkeypatch.setattr(module, "RUN_SHARE", 0)
    stores = [ProbeStore([WEIGHTS]) for _ in range(3)]
    for k in range(40):
        for store in stores:
            observe(store, [k])
    assert module.in_use() == before + sum(store.bytes for store in stores)
    assert module.in_use() <= before + 30_000
    assert all(store.iterations("weights")[-1] == 39 for store in stores)
    del store, stores
    gc.collect()
    assert module.in_use() == before


def test_a_run_has_room_of_its_own_in_a_full_process(monkeypatch):
    monkeypatch.setattr(module, "PROCESS_LIMIT", 0)
    monkeypatch.setattr(module, "RUN_SHARE", 20_000)
    store = ProbeStore([WEIGHTS])
    observe(store, range(200))
    assert len(store.iterations("weights")) >= 4
    assert store.bytes <= 20_000


def test_an_array_that_is_kept_uncopied_counts_once_until_its_last_observation_has_gone():
    shared = np.zeros(1000)
    probe = solvers.Probe("shared", lambda it: {"same": shared, "again": shared} if it.iteration < 3 else {})
    store = ProbeStore([probe])
    for k in range(3):
        observe(store, [k])
        assert store.bytes == shared.nbytes + (k + 1) * (
            3 * module.ARRAY_OVERHEAD_BYTES + 2 * module.REFERENCE_BYTES
        )
    store.cadence = 100
    observe(store, [3, 4])  # that of iteration 2 has gone, those of 0 and 1 have not
    assert shared.nbytes < store.bytes < 2 * shared.nbytes
    store.discard()
    assert store.bytes == 0


def test_what_is_discarded_is_given_back_at_once():
    gc.collect()
    before = module.in_use()
    store = ProbeStore([WEIGHTS])
    observe(store, range(5))
    assert module.in_use() > before
    store.discard()
    observe(store, [5])
    assert module.in_use() == before
    assert store.iterations("weights") == []
    del store
    assert module.in_use() == before


def test_without_probes_nothing_is_kept():
    store = ProbeStore()
    observe(store, range(5))
    assert store.bytes == 0
    assert store.iterations("weights") == []
