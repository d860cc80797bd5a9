"""A change to Panel that handles clicks under the lock of the document, even if a change of a field is
pending."""

from __future__ import annotations

from panel.io import with_lock
from panel.reactive import Syncable

from solverscope.app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="panel",
    upstream="Panel waits 50 ms for more of a field's change. A click that comes meanwhile is handled by "
    "Syncable._event_coroutine, and that change before it, without the lock: Bokeh then raises "
    "'_pending_writes should be non-None' (reported as "
    "https://github.com/holoviz/panel/issues/1447).",
    without="A click within 50 ms of a changed field may fail.",
    knows=("panel.reactive:Syncable._event_coroutine", "panel.reactive:Syncable._server_event"),
    digests=("b3f87565cf3827cc",),
)


@CHANGE.once
def apply() -> None:
    """Apply the change."""
    Syncable._event_coroutine = with_lock(Syncable._event_coroutine)
