"""A component of React does not lose a change that comes while it is being mounted."""

from app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="panel",
    upstream="Panel's useState reads a property when the component is drawn and listens in an effect, a "
    "moment later: a change in between is lost, as React warns "
    "(https://github.com/facebook/react/issues/14988; no issue found at Panel).",
    without="On a busy machine a button may stay grey.",
    knows=("dist/lib/models/react_component.js",),
    digest="a2b691ef16ca5b7b",
    script="compat/panel_react_state.js",
)
