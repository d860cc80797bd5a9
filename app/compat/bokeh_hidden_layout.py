"""Bokeh does not lay out what is hidden."""

from app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="BokehJS lays out the plots of hidden tabs as well "
    "(https://github.com/bokeh/bokeh/issues/7438).",
    without="With six tabs opened a layout of the page takes nearly twice as long.",
    knows=(
        "server/static/js/bokeh.js:LayoutDOMView.update_layout",
        "server/static/js/bokeh.js:LayoutDOMView.measure_layout",
        "server/static/js/bokeh.js:LayoutDOMView._compute_layout",
        "server/static/js/bokeh.js:LayoutDOMView.after_layout",
        "server/static/js/bokeh.js:PlotView._invalidate_layout_if_needed",
    ),
    digest="21374d021d167058",
    script="compat/bokeh_hidden_layout.js",
)
