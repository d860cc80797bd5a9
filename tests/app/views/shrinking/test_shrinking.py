"""The shrinking view, on a run of eight weights of which every test is written down here."""

from __future__ import annotations

import numpy as np
import pytest
from bokeh.models import Image

from solverscope import solvers
from solverscope.app import ui
from solverscope.app.views import Shrinking
from solverscope.app.views.base.cursor import Cursor
from solverscope.app.views.base.states import NONZERO, RETURNED, SHRUNK, UNSEEN, ZERO, states, used
from solverscope.app.views.shrinking.shrinking import HISTOGRAM_GROUPS
from solverscope.app.views.shrinking.working_set_map import MAX_PIXEL_LINES, WorkingSetMap, edges_of
from solverscope.solvers import ACTIVE, SHRINKING, Iterate, Names, Run, Stopping, Trace
from solverscope.solvers.linalg.working_set import WorkingSet
from solverscope.solvers.probes.probe import ProbeStore
from solverscope.solvers.working_sets.screening import ShrinkTest
from tests.app.helpers import click, drawn, figures, glyphs, in_sight, lines, said, text
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


def picture(view: WorkingSetMap) -> np.ndarray:
    """The states that the map has painted, a line a weight or a group, a column an iterate."""
    return drawn(view.figure, "names").data["image"][0]


def band(view: WorkingSetMap) -> np.ndarray:
    """The states of all others."""
    return glyphs(view.figure, Image)[1].data_source.data["image"][0]


def others(view: WorkingSetMap) -> str:
    labels = view.figure.yaxis[0].major_label_overrides
    return next((labels[place] for place in labels if place < 0), "").replace("\n", " ")


def named(view: WorkingSetMap) -> list[str]:
    """What the lines are called, from the lowest."""
    return drawn(view.figure, "names").data["names"][0]


def shown(view: WorkingSetMap) -> list[int]:
    """The weights that the lines are of, from the lowest; of a group the first."""
    words = (name.split() for name in named(view))
    return [int(number) - (what == "feature") for what, number, *_ in words]


def axis(view: Shrinking) -> str:
    """What the axis of the test says."""
    return figures(view)["shrinking-test"].xaxis[0].axis_label


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
    weights = shown(view)
    assert weights[:2] == [0, 1], "never left"
    assert weights[2:] == [3, 5], "left first on top"
    for k in range(len(STORY)):
        np.testing.assert_array_equal(picture(view)[:, k], states(trace, k, np.array(weights)))
    assert picture(view)[weights.index(5), 4] == RETURNED
    assert band(view)[0, : len(STORY)].tolist() == [ZERO] + 4 * [SHRUNK]
    assert others(view) == "4 others"
    assert "4 of 8 weights" in text(view)
    texts = view.figure.yaxis[0].major_label_overrides
    assert {place: text for place, text in texts.items() if place >= 0} == {0.0: "0", 1.0: "1", 2.0: "2"}


def test_the_future_is_not_drawn(trace):
    view = at(trace, 4).map
    n = len(STORY)
    assert (picture(view)[:, n:] == UNSEEN).all()
    assert (band(view)[:, n:] == UNSEEN).all()
    extent = drawn(view.figure, "left", "top")
    assert extent.data["right"] == [n]
    for reach in (view.figure.x_range, view.figure.y_range):
        assert [r.data_source for r in reach.renderers] == [extent]
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
    assert sorted(shown(view)) == [2, 3]
    assert (band(view)[0, :4] == ZERO).all()
    assert others(view) == "6 others"


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
    np.testing.assert_array_equal(np.sort(shown(view)), members[2])
    assert picture(view).shape[0] == 200
    assert (picture(view)[:, 2] == NONZERO).all()
    assert (picture(view)[:, 3] == NONZERO).sum() == 100
    assert others(view) == "121\u202f866\u202f604 others"
    click(view.figure, 2.5, 150.5)
    assert view.cursor.iteration == 2


def test_a_group_of_weights_shows_a_returned_member_and_else_what_most_are(trace, monkeypatch):
    monkeypatch.setattr("solverscope.app.views.shrinking.working_set_map.MAX_PIXEL_LINES", 2)
    view = at(trace, 4).map
    assert picture(view).shape[0] == 2
    assert RETURNED in picture(view)[:, 4]
    assert picture(view)[:, 0].tolist() == [ZERO, ZERO]


