"""A page that is loaded again, or anew after its server has forgotten it, has its runs again."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any
from urllib.parse import parse_qsl

import panel as pn
import param

from solverscope.app import theme
from solverscope.app.component import Component
from solverscope.app.page.stage import Stage
from solverscope.app.runs.archive import Archive, Kept
from solverscope.app.runs.history import Unavailable
from solverscope.app.runs.past import PastRun, free_style
from solverscope.app.runs.shown import Shown
from solverscope.app.serving import returns
from solverscope.solvers import Trace

#: Runs that are taken from the history at most.
MOST = 12
FROM_HISTORY = "The server has forgotten this page: its runs are shown as the history of runs has them."
LOST = "The server has forgotten this page, and its history of runs has none of the runs that were here."

#: A run as a browser names it: its number in the history, what it is called, and the key of its problem.
Name = tuple[int, str, str]


class Returning(Component):
    """A page's memory in the browser, kept while its tab is open: the ``key`` that it is named by,
    and the names of its ``runs``. A page that is loaded in the same tab at the same address takes the runs
    of that page over, from that itself while the server has it, else from the history. A watcher of the
    session."""

    key = param.String(doc="what only the server and this browser tab know")
    runs = param.List(default=[], doc="names of the runs that the history has")

    width = height = 0

    _esm = theme.asset("returning.js")

    def __init__(self, page: Stage) -> None:
        super().__init__(key=secrets.token_urlsafe(24))
        self.page = page
        self._asked: Future[list[tuple[Kept, Trace]]] | None = None
        returns.pages[self.key] = self

    def leave(self) -> None:
        self.page.session.presence.leave()

    def close(self) -> None:
        """Take no message of a browser any more."""
        returns.pages.pop(self.key, None)

    def receive(self, data: Any) -> None:
        match data:
            case {"action": "arrived", **said}:  # again where the page was connected anew
                if not self.page.session.presence.arrived:
                    self.page.session.presence.arrived = True
                    self._arrived(said.get("key"), said.get("runs"))
                self.answer({"there": True})
            case {"action": "went", "search": str(search)}:
                if pn.state.location is not None:
                    pn.state.location.search = search
                self.page.go_to(dict(parse_qsl(search.lstrip("?"), keep_blank_values=True)))
                self.answer({"there": True})

    def update(self) -> None:
        """Send the names of all runs to the browser, and show those that the history has found."""
        names = [list(name) for run in self.page.session.runs if (name := _name(run)) is not None]
        if names != self.runs:
            self.runs = names
        if self._asked is not None and self._asked.done():
            asked, self._asked = self._asked, None
            self._found(asked)

    def _arrived(self, key: object, runs: object) -> None:
        """Take over what the browser had before."""
        before = returns.pages.pop(key, None) if isinstance(key, str) else None
        if isinstance(before, Returning) and before.page is not self.page:
            self.page.adopt(before.page)
        elif isinstance(runs, list) and (names := [tuple(name) for name in runs[:MOST] if _is_name(name)]):
            self._asked = self.page.session.history.ask(_read(names))

    def _found(self, asked: Future[list[tuple[Kept, Trace]]]) -> None:
        session = self.page.session
        try:
            found = asked.result()
        except Unavailable:
            found = []
        for kept, trace in found:
            problem = self.page.problem.known(trace.info.problem.get("key"))
            session.add(PastRun(kept, trace, free_style(session.runs), problem))
        session.notify(FROM_HISTORY if found else LOST)


def _name(run: Shown) -> Name | None:
    """Return what a run is found by in the history; None where it is not there."""
    if not isinstance(run.id, int) or run.trace is None:
        return None
    return run.id, run.label, str(run.trace.info.problem.get("key"))


def _is_name(said: object) -> bool:
    return isinstance(said, list) and [*map(type, said)] == [int, str, str]


def _read(names: list[Name]) -> Callable[[Archive], list[tuple[Kept, Trace]]]:
    """Return what reads runs out of the history: those that are the same as they were. After their number
    another history may have others."""

    def read(archive: Archive) -> list[tuple[Kept, Trace]]:
        found = []
        for id, label, key in names:
            try:
                kept = archive.run(id)
                trace = archive.trace(id)
            except ValueError:  # deleted, or damaged
                continue
            same_label = label in (kept.title, kept.label, f"{kept.label} #{id}")
            if same_label and str(trace.info.problem.get("key")) == key:
                found.append((kept, trace))
        return found

    return read
