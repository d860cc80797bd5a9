"""The title of an axis is not cut off."""

from app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="BokehJS centres the title of an axis and cuts off what is outside the picture, while it moves "
    "tick labels into it (no issue found).",
    without="Titles of axes are cut off in low and narrow plots.",
    knows=(
        "server/static/js/bokeh.js:AxisView._draw_axis_label",
        "server/static/js/bokeh.js:AxisView._axis_label_extent",
    ),
    digest="76c6774f83a75434",
    script="compat/bokeh_axis_title.js",
)