def test_a_click_on_a_group_picks_a_weight_of_the_colour_that_was_clicked(trace, monkeypatch):
    monkeypatch.setattr("solverscope.app.views.shrinking.working_set_map.MAX_PIXEL_LINES", 1)
    view = at(trace, 4)
    click(view.map.figure, 4.5, 0.5)
    assert view.why.weight == 5, "painted as back, and it is the one that came back"


def test_those_that_came_back_are_shown_whatever_the_sample(trace, monkeypatch):
    monkeypatch.setattr("solverscope.app.views.shrinking.working_set_map.MAX_MAPPED_WEIGHTS", 1)
    view = at(trace, 4).map
    assert 5 in shown(view)
    texts = view.figure.yaxis[0].major_label_overrides
    assert texts[len(shown(view)) * 2 / 4] in ("1", "2"), "the axis still counts all"


@pytest.mark.parametrize("count", [0, 1, 280, 281, 300, 8_000, 16_384])
def test_lines_are_single_at_the_bottom_and_share_all_weights(count):
    edges = edges_of(count)
    sizes = np.diff(edges)
    assert edges[0] == 0
    assert edges[-1] == count
    assert len(sizes) <= MAX_PIXEL_LINES
    assert count <= MAX_PIXEL_LINES or len(sizes) > 0.9 * MAX_PIXEL_LINES
    assert (sizes > 0).all()
    assert (np.diff(np.log(edges[edges > 40])) < 0.06).all(), "no group is much thicker than its neighbours"
    assert (sizes[:20] == 1).all()


def test_the_threshold_stands_at_lambda_minus_m_over_n(trace):
    view = at(trace, 2)
    bound, l1 = lines(figures(view)["shrinking-test"])
    assert bound.location == pytest.approx(STORY[2][4])
    assert l1.location == LAM
    assert axis(view) == "|g|  ·  bound λ − M̂/N, λ dashed"
    view.cursor.place(trace, 0)
    assert not bound.visible, "M̂ is not known yet"


def test_bars_left_of_the_threshold_are_those_who_go(trace):
    view = at(trace, 2)
    bars = drawn(figures(view)["shrinking-test"], "top").data
    own = {code: bars["color"] == color for code, _, color in HISTOGRAM_GROUPS}
    counts = {code: bars["top"][some].sum() for code, some in own.items()}
    assert counts == {SHRUNK: 2, ZERO: 1, NONZERO: 2}
    assert bars["right"][own[SHRUNK]].max() <= STORY[2][4]
    assert bars["right"][own[ZERO]].max() >= STORY[2][4]
    assert "2 of 5 tested weights" in said(view)


def test_lost_by_mistake_and_back_is_said(trace):
    assert "had missed" not in said(at(trace, 3))
    assert "1 weight returns that shrinking had missed: 5 (feature 6)." in said(at(trace, 4))


def test_the_course_shows_largest_violation_and_the_target_with_epochs_shaded(trace):
    view = at(trace, 4)
    plot = figures(view)["shrinking-epochs"]
    course = drawn(plot, "largest").data
    np.testing.assert_allclose(course["largest"], [row[5] for row in STORY])
    np.testing.assert_allclose(course["target"], 0.5)
    assert list(drawn(plot, "x0").data["x0"]) == [3]


def test_a_run_may_go_on_while_its_epochs_are_read(trace, again):
    view = at(again(trace, live=True), 4)
    epochs = drawn(figures(view)["shrinking-epochs"], "x0").data
    assert list(epochs["x0"]) == [3]
    assert epochs["x1"][0] > 4


def test_it_begins_with_a_weight_that_came_back_until_another_is_chosen(trace):
    view = at(trace, 4)
    assert view.why.weight == 5
    assert "returned at iteration 3" in text(view.why)
    view.why.weight = 2
    view.show([trace])
    view.update()
    assert view.why.weight == 2


