"""The export panel: files of runs, images of the plots, the page as a file, and commands that
repeat a run."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import param
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.page.legend import note
from solverscope.app.page.session import Session
from solverscope.app.runs.displayed_run import DisplayedRun
from solverscope.app.runs.formats import FORMATS, as_bytes, offered
from solverscope.app.settings import reproduction, wording
from solverscope.app.ui import run_styles
from solverscope.app.ui.component import Component
from solverscope.app.views import View
from solverscope.app.views.base.help import RUN
from solverscope.app.views.base.plot import RunPlot
from solverscope.app.views.compare.report import Section, report
from solverscope.app.views.compare.summary import SUMMARY_HEADS, Table, as_html, cells, kind
from solverscope.solvers import Trace

#: Menu entry for all displayed runs.
ALL_RUNS = "all"
#: DisplayedRun where there is nothing to export.
NOTHING_TO_EXPORT = "Run a solver first to export its record, the plots and the commands that repeat it."


class Plot(NamedTuple):
    """A visible figure: its title, whether its curves are the runs, and its legend.

    The legend has a glyph, a colour and a meaning for each mark.
    """

    figure: figure
    title: str
    runs: bool
    marks: list[tuple[str, str, str]]


class ExportPanel(Component):
    """A button in the header, and the export panel that it opens.

    The browser creates images of the figures that it shows (``assets/export_panel.js``). All other exports
    are created on request by the server, outside of the page's thread. ``title()`` returns the subject of the
    page, and ``views()`` its views.
    """

    runs = param.List(default=[], doc="[key, label] of each run that is shown")
    chosen = param.String(default=ALL_RUNS, doc="key of the run that is taken along, or all of them")
    forms = param.List(
        default=[[id, form.name, form.about] for id, form in offered().items()],
        constant=True,
        doc="id, name and use of each format of a record",
    )
    plots = param.List(default=[], doc="id, title and marks of each figure that is shown")
    notes = param.Dict(default={}, doc="what is said beside the label of a run, by that label")
    texts = param.List(default=[], doc="name and text of each way to do the run again")
    notice = param.String(default="", doc="what is under way, or wrong")

    _esm = ui.page_script("panel.js", "copy.js", "export_panel.js")
    _stylesheets: ClassVar[list[str]] = [ui.asset("header_buttons.css", "panel.css")]

    def __init__(
        self, session: Session, title: Callable[[], str], views: Callable[[], Iterable[View]]
    ) -> None:
        super().__init__()
        self._session, self._title, self._views = session, title, views

    def receive(self, data: Any) -> None:
        match data:
            case {"action": "open"}:
                self.show()
            case {"action": "choose", "run": str(key)}:
                self.chosen = key
                self.show()
            case {"action": "take", "form": str(form)} if form == "html" or form in FORMATS:
                self._take(form)

    def show(self) -> None:
        """Show the exports that are currently possible."""
        shown = self._shown()
        runs = [[str(run.style), run.label] for run in shown]
        chosen = self.chosen if self.chosen in [key for key, _ in runs] else ALL_RUNS
        self.param.update(
            runs=runs,
            chosen=chosen,
            plots=[[plot.figure.id, plot.title, plot.marks] for plot in self._plots()],
            notes={run.label: said for run in shown if (said := _told(run))},
            texts=self._texts() if runs else [],
            notice="" if runs else NOTHING_TO_EXPORT,
        )

    def _shown(self) -> list[DisplayedRun]:
        session = self._session
        return [r for r in session.runs if r.trace is not None and len(r.trace) and not session.hidden(r)]

    def _traces(self) -> list[Trace]:
        shown = [run for run in self._shown() if self.chosen in (ALL_RUNS, str(run.style))]
        return [run.trace for run in shown if run.trace is not None]

    def _plots(self) -> list[Plot]:
        """Return the visible figures."""
        seen = [view for view in self._views() if view.in_sight and view.has_content()]
        return [self._plot(by, drawn) for view in seen for by, drawn in view.shown_figures()]

    def _plot(self, view: View, drawn: figure) -> Plot:
        about, runs = view.explain(drawn.name), isinstance(view, RunPlot)
        title = about.title if about is not None else view.title
        cursor = self._session.cursor
        if not runs and cursor.run is not None:  # its curves do not tell whose it is
            title += f", cursor at {cursor.run.info.label}, iteration {cursor.iteration}"
        marks = [] if about is None else [mark for mark in about.marks if mark is not RUN]
        return Plot(drawn, title, runs, [(mark.glyph, mark.color or ui.GREY, mark.words) for mark in marks])

    def _texts(self) -> list[list[str]]:
        traces = self._traces()
        return [
            ["Command line", reproduction.commands(traces)],
            ["Python", reproduction.snippet(traces)],
        ]

    # what is sent

    def _take(self, form: str) -> None:
        traces = self._traces()
        if not traces:
            self.notice = NOTHING_TO_EXPORT
            return
        name = "page" if form == "html" else FORMATS[form].name
        self.notice = f"making {name} …"
        if form == "html":
            work: Callable[[], bytes] = self._report(traces).encode
        else:
            work = partial(as_bytes, traces, form)
        label = traces[0].info.label if len(traces) == 1 else "runs"
        file = f"solverscope-{re.sub(r'[^A-Za-z0-9._-]+', '-', label)}.{form}"

        def send(made: bytes | None) -> None:
            self.notice = "" if made is not None else f"{name} could not be made: the server's log says why."
            if made is not None:
                self.answer({"file": file, "data": made})

        self._session.later(self, lambda pulse: work(), send)

    def _report(self, traces: Sequence[Trace]) -> str:
        """Return a report of the page: description of the settings, numbers, visible plots, and how to repeat
        it."""
        problems = dict.fromkeys(wording.of_problem(trace.info.problem) for trace in traces)
        said = [*problems, *(wording.of_run(trace, kind(trace)) for trace in traces)]
        settings = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in said)
        numbers = as_html(SUMMARY_HEADS, [[text for _, text in cells(trace)] for trace in traces])
        legend = ui.runs_legend(
            (run.label, *run_styles.color_and_dash(run.trace), _told(run), run.ghost) for run in self._shown()
        )
        again = "".join(
            f"<h3>{html.escape(name)}</h3><pre>{html.escape(text)}</pre>" for name, text in self._texts()
        )
        plots = [
            Section(plot.title, (legend if plot.runs else "") + ui.mark_legend(plot.marks), plot.figure)
            for plot in self._plots()
        ]
        sections = [Section("Settings", settings), Section(Table.title, numbers), *plots]
        return report(self._title(), [*sections, Section("Repeat the run", again)])


def _told(run: DisplayedRun) -> str:
    """Describe how a run differs from others with a similar label."""
    return "; ".join(filter(None, (kind(run.trace), note(run))))
