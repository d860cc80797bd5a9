"""The shrinking view, on a run of eight weights of which every test is written down here."""

from __future__ import annotations

import numpy as np
import pytest
from bokeh.events import Tap

import solvers
from app import theme
from app.views import Shrinking
from app.views.cursor import Cursor
from app.views.states import NONZERO, RETURNED, SHRUNK, UNSEEN, ZERO, states, used
from app.views.working_set import LINES, _lines
from solvers import ACTIVE, SHRINKING, Iterate, Names, Run, Stopping, Trace
from solvers.methods.prox_qn import ShrinkTest
from solvers.problems.working_set import WorkingSet
from solvers.runs.probes import ProbeStore
from tests.solvers.helpers import binary, multiclass

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
        store.observe(Iterate(k, w=w, live={"active": working_set(stayed), "shrinking": test}))
        records.append({"iteration": k, "epoch": epoch, "returned": len(back), "working_set": len(stayed)})
    about = {"lam": LAM, "n_params": D, "n_features": D, "n_outputs": 1}
    trace = Trace.from_records(records, label="a", params={}, problem=about)
    trace.probes = store
    return trace


def at(trace: Trace, iteration: int) -> Shrinking:
    return Shrinking(trace, Cursor(run=trace, iteration=iteration, follow=False))


def test_a_weight_is_shrunk_zero_not_zero_or_back(trace):
    assert states(trace, 2, np.arange(D)).tolist() == [
        NONZERO,
        NONZERO,
        SHRUNK,
        ZERO,
        SHRUNK,
        SHRUNK,
        SHRUNK,
        SHRUNK,
    ]
    assert states(trace, 4, np.arange(D)).tolist() == [
        NONZERO,
        NONZERO,
        SHRUNK,
        SHRUNK,
        SHRUNK,
        RETURNED,
        SHRUNK,
        SHRUNK,
    ]


def test_the_map_has_those_used_after_the_first_iteration_and_the_others_as_one_band(trace):
    assert used(trace).tolist() == [0, 1, 3, 5]
    view = at(trace, 4).map
    shown = view._shown.tolist()
    assert shown[:2] == [0, 1], "never left"
    assert shown[2:] == [3, 5], "left first on top"
    for k in range(len(STORY)):
        np.testing.assert_array_equal(view._image[:, k], states(trace, k, view._shown))
    assert view._image[shown.index(5), 4] == RETURNED
    assert view._others_image[0, : len(STORY)].tolist() == [ZERO] + 4 * [SHRUNK]
    assert view._others.text == "4 others"
    assert "4 of 8 weights" in view._said.object
    texts = view.figure.yaxis[0].formatter.args["texts"]
    assert texts == {0.0: "0", 1.0: "1", 2.0: "2"}


def test_the_future_is_not_drawn(trace):
    view = at(trace, 4).map
    n = len(STORY)
    assert (view._image[:, n:] == UNSEEN).all()
    assert (view._others_image[:, n:] == UNSEEN).all()
    assert view._extent.data["right"] == [n]
    for reach in (view.figure.x_range, view.figure.y_range):
        assert [r.data_source for r in reach.renderers] == [view._extent]
    palette = view.figure.renderers[0].glyph.color_mapper.palette
    assert palette[UNSEEN] == "#00000000"


def test_a_working_set_of_all_weights_says_nothing_of_them_so_those_not_zero_are_shown():
    store, records = ProbeStore([ACTIVE]), []
    for k, support in enumerate(([], [1, 2], [2, 3], [3])):
        w = np.zeros(D)
        w[support] = 1.0
        store.observe(Iterate(k, w=w, live={"active": working_set(ALL)}))
        records.append({"iteration": k, "working_set": D})
    trace = Trace.from_records(records, label="a", params={})
    trace.probes = store
    view = at(trace, 3).map
    assert sorted(view._shown) == [2, 3]
    assert (view._others_image[0, :4] == ZERO).all()
    assert view._others.text == "6 others"


