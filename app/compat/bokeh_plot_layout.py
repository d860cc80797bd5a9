"""A plot whose tick labels have become wider is laid out alone."""

from app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="BokehJS lays out the whole page for it (https://github.com/bokeh/bokeh/issues/12129).",
    without="When the tick labels of five plots become wider, that takes twice as long.",
    knows=(
        "server/static/js/bokeh.js:LayoutDOMView.compute_layout",
        "server/static/js/bokeh.js:LayoutDOMView.measure_layout",
        "server/static/js/bokeh.js:LayoutDOMView.update_bbox",
        "server/static/js/bokeh.js:LayoutDOMView._compute_layout",
        "server/static/js/bokeh.js:LayoutDOMView.after_layout",
        "server/static/js/bokeh.js:PlotView._invalidate_layout_if_needed",
    ),
    digest="f38339f518f9b58d",
    script="compat/bokeh_plot_layout.js",
)
