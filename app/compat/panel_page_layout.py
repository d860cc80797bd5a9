"""The page is laid out once a frame, and less often while it is built."""

from app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="panel",
    upstream="Panel's components of React lay out at once, one after the other, and each time the whole "
    "page, as BokehJS does (https://github.com/bokeh/bokeh/issues/9515).",
    without="Five changes in a frame take from four to ten times as long to lay out; and the page is laid "
    "out some 17 times in place of 4 before Run can be pressed.",
    knows=(
        "dist/lib/models/reactive_esm.js:ReactiveESMView.compute_layout",
        "dist/lib/models/reactive_esm.js:ReactiveESMView.invalidate_layout",
    ),
    digest="323d7a415a86b850",
    script="compat/panel_page_layout.js",
)
