"""The memory view, on pairs of which everything is known."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope.app.views import Memory
from solverscope.app.views.base.cursor import Cursor
from solverscope.solvers import MEMORY, Iterate, Trace
from solverscope.solvers.curvature.memory import PairMemory
from solverscope.solvers.probes.probe import ProbeStore
from tests.app.helpers import curves, drawn, figures, in_sight, lines, said

D = 6
EIGENVALUES = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])


def run(inner: int = 3) -> Trace:
    """Four iterates: no pair, one, two, then one refused. Steps s are unit vectors, y = H s. ``inner``:
    inner iterations after the first iterate."""
    memory, store, records = PairMemory(10), ProbeStore([MEMORY]), []
    for k in range(4):
        if k in (1, 2):
            s = np.eye(D)[k]
            memory.push(s, EIGENVALUES * s)
        known = {"gamma": 0.5, "working_set": D - k, "inner_iterations": inner if k else -1}
        more = {"cpu_seconds": float(k), "events": ("curvature-skipped",) if k == 3 else ()}
        records.append({"iteration": k, "memory_pairs": len(memory), **known, **more})
        store.observe(Iterate(k, w=np.zeros(D), live={"memory": memory}, **known))
    trace = Trace.from_records(records, label="a<b", params={}, problem={"n_params": D})
    trace.probes = store
    return trace


@pytest.fixture
def trace() -> Trace:
    return run()


def at(trace: Trace, iteration: int) -> Memory:
    return Memory(trace, Cursor(run=trace, iteration=iteration, follow=False))


def test_pairs_are_counted_and_refused_ones_crossed(trace):
    pairs = at(trace, 0).parts[0]
    data = curves(pairs.figure)[0].data
    np.testing.assert_array_equal(data["y"], [0, 1, 2, 2])
    np.testing.assert_array_equal(data["refused"], [np.nan, np.nan, np.nan, 2])


def test_bytes_of_q_are_those_of_the_working_set_and_of_all_weights(trace):
    view = at(trace, 2)
    data = curves(view.parts[1].figure)[0].data
    np.testing.assert_allclose(data["y"][1:], np.array([2 * 5, 4 * 4, 4 * 3]) * 8 / 1e6)
    np.testing.assert_allclose(data["whole"][1:], np.array([2, 4, 4]) * D * 8 / 1e6)
    assert "a&lt;b" in said(view)
    assert "2 pairs; Q has 4 columns of 4 numbers" in said(view)
    assert "for all 6 weights" in said(view)


def test_pairs_of_which_no_matrix_is_made_are_s_and_y():
    assert "2 pairs; S and Y have 4 columns of 4 numbers" in said(at(run(inner=-1), 2))


def test_an_iterate_whose_row_was_thinned_out_is_shown_with_its_own_scaling(trace):
    records = [record | {"gamma": 7.0} for record in trace.records() if record["iteration"] != 2]
    thinned = Trace.from_records(records, **trace.info.record())
    thinned.probes = trace.probes
    view = at(thinned, 2)
    assert lines(figures(view)["memory-eigenvalues"])[0].location == 0.5
    assert "2 pairs; Q has 4 columns of 4 numbers" in said(view)


def test_at_the_cursor_curvature_products_and_eigenvalues_are_those_of_the_pairs(trace):
    view = at(trace, 2)
    np.testing.assert_allclose(drawn(figures(view)["memory-cosines"], "cosine").data["cosine"], [1.0, 1.0])
    np.testing.assert_allclose(drawn(figures(view)["memory-SY"], "image").data["image"][0], np.eye(2))
    np.testing.assert_allclose(
        drawn(figures(view)["memory-middle"], "image").data["image"][0], np.diag([1.0, 1.0, -1.0, -1.0])
    )
    # B agrees with H in the directions it has seen
    np.testing.assert_allclose(drawn(figures(view)["memory-eigenvalues"], "value").data["value"], [2.0, 4.0])
    assert lines(figures(view)["memory-eigenvalues"])[0].location == 0.5
    view.cursor.place(trace, 1)
    np.testing.assert_allclose(drawn(figures(view)["memory-eigenvalues"], "value").data["value"], [2.0])


def test_without_pairs_it_says_so_and_its_figures_stay_without_data(trace):
    view = at(trace, 2)
    before = {plot.name for plot in in_sight(view)}
    view.cursor.place(trace, 0)
    assert "no pairs, B = B₀.</p>" in said(view)
    assert {plot.name for plot in in_sight(view)} == before
    for name, field in {"cosines": "cosine", "eigenvalues": "value"}.items():
        assert len(drawn(figures(view)[f"memory-{name}"], field).data[field]) == 0
    for name in ("SY", "middle"):
        assert len(drawn(figures(view)[f"memory-{name}"], "image").data["image"]) == 0


def test_where_the_pairs_have_been_cleared_the_last_that_there_were_are_shown(trace):
    none = np.zeros(D)
    trace.probes.observe(Iterate(4, w=none, gamma=0.5, working_set=D, live={"memory": PairMemory(10)}))
    view = at(trace, 4)
    assert "at iteration 3: 2 pairs" in said(view).replace("</b>", "")
    assert "The pairs were cleared by iteration 4." in said(view)
    assert len(drawn(figures(view)["memory-cosines"], "cosine").data["cosine"]) == 2
    view.cursor.place(trace, 3)
    assert "cleared" not in said(view)


def test_pairs_too_long_for_the_observer_have_no_eigenvalues_and_it_says_so(trace):
    for _, seen in trace.probes.entries("memory"):
        seen.pop("gram")
    view = at(trace, 2)
    assert said(view).endswith("; for so many the eigenvalues of B are not computed.</p>")
    assert len(drawn(figures(view)["memory-eigenvalues"], "value").data["value"]) == 0
    assert len(drawn(figures(view)["memory-cosines"], "cosine").data["cosine"]) == 2


def test_a_run_that_keeps_no_pairs_gets_the_hint():
    trace = Trace.from_records([{"iteration": 0, "objective": 1.0}], label="a", params={})
    assert not Memory(trace).has_content()
