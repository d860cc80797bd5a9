"""The address of a page at a host that is written with colons."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from bokeh.document import Document
from bokeh.server.contexts import _RequestProxy
from panel.io.location import Location
from panel.io.state import set_curdoc

from solverscope.app.compat import panel_location


def location(host: str) -> Location:
    """The address of a page that is asked for at this host."""
    panel_location.apply()
    request = SimpleNamespace(protocol="http", host=host, uri="/app?tab=record", arguments={}, headers={})
    with set_curdoc(Document()):
        return Location.from_request(_RequestProxy(request))


@pytest.mark.parametrize(
    ("host", "name", "port"),
    [
        ("[::1]:5006", "[::1]", "5006"),
        ("[::1]", "[::1]", ""),
        ("[fe80::2%25eth0]:80", "[fe80::2%25eth0]", "80"),
        ("localhost:5006", "localhost", "5006"),
        ("scope.example", "scope.example", ""),
        ("a:b:c", "a:b:c", ""),
        ("a:b:7", "a:b", "7"),
    ],
)
def test_a_host_is_its_name_and_its_port(host, name, port):
    found = location(host)
    assert (found.protocol, found.hostname, found.port) == ("http:", name, port)
    assert (found.pathname, found.search) == ("/app", "?tab=record")
    assert found.href == f"http://{host}/app?tab=record"
