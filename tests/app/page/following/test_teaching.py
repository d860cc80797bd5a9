"""Who can open the address of a lesson, as the page says it."""

from __future__ import annotations

import pytest

from solverscope.app.page.following import teaching
from solverscope.app.page.following.teaching import BEHIND_PROXY, LOCAL_ONLY, Teaching


@pytest.mark.parametrize(
    ("arguments", "key", "note", "host"),
    [
        ([], "", LOCAL_ONLY, ""),
        (["--host", "desk.lan"], "", LOCAL_ONLY, ""),
        (["--public"], "", "", "192.0.2.1"),
        (["--trusted-proxy", "hub.example"], "", BEHIND_PROXY, ""),
        ([], "sesame", BEHIND_PROXY, ""),
        (["--public"], "sesame", BEHIND_PROXY, ""),
    ],
)
def test_the_panel_says_who_can_open_it(monkeypatch, arguments, key, note, host):
    monkeypatch.setattr("sys.argv", ["app", *arguments])
    monkeypatch.setenv("SOLVERSCOPE_PROXY_KEY", key)
    monkeypatch.setattr(teaching, "own_address", lambda: "192.0.2.1")
    panel = Teaching(None)
    assert (panel.note, panel.host) == (note, host)
