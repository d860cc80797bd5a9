"""Progress on standard error: a changing line in a terminal, and only finished steps elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .streams import Listener

#: Seconds between two updates of the changing line.
BAR_SECONDS = 0.1


class ProgressBar:
    """A display of the progress on standard error; with ``moving=False`` it shows only finished steps."""

    def __init__(self, *, moving: bool = True) -> None:
        from rich.console import Console

        heard = Listener(sys.stderr)
        self._console = Console(file=heard, highlight=False, markup=False, soft_wrap=True)
        self._moving = moving and self._console.is_terminal

    def say(self, text: str) -> None:
        """Write a permanent line."""
        self._console.print(text)

    @contextmanager
    def working(self, text: str) -> Iterator[Callable[[str, float | None], None]]:
        """Show a line during the block; yield a function of (text, fraction done or None) that updates it."""
        if not self._moving:
            yield lambda text, share: None
            return
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        spinner, due = Spinner("dots", Text(text)), 0.0

        def show(text: str, share: float | None) -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + BAR_SECONDS
                spinner.update(text=Text(text if share is None else f"{text} {share:.0%}"))

        # redirected, records for standard output would end up on standard error
        streams = {"redirect_stdout": False, "redirect_stderr": False}
        with Live(spinner, console=self._console, transient=True, **streams):
            yield show
