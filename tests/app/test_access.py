"""Only visitors from this machine may look, unless the server is public."""

from __future__ import annotations

import sys

import pytest

from app import access


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.0.3", "::1", "::ffff:127.0.0.1", "::1%lo"])
def test_this_machine_may_look(peer):
    assert access.refusal(peer, public=False) is None


@pytest.mark.parametrize(
    "peer", ["192.168.1.7", "10.0.0.2", "8.8.8.8", "fe80::1%eth0", "::ffff:10.0.0.2", "", None, "x"]
)
def test_others_are_refused_in_one_line_that_says_what_to_do(peer):
    line = access.refusal(peer, public=False)
    assert "--args --public" in line
    assert "\n" not in line


def test_a_public_server_refuses_nobody():
    assert access.refusal("203.0.113.9", public=True) is None


def test_the_server_is_public_only_when_told_so(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["app", "--public"])
    assert access.is_public()
    monkeypatch.setattr(sys, "argv", ["app", "--plugin", "mine.py"])
    assert not access.is_public()
    assert access.plugin_files() == ["mine.py"]
