"""Defaults of Bokeh's models."""

from __future__ import annotations

import re

import pytest
from bokeh.core.property.bases import Property
from bokeh.core.property.descriptors import PropertyDescriptor
from bokeh.core.property.wrappers import PropertyValueContainer
from bokeh.core.serialization import Serializer
from bokeh.model import Model
from bokeh.models import ColumnDataSource, LinearAxis
from bokeh.plotting import figure
from bokeh.themes import Theme

from solverscope.app.compat import bokeh_defaults


@pytest.fixture(autouse=True)
def changed():
    bokeh_defaults.apply()


def makers() -> list[type[Model]]:
    """All models of Bokeh that can be made without anything."""
    found = []
    for kind in Model.model_class_reverse_map.values():
        if kind.__module__.startswith("bokeh."):
            try:
                kind()
            except Exception:  # abstract ones say so each in their own way
                continue
            found.append(kind)
    return found


def looked_at(model: Model) -> str:
    """All properties of a model that has been looked at twice, and which of them are written of it."""
    for _ in range(2):
        values = model.properties_with_values(include_undefined=True)
    written = model.properties_with_values(include_defaults=False, include_undefined=True)
    found = repr((values, sorted(written)))
    return re.sub(r"\bid='?\w+'?|\bp\d+\b| at 0x\w+", "", found)


def test_all_models_have_the_defaults_that_bokeh_finds(as_it_comes):
    kinds = makers()
    assert len(kinds) > 300
    changed = {kind: looked_at(kind()) for kind in kinds}
    again = {kind: looked_at(kind()) for kind in kinds}
    as_it_comes(PropertyDescriptor, "_get_default")
    for kind in kinds:
        assert changed[kind] == again[kind] == looked_at(kind()), kind


def test_what_can_be_changed_belongs_to_one_model():
    first, second = LinearAxis(), LinearAxis()
    assert isinstance(first.tags, PropertyValueContainer)
    first.tags.append("a")
    assert (first.tags, second.tags, LinearAxis().tags) == (["a"], [], [])
    heard = []
    second.on_change("tags", lambda attr, old, new: heard.append(new))
    second.tags.append("b")
    assert heard == [["b"]]
    assert Serializer().encode(first)["attributes"]["tags"] == ["a"]


def test_a_theme_comes_before_what_is_known():
    axis = LinearAxis()
    usual = axis.axis_line_width
    theme = Theme(json={"attrs": {"Axis": {"axis_line_width": 7, "tags": ["themed"]}}})
    theme.apply_to_model(axis)
    assert (axis.axis_line_width, axis.tags) == (7, ["themed"])
    axis.unapply_theme()
    assert (axis.axis_line_width, axis.tags) == (usual, [])


def test_bokeh_checks_each_default_at_each_look(as_it_comes, monkeypatch):
    """Once it does not, the change can go."""
    checked, prepare = [], Property.prepare_value

    def count(self, owner, name, value, **more):
        checked.append(name)
        return prepare(self, owner, name, value, **more)

    plot = figure()
    plot.line("x", "y", source=ColumnDataSource({"x": [0], "y": [1]}))
    plot.references()
    monkeypatch.setattr(Property, "prepare_value", count)
    plot.references()
    for model in plot.references():
        model.properties_with_values()
    checked.clear()
    for model in plot.references():
        model.properties_with_values()
    few = len(checked)
    as_it_comes(PropertyDescriptor, "_get_default")
    for model in plot.references():
        model.properties_with_values()
    assert len(checked) - few > 10 * few
