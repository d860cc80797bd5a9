"""An axis without data has a range."""

from app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="https://github.com/bokeh/bokeh/issues/6639: the range of an axis without data is undefined or "
    "guessed, with warnings in the console each time the plot is painted.",
    without="The browser's console has warnings of empty axes.",
    knows=("server/static/js/bokeh.js:DataRange1d._compute_range",),
    digest="9860b9acb2ded7ff",
    script="compat/bokeh_empty_range.js",
)
