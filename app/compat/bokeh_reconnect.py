"""A page takes up a connection that was cut."""

from app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="BokehJS goes on reading the message that was cut, and builds the page again without the "
    "arrays beside its models (https://github.com/bokeh/bokeh/issues/15347).",
    without="A page whose connection was cut is loaded anew.",
    knows=(
        "server/static/js/bokeh.js:ClientConnection.connect",
        "server/static/js/bokeh.js:ClientConnection._pull_doc_json",
        "server/static/js/bokeh.js:ClientConnection._repull_session_doc",
        "server/static/js/bokeh.js:ClientConnection._on_message",
    ),
    digest="e3d9835db9d8b59b",
    script="compat/bokeh_reconnect.js",
)
