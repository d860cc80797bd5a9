"""The shrinking view, on a run of eight weights of which every test is written down here."""

from __future__ import annotations

import numpy as np
import pytest
from bokeh.events import Tap

import solvers
from app.cursor import Cursor
from app.views import Shrinking
from app.views.working_set import NONZERO, RETURNED, SHRUNK, ZERO, states
from solvers import ACTIVE, SHRINKING, Iterate, Names, Run, Stopping, Trace
from solvers.iterate import ShrinkTest
from solvers.probes import ProbeStore
from solvers.working_set import WorkingSet

D, LAM = 8, 1.0
ALL = list(range(D))
#: epoch, who was asked, who stayed, who is not zero, bound λ - M̂/N, M̂, who is back though dropped
STORY = [
    (0, ALL, ALL, [], -np.inf, 4.0, []),
    (0, ALL, [0, 1, 2, 3, 4], [0, 1], 0.2, 2.0, []),
    (0, [0, 1, 2, 3, 4], [0, 1, 3], [0, 1], 0.6, 0.4, []),
    (1, ALL, [0, 1, 5], [0, 1], 0.9, 0.3, []),
    (1, [0, 1, 5], [0, 1, 5], [0, 1, 5], 0.95, 0.01, [5]),
]
#: |g_j| falls with j in steps of 0.1 from 1.0; weight 5 is underestimated at first.
G = np.array([1.0, -1.0, 0.5, 0.7, 0.3, 0.15, 0.1, -0.05])


def working_set(members: list[int]) -> WorkingSet:
    return WorkingSet(None if members == ALL else np.array(members), D, 1, D)


@pytest.fixture
def trace() -> Trace:
    store, records = ProbeStore([ACTIVE, SHRINKING]), []
    for k, (epoch, asked, stayed, support, bound, largest, back) in enumerate(STORY):
        g = G.copy()
        g[5] = 0.97 if epoch else G[5]
        w = np.zeros(D)
        w[support] = 1.0
        test = ShrinkTest(working_set(asked), g[asked], LAM, bound, largest, 0.5, np.array(back, dtype=int))
        store.observe(Iterate(k, w=w, active=working_set(stayed), shrinking=test))
        records.append({"iteration": k, "epoch": epoch, "returned": len(back), "working_set": len(stayed)})
    about = {"lam": LAM, "n_params": D, "n_features": D, "n_outputs": 1}
    trace = Trace.from_records(records, label="a", params={}, problem=about)
    trace.probes = store
    return trace


def at(trace: Trace, iteration: int) -> Shrinking:
    return Shrinking(trace, Cursor(run=trace, iteration=iteration, follow=False))


def test_a_weight_is_shrunk_zero_not_zero_or_back(trace):
    assert states(trace, 2)[0].tolist() == [NONZERO, NONZERO, SHRUNK, ZERO, SHRUNK, SHRUNK, SHRUNK, SHRUNK]
    assert states(trace, 4)[0].tolist() == [
        NONZERO,
        NONZERO,
        SHRUNK,
        SHRUNK,
        SHRUNK,
        RETURNED,
        SHRUNK,
        SHRUNK,
    ]


def test_the_map_has_a_column_an_iteration_and_those_that_left_first_on_top(trace):
    view = at(trace, 4).map
    order = view._order.tolist()
    assert order[:2] == [0, 1], "never left"
    assert order[2] == 3, "left last"
    assert set(order[-3:]) == {5, 6, 7}, "left first"
    for k in range(len(STORY)):
        np.testing.assert_array_equal(view._image[:, k], states(trace, k)[0][order])
    assert (view._image[:, len(STORY) :] == SHRUNK).all()
    assert view._image[order.index(5), 4] == RETURNED


def test_a_group_of_weights_shows_a_returned_member_and_else_what_most_are(trace, monkeypatch):
    monkeypatch.setattr("app.views.working_set.ROWS", 2)
    view = at(trace, 4).map
    assert view._image.shape[0] == 2
    assert RETURNED in view._image[:, 4]
    assert view._image[:, 0].tolist() == [ZERO, ZERO]


def test_the_threshold_stands_at_lambda_minus_m_over_n(trace):
    view = at(trace, 2)
    assert view._lines["bound"].location == pytest.approx(STORY[2][4])
    assert view._lines["l1"].location == LAM
    assert view._asked.axis_label == "|g|  ·  bound λ − M̂/N, λ dashed"
    view.cursor.place(trace, 0)
    assert not view._lines["bound"].visible, "M̂ is not known yet"


def test_bars_left_of_the_threshold_are_those_who_go(trace):
    view = at(trace, 2)
    counts = {code: source.data["top"].sum() for code, source in view._bars.items()}
    assert counts == {SHRUNK: 2, ZERO: 1, NONZERO: 2}
    assert view._bars[SHRUNK].data["right"].max() <= STORY[2][4]
    assert view._bars[ZERO].data["right"].max() >= STORY[2][4]
    assert "2 of 5 weights" in view._said.object


def test_lost_by_mistake_and_back_is_said(trace):
    assert "by mistake" not in at(trace, 3)._said.object
    assert "1 weight is back that had been dropped by mistake: 5 (feature 6)." in at(trace, 4)._said.object


def test_the_course_shows_largest_violation_and_the_target_with_epochs_shaded(trace):
    view = at(trace, 4)
    np.testing.assert_allclose(view._course.data["largest"], [row[5] for row in STORY])
    np.testing.assert_allclose(view._course.data["target"], 0.5)
    assert list(view._epochs.data["x0"]) == [3]