def test_a_huge_problem_is_mapped_without_a_vector_of_its_length():
    """121,866,804 weights, of which a few hundred are ever used: each has its line."""
    size, rng, store, records = 121_866_804, np.random.default_rng(0), ProbeStore([ACTIVE]), []

    class Huge:
        """Stands for w: only its size is asked for."""

        def __init__(self) -> None:
            self.size = size

    first = np.unique(rng.integers(0, size, 400_000))
    members = [first, first[::2], first[::2000][:200], first[::4000][:100]]

    class Members(WorkingSet):
        def take(self, w):
            return np.ones(len(self))

    for k, some in enumerate(members):
        store.observe(Iterate(k, w=Huge(), live={"active": Members(some, size, 1, size)}))
        records.append({"iteration": k, "working_set": some.size})
    trace = Trace.from_records(records, label="a", params={})
    trace.probes = store
    assert store.bytes < 5e6
    view = at(trace, 3).map
    np.testing.assert_array_equal(np.sort(view._shown), members[2])
    assert view._image.shape[0] == 200
    assert (view._image[:, 2] == NONZERO).all()
    assert (view._image[:, 3] == NONZERO).sum() == 100
    assert view._others.text == "121\u2009866\u2009604 others"
    view._tapped(type("Click", (), {"x": 2.5, "y": 150.5}))
    assert view.cursor.iteration == 2


def test_a_group_of_weights_shows_a_returned_member_and_else_what_most_are(trace, monkeypatch):
    monkeypatch.setattr("app.views.working_set.LINES", 2)
    view = at(trace, 4).map
    assert view._image.shape[0] == 2
    assert RETURNED in view._image[:, 4]
    assert view._image[:, 0].tolist() == [ZERO, ZERO]


def test_a_click_on_a_group_picks_a_weight_of_the_colour_that_was_clicked(trace, monkeypatch):
    monkeypatch.setattr("app.views.working_set.LINES", 1)
    view = at(trace, 4)
    view.map._tapped(type("Click", (), {"x": 4.5, "y": 0.5}))
    assert view.why.weight == 5, "painted as back, and it is the one that came back"


def test_those_that_came_back_are_shown_whatever_the_sample(trace, monkeypatch):
    monkeypatch.setattr("app.views.working_set.SAMPLED", 1)
    view = at(trace, 4).map
    assert 5 in view._shown
    texts = view.figure.yaxis[0].formatter.args["texts"]
    assert texts[len(view._shown) * 2 / 4] in ("1", "2"), "the axis still counts all"


@pytest.mark.parametrize("count", [0, 1, 280, 281, 300, 8_000, 16_384])
def test_lines_are_single_at_the_bottom_and_share_all_weights(count):
    edges = _lines(count)
    sizes = np.diff(edges)
    assert edges[0] == 0
    assert edges[-1] == count
    assert len(sizes) <= LINES
    assert count <= LINES or len(sizes) > 0.9 * LINES
    assert (sizes > 0).all()
    assert (np.diff(np.log(edges[edges > 40])) < 0.06).all(), "no group is much thicker than its neighbours"
    assert (sizes[:20] == 1).all()


def test_the_threshold_stands_at_lambda_minus_m_over_n(trace):
    view = at(trace, 2)
    assert view._lines["bound"].location == pytest.approx(STORY[2][4])
    assert view._lines["l1"].location == LAM
    assert view._test_axis.axis_label == "|g|  ·  bound λ − M̂/N, λ dashed"
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
    trace.info["problem"]["penalty"] = "elastic-net"
    for _, _, seen in trace.probes._entries:
        seen["shrinking"]["l1"] = np.array(0.25 * LAM)
    view = at(trace, 2)
    assert view._lines["l1"].location == 0.25 * LAM
    assert view._test_axis.axis_label == "|g|  ·  bound λρ − M̂/N, λρ dashed"
    assert "with |g| up to λρ − M̂/N = 0.6" in view._said.object
    view.why.weight = 5
    np.testing.assert_allclose(view.why._source.data["l1"], 0.25 * LAM)
    assert view.why.figure.yaxis[0].axis_label == "gradient |g|\nbound λρ − M̂/N\nλρ"
    assert "did not exceed λρ − M̂/N" in view.why._said.object


