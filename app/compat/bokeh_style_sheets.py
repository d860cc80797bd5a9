"""Bokeh writes its style sheets once, and only those that differ."""

from app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="BokehJS empties and fills its style sheets again at every layout and painting; each time the "
    "browser looks for the styles of all that they may concern "
    "(https://github.com/bokeh/bokeh/issues/15202).",
    without="A painting of all plots takes a third longer, and a layout of theirs two and a half times as "
    "long.",
    knows=(
        "server/static/js/bokeh.js:InlineStyleSheet.css",
        "server/static/js/bokeh.js:InlineStyleSheet._update",
        "server/static/js/bokeh.js:PlotView._actual_paint",
    ),
    digest="fdae367d4b971cf8",
    script="compat/bokeh_style_sheets.js",
)
