"""A message of a browser has a bound, whatever its number of parts."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from bokeh.protocol.exceptions import ProtocolError
from bokeh.protocol.message import Message
from bokeh.protocol.receiver import Fragment, Receiver

from solverscope.app.compat.change import Change, in_place_of

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="The server bounds the parts of a message, but takes as many of them as its header announces, "
    "and keeps them until the last one is there (no issue found).",
    without="A browser that announces a million buffers fills the memory.",
    knows=(
        "bokeh.protocol.receiver:Receiver.consume",
        "bokeh.protocol.receiver:Receiver._HEADER",
        "bokeh.protocol.receiver:Receiver._check_complete",
    ),
    digest="728f88999c3b674b",
)

#: Bytes of a message, with so many for each of its parts.
MOST, PART = 32 * 2**20, 256
_sizes: WeakKeyDictionary[Receiver, int] = WeakKeyDictionary()


@CHANGE.once
def apply() -> None:
    """Make the change."""
    consume = Receiver.consume

    async def bounded(receiver: Receiver, fragment: Fragment) -> Message | None:
        begins = receiver._current_consumer == receiver._HEADER
        _sizes[receiver] = (0 if begins else _sizes.get(receiver, 0)) + len(fragment) + PART
        if _sizes[receiver] > MOST:
            raise ProtocolError(f"a message has more than {MOST >> 20} MiB")
        return await consume(receiver, fragment)

    Receiver.consume = in_place_of(consume, bounded)
