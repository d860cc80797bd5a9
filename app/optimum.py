"""f* of the problem on the page: from its story, from the cache, or solved for in the pool."""

from __future__ import annotations

import html

import panel as pn
import panel_material_ui as pmui

from app import theme
from app.pool import Worker
from app.reference import Reference, cached, reference
from app.session import Session
from app.theme import number
from solvers import Problem


class Optimum:
    """Gives f* to the traces. ``view`` says what is known, with a button to find it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.text = theme.html(margin=(8, 4), css_classes=["optimum"])
        self.button = pmui.Button(
            label="Find f*",
            variant="text",
            size="small",
            margin=(4, 4),
        )
        self.button.on_click(lambda event: self._press())
        self.view = pn.Row(self.text, self.button, margin=0, styles={"margin-left": "auto"})
        self._known: dict[str, float] = {}
        self._gaps: dict[str, float | None] = {}
        self._refused: dict[str, str] = {}
        self._worker: Worker | None = None
        self._key: str | None = None
        self.update()

    def of(self, problem: Problem, story: float | None) -> float | None:
        """f* if it is known without solving; called in a run's thread."""
        if story is not None:
            return story
        known = cached(problem)
        if known is None:
            return None
        self._gaps[problem.key] = known.gap
        return known.f_star

    def update(self) -> None:
        """Tell the traces what is known, and find f* once a first run has come to an end."""
        runs = [run for run in self._session.runs if run.trace is not None]
        self._key = next((run.trace.info["problem"]["key"] for run in runs), None)
        for run in runs:
            info = run.trace.info
            key = info["problem"]["key"]
            if info.get("f_star") is not None:
                self._known[key] = info["f_star"]
            elif key in self._known:
                info["f_star"] = self._known[key]
        ended = any(run.state == "finished" and run.trace.status != "unbounded" for run in runs)
        if ended and self._key not in self._known and self._key not in self._refused and self._worker is None:
            self._find()
        self._show(bool(runs))

    def _show(self, any_run: bool) -> None:
        star = self._known.get(self._key) if self._key else None
        if not any_run:
            text, label = "", None
        elif star is not None:
            gap = self._gaps.get(self._key)
            proof = "" if gap is None else f" <small>(proved to within {number(gap, 2)})</small>"
            text, label = f"f* = {number(star, 9)}{proof}", None
        elif self._worker is not None:
            text, label = "solving for f* …", "Give up"
        else:
            text, label = html.escape(self._refused.get(self._key, "f* not known yet")), "Find f*"
        if self.text.object != text:
            self.text.object = text
        styles = theme.seen(label is not None)
        if self.button.styles != styles:
            self.button.styles = styles
        if label is not None and self.button.label != label:
            self.button.label = label

    def _press(self) -> None:
        if self._worker is not None:
            self._worker.stop()
        else:
            self._find()
        self._session.tick()

    def _find(self) -> None:
        run = next((run for run in self._session.runs if run.problem is not None), None)
        if run is None:
            return
        problem, found = run.problem, list[Reference]()

        def then(worker: Worker) -> None:
            self._worker = None
            if found:
                self._known[problem.key], self._gaps[problem.key] = found[0].f_star, found[0].gap
            else:
                self._refused[problem.key] = str(worker.error) if worker.error is not None else "f* not known"

        self._worker = self._session.task(lambda worker: found.append(reference(problem, worker.pulse)), then)
