"""The rows above the plots: one a run, legend and instrument panel at once; and why Run waits, if it does."""

from __future__ import annotations

from typing import Any, ClassVar

import param
from panel.custom import JSComponent

from app import theme
from app.page.session import Session
from app.runs.live import LiveRun
from solvers import FIELDS

#: Fields of the newest record that a row shows.
COLUMNS = ("iteration", "epoch", "objective", "nnz", "working_set", "cpu_seconds")
HEADS = [[name, FIELDS[name].title, FIELDS[name].label] for name in COLUMNS]


class LegendRows(JSComponent):
    """Drawn by ``assets/legend.js`` from plain dictionaries."""

    rows = param.List(default=[], doc="one dictionary a run: texts to show and its state")
    columns = param.List(default=HEADS, constant=True, doc="key in rows, heading and its tip each")
    notice = param.String(default="", doc="why no run can be started; empty if one can, or while runs live")

    _esm = theme.asset("legend.js")
    _stylesheets: ClassVar[list[str]] = [theme.asset("legend.css")]

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(sizing_mode="stretch_width", margin=0, **params)
        self._session = session
        self.obstacle: str | None = None

    def update(self) -> None:
        """Show the runs as they are now."""
        runs = self._session.runs
        objectives = theme.aligned(
            [run.trace.last.get("objective") if run.trace is not None else None for run in runs]
        )
        rows = [
            {**row(run, self._session), "objective": objective}
            for run, objective in zip(runs, objectives, strict=True)
        ]
        if rows != self.rows:
            self.rows = rows
        waits = self.obstacle is not None and self._session.state == "idle"
        notice = f"Run waits: {self.obstacle}" if waits else ""
        if notice != self.notice:
            self.notice = notice

    def _handle_msg(self, data: dict[str, Any]) -> None:
        session = self._session
        run = next((r for r in session.runs if r.style == data.get("key")), None)
        if run is None:
            return
        match data.get("action"):
            case "hide":
                session.toggle(run)
            case "isolate":
                session.isolate(run)
            case "choose" if run.trace is not None:
                session.cursor.choose(run.trace, follow=run.alive)
            case "pause":
                run.worker.pause()
            case "resume":
                run.worker.resume()
            case "step":
                run.worker.step_once()
            case "stop":
                run.worker.stop()
            case "remove":
                session.remove(run)
        session.tick()


def certified(run: LiveRun) -> tuple[str, str]:
    """Say what a dual point proves of the objective at the end, in few words and in a sentence; empty where
    nothing is proved."""
    gap = run.trace.result.get("dual_gap") if run.trace is not None else None
    if gap is None:
        return "", ""
    above, share = theme.number(gap, 2), ""
    if objective := run.trace.last["objective"]:
        share = f", {theme.number(100.0 * gap / abs(objective), 2)} % of it"
    return f"≤ {above} above f*", f"A dual point proves that f is at most {above} above the optimum{share}."


def row(run: LiveRun, session: Session) -> dict[str, Any]:
    """Collect what one row shows, but for the objective."""
    last = run.trace.last if run.trace is not None else {}
    shown = {name: theme.cell(FIELDS[name], last.get(name)) for name in COLUMNS}
    if last and run.problem is not None and last["working_set"] == run.problem.size:
        shown["working_set"] = "all"
    bound, proof = certified(run)
    return {
        "key": run.style,
        "label": run.label,
        "color": theme.COLORS[run.style % len(theme.COLORS)],
        "dash": theme.dash(run.style),
        "state": run.state,
        "word": run.word,
        "message": run.message,
        "hidden": session.hidden(run),
        "chosen": run.trace is not None and session.cursor.run is run.trace,
        "bound": bound,
        "proof": proof,
        **shown,
    }
