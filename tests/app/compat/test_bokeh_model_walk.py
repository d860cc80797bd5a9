"""Walks of Bokeh through the models of a document."""

from __future__ import annotations

import pytest
from bokeh.document import Document
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

from solverscope.app.compat.bokeh_model_walk import one_walk


@pytest.fixture
def document():
    document = Document()
    document.add_root(figure())
    return document


@pytest.fixture
def walks(document, monkeypatch):
    """How often Bokeh has gone through the document."""
    counted, walk = [], document.models.recompute
    monkeypatch.setattr(document.models, "recompute", lambda: (counted.append(1), walk())[1])
    return counted


def test_bokeh_walks_for_each_property_that_refers_to_a_model(document, walks):
    """Once it does not, the change can go."""

    def draw() -> None:
        for _ in range(5):
            document.roots[0].line("x", "y", source=ColumnDataSource({"x": [0], "y": [1]}))

    draw()
    often = len(walks)
    walks.clear()
    with one_walk(document.models):
        draw()
    assert often >= 5
    assert len(walks) == 1


def test_bokehs_own_way_walks_for_data_too_and_stays_frozen_after_an_error(document, walks):
    """Once it does neither, it can take the place of the change."""
    source = ColumnDataSource({"x": [0], "y": [1]})
    document.roots[0].line("x", "y", source=source)
    walks.clear()
    with one_walk(document.models):
        source.data = {"x": [0], "y": [0]}
    assert not walks
    with document.models.freeze():
        source.data = {"x": [0], "y": [1]}
    assert len(walks) == 1
    with pytest.raises(KeyError), document.models.freeze():
        raise KeyError
    walks.clear()
    document.roots[0].line("x", "y", source=ColumnDataSource({"x": [0], "y": [1]}))
    assert not walks