def test_an_elastic_net_of_l1_alone_is_called_by_its_own_symbol(trace):
    trace.info["problem"]["penalty"] = "elastic-net"
    assert at(trace, 2)._test_axis.axis_label == "|g|  ·  bound λρ − M̂/N, λρ dashed"


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
    assert view._source.data["names"] == [["abcdefgh"[j] for j in view._shown]]
    assert view._source.data["until"] == [4]
    monkeypatch.setattr("app.views.working_set.LINES", 2)
    assert at(trace, 4).map._source.data["names"] == [
        ["abcdefgh"[view._shown[0]], f"{'abcdefgh'[view._shown[1]]} and 2 more"]
    ]


def test_a_click_on_the_map_chooses_iteration_and_weight(trace):
    view = at(trace, 4)

    class Click:
        x, y = 2.4, 2.5

    view.map._tapped(Click())
    assert view.cursor.iteration == 2
    assert view.why.weight == 3


def test_a_click_on_the_map_of_a_run_that_is_gone_changes_nothing(trace):
    """It was on its way while the next run began, of which nothing has been observed yet."""
    view, began = at(trace, 4), Trace.from_records([], label="next", params={})
    began.probes = ProbeStore([ACTIVE, SHRINKING])
    view.cursor.choose(began, follow=False)
    view.show([began])
    view.map._tapped(type("Click", (), {"x": 2.4, "y": 2.5}))
    assert (view.cursor.run, view.cursor.iteration, view.why.weight) == (began, 4, 0)


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
    np.testing.assert_array_equal(np.sort(view.map._shown), used(run.trace))
    steps.close()


def test_the_map_counts_what_the_record_counts(traces):
    trace = traces[0]
    for k in (0, 5, 30, 59):
        found = states(trace, k, np.arange(trace.info["problem"]["n_params"]))
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


def dual_trace(loss: str = "multiclass-hinge") -> Trace:
    data = multiclass(n=300, m=3) if loss == "multiclass-hinge" else binary(n=300)
    problem = solvers.make_problem(data, loss=loss, penalty="l2", lam=0.01)
    solver = solvers.make_solver("dual-cd")
    return solvers.solve(problem, solver, tol=1e-8, probes=(ACTIVE, SHRINKING))


def test_the_map_of_dual_variables_speaks_of_samples_and_bounds(trace):
    """What it draws is the working set's own word: after a run over weights it changes its words."""
    shown, weights, trace = at(trace, 4), trace, dual_trace()
    figure, words = shown.map.figure, lambda: shown.map._hover.tooltips[1][0]
    shown.update()
    assert (figure.yaxis[0].axis_label.split()[0], words()) == ("weights", "weight")
    shown.cursor.place(trace, len(trace) - 1)
    shown.show([weights, trace])
    assert figure.yaxis[0].axis_label.startswith("dual variables used")
    assert words() == "dual variable"
    assert "inside its bounds" in shown.map._said.object
    assert f"of {theme.number(900)} dual variables" in shown.map._said.object
    names = shown.map._source.data["names"][0]
    assert all(name.startswith("sample ") and ", " in name for name in names)
    assert not shown._tests.visible


def test_what_the_map_paints_of_dual_variables_is_what_the_record_counts():
    trace = dual_trace("binary-hinge")
    everyone = np.arange(300)
    for k in range(len(trace)):
        codes = states(trace, k, everyone)
        assert np.count_nonzero(codes != SHRUNK) == trace.working_set[k]
    assert (codes == NONZERO).any()
    assert trace.working_set.min() < 300
