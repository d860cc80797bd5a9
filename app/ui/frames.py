"""Changes to plots in a notebook, which are also sent while its kernel is busy.

Panel sends changes over a connection that the browser opens. A kernel that executes a cell may handle it only
afterwards, or in another thread, from which Panel sends nothing. Outputs of a cell always arrive, and in
order. Therefore changes are sent as an output: a script, which is replaced by the next one.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol
from weakref import WeakSet

import bokeh
from bokeh.core.serialization import Serializer
from bokeh.model import Model

from solverscope.app.compat.panel_cells import (
    document_of,
    forget_changes,
    note_changes,
    take_messages,
    without_sending,
)

from .assets import asset
from .batch import one_walk
from .inline_styles import inline_styles

#: Characters of what has changed since the last base, beyond which there is a new one, unless they are less
#: than half of those of the base.
MOST_RECENT = 40_000
#: Drawings and changes by visitors: some kernels take these in a thread of their own.
ONE_AT_A_TIME = threading.RLock()


class Frames:
    """The changes to one plot since it was shown; ``id`` is that of its root model.

    They are sent as two outputs: all changes up to some point, and those after it. Each replaces the previous
    one, so a browser may skip outputs. Responses to a visitor's actions are sent in the same way.
    """

    def __init__(self, id: str) -> None:
        self._id, self._document = id, document_of(id)
        #: Models that the browser has had since the plot was shown, and since the last base output.
        self._shown = self._based = set(self._document.models)
        self._changed: dict[tuple[str, str], None] = {}
        self._recent: dict[tuple[str, str], None] = {}
        self._unsent, self._bases, self._most_recent = False, 0, MOST_RECENT
        note_changes(self._document, self._note)
        take_messages(self._document, self._answer)
        for part in ("base", "recent"):
            self._display(part, "")

    def _display(self, part: str, script: str, **how: Any) -> None:
        from IPython.display import display  # pyright: ignore[reportMissingImports] (there in a notebook)

        id = f"solverscope-{self._id}-{part}"
        display({"application/javascript": script}, raw=True, display_id=id, **how)

    def _note(self, model: Model, attr: str) -> None:
        self._changed[model.id, attr] = self._recent[model.id, attr] = None
        self._unsent = True

    def _answer(self, handle: Any, message: object) -> None:
        """Handle a message from the browser, and send the changes that result."""
        with ONE_AT_A_TIME:
            with without_sending():
                handle(message)
            self.send()

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """Batch the changes made in the block, and inline the style sheets of other hosts."""
        with one_walk(self._document):
            yield
            inline_styles(self._document.models)

    def send(self) -> int:
        """Send changes in place of Panel; return the number of characters sent."""
        if not self._unsent:
            return 0
        self._unsent = False
        forget_changes(self._document)
        there = set(self._document.models)
        self._shown, self._based = self._shown & there, self._based & there
        script = self._script("recent", self._recent, self._based)
        sent = len(script)
        if sent > self._most_recent:
            self._bases += 1
            base = self._script("base", self._changed, self._shown)
            self._display("base", base, update=True)
            self._based, self._most_recent = there, max(MOST_RECENT, len(base) // 2)
            self._recent.clear()
            script, sent = self._script("recent", (), there), len(base)
        self._display("recent", script, update=True)
        return sent

    def _script(self, part: str, changed: Collection[tuple[str, str]], known: set[Model]) -> str:
        """Return a script that applies changes to a plot that already has the models ``known``."""
        serializer = Serializer(references=known, deferred=False)
        found = [
            [id, attr, model.lookup(attr).get_value(model)]
            for id, attr in changed
            if (model := self._document.models.get_by_id(id)) is not None
        ]
        values = {"ROOT": self._id, "VERSION": bokeh.__version__, "PART": part, "BASE": self._bases}
        values["CHANGES"] = serializer.encode(found)
        names = ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items())
        names = names.replace("</", "<\\/")  # some notebooks write it into their page
        return f"{{\nconst {names}\n{asset('frames.js')}}}\n"


class Shown(Protocol):
    """A display in a notebook cell."""

    def finish_cell(self) -> None:
        """Do what remains to be done at the end of a cell."""


class KernelCells:
    """The cells of a kernel: whether one is being executed, and displays to be notified at the
    end of each."""

    def __init__(self, shell: Any) -> None:
        self.executing = threading.current_thread() is threading.main_thread()
        self.after_each: WeakSet[Shown] = WeakSet()
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)

    def _begin(self, *about: object) -> None:
        self.executing = True

    def _end(self, *about: object) -> None:
        self.executing = False
        for shown in list(self.after_each):
            shown.finish_cell()


@cache
def _cells_of(shell: Any) -> KernelCells:
    return KernelCells(shell)


def kernel_cells() -> KernelCells | None:
    """Return the cells of this process, or None if it is not a notebook kernel."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return None if (shell := get_shell()) is None else _cells_of(shell)