def test_why_one_weight_left_and_came_back(trace):
    why = at(trace, 4).why
    why.weight = 5
    words = text(why)
    assert "Weight 5 (feature 6) left at iteration 1: it was zero, " in words
    assert "and |g| = 0.15 did not exceed λ − M̂/N = 0.2" in words
    assert "returned at iteration 3 (|g| = 0.97)" in words
    np.testing.assert_allclose(drawn(why.figure, "bound").data["gradient"], [0.15, 0.15, np.nan, 0.97, 0.97])
    np.testing.assert_allclose(drawn(why.figure, "bound").data["bound"], [np.nan, 0.2, 0.6, 0.9, 0.95])
    np.testing.assert_allclose(drawn(why.figure, "bound").data["l1"], LAM)
    why.weight = 0
    assert "never left" in text(why)
    why.weight = 99
    assert "<p>Weight 7 " in text(why), "the last one there is"


def test_the_elastic_net_is_tested_against_its_share_of_lambda(trace):
    trace.info.problem["penalty"] = "elastic-net"
    for _, seen in trace.probes.entries("shrinking"):
        seen["l1"] = np.array(0.25 * LAM)
    view = at(trace, 2)
    assert lines(figures(view)["shrinking-test"])[1].location == 0.25 * LAM
    assert axis(view) == "|g|  ·  bound λρ − M̂/N, λρ dashed"
    assert "with |g| up to λρ − M̂/N = 0.6" in said(view)
    view.why.weight = 5
    np.testing.assert_allclose(drawn(view.why.figure, "bound").data["l1"], 0.25 * LAM)
    assert view.why.figure.yaxis[0].axis_label == "gradient |g|\nbound λρ − M̂/N\nλρ"
    assert "did not exceed λρ − M̂/N" in text(view.why)


def test_an_elastic_net_of_l1_alone_is_called_by_its_own_symbol(trace):
    trace.info.problem["penalty"] = "elastic-net"
    assert axis(at(trace, 2)) == "|g|  ·  bound λρ − M̂/N, λρ dashed"


def test_many_returned_weights_are_named_a_few_and_counted(trace):
    trace.names = Names([f"<{word}>" for word in "abcdefgh"])
    _, entry = trace.probes.last("shrinking", 4)
    entry["returned"] = np.arange(8)
    words = said(at(trace, 4))
    assert "8 weights return" in words
    assert "had missed: 0 (&lt;a&gt;), 1 (&lt;b&gt;) and 6 more." in words
    entry["returned"] = np.arange(2)
    assert "had missed: 0 (&lt;a&gt;), 1 (&lt;b&gt;)." in said(at(trace, 4))


def test_a_click_on_any_plot_over_iterations_places_the_cursor(trace):
    view = at(trace, 4)
    both = figures(view)["shrinking-epochs"], view.why.figure
    for k, plot in enumerate(both):
        click(plot, k + 0.7, 0.5)
        assert view.cursor.iteration == k + 1
        assert [lines(each)[0].location for each in both] == [k + 1, k + 1]
    view.cursor.run = None
    click(both[0], 3, 0.5)
    assert view.cursor.iteration == 2


def test_rows_of_the_map_are_named_by_their_first_weight(trace, monkeypatch):
    weights = shown(at(trace, 4).map)
    trace.names = Names(list("abcdefgh"))
    view = at(trace, 4).map
    assert named(view) == ["abcdefgh"[j] for j in weights]
    assert drawn(view.figure, "names").data["until"] == [4]
    monkeypatch.setattr("solverscope.app.views.shrinking.working_set_map.MAX_PIXEL_LINES", 2)
    assert named(at(trace, 4).map) == ["abcdefgh"[weights[0]], f"{'abcdefgh'[weights[1]]} and 2 more"]


def test_a_click_on_the_map_chooses_iteration_and_weight(trace):
    view = at(trace, 4)
    click(view.map.figure, 2.4, 2.5)
    assert view.cursor.iteration == 2
    assert view.why.weight == 3


def test_a_click_is_resolved_on_the_map_that_was_clicked(trace, again):
    """The lines have been sorted anew, and another run has been drawn, while it was on its way."""
    view, other = at(trace, 4), again(trace)
    view.show([trace, other])
    (tell,) = view.map.figure.js_event_callbacks["tap"]
    clicked = drawn(view.map.figure, "names").data["layout"]
    tell.args["clicked"].data = {"layout": clicked}
    view.cursor.choose(other, follow=False)
    assert drawn(view.map.figure, "names").data["layout"] != clicked
    click(view.map.figure, 2.4, 2.5)
    assert (view.cursor.run, view.cursor.iteration, view.why.weight) == (trace, 2, 3)
    tell.args["clicked"].data = {"layout": [-1]}
    click(view.map.figure, 1.4, 1.5)
    assert (view.cursor.run, view.cursor.iteration, view.why.weight) == (trace, 2, 3), "long gone"


