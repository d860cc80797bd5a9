"""Trajectories of which everything is known: what is drawn of them, in which colours, and what is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import panel as pn
import pytest
from bokeh.models import ColumnDataSource

from solverscope import solvers
from solverscope.app import ui
from solverscope.app.ui.menu import LineMenu
from solverscope.app.views import Cursor, Trajectories
from solverscope.app.views.trajectories import trajectory_lines
from solverscope.app.views.trajectories import weight_trajectories as module
from solverscope.app.views.trajectories.trajectory_clusters import COLORED, Grouping
from solverscope.app.views.trajectories.trajectory_history import MAX_DRAWN_ITERATES, WeightHistory
from solverscope.app.views.trajectories.trajectory_lines import CLUSTER_COLORS
from solverscope.datasets.names import LazyNames
from solverscope.solvers import TRAJECTORIES, Iterate, Names, Trace
from solverscope.solvers.probes import trajectories as followed
from solverscope.solvers.probes.probe import ProbeStore
from tests.app.helpers import click, said

WORDS = ("wheat", "corn", "oil", "gas", "tax", "bank")


@dataclass(frozen=True)
class Labelled:
    """What a clustering solver tells of its clusters."""

    labels: np.ndarray


class Made:
    """A run whose weights are given, an iterate a row of ``path``."""

    def __init__(self, outputs: int = 1, size: int = 6) -> None:
        about = {"n_features": len(WORDS), "n_outputs": outputs, "n_params": size}
        self.trace = Trace({"label": "a<b", "params": {}, "problem": about})
        self.trace.names = Names(WORDS, ("north", "south")[:outputs])
        self.trace.probes = ProbeStore([TRAJECTORIES])

    def go(
        self, path: Sequence, labels: Sequence | None = None, phases: Sequence = (), round: int = 0
    ) -> Made:
        for row, w in enumerate(path):
            k = self.trace.last.get("iteration", -1) + 1
            known = {"phase": phases[row], "epoch": round} if len(phases) else {}
            live = {} if labels is None else {"clustering": Labelled(np.array(labels[row], dtype=np.int32))}
            self.trace.append({"iteration": k, **known})
            self.trace.probes.observe(Iterate(k, w=np.array(w, dtype=float), live=live, **known))
        return self

    def at(self, iteration: int, **params) -> Trajectories:
        cursor = Cursor(run=self.trace, iteration=iteration, follow=False)
        return Trajectories([self.trace], cursor, **params)


def groups(T: int = 10) -> np.ndarray:
    """Three weights that rise together, two that fall together, and one that stays."""
    t = np.arange(T)[:, None]
    return t * np.array([1.0, 1.01, 0.99, -1.0, -1.01, 0.0])


def sources(view: Trajectories) -> list[ColumnDataSource]:
    """Of each colour what was sent as a whole, and the pieces."""
    return [renderer.data_source for renderer in view.figures.lines.renderers]


def drawn(view: Trajectories) -> dict[int, dict[str, list]]:
    """Of each weight its colour and its points, pieces put together."""
    found = {}
    for k, source in enumerate(sources(view)):
        for x, y, of in zip(*(source.data[name] for name in ("x", "y", "of")), strict=True):
            if np.isfinite(y):
                points = found.setdefault(int(of), {"slot": k // 2, "points": {}})["points"]
                assert points.setdefault(float(x), float(y)) == float(y)
    return found


def clusters(view: Trajectories) -> set[frozenset[int]]:
    slots = view.grouping.slots
    return {frozenset(np.flatnonzero(slots == slot).tolist()) for slot in set(slots.tolist())}


def test_every_weight_is_drawn_once_in_the_colour_of_those_that_it_moves_with():
    path = groups()
    view = Made().go(path).at(9, clusters=3)
    lines = drawn(view)
    for k, line in lines.items():
        np.testing.assert_allclose([line["points"][float(t)] for t in range(10)], path[:, k], rtol=1e-6)
    assert sorted(lines) == list(range(6))
    assert clusters(view) == {frozenset({0, 1, 2}), frozenset({3, 4}), frozenset({5})}
    assert all(lines[k]["slot"] == view.grouping.slots[k] for k in range(6))


def test_a_line_never_joins_two_weights():
    view = Made().go(groups()).at(9, clusters=3)
    for source in sources(view):
        y, of = source.data["y"], source.data["of"]
        joined = np.isfinite(y[1:]) & np.isfinite(y[:-1])
        assert (of[1:] == of[:-1])[joined].all()


def test_of_a_run_that_grows_only_what_is_new_is_sent(monkeypatch):
    run = Made().go(groups(100))
    view = Trajectories([run.trace])
    whole = [source.data["x"] for source in sources(view)]
    sent = []
    monkeypatch.setattr(ColumnDataSource, "stream", lambda source, new: sent.append(len(new["x"])))
    run.go(groups(103)[100:])
    view.update()
    assert all(a is b for a, b in zip(whole, [s.data["x"] for s in sources(view)], strict=True))
    assert sum(sent) == 6 * (3 + 2), "the last point that was there, three new ones, and the end"


def test_pieces_make_the_same_lines_as_the_whole():
    path, run = groups(80), Made()
    run.go(path[:3])
    view = Trajectories([run.trace])
    for k in range(3, 80):
        run.go(path[k : k + 1])
        view.update()
        points = sum(len(source.data["x"]) for source in sources(view))
        assert points <= 2 * 6 * (k + 3)
    for k, line in drawn(view).items():
        np.testing.assert_allclose([line["points"][float(t)] for t in range(80)], path[:, k], rtol=1e-6)


def test_of_a_long_run_so_many_iterates_are_drawn_and_the_newest():
    run = Made().go(groups(2))
    view = Trajectories([run.trace])
    for k in range(2, 4 * MAX_DRAWN_ITERATES, 7):
        run.go(groups(k + 7)[k:])
        view.update()
        history = view.history
        assert len(history) <= MAX_DRAWN_ITERATES
        assert history.iterations[0] == 0
        assert history.iterations[-1] == run.trace.last["iteration"]
    assert len(history) > MAX_DRAWN_ITERATES // 3


def test_500_trajectories_of_300_iterates_stream_in_less_than_3_megabytes_a_second(monkeypatch):
    """Five updates a second for a minute, an iterate each: bytes of all points sent within any second."""
    rng, now, sent = np.random.default_rng(0), [0.0], []
    points = trajectory_lines.points

    def counted(*args):
        made = points(*args)
        sent.append((now[0], sum(column.nbytes for column in made.values())))
        return made

    monkeypatch.setattr(trajectory_lines, "points", counted)
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    run = Made(size=500)
    run.trace.info.problem["n_features"] = 500
    w = np.zeros(500)
    run.go([w, w := w + rng.normal(size=500)])
    view = Trajectories([run.trace], count=500)
    for _ in range(298):
        now[0] += 0.2
        run.go([w := w + 0.1 * rng.normal(size=500)])
        view.update()
    assert len(view.history) == 300
    assert len(drawn(view)) == 500
    times, sizes = np.array(sent).T
    most = max(sizes[(times >= t) & (times < t + 1.0)].sum() for t in np.arange(0.0, 60.0, 0.2))
    assert most < 3e6


def test_while_the_cursor_follows_clusters_are_made_once_a_second_and_at_once_when_it_is_moved(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    run = Made().go(groups(3))
    view = Trajectories([run.trace])
    first = view.grouping
    run.go(groups(4)[3:])
    view.update()
    assert view.grouping is first
    now[0] += 1.1
    view.update()
    assert view.grouping is not first
    second = view.grouping
    view.cursor.place(run.trace, 1)
    assert view.grouping is not second
    view.maker = "chunks"
    assert view.grouping.maker == "chunks"


def test_colours_stay_with_the_weights_when_clusters_are_found_anew():
    path = groups()
    path[5:, 5] = 3.0 * path[5:, 0]
    view = Made().go(path).at(4, clusters=3)
    before = view.grouping.slots
    view.cursor.iteration = 9
    assert clusters(view) == {frozenset({0, 1, 2}), frozenset({3, 4}), frozenset({5})}
    np.testing.assert_array_equal(view.grouping.slots, before)
    alone = Made().go(path).at(9, clusters=3)
    np.testing.assert_array_equal(alone.grouping.slots, before, err_msg="whatever was looked at before")
    assert set(CLUSTER_COLORS).isdisjoint(ui.COLORS), "runs have theirs"


def test_eight_clusters_have_a_colour_and_all_others_share_grey():
    labels = np.array([k // 2 for k in range(20)] + [9, 9])
    grouping = Grouping.of(np.arange(22.0), np.zeros(22), labels, "own", 3)
    assert sorted(set(grouping.slots.tolist())) == list(range(COLORED + 1))
    assert grouping.slots[-1] != COLORED, "the one with most weights is coloured"
    coloured = grouping.slots[grouping.slots < COLORED]
    assert (np.diff(coloured) >= 0).all(), "in the order of their first weights"


def test_the_solvers_own_clusters_are_drawn_where_it_has_any():
    labels = [0, 1, 0, 1, 0, 1]
    view = Made().go(groups(), [labels] * 10).at(9)
    assert clusters(view) == {frozenset({0, 2, 4}), frozenset({1, 3, 5})}
    assert "in 2 clusters of the solver's own" in said(view)
    view.maker, view.clusters = "kmeans", 3
    assert frozenset({0, 1, 2}) in clusters(view)


def test_where_the_solver_has_none_they_are_found_and_it_says_so():
    view = Made().go(groups()).at(9, clusters=3)
    assert "in 3 clusters by k-means on (β, Δβ)" in said(view)
    assert "The solver has no clusters of its own here" in said(view)
    assert "a&lt;b" in said(view)


def test_in_a_coarse_phase_lines_of_a_cluster_coincide_and_it_says_so():
    path = np.repeat(np.array([[1.0, 1.0, 1.0, -1.0, -1.0, -1.0]]), 4, axis=0) * np.arange(4)[:, None]
    phases = ["fine", "fine", "coarse", "coarse"]
    view = Made().go(path, [[0, 0, 0, 1, 1, 1]] * 4, phases, round=2).at(3)
    assert "epoch 2, coarse" in said(view)
    assert "The lines of a cluster coincide" in said(view)
    view.maker = "chunks"
    view.clusters = 2
    assert "The lines of a cluster coincide" in said(view), "as they do"
    alone = Made().go(groups(), [np.arange(6)] * 10).at(9)
    assert "coincide" not in said(alone), "a cluster of one weight tells nothing"


def test_phases_are_bands_with_their_names():
    phases = ["fine"] * 5 + ["coarse"] * 4 + ["fine"] * 3
    figures = Made().go(groups(12), phases=phases).at(11).figures
    assert (list(figures.bands.data["x0"]), list(figures.bands.data["x1"])) == ([4], [8])
    assert list(figures.phases.data["name"]) == ["fine", "coarse", "fine"]
    shrunk = Made().go(groups(12), phases=["shrink"] * 12).at(11).figures
    assert list(shrunk.bands.data["x0"]) == list(shrunk.phases.data["name"]) == []
    plain = Made().go(groups(12)).at(11).figures
    assert list(plain.bands.data["x0"]) == list(plain.phases.data["name"]) == []


def test_a_weight_that_goes_over_to_another_cluster_is_marked_where_it_does_and_named():
    path = groups(12)
    path[6:, 2] = -path[6:, 2]
    for params in ({"maker": "kmeans", "clusters": 2}, {"maker": "chunks", "clusters": 2}):
        view = Made().go(path).at(6, **params)
        marks = view.figures.marks.data
        assert (6, -5.94) in [(x, round(float(y), 2)) for x, y in zip(marks["x"], marks["at"], strict=True)]
        assert "oil" in said(view).partition("changed cluster: ")[2]
        view.cursor.iteration = 5
        assert 6 not in view.figures.marks.data["x"], "up to the cursor"


def test_crossovers_of_the_solvers_own_clusters_do_not_depend_on_their_numbers():
    labels = [[0, 0, 0, 1, 1, 1], [5, 5, 5, 2, 2, 2], [0, 0, 1, 1, 1, 1]]
    history = WeightHistory(Made().go(groups(3), labels).trace.probes.entries("trajectories"), np.arange(6))
    moved = Grouping.of(history.values[2], history.values[2], history.labels[2], "own", 2).crossovers(history)
    assert not moved[1].any()
    assert np.flatnonzero(moved[2]).tolist() == [2]


def test_spread_inside_and_between_is_that_of_the_clusters_at_the_cursor():
    view = Made().go(groups()).at(9, maker="chunks", clusters=2)
    course = view.figures.course.data
    values = groups()[9]
    ordered = np.sort(values)
    halves = np.array([ordered[:3].mean(), ordered[3:].mean()])
    inside = np.sqrt(np.mean((ordered - np.repeat(halves, 3)) ** 2))
    assert course["inside"][9] == pytest.approx(inside, rel=1e-5)
    assert course["between"][9] == pytest.approx(np.std(halves), rel=1e-5)
    np.testing.assert_allclose(course["between"][1:], np.std(halves) * np.arange(1, 10) / 9, rtol=1e-5)


def test_the_largest_random_ones_and_named_ones_can_be_drawn():
    view = Made().go(groups()).at(9, count=50)
    view.param["count"].objects = [2, 50]
    view.count = 2
    assert set(drawn(view)) == {0, 1}
    assert view.figures.pointer.args["names"] == ["corn", "tax"]
    assert "the 2 largest of 6 weights" in said(view)
    view.count, view.which = 50, "named"
    assert "Give names or numbers" in said(view)
    view.named = "Wheat, 4"
    assert view.figures.pointer.args["names"] == ["wheat", "gas"]
    assert "2 named of 6 weights" in said(view)
    view.clusters = 2
    assert "as far from" not in said(view), "each is alone in its cluster"
    view.named = "wheat, rice"
    assert "There is no feature with this name or number: rice." in said(view)
    assert view.figures.pointer.args["names"] == ["wheat"]


def test_pixels_are_called_by_names_with_a_comma_and_have_pictures():
    run = Made()
    run.trace.names = Names(LazyNames.pixels(2, 3), (), (2, 3))
    view = run.go(groups()).at(9, which="named", named="pixel (1, 2), 6,pixel (2, 1)")
    said = view.figures.pointer.args
    assert said["names"] == ["pixel (1, 2)", "pixel (2, 1)", "pixel (2, 3)"]
    assert said["shape"] == (2, 3)


def test_a_weight_that_is_not_followed_is_said_to_be_none_of_the_sample(monkeypatch):
    for name, value in {"MOST": 4, "RANDOM": 2, "MAX_SEARCHED_WEIGHTS": 1}.items():
        monkeypatch.setattr(followed, name, value)
    run = Made().go(groups())
    members = run.trace.probes.last("trajectories", 9)[1]["members"].tolist()
    stranger = WORDS[next(k for k in range(6) if k not in members)]
    view = run.at(9, which="named", named=stranger)
    assert view.history.places.size == 0
    assert f"Not recorded: {stranger}. Of 6 weights" in said(view)


def test_a_trajectory_begins_where_its_weight_was_first_followed(monkeypatch):
    for name, value in {"MOST": 5, "RANDOM": 1, "MAX_SEARCHED_WEIGHTS": 1}.items():
        monkeypatch.setattr(followed, name, value)
    path = np.zeros((12, 6))
    path[1:, 0], path[5:, 4] = 1.0, 9.0
    view = Made().go(path).at(11)
    names = view.figures.pointer.args["names"]
    points = drawn(view)[names.index("tax")]["points"]
    assert min(points) >= 5.0
    assert max(points) == 11.0


def test_weights_of_different_outputs_are_drawn_apart_and_transitions_too():
    path = np.tile(np.arange(16.0), (3, 1)) * np.arange(3)[:, None]
    run = Made(outputs=2, size=16).go(path)
    view = run.at(2)
    (outputs,) = (menu for menu in pn.panel(view).select(LineMenu) if menu.label == "Output")
    assert outputs.visible
    assert list(outputs.options) == ["north", "south", "transitions"]
    for output in range(2):
        outputs.value = output
        ends = sorted(line["points"][2.0] for line in drawn(view).values())
        assert ends == [2.0 * k for k in range(output, 12, 2)]
    assert view.figures.pointer.args["names"][0] == "wheat for south"
    outputs.value = 2
    assert view.figures.pointer.args["names"][1] == "north → south"
    alone = pn.panel(Made().go(groups()).at(3))
    assert "Output" not in {menu.label for menu in alone.select(LineMenu) if menu.visible}
    view.show([other := Made().go(groups()).trace])
    view.cursor.place(other, 3)
    assert len(drawn(view)) == 6, "another run may have fewer outputs"


def test_a_click_on_a_line_or_a_bar_isolates_its_cluster_and_another_shows_all():
    view = Made().go(groups()).at(9, clusters=3)
    rising, lines = view.grouping.slots[0], view.figures.lines.renderers
    click(view.figures.main, 5.0, 5.02)
    assert view.isolated == rising
    alphas = [line.glyph.line_alpha for line in lines]
    assert all((alpha == 1.0) == (k // 2 == rising) for k, alpha in enumerate(alphas))
    click(view.figures.main, 5.0, 5.02)
    assert view.isolated is None
    assert len({line.glyph.line_alpha for line in lines}) == 2
    click(view.figures.sizes, 1.0, -0.2)
    assert view.isolated == rising, "the topmost bar"
    assert sorted(view.figures.bars.data["alpha"])[-1] > sorted(view.figures.bars.data["alpha"])[-2]
    click(view.figures.sizes, 1.0, -9.0)
    assert view.isolated == rising


def test_a_click_beside_the_lines_moves_the_cursor():
    view = Made().go(groups()).at(9, clusters=3)
    click(view.figures.main, 6.2, 3.0)
    assert (view.cursor.iteration, view.isolated) == (6, None)
    click(view.figures.main, None, None)


@pytest.mark.parametrize("maker", ["own", "kmeans", "chunks"])
def test_a_run_that_diverges_is_drawn_as_far_as_its_weights_are_numbers(maker):
    path = groups(6)
    path[4:, 0], path[4:, 3], path[5, 1] = np.inf, -np.inf, np.nan
    view = Made().go(path).at(5, maker=maker)
    assert max(drawn(view)[0]["points"]) == 3.0
    assert len(drawn(view)[2]["points"]) == 6


def test_the_trajectories_of_a_solver_are_those_of_its_weights(small_problem):
    trace = solvers.solve(small_problem, solvers.make_solver("prox-qn"), max_iter=20, probes=(TRAJECTORIES,))
    view = Trajectories(trace)
    lines, last = drawn(view), float(trace.iteration[-1])
    np.testing.assert_allclose(
        [lines[k]["points"][last] for k in sorted(lines)], trace.w, rtol=1e-6, atol=1e-12
    )
