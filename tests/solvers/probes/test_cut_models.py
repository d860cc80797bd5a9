"""What the probe keeps of cutting planes: enough to draw the model on any line, each vector once."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers import CUTS, WEIGHTS, Iterate
from solverscope.solvers.curvature.cuts import Cuts
from solverscope.solvers.probes import cut_models as module
from solverscope.solvers.probes import probe as probes
from solverscope.solvers.probes.cut_models import lowest, sliced
from solverscope.solvers.probes.probe import ARRAY_OVERHEAD_BYTES, REFERENCE_BYTES, Probe, ProbeStore


def toy():
    data = datasets.load("toy", pieces="x^2+0.5y^2+0.5xy; 2x+y", start="2,1.5")
    return solvers.make_problem(data, penalty="l2", lam=0.1)


@pytest.mark.parametrize("id", ["bmrm", "ls-bmrm"])
def test_on_any_line_each_cut_is_below_the_loss_and_the_model_is_least_at_the_bound(id):
    problem, rng = toy(), np.random.default_rng(0)
    trace = solvers.solve(problem, solvers.make_solver(id), max_iter=12, probes=(CUTS,))
    entries = trace.probes.entries("cuts")
    assert len(entries) > 5
    t = np.linspace(-1.0, 2.0, 31)
    for k, seen in entries:
        w, d = rng.normal(size=(2, 2))
        line = sliced(seen, w, d)
        points = [problem.at(w + x * d) for x in t]
        loss, penalty = (np.array([getattr(p, name) for p in points]) for name in ("loss", "penalty"))
        np.testing.assert_allclose(line.ridge_at(t), penalty, rtol=1e-12)
        assert (line.cuts_at(t) <= loss + 1e-9).all()
        low = sliced(seen, lowest(seen), d)
        model = low.ridge_at(t) + low.cuts_at(t).max(axis=0)
        assert model.min() >= float(seen["bound"]) - 1e-9
        at_0 = low.ridge_at(np.zeros(1)) + low.cuts_at(np.zeros(1)).max(axis=0)
        assert at_0 == pytest.approx(float(seen["bound"]), abs=1e-5)
        assert seen["alpha"].sum() == pytest.approx(1.0, abs=1e-12)
        assert float(seen["best"]) == trace.objective[k]


def test_of_a_problem_with_many_weights_the_shares_alone_are_kept(monkeypatch):
    monkeypatch.setattr(module, "MAX_CUT_WEIGHTS", 1)
    trace = solvers.solve(toy(), solvers.make_solver("bmrm"), max_iter=3, probes=(CUTS,))
    _, seen = trace.probes.last("cuts", 3)
    assert "A" not in seen
    assert "w" not in seen
    assert len(seen["alpha"]) == len(seen["numbers"]) > 1


def test_a_solver_without_cuts_shows_none():
    trace = solvers.solve(toy(), solvers.make_solver("sublbfgs"), max_iter=3, probes=(CUTS,))
    assert trace.probes.iterations("cuts") == []


def test_vectors_that_observations_have_in_common_count_once_and_until_nobody_holds_them(monkeypatch):
    vectors = [np.zeros(1000) for _ in range(50)]
    probe = Probe("common", lambda it: {"A": tuple(vectors[max(it.iteration - 2, 0) : it.iteration + 1])})
    store = ProbeStore([probe])

    def observe(k):
        store.observe(Iterate(k, objective=1.0))

    for k in range(4):
        observe(k)
    references = sum(REFERENCE_BYTES * min(k + 1, 3) for k in range(4))
    assert store.bytes == 4 * 8000 + references + 4 * 2 * ARRAY_OVERHEAD_BYTES
    monkeypatch.setattr(probes, "RUN_LIMIT", 200_000)
    for k in range(4, 50):
        observe(k)
    held = {id(vector) for _, seen in store.entries("common") for vector in seen["A"]}
    assert len(held) < 50, "some were given up"
    count = len(store.entries("common"))
    references = sum(REFERENCE_BYTES * len(seen["A"]) for _, seen in store.entries("common"))
    assert store.bytes == 8000 * len(held) + references + count * 2 * ARRAY_OVERHEAD_BYTES
    store.discard()
    assert store.bytes == 0


def test_a_vector_of_the_model_is_never_changed():
    """An observation refers to it."""
    rng = np.random.default_rng(0)
    cuts, copies = Cuts(0.3, most=6, patience=3), {}
    for _ in range(40):
        cuts.add(rng.normal(size=4), float(rng.normal()))
        cuts.minimize()
        for a in cuts.A:
            copies.setdefault(id(a), (a, a.copy()))
    assert len(copies) > 40
    for a, copy in copies.values():
        np.testing.assert_array_equal(a, copy)


def test_cuts_take_the_room_of_no_other_probe():
    """Each vector is in all later observations, and yet takes its bytes once."""
    problem = solvers.make_problem(
        datasets.load("breast-cancer"), loss="binary-hinge", penalty="l2", lam=1e-3
    )
    trace = solvers.solve(problem, solvers.make_solver("bmrm"), max_iter=60, probes=(CUTS, WEIGHTS))
    store = trace.probes
    assert store.cadence == 1
    vectors = sum(len(seen["A"]) for _, seen in store.entries("cuts"))
    assert vectors > 1000
    assert store.bytes < 61 * (20 * ARRAY_OVERHEAD_BYTES + 60 * 40) + 80 * problem.size * 8
