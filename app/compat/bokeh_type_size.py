"""Axes are painted in the size of type that the plot has."""

from app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="BokehJS reads the size of a text in em before it tells the text what an em is, and takes 13 "
    "pixels (no issue found).",
    without="Axes stay as they are where the page has larger type.",
    knows=("server/static/js/bokeh.js:Text.values",),
    digest="852fb82ba30de836",
    script="compat/bokeh_type_size.js",
)
