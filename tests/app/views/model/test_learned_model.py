"""The model view shows what the weights at the cursor say, and nothing else."""

from __future__ import annotations

import re

import numpy as np
import pytest
from bokeh.models import CustomJSHover
from bokeh.plotting import figure

from solverscope import datasets, solvers
from solverscope.app import ui, views
from solverscope.app.views.model.learned_model import listed, predictions
from solverscope.app.views.model.model_figures import Pictures, TransitionFigure
from solverscope.datasets.names import LazyNames, pair, with_products
from solverscope.solvers import LEARNED, Names
from tests.app.helpers import drawn, figures, in_sight, text


def model(id: str, lam: float, iterations: int = 5, **options) -> tuple[views.Model, solvers.Problem]:
    problem = solvers.make_problem(datasets.load(id, **options), lam=lam)
    run = solvers.Run(
        problem,
        solvers.make_solver("prox-gd"),
        stopping=solvers.Stopping(max_iter=iterations),
        probes=(LEARNED,),
    )
    return views.Model(run.execute()), problem


def formatter(plot: figure, place: str) -> CustomJSHover:
    """What the pointer says at a place of the pictures."""
    return next(tool.formatters[place] for tool in plot.tools if place in getattr(tool, "formatters", {}))


def shown(view: views.Model) -> list[str]:
    """The parts of the model that are on the page: figures by their names, texts by what they begin with."""
    plots = {plot.name for plot in in_sight(view)}
    found = {
        "pictures": "model" in plots,
        "features": "<section>" in text(view),
        "transitions": "model-transitions" in plots,
        "examples": 'class="examples"' in text(view),
    }
    return [name for name, there in found.items() if there]


@pytest.mark.parametrize(
    ("id", "lam", "options", "parts"),
    [
        ("breast-cancer", 0.02, {}, ["features", "examples"]),
        ("digits", 0.005, {}, ["pictures", "examples"]),
        ("digit-strings", 1.0, {"n_samples": 40}, ["pictures", "transitions", "examples"]),
        ("synthetic-chain", 1.0, {}, ["features", "transitions", "examples"]),
        ("synthetic-tree", 0.001, {}, ["features", "examples"]),
        ("synthetic-multilabel", 0.001, {}, ["features", "examples"]),
    ],
)
def test_it_shows_what_the_data_have_to_show(id, lam, options, parts):
    view, _ = model(id, lam, **options)
    assert shown(view) == parts
    assert "right." in text(view)


def test_begin_and_end_states_are_two_rows_behind_those_of_the_labels():
    transitions = TransitionFigure("transitions")
    transitions.show(np.arange(15.0).reshape(5, 3), ["a", "b", "c"])
    texts = [axis.major_label_overrides for axis in (*transitions.figure.xaxis, *transitions.figure.yaxis)]
    assert [list(one.values()) for one in texts] == [["a", "b", "c"], ["a", "b", "c", "begin", "end"]]
    assert drawn(transitions.figure, "weight", "dw").data["weight"][0].shape == (5, 3)


def test_the_picture_of_an_output_has_its_weights_and_the_pointer_names_them():
    view, problem = model("digits", 0.005)
    W, _ = problem.unpack(view.chosen.w)
    image = drawn(figures(view)["model"], "weight", "dw").data["weight"][0][::-1]  # images are drawn upwards
    names = formatter(figures(view)["model"], "@x").args
    corners = drawn(figures(view)["model"], "text").data
    for c in range(10):
        top, left = -corners["y"][c], corners["x"][c]
        row, column = divmod(c, names["across"])
        assert (top, left) == (row * (8 + names["gap"]) + names["gap"], column * (8 + names["gap"]))
        assert np.allclose(image[top : top + 8, left : left + 8], W[:, c].reshape(8, 8), atol=1e-7)
    assert names["names"] == [str(c) for c in range(10)]
    assert np.isnan(image[:2]).all(), "between pictures there is nothing"