def test_a_click_on_the_map_of_a_run_that_is_gone_changes_nothing(trace):
    """It was on its way while the next run began, of which nothing has been observed yet."""
    view, began = at(trace, 4), Trace.from_records([], label="next", params={})
    began.probes = ProbeStore([ACTIVE, SHRINKING])
    view.cursor.choose(began, follow=False)
    view.show([began])
    click(view.map.figure, 2.4, 2.5)
    assert (view.cursor.run, view.cursor.iteration, view.why.weight) == (began, 4, 5)


def test_a_growing_working_set_is_patched_and_laid_out_anew_as_it_doubles(chain_problem):
    run = Run(chain_problem, solvers.make_solver("prox-qn"), probes=(ACTIVE, SHRINKING))
    steps = run.steps()
    for _ in range(10):
        next(steps)
    view = Shrinking(run.trace)
    assert picture(view.map).shape[1] == 64
    for _ in range(30):
        next(steps)
        view.update()
    assert picture(view.map).shape[1] == 64
    assert drawn(view.map.figure, "names").data["until"] == [run.trace.iteration[-1]]
    for _ in range(40):
        next(steps)
    view.update()
    assert picture(view.map).shape[1] == 128
    assert f"{ui.number(used(run.trace).size)} of " in text(view.map)
    steps.close()


def test_the_map_counts_what_the_record_counts(traces):
    trace = traces[0]
    for k in (0, 5, 30, 59):
        found = states(trace, k, np.arange(trace.info.problem["n_params"]))
        assert (found != SHRUNK).sum() == trace.working_set[k]
        assert (found >= NONZERO).sum() == trace.nnz[k]
        assert (found == RETURNED).sum() == trace.returned[k]


def test_a_run_without_shrinking_shows_its_map_alone(chain_problem):
    solver = solvers.make_solver("prox-qn", shrinking=False)
    run = Run(chain_problem, solver, stopping=Stopping(max_iter=3), probes=(ACTIVE, SHRINKING))
    view = Shrinking(run.execute())
    assert view.has_content()
    assert [plot.name for plot in in_sight(view)] == ["working-set"]
    assert not view.why.visible
    assert (picture(view.map)[:, 0] == ZERO).all()


def dual_trace(loss: str = "multiclass-hinge") -> Trace:
    data = multiclass(n=300, m=3) if loss == "multiclass-hinge" else binary(n=300)
    problem = solvers.make_problem(data, loss=loss, penalty="l2", lam=0.01)
    solver = solvers.make_solver("dual-cd")
    return solvers.solve(problem, solver, tol=1e-8, probes=(ACTIVE, SHRINKING))


@pytest.mark.slow
def test_the_map_of_dual_variables_speaks_of_samples_and_bounds(trace):
    """What it draws is the working set's own word: after a run over weights it changes its words."""
    view, weights, trace = at(trace, 4), trace, dual_trace()
    figure, words = view.map.figure, lambda: view.map.figure.hover.tooltips[1][0]
    view.update()
    assert (figure.yaxis[0].axis_label.split()[0], words()) == ("weights", "weight")
    view.cursor.place(trace, len(trace) - 1)
    view.show([weights, trace])
    assert figure.yaxis[0].axis_label.startswith("dual variables used")
    assert words() == "dual variable"
    assert "inside its bounds" in text(view.map)
    assert f"of {ui.number(900)} dual variables" in text(view.map)
    assert all(name.startswith("sample ") and ", " in name for name in named(view.map))
    assert [plot.name for plot in in_sight(view)] == ["working-set"]


def test_what_the_map_paints_of_dual_variables_is_what_the_record_counts():
    trace = dual_trace("binary-hinge")
    everyone = np.arange(300)
    for k in range(len(trace)):
        codes = states(trace, k, everyone)
        assert np.count_nonzero(codes != SHRUNK) == trace.working_set[k]
    assert (codes == NONZERO).any()
    assert trace.working_set.min() < 300
