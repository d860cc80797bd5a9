"""Changes made as one."""

import panel as pn
import pytest
from bokeh.document import Document
from bokeh.models import BasicTicker, ColumnDataSource, LogTicker
from bokeh.plotting import figure

from solverscope.app.ui.batch import batch


@pytest.fixture
def document(monkeypatch):
    document = Document()
    document.add_root(figure())
    monkeypatch.setattr(type(pn.state), "curdoc", property(lambda self: document))
    return document


@pytest.fixture
def walks(document, monkeypatch):
    """How often Bokeh went through the whole document."""
    counted, walk = [], document.models.recompute
    monkeypatch.setattr(document.models, "recompute", lambda: (counted.append(1), walk())[1])
    return counted


def test_the_document_is_walked_once_for_many_changes(document, walks):
    with batch(models=True):
        for _ in range(5):
            document.roots[0].line("x", "y", source=ColumnDataSource({"x": [0], "y": [1]}))
    assert len(walks) == 1
    assert len(document.roots[0].renderers) == 5


@pytest.mark.parametrize("models", [False, True])
def test_an_error_in_a_block_leaves_the_document_able_to_change(models, document, walks):
    with pytest.raises(KeyError), batch(models=models):
        raise KeyError
    walks.clear()
    document.roots[0].line("x", "y", source=ColumnDataSource({"x": [0], "y": [1]}))
    assert walks


def test_without_a_page_nothing_is_held_back():
    with batch():
        pass
    assert pn.state.curdoc is None


def test_data_and_numbers_need_no_walk(document, walks):
    source = ColumnDataSource({"x": [0], "y": [1]})
    document.roots[0].line("x", "y", source=source)
    walks.clear()
    with batch():
        source.stream({"x": [1], "y": [2]})
        source.data = {"x": [0], "y": [0]}
        document.roots[0].height = 200
    assert not walks


def test_nested_blocks_walk_once_at_the_end_of_the_outer(document, walks):
    with batch(models=True):
        with batch(models=True):
            document.roots[0].line("x", "y", source=ColumnDataSource({"x": [0], "y": [1]}))
        assert not walks
    assert len(walks) == 1


def test_a_model_that_is_replaced_before_it_is_sent_is_not_named(document):
    axis, ticker, told = document.roots[0].xaxis[0], BasicTicker(), []
    document.on_change(told.append)
    document.hold("collect")  # without a browser Panel would drop them
    with batch():
        with batch(models=True):
            axis.ticker = ticker
        ticker.min_interval = 1.0
        axis.ticker = LogTicker()
    document.unhold()
    assert ticker not in {event.model for event in told}
    assert axis in {event.model for event in told}


def test_an_error_in_an_inner_block_leaves_the_outer_one_able_to_go_on(document, walks):
    with batch():
        with pytest.raises(KeyError), batch(models=True):
            raise KeyError
        document.roots[0].line("x", "y", source=ColumnDataSource({"x": [0], "y": [1]}))
        assert not walks
    assert len(walks) == 1
