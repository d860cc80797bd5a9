"""The legend above the plots: a row for each run, with numbers and buttons, and why *Run* is disabled."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar

import param

from solverscope.app import ui
from solverscope.app.help import tip
from solverscope.app.page.session import Session
from solverscope.app.runs.compare import typed_or_all
from solverscope.app.runs.displayed_run import DisplayedRun
from solverscope.app.runs.live import FINAL_STATES, LiveRun
from solverscope.app.settings import wording
from solverscope.app.settings.columns import LEGEND_TABLE, page_texts, page_title
from solverscope.app.ui.batch import batch
from solverscope.app.ui.component import Component
from solverscope.solvers import FIELDS

#: Relative accuracy of an objective; smaller proved bounds are rounding errors.
SHOWN_GAP_ROUNDING = 1e-15
LEGEND_HEADS = [[name, page_title(name, column), FIELDS[name].label] for name, column in LEGEND_TABLE.items()]


class LegendRows(Component):
    """The rows of the legend, drawn by ``assets/legend.js`` from plain dictionaries."""

    rows = param.List(default=[], doc="one dictionary a run: texts to show and its state")
    columns = param.List(default=LEGEND_HEADS, constant=True, doc="key in rows, heading and its tip each")
    steers = param.Boolean(default=True, constant=True, doc="whether the visitor may change the runs")
    notice = param.String(default="", doc="why no run can be started; empty if one can, or while runs live")

    _esm = ui.page_script("legend.js")
    _stylesheets: ClassVar[list[str]] = [ui.asset("component.css", "legend.css")]

    def __init__(self, session: Session) -> None:
        super().__init__(sizing_mode="stretch_width", steers=session.steers)
        self._session = session
        self.obstacle: str | None = None

    def update(self) -> None:
        """Update the rows from the current runs."""
        runs = self._session.runs
        objectives = ui.aligned(
            [run.trace.last.get("objective") if run.trace is not None else None for run in runs]
        )
        self.rows = [
            {**row(run, self._session), "objective": objective}
            for run, objective in zip(runs, objectives, strict=True)
        ]
        waits = self.obstacle is not None and self._session.state == "idle"
        then = "" if self._session.pressed is None else " The run starts once the data have loaded."
        self.notice = f"Run waits: {self.obstacle}{then}" if waits else ""

    def receive(self, data: dict[str, Any]) -> None:
        run = next((r for r in self._session.runs if r.style == data.get("key")), None)
        if run is None:
            return
        action = str(data.get("action"))
        if action == "choose" and run.trace is not None:
            # before all views, whose message the browser takes longer over
            self.rows = [{**row, "chosen": row["key"] == run.style} for row in self.rows]
        with batch():
            self._act(run, action)

    def _act(self, run: DisplayedRun, action: str) -> None:
        session = self._session
        match action:
            case "hide":
                session.toggle(run)
            case "isolate":
                session.isolate(run)
            case "choose" if run.trace is not None:
                session.cursor.choose(run.trace, follow=run.alive)
                return  # the views have followed the cursor: a tick would draw them all again
            case "pause" | "resume" | "step" | "stop" if not (run.alive and session.steers):
                return
            case "pause":
                run.worker.pause()
            case "resume":
                run.worker.resume()
            case "step":
                run.worker.step_once()
            case "stop":
                run.stop()
            case "pin" | "unpin":
                session.pin(run, action == "pin")
            case "remove":
                session.remove(run)
        session.tick()


def certified(run: DisplayedRun) -> tuple[str, str]:
    """Return the proved bound on f - f* of a run, in a few words and in a sentence.

    Both are empty if nothing is proved.
    """
    gap = run.trace.result.get("dual_gap") if run.trace is not None else None
    if gap is None:
        return "", ""
    above, share = ui.number(gap, 2), ""
    objective = run.trace.last["objective"]
    if gap <= SHOWN_GAP_ROUNDING * abs(objective):
        return "f = f*, proved", tip("legend.optimum")
    if objective:
        share = f", {ui.number(100.0 * gap / abs(objective), 2)} % of it"
    return f"≤ {above} above f*", tip("legend.bound", gap=above, share=share)


def note(run: DisplayedRun) -> str:
    """Return the settings of a ghost, and λ for ghosts, branches and runs whose λ was changed."""
    if run.trace is None:
        return ""
    info = run.trace.info
    lam = wording.of_lam(info.problem, info.lams, "from")
    said = [f"λ = {lam}"] if lam and (run.ghost or info.origin is not None or info.lams) else []
    if run.ghost:
        params = asdict(run.solver) if isinstance(run, LiveRun) else info.params
        given = wording.of_params(info.solver, typed_or_all(info.solver, params))
        said += [f"{title} {value}" for title, value in given.items()]
    if info.code and (run.ghost or run.outdated):
        said.append(f"code {info.code}")
    return ", ".join(said)


def row(run: DisplayedRun, session: Session) -> dict[str, Any]:
    """Return the content of a row, except the objective."""
    last = run.trace.last if run.trace is not None else {}
    shown = dict(zip(LEGEND_TABLE, page_texts(LEGEND_TABLE, last), strict=True))
    if last and run.problem is not None and last["working_set"] == run.problem.size:
        shown["working_set"] = "all"
    state = session.stands(run)
    bound, proof = certified(run)
    return {
        "key": run.style,
        "label": run.label,
        "color": ui.COLORS[run.style % len(ui.COLORS)],
        "dash": ui.dash(run.style),
        "state": state,
        "word": run.word if state in FINAL_STATES else state,
        "message": run.message,
        "note": note(run),
        "silent": run.silent,
        "ghost": run.ghost,
        "pinned": run.pinned,
        "past": run.stays,
        "hidden": session.hidden(run),
        "chosen": run.trace is not None and session.cursor.run is run.trace,
        "bound": bound,
        "proof": proof,
        **shown,
    }