def test_the_strongest_pairs_of_pixels_are_lines_between_their_middles():
    pictures = Pictures("test")
    # features: 6 pixels, then 15 pairs, then the bias
    names = Names(with_products(LazyNames.pixels(2, 3), 2, bias=True), ("a", "b"), (2, 3))
    features, outputs = np.array([2, 6 + 4, 6 + 9, 21]), np.array([0, 0, 1, 1])
    pictures.show(np.zeros((6, 2)), features, outputs, np.array([9.0, 1.0, -2.0, 9.0]), names)
    lines = drawn(pictures.figure, "pair").data
    assert len(lines["x0"]) == 2
    for line, (output, number) in enumerate([(0, 4), (1, 9)]):
        corners = drawn(pictures.figure, "text").data
        top, left = -corners["y"][output], corners["x"][output]
        (i, j) = pair(number, 6)
        ends = {(left + k % 3 + 0.5, -(top + k // 3 + 0.5)) for k in (i, j)}
        assert ends == {(lines["x0"][line], lines["y0"][line]), (lines["x1"][line], lines["y1"][line])}
    assert lines["color"][0] != lines["color"][1], "above zero and below"
    assert lines["pair"] == ["pixel (1, 1) × pixel (2, 3) for a", "pixel (1, 3) × pixel (2, 1) for b"]
    assert lines["weight"] == [1.0, -2.0]


def test_features_are_listed_from_the_strongest_on_with_those_against_at_the_end():
    names = Names(("wheat", "corn", "<b>", "bank"), ("grain", "interest"))
    features, of = np.array([0, 1, 3, 2, 3]), np.array([0, 0, 0, 1, 1])
    text = listed(features, of, np.array([1.0, 2.0, -0.5, -0.1, 0.3]), names, 2)
    assert text.index("corn") < text.index("wheat") < text.index("bank")
    assert text.index("interest") > text.index("grain")
    assert "<b>" not in text.replace("<b>2", "").replace("<b>1", "").replace("<b>0", "").replace("<b>−", "")
    assert "All weights are zero" in listed(features[:0], of[:0], np.empty(0), names, 2)


def test_wrong_labels_are_marked_and_the_true_ones_said():
    view, problem = model("digits", 0.005)
    examples = problem.examples()
    truth = examples.loss.truth.astype(np.int32)
    right = predictions(examples, truth, problem.names, {}, 7)
    assert "6 of 6 right" in right
    assert "wrong" not in right
    wrong = predictions(examples, (truth + 1) % 10, problem.names, {}, 7)
    assert "0 of 6 right" in wrong
    assert wrong.count('class="wrong"') == 6
    assert wrong.count("truth: ") == 6
    assert '<p class="note">First examples of the test part' in text(view)


def test_numeric_targets_are_shown_as_numbers_next_to_their_predictions():
    view, problem = model("diabetes", 0.02)
    examples, shown_text = problem.examples(), text(view)
    assert shown(view) == ["features", "examples"]
    assert "above zero (blue) and below (orange), by target." in shown_text
    assert not re.search("right|label|truth|not progression", shown_text)
    guesses = examples.rows @ view.chosen.w
    for guess, truth in zip(guesses, examples.loss.labels, strict=True):
        assert f"progression: predicted {ui.number(guess, 3)}, is {ui.number(truth, 3)}<" in shown_text


def test_several_numeric_targets_are_named_the_first_three_of_them():
    data = datasets.load("synthetic-regression", n_targets=5, n_samples=40, n_features=10)
    problem = solvers.make_problem(data, loss="multitask-squared", penalty="l1-l2", lam=0.1)
    run = solvers.Run(
        problem,
        solvers.make_solver("fista-ls"),
        stopping=solvers.Stopping(max_iter=5),
        probes=(LEARNED,),
    )
    said = text(views.Model(run.execute()))
    truth = problem.examples().loss.labels.reshape(6, 5)
    assert f", is {ui.number(truth[5, 2], 3)}<" in said
    assert said.count("y3: predicted") == said.count("and 2 more targets") == 6
    assert "y4: predicted" not in said


def test_it_goes_with_the_cursor():
    view, _ = model("breast-cancer", 0.02, iterations=8)
    last = text(view)
    view.cursor.place(view.chosen, 1)
    assert text(view) != last
    view.cursor.place(view.chosen, 8)
    assert text(view) == last
