"""The page adds its buttons to each plot that is drawn."""

from app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="BokehJS offers no event for a plot that is drawn, and no place in it but its toolbar (no "
    "issue found).",
    without="Plots lack the buttons for help and for a window of their own.",
    knows=(
        "server/static/js/bokeh.js:DOMView.after_render",
        "server/static/js/bokeh.js:LayoutDOMView._after_render",
    ),
    digest="e70979853a3dbc66",
    script="compat/bokeh_plot_drawn.js",
)
