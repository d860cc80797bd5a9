"""The page's own components."""

from __future__ import annotations

from typing import Any

from app.compat.panel_plain_script import PlainScript


class Component(PlainScript):
    """A component whose script is JavaScript as browsers read it, and which exchanges messages with it."""

    __abstract = True

    def receive(self, data: Any) -> None:
        """Do what a message asks for that the script has sent."""

    def answer(self, data: Any) -> None:
        """Send the script a message."""
        self._send_msg(data)

    def _handle_msg(self, data: Any) -> None:
        self.receive(data)
