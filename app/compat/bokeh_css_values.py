"""Bokeh does not ask the style sheets for colours that none of them gives."""

from app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="BokehJS asks the style sheets for each visual property of each mark at each painting "
    "(https://github.com/bokeh/bokeh/issues/15286; a cache is proposed in "
    "https://github.com/bokeh/bokeh/pull/15205).",
    without="A painting of all plots takes 12 % longer.",
    knows=("server/static/js/bokeh.js:VisualProperties._get_css_value",),
    digest="a9ecd4a7f7cf3eee",
    script="compat/bokeh_css_values.js",
)
