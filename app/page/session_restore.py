"""Recovery of a page's runs after it was reloaded, or after the server has dropped it."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any
from urllib.parse import parse_qsl

import panel as pn
import param

from solverscope.app import ui
from solverscope.app.page.protocols import PanelPage
from solverscope.app.runs.archive import Archive, ArchivedRun
from solverscope.app.runs.displayed_run import DisplayedRun
from solverscope.app.runs.history import HistoryUnavailable
from solverscope.app.runs.past_run import PastRun, free_style
from solverscope.app.serving import page_registry
from solverscope.app.ui.component import Component
from solverscope.solvers import Trace

#: Maximal number of runs that are restored from the history.
MAX_RESTORED = 12
FROM_HISTORY = "The server has forgotten this page: its runs are shown as the history of runs has them."
PAGE_LOST = "The server has forgotten this page, and its history of runs has none of the runs that were here."

#: A run as stored in a browser: its number in the history, its label, and the key of its problem.
RunName = tuple[int, str, str]


class SessionRestore(Component):
    """The data that a browser stores for a page while its tab is open: a ``key``, and the names of the
    ``runs``.

    If the same URL is loaded again in the tab, the new page takes over the runs of the previous one: from the
    previous page while the server has it, otherwise from the history. The component is updated at each tick.
    """

    key = param.String(doc="what only the server and this browser tab know")
    runs = param.List(default=[], doc="names of the runs that the history has")

    width = height = 0

    _esm = ui.asset("session_restore.js")

    def __init__(self, page: PanelPage) -> None:
        super().__init__(key=secrets.token_urlsafe(24))
        self.page = page
        self._asked: Future[list[tuple[ArchivedRun, Trace]]] | None = None
        page_registry.pages[self.key] = self

    def leave(self) -> None:
        self.page.session.presence.leave()

    def close(self) -> None:
        """Ignore messages of browsers from now on."""
        page_registry.pages.pop(self.key, None)

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
        """Send the names of all runs to the browser, and show runs that were found in the history."""
        names = [list(name) for run in self.page.session.runs if (name := _name(run)) is not None]
        if names != self.runs:
            self.runs = names
        if self._asked is not None and self._asked.done():
            asked, self._asked = self._asked, None
            self._found(asked)

    def _arrived(self, key: object, runs: object) -> None:
        """Take over the runs that the browser showed before."""
        before = page_registry.pages.pop(key, None) if isinstance(key, str) else None
        if isinstance(before, SessionRestore) and before.page is not self.page:
            self.page.adopt(before.page)
        elif isinstance(runs, list) and (
            names := [
                tuple(name)
                for name in runs[:MAX_RESTORED]
                if isinstance(name, list) and [*map(type, name)] == [int, str, str]
            ]
        ):
            self._asked = self.page.session.history.ask(_read(names))

    def _found(self, asked: Future[list[tuple[ArchivedRun, Trace]]]) -> None:
        session = self.page.session
        try:
            found = asked.result()
        except HistoryUnavailable:
            found = []
        for kept, trace in found:
            problem = self.page.problem.known(trace.info.problem.get("key"))
            session.add(PastRun(kept, trace, free_style(session.runs), problem))
        session.notify(FROM_HISTORY if found else PAGE_LOST)


def _name(run: DisplayedRun) -> RunName | None:
    """Return the name of a run in the history, or None if it is not there."""
    if not isinstance(run.id, int) or run.trace is None:
        return None
    return run.id, run.label, str(run.trace.info.problem.get("key"))


def _read(names: list[RunName]) -> Callable[[Archive], list[tuple[ArchivedRun, Trace]]]:
    """Return a function that reads those of the named runs that are in the history.

    In another history, other runs may have the same numbers; they are skipped.
    """

    def read(archive: Archive) -> list[tuple[ArchivedRun, Trace]]:
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
