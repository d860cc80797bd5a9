"""Bokeh's validation while HoloViews fills a source."""

from __future__ import annotations

import importlib

import holoviews as hv
import pytest
from bokeh.core.property.bases import validation_on
from bokeh.core.property.validation import validate

from app.compat import holoviews_validation

plot = importlib.import_module("holoviews.plotting.bokeh.plot")


@pytest.mark.parametrize("changed", [True, False])
def test_validation_stays_on_for_all_threads(changed, monkeypatch):
    """Without the change HoloViews switches it off: once it does not, the change can go."""
    holoviews_validation.apply()
    if not changed:
        monkeypatch.setattr(plot, "validate", validate)
    drawn = hv.renderer("bokeh").get_plot(hv.Curve([1, 2]))
    source, seen = drawn.handles["source"], []
    fill = type(source.data).update

    def noted(self, *args, **kwargs):
        seen.append(validation_on())
        return fill(self, *args, **kwargs)

    monkeypatch.setattr(type(source.data), "update", noted)
    drawn._update_datasource(source, {name: [3, 4] for name in source.data})
    assert seen == [changed]
