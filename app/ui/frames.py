"""Changes of a plot that a notebook shows, sent also while its kernel is busy.

Panel sends changes over a connection that the browser opens. A kernel that executes a cell may answer only at
its end, or in another thread, from which Panel sends nothing. Outputs of a cell arrive always, and in order.
So changes are an output: a script, replaced by the next one.
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
    """The changes of one plot since it was shown, by the ``id`` of its root.

    There are two outputs, all changes up to some time and those after it: either is sent as a whole, so a
    browser may leave some out. What a visitor changes is answered likewise.
    """

    def __init__(self, id: str) -> None:
        self._id, self._document = id, document_of(id)
        #: What the browser has had since the plot was shown, and what it has by the last base.
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
        """Do what a visitor asks for."""
        with ONE_AT_A_TIME:
            with without_sending():
                handle(message)
            self.send()

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """Make the changes of the block as one, with style sheets of no other host."""
        with one_walk(self._document):
            yield
            inline_styles(self._document.models)

    def send(self) -> int:
        """Send what has changed, in place of Panel; return the characters that were sent."""
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
        """Return the script that brings a plot with the models ``known`` up to date."""
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
    """What a cell shows."""

    def finish_cell(self) -> None:
        """Do what is left at the end of a cell."""


class KernelCells:
    """The cells of a kernel: whether one is executed, and what is shown, which learns of the end of each."""

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
    """Return those of this process, if it is a kernel."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return None if (shell := get_shell()) is None else _cells_of(shell)
