"""A message in very many parts."""

from __future__ import annotations

import json

import pytest
from bokeh.protocol import Protocol
from bokeh.protocol.exceptions import ProtocolError
from bokeh.protocol.receiver import Receiver

from solverscope.app.compat import bokeh_large_message
from tests import loop


@pytest.mark.parametrize("changed", [True, False])
def test_a_message_that_announces_a_million_buffers_is_refused_before_they_are_there(changed, as_it_comes):
    """Without the change all are kept: once they are not, the change can go."""
    bokeh_large_message.apply()
    if not changed:
        as_it_comes(Receiver, "consume")
    refused, part = False, bytes(2**20)

    async def send() -> None:
        receiver = Receiver(Protocol())
        header = {"msgid": "1", "msgtype": "PATCH-DOC", "num_buffers": 10**6}
        for fragment in (json.dumps(header), "{}", '{"events": []}'):
            await receiver.consume(fragment)
        for k in range(2 * bokeh_large_message.MOST // len(part)):
            await receiver.consume(json.dumps({"id": str(k)}))
            await receiver.consume(part)

    try:
        loop.run(send())
    except ProtocolError as error:
        refused = "more than 32 MiB" in str(error)
    assert refused is changed


def test_messages_one_after_the_other_are_counted_each_for_itself(monkeypatch):
    bokeh_large_message.apply()
    monkeypatch.setattr(bokeh_large_message, "MOST", 2000)

    async def send() -> None:
        receiver = Receiver(Protocol())
        for k in range(20):
            header = json.dumps({"msgid": str(k), "msgtype": "PATCH-DOC"})
            found = [await receiver.consume(part) for part in (header, "{}", '{"events": []}')]
            assert found[-1].header["msgid"] == str(k)

    loop.run(send())
