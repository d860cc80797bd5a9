"""A message for a page whose tab has been closed."""

from __future__ import annotations

import logging

import pytest
from bokeh.document import Document
from bokeh.protocol import Protocol
from bokeh.server.connection import ServerConnection
from bokeh.server.protocol_handler import ProtocolHandler
from bokeh.server.session import ServerSession

from solverscope.app.compat import bokeh_closed_tab
from solverscope.app.serving.guard import not_a_closed_tab
from tests import loop


@pytest.mark.parametrize("changed", [True, False])
def test_a_message_after_the_tab_was_closed_is_told_from_a_fault(changed, monkeypatch, caplog):
    """Without the change it is not: once it is, the change can go."""
    bokeh_closed_tab.apply()
    if not changed:
        original = ServerConnection.session.fget.__wrapped__
        monkeypatch.setattr(ServerConnection, "session", property(original))

    async def answer() -> str:
        protocol = Protocol()
        connection = ServerConnection(protocol, None, None, ServerSession("known", Document()))
        assert connection.session.id == "known"
        connection.detach_session()
        message = protocol.create("PULL-DOC-REQ")
        return (await ProtocolHandler().handle(message, connection)).msgtype

    with caplog.at_level(logging.ERROR):
        assert loop.run(answer()) == "ERROR"
    (record,) = caplog.records
    assert not_a_closed_tab(record) is not changed
