"""The base class of the page's components, and the protocol of objects that follow its runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from panel.custom import JSComponent

from solverscope.app.ui.batch import batch


class Component(JSComponent):
    """A component that exchanges messages with its script."""

    __abstract = True

    #: Called with a message that the script has sent.
    on_message: Callable[[dict[str, Any]], None] | None = None

    def receive(self, data: Any) -> None:
        """Handle a message from the script."""
        if self.on_message is not None and isinstance(data, dict):
            with batch():
                self.on_message(data)

    def answer(self, data: Any) -> None:
        """Send a message to the script."""
        self._send_msg(data)

    def _handle_msg(self, data: Any) -> None:
        self.receive(data)


class Watcher(Protocol):
    """An object of the page that is updated from the current runs at each tick of the session."""

    def update(self) -> None:
        """Update this object from the current runs."""
