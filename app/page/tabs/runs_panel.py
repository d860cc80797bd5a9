"""The panel of the tab *Runs*: the history, and past runs shown with those of the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

from solverscope.app import ui
from solverscope.app.benchopt import results
from solverscope.app.benchopt.curves import BenchoptCurves
from solverscope.app.page.protocols import PanelPage
from solverscope.app.page.sidebar.own_data import UPLOAD_CHUNK_BYTES, OwnData
from solverscope.app.runs.archive import Archive, ArchivedRun
from solverscope.app.runs.compare import differing_ends, differing_settings, options
from solverscope.app.runs.history import History, HistoryUnavailable
from solverscope.app.runs.past_run import PastRun, free_style
from solverscope.app.settings import wording
from solverscope.app.ui.batch import batch
from solverscope.app.views import PastRuns
from solverscope.app.views.compare.past_runs import line
from solverscope.solvers import FIELDS, Trace, compare_runs

#: Seconds after which the list is requested again, as another server may have changed it.
STALE = 2.0
#: Maximal numbers of runs in the list, and of past runs shown with the others.
MOST_LISTED, MOST_SHOWN = 200, 12

Loaded = tuple[ArchivedRun, Trace]


class BenchoptFile(OwnData):
    """The drop area for results of benchopt, which are read but not stored.

    ``take(traces)`` receives the curves.
    """

    _esm, _stylesheets = OwnData._esm, OwnData._stylesheets

    def _load(self, path: Path, progress: Callable[[str, float | None], None]) -> list[Trace]:
        return results.read(path)

    def _take_result(self, found: list[Trace]) -> None:
        self._give_up("")
        self._take(found)


class RunsPanel:
    """The list of past runs and its actions, updated at each tick of the session.

    Visitors who may use their own files have a drop area for results of benchopt above the list.
    """

    def __init__(self, page: PanelPage) -> None:
        self._page, self._session = page, page.session
        self._runs: list[ArchivedRun] = []
        self._entries: list[dict[str, Any]] = []
        self._chosen: list[int] = []
        self._deleted: list[int] = []
        self._said = ""
        self._compared: tuple[int, ...] = ()
        self._goal: tuple[int, int] | None = None
        self._waiting: list[tuple[Future[Any], Callable[[Any], None]]] = []
        self._asked: Future[list[ArchivedRun]] | None = None
        self._asked_at, self._version = -STALE, -1
        self.view = PastRuns(on_act=self._act)
        self.file: BenchoptFile | None = None
        self.curves: BenchoptCurves | None = None
        if page.rights.own:
            size = {"chunk": UPLOAD_CHUNK_BYTES, "size": results.MAX_RESULTS_BYTES}
            said = {"label": "Open results of benchopt", "tip": "own_data.benchopt"}
            self.file = BenchoptFile(page.session, self._open, limits=size, **said)
            page.session.others.append(self.file.close)
            self.view.put_above(self.file)

    @property
    def _history(self) -> History:
        return self._session.history

    @property
    def settled(self) -> bool:
        """Return whether the list is up to date, and the history has answered all requests."""
        return not self._waiting and self._version == self._history.version

    def update(self) -> None:
        """Update the list from the responses of the history; do nothing while the tab is hidden."""
        if not self.view.visible:
            return
        if self.file is not None:
            self.file.update()
        if self.curves is not None:
            self.curves.put_beside([run.trace for run in self._session.runs if run.trace is not None])
        waiting, self._waiting = self._waiting, []
        for answer, then in waiting:
            self._take(answer, then)
        self._look()
        self._show()

    # the history

    def _ask(self, answer: Future[Any], then: Callable[[Any], None]) -> None:
        self._waiting.append((answer, then))

    def _take(self, answer: Future[Any], then: Callable[[Any], None]) -> None:
        if not answer.done():  # asked once: it may come at any moment
            self._ask(answer, then)
            return
        try:
            found = answer.result()
        except (HistoryUnavailable, ValueError) as error:
            self._said = ui.capital(str(error))
        else:
            then(found)

    def _look(self) -> None:
        """Request the list if it may have changed."""
        now = time.monotonic()
        changed = self._version != self._history.version
        if (self._asked is None or self._asked.done()) and (changed or now - self._asked_at > STALE):
            self._asked_at, self._version = now, self._history.version
            self._asked = self._history.ask(lambda archive: archive.runs())
            self._ask(self._asked, self._listed)

    def _listed(self, runs: list[ArchivedRun]) -> None:
        self._runs = runs
        self._entries = [_entry(kept) for kept in runs[:MOST_LISTED]]
        there = {kept.id for kept in runs}
        self._chosen = [id for id in self._chosen if id in there]

    # what a visitor does

    def _act(self, data: dict[str, Any]) -> None:
        ids = [id for id in data.get("ids", []) if isinstance(id, int)][:MOST_LISTED]
        self._said = ""
        match data.get("action"):
            case "choose":
                self._chosen = [id for id in self._chosen if id not in ids] + (
                    ids if data.get("value") else []
                )
            case "show":
                self._bring(ids)
            case "go" if len(self._compared) == 2:
                self._go(self._compared, data.get("iteration", 0))
            case "put-away":
                for run in [run for run in self._past if run.id in ids]:
                    self._session.remove(run)
            case "pin":
                self._pin(ids, bool(data.get("value")))
            case "rename":
                self._change(lambda archive: [archive.rename(id, str(data.get("name"))) for id in ids])
            case "delete" if ids:
                self._deleted = ids
                self._change(lambda archive: archive.delete(ids))
            case "undo" if self._deleted:
                again, self._deleted = self._deleted, []
                self._change(lambda archive: archive.restore(again))
        self._compare()
        self._session.tick()

    def _pin(self, ids: Sequence[int], wanted: bool) -> None:
        """Pin or unpin runs; pinned runs of this page are also kept when the next runs start."""
        here = [run for run in self._session.runs if run.id in ids and not run.stays]
        for run in here:
            self._session.pin(run, wanted)
        others = [id for id in ids if id not in {run.id for run in here if not (wanted and run.alive)}]
        if others:
            self._change(lambda archive: [archive.pin(id, wanted) for id in others])

    def _change(self, work: Callable[[Archive], Any]) -> None:
        self._ask(self._history.change(work), lambda nothing: None)

    @property
    def _past(self) -> list[PastRun]:
        return [run for run in self._session.runs if isinstance(run, PastRun)]

    def _bring(self, ids: Sequence[int]) -> None:
        """Load past runs, and show them with the page's own."""
        shown = {run.id for run in self._past}
        wanted = [id for id in ids if id not in shown]
        if len(shown) + len(wanted) > MOST_SHOWN:
            self._said = f"At most {MOST_SHOWN} past runs are shown at a time: hide some first."
            return
        for id in wanted:
            self._ask(self._history.ask(partial(_load, id=id)), self._brought)

    def _brought(self, loaded: Loaded) -> None:
        kept, trace = loaded
        if any(run.id == kept.id for run in self._past):
            return
        problem = self._page.problem.known(trace.info.problem.get("key"))
        self._session.add(PastRun(kept, trace, free_style(self._session.runs), problem))
        self._reach()

    def _go(self, ids: Sequence[int], iteration: object) -> None:
        """Show runs, and move the cursor to an iterate of the first one."""
        self._goal = (ids[0], iteration) if isinstance(iteration, int) else None
        here = {run.id for run in self._session.runs}
        self._bring([id for id in ids if id not in here])
        self._reach()

    def _reach(self) -> None:
        """Move the cursor to the requested iterate, once its run is shown."""
        if self._goal is None:
            return
        id, iteration = self._goal
        for run in self._session.runs:
            if run.id == id and run.trace is not None:
                self._session.cursor.place(run.trace, iteration)
                self._goal = None

    # results of benchopt

    @batch()
    def _open(self, curves: Sequence[Trace]) -> None:
        if self.curves is None:
            self.curves = BenchoptCurves()
            self.view.put_above(ui.column(self.curves, kind="across tall"))
        self.curves.open(curves)

    # what differs

    def _compare(self) -> None:
        """Show the differences between the selected runs if exactly two are selected."""
        pair = tuple(sorted(self._chosen)) if len(self._chosen) == 2 else ()
        if pair == self._compared:
            return
        self._compared = pair
        self.view.compare()
        if pair:
            both = self._history.ask(lambda archive: [_load(archive, id) for id in pair])
            self._ask(both, partial(self._found, pair))

    def _found(self, pair: tuple[int, ...], loaded: list[Loaded]) -> None:
        if pair != self._compared:
            return
        left, right = loaded
        heads = ("", left[0].title, right[0].title)
        rows = [(one.what, *map(_plain, one[1:])) for one in differing_settings(left[0], right[0])]
        ends = differing_ends(left, right)
        rows += [(_name(one.what), *(_text(one.what, value) for value in one[1:])) for one in ends]
        try:
            found = compare_runs(left[1], right[1])
        except ValueError as error:
            self.view.compare(heads, rows, str(error))
            return
        there = None if found.difference is None else found.difference.iteration
        self.view.compare(heads, rows, found.sentence(left[0].title, right[0].title), there)

    # the list

    def _show(self) -> None:
        shown = {run.id for run in self._past}
        entries = [entry | {"shown": entry["id"] in shown} for entry in self._entries]
        self.view.say(entries, self._chosen, self._notice(), bool(self._deleted))

    def _notice(self) -> str:
        if self._said or self._history.trouble:
            return self._said or self._history.trouble
        if self._deleted:
            many = f"{len(self._deleted)} runs were" if len(self._deleted) > 1 else "1 run was"
            return f"{many} deleted."
        more = len(self._runs) - MOST_LISTED
        return f"{ui.number(more)} older runs are not listed." if more > 0 else ""


def _load(archive: Archive, id: int) -> Loaded:
    return archive.run(id), archive.trace(id)


def _entry(kept: ArchivedRun) -> dict[str, Any]:
    """Return the row of the list for a past run that is not shown on the page."""
    params = wording.of_params(kept.solver, options(kept))
    given = ", ".join(f"{title} {_plain(value)}" for title, value in params.items())
    about, ends = kept.about, (kept.iterations, kept.objective, wording.of_ending(kept.state))
    same = ("name", "started", "solver", "message", "setting", "alive", "pinned")
    told = {name: getattr(kept, name) for name in same} | {"options": given, "kept": True}
    return line(kept.id, kept.title, about.get("problem", {}), *ends, about.get("lams", ()), **told)


def _name(what: str) -> str:
    field = FIELDS.get(what)
    return field.title if field is not None else what.replace("_", " ")


def _text(what: str, value: Any) -> str:
    field = FIELDS.get(what)
    if field is not None and value is not None:
        return ui.cell(field, value, 8)
    return wording.of_ending(value) if what == "state" else _plain(value)


def _plain(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return ui.number(value)
