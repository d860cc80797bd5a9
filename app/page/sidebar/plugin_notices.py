"""Notices of plug-ins that were saved while the server runs; their new code is used from the next
*Run* on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from solverscope.app import plugins
from solverscope.app.page.protocols import PanelPage
from solverscope.app.plugins import RELOADS, PluginReload
from solverscope.app.runs import problem_cache
from solverscope.app.runs.displayed_run import DisplayedRun

#: Seconds between two checks of the files.
LOOK_SECONDS = 1.0
_due = 0.0


def look(clock: Callable[[], float] = time.monotonic) -> None:
    """Reload saved plug-ins, for all pages, at most once a second."""
    global _due
    if (now := clock()) >= _due:
        _due = now + LOOK_SECONDS
        plugins.reload_saved()


class PluginNotices:
    """Notices of plug-ins that were reloaded, whose new code the page then uses; updated at each tick."""

    def __init__(self, page: PanelPage) -> None:
        self._page = page
        self._seen = len(RELOADS)
        #: The notice of each file, which a later one replaces.
        self._said: dict[str, Any] = {}

    def update(self) -> None:
        """Use and report the plug-ins that have been reloaded since the last call."""
        look()
        new, self._seen = RELOADS[self._seen :], len(RELOADS)
        for reload in new:
            if not reload.wrong:
                self._apply(reload)
            self._say(reload)

    def _apply(self, reload: PluginReload) -> None:
        page = self._page
        for run in page.session.runs:
            if _ids(run) & reload.ids:
                run.stays = run.outdated = True
        recipe = page.problem.setting
        if {recipe.data, recipe.loss, recipe.penalty} & reload.ids:
            problem_cache.cache.clear()
            page.problem.reload()
        page.solvers.refresh()

    def _say(self, reload: PluginReload) -> None:
        name = Path(reload.file).name
        text = f"{name} was saved: the next Run uses its new code ({reload.digest})."
        if reload.wrong:
            text = f"{reload.wrong}. The file was saved so, and its code of before stays in use."
        notices = self._page.notices
        if (before := self._said.get(reload.file)) in notices.objects:
            notices.remove(before)
        self._page.session.notify(text)
        self._said[reload.file] = notices.objects[-1]


def _ids(run: DisplayedRun) -> set[str | None]:
    """Return the ids of the solver, data set, loss and penalty of a run, which a plug-in may define."""
    if run.trace is None or run.experiment is None:
        return set()
    problem = run.experiment.problem
    return {run.trace.info.solver, problem.data, problem.loss, problem.penalty}