def test_a_run_may_go_on_while_its_epochs_are_read(trace, again):
    shown = at(again(trace, live=True), 4)._epochs.data
    assert list(shown["x0"]) == [3]
    assert shown["x1"][0] > 4


def test_why_one_weight_left_and_came_back(trace):
    why = at(trace, 4).why
    why.weight = 5
    said = why._said.object
    assert "Weight 5 (feature 6) left at iteration 1: it was zero, " in said
    assert "and |g| = 0.15 did not exceed λ − M̂/N = 0.2" in said
    assert "came back at iteration 3 (|g| = 0.97)" in said
    np.testing.assert_allclose(why._source.data["gradient"], [0.15, 0.15, np.nan, 0.97, 0.97])
    np.testing.assert_allclose(why._source.data["bound"], [np.nan, 0.2, 0.6, 0.9, 0.95])
    np.testing.assert_allclose(why._source.data["l1"], LAM)
    why.weight = 0
    assert "never left" in why._said.object
    why.weight = 99
    assert why._said.object.startswith("<p>Weight 7 "), "the last one there is"


def test_the_elastic_net_is_tested_against_its_share_of_lambda(trace):
    for _, _, seen in trace.probes._entries:
        seen["shrinking"]["l1"] = np.array(0.25 * LAM)
    view = at(trace, 2)
    assert view._lines["l1"].location == 0.25 * LAM
    assert view._asked.axis_label == "|g|  ·  bound λρ − M̂/N, λρ dashed"
    assert "with |g| up to λρ − M̂/N = 0.6" in view._said.object
    view.why.weight = 5
    np.testing.assert_allclose(view.why._source.data["l1"], 0.25 * LAM)
    assert view.why.figure.yaxis[0].axis_label == "|g|  ·  λρ − M̂/N  ·  λρ"
    assert "did not exceed λρ − M̂/N" in view.why._said.object


def test_many_returned_weights_are_named_a_few_and_counted(trace):
    trace.names = Names([f"<{word}>" for word in "abcdefgh"])
    entry = trace.probes._entries[4][2]["shrinking"]
    entry["returned"] = np.arange(8)
    said = at(trace, 4)._said.object
    assert "8 weights are back" in said
    assert "by mistake: 0 (&lt;a&gt;), 1 (&lt;b&gt;), " in said
    assert said.count("&lt;") == 8
    entry["returned"] = np.arange(8).repeat(2)
    assert "7 (&lt;h&gt;)" not in at(trace, 4)._said.object
    assert " and 8 more." in at(trace, 4)._said.object


def test_a_click_on_any_plot_over_iterations_places_the_cursor(trace):
    view = at(trace, 4)
    plots = {plot.xaxis[0].axis_label: plot for plot in (*view._figures, view.why.figure)}
    course = plots["iteration  ·  epochs shaded in turn"]
    for k, plot in enumerate((course, view.why.figure)):
        plot._trigger_event(Tap(plot, sx=0, sy=0, x=k + 0.7, y=0.5))
        assert view.cursor.iteration == k + 1
        assert view.why._here.location == view._here.location == k + 1
    view.cursor.run = None
    course._trigger_event(Tap(course, sx=0, sy=0, x=3, y=0.5))
    assert view.cursor.iteration == 2


def test_rows_of_the_map_are_named_by_their_first_weight(trace, monkeypatch):
    trace.names = Names(list("abcdefgh"))
    view = at(trace, 4).map
    assert view._source.data["names"] == [["abcdefgh"[j] for j in view._order]]
    assert view._source.data["until"] == [4]
    monkeypatch.setattr("app.views.working_set.ROWS", 2)
    assert at(trace, 4).map._source.data["names"] == [
        [f"{'abcdefgh'[j]} and 3 more" for j in view._order[::4]]
    ]


def test_a_click_on_the_map_chooses_iteration_and_weight(trace):
    view = at(trace, 4)

    class Click:
        x, y = 2.4, 2.5

    view.map._tapped(Click())
    assert view.cursor.iteration == 2
    assert view.why.weight == 3


def test_a_growing_working_set_is_patched_and_laid_out_anew_as_it_doubles(chain_problem):
    run = Run(chain_problem, solvers.make_solver("prox-qn"), probes=(ACTIVE, SHRINKING))
    steps = run.steps()
    for _ in range(10):
        next(steps)
    view = Shrinking(run.trace)
    assert view.map._room == 64
    for _ in range(30):
        next(steps)
        view.update()
    assert view.map._room == 64
    assert view.map._iterations[-1] == run.trace.iteration[-1]
    assert view.map._source.data["until"] == [run.trace.iteration[-1]]
    for _ in range(40):
        next(steps)
    view.update()
    assert view.map._room == 128
    assert view.map._image.shape[1] == 128
    steps.close()


def test_the_map_counts_what_the_record_counts(traces):
    trace = traces[0]
    for k in (0, 5, 30, 59):
        found = states(trace, k)[0]
        assert (found != SHRUNK).sum() == trace.working_set[k]
        assert (found >= NONZERO).sum() == trace.nnz[k]
        assert (found == RETURNED).sum() == trace.returned[k]


def test_a_run_without_shrinking_shows_its_map_alone(chain_problem):
    solver = solvers.make_solver("prox-qn", shrinking=False)
    run = Run(chain_problem, solver, stopping=Stopping(max_iter=3), probes=(ACTIVE, SHRINKING))
    view = Shrinking(run.execute())
    assert view.has_content()
    assert not view._tests.visible
    assert not view.why.visible
    assert (view.map._image[:, 0] == ZERO).all()
