"""The base class of views, which draw traces at a cursor, on a page or in a notebook."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import ref

import panel as pn
import param
from bokeh.models import Span
from bokeh.plotting import figure

from solverscope import solvers
from solverscope.app import ui
from solverscope.app.ui import run_styles
from solverscope.app.ui.batch import batch
from solverscope.app.ui.cells import Cell
from solverscope.app.views.base.cursor import CURSOR_TAG, Cursor
from solverscope.app.views.base.drawn import Drawn
from solverscope.app.views.base.exports import ShownTable
from solverscope.app.views.base.help import FIGURES, Help
from solverscope.app.views.base.shown_iterate import ShownIterate, ShownPlace
from solverscope.app.views.base.sorted_table import SortedTable
from solverscope.solvers import SOLVERS, Probe, Problem, Solver, Trace

if TYPE_CHECKING:
    import holoviews as hv

#: Python expressions for the probes of this package, by name.
PROBES = {one.name: f"solvers.{name}" for name, one in vars(solvers).items() if isinstance(one, Probe)}
#: ``later(work, then)`` does ``work(pulse)``, where ``pulse`` is to be called every 50 ms or so, and then
#: ``then`` with what it returned, or with None where it failed.
Later = Callable[[Callable[[Callable[[], None]], Any], Callable[[Any], None]], None]


#: The class of views without runs of the page: their plots have no button for a window (``plots.js``).
UNFOLLOWED = "unfollowed"


def at_once(work: Callable[[Callable[[], None]], Any], then: Callable[[Any], None]) -> None:
    """Call ``work``, and ``then`` with its result, immediately."""
    then(work(lambda: None))


class View(Cell):
    """Base class of views.

    A subclass defines ``id``, ``title``, ``hint`` (shown if there is nothing to draw) and ``every`` (greater
    than 1 if drawing is slow). It creates its panes in ``build``, and updates them in ``draw``.

    >>> views.Convergence(trace)                     # one trace, or a list of them
    >>> pn.state.add_periodic_callback(view.update)  # while it is live

    ``update`` draws only if the view is ``visible``, and only what has changed: see :class:`.drawn.Drawn`. A
    part of a ``whole`` is drawn by it, and has the same runs and cursor. A view that draws a single iterate
    reports it by ``drew``, and a note names that iterate while it is not the cursor's.

    ``probes`` are those that the view draws; a page runs the probes of its views. ``carried`` are live
    references, of which a solver's iterates must carry one. Long computations are passed to ``later``, which
    a page executes in another thread, and a notebook at once. ``help`` explains each figure, by its name. For
    views of this package it is read from ``app/help/plots.toml``.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    every: ClassVar[int] = 1  # ticks (some 5 a second) from one update to the next while runs go on
    hint: ClassVar[str] = "Press Run to draw this plot."
    probes: ClassVar[tuple[Probe, ...]] = ()
    #: Those of the probes without which there is nothing to draw.
    observed: ClassVar[tuple[Probe, ...]] = ()
    carried: ClassVar[tuple[str, ...]] = ()
    #: Whether ``draw`` is called where there is no content as well.
    always: ClassVar[bool] = False
    #: Whether what is drawn are the page's runs: only then a window of its own can follow it.
    followed: ClassVar[bool] = True
    help: ClassVar[Mapping[str, Help]] = FIGURES

    #: Called with an error in drawing, which is then shown in place of the view; else the error is raised.
    on_failure: Callable[[View, Exception], None] | None = None

    visible: bool = param.Boolean(default=True, doc="a hidden view costs nothing")
    awaits: str = param.String(default="", doc="what has to come first, said where there is nothing to draw")

    def __init__(
        self,
        traces: Trace | Sequence[Trace] = (),
        cursor: Cursor | None = None,
        *,
        whole: View | None = None,
        later: Later = at_once,
        **params: object,
    ) -> None:
        super().__init__(**params)
        self.later = later
        #: Views that this one is made of; they have the same runs, and are hidden with it.
        self.parts: list[View] = []
        self._whole = whole
        if whole is not None:
            whole.parts.append(self)
            cursor = whole.cursor
        self.traces = [traces] if isinstance(traces, Trace) else traces
        self.cursor = cursor or Cursor()
        self._alone = cursor is None
        self._drawn = Drawn()
        self._seen: tuple[set[object], set[object]] = (set(), set())  # runs, and keys of their problems
        self._recorded: list[tuple[int, bool]] = []  # ids of the runs drawn, and whether each had records
        self._empty = False
        self._place: ShownPlace | None = None
        self._cursor_lines: list[tuple[Span, float]] = []
        self._late: list[tuple[pn.pane.Bokeh, figure]] = []
        self._note = None if whole else ShownIterate(self.cursor)
        self._hint = ui.html(sizing_mode="stretch_width", css_classes=["cover"])
        self._update_hint()
        self._body = ui.column(kind="body")
        self._body.visible = False
        self._head = ui.column(kind="head")
        self._legend = ui.html(sizing_mode="stretch_width")
        stage = ui.column(self._hint, self._body, *([self._note.pane] if self._note else []), kind="stage")
        above = [self._head, self._legend] if self._alone else [self._head]  # a page has its own
        self._root = ui.column(*above, stage, kind="view" if self.followed else f"view {UNFOLLOWED}")
        self._root.visible = self.visible
        self.build()
        self._cover(True)
        self.param.watch(lambda event: self._show_or_hide(), "visible")
        if whole is None:
            # while it is hidden, it is said when the view is shown
            self.param.watch(lambda event: self.in_sight and self._update_hint(), "awaits")
            self.cursor.param.watch(self._moved, ["run", "iteration"])
            self.update()

    @classmethod
    def fits(cls, problem: Problem | None, chosen: Sequence[type[Solver]]) -> bool:
        """Return whether there will be something to draw for a problem and these solvers; True if in doubt.

        The problem may be None if it is unknown.
        """
        carried = [solver.carries for solver in chosen]
        return not (cls.carried and carried) or any(
            names is None or not set(names).isdisjoint(cls.carried) for names in carried
        )

    @property
    def traces(self) -> list[Trace]:
        """Return the runs to draw."""
        return self.top._traces

    @traces.setter
    def traces(self, traces: Sequence[Trace]) -> None:
        self._traces = list(traces)

    @property
    def top(self) -> View:
        """Return the outermost view that contains this one, or the view itself."""
        return self if self._whole is None else self._whole.top

    @property
    def chosen(self) -> Trace | None:
        """Return the run under the cursor, or None if this view does not draw it."""
        return self.cursor.run if self.cursor.run in self.traces else None

    def put_above(self, *pieces: pn.viewable.Viewable) -> None:
        """Add widgets above the panes."""
        self._head.extend(pieces)

    def put_below(self, *pieces: pn.viewable.Viewable) -> None:
        """Add widgets below the panes."""
        self._root.append(ui.column(*pieces, kind="head"))

    def build(self) -> None:
        """Create the panes in ``self._body``; called once."""
        raise TypeError(f"{type(self).__name__} does not define build")

    def show_cursor(self, plot: figure, shift: float = 0.0, taps: Sequence[str] = ("tap",)) -> None:
        """Mark the cursor's iterate in a plot over iterations by a line, moved by ``shift``.

        A click (one of the events ``taps``) moves the cursor.
        """
        line = Span(dimension="height", line_color=ui.GREY, line_dash="dashed", tags=[CURSOR_TAG])
        plot.add_layout(line)
        self._cursor_lines.append((line, shift))
        for event in taps:
            plot.on_event(event, self._tapped)

    def late_pane(self, plot: figure) -> pn.pane.Bokeh:
        """Return a pane that shows a figure from its first drawing on.

        Browsers would report an error for a figure without data, whose axes have no range.
        """
        pane = ui.pane()
        self._late.append((pane, plot))
        return pane

    def draw(self) -> None:
        """Update the panes from ``self.traces`` and ``self.cursor``, after the parts.

        This method is called only if ``has_content`` or ``always`` is true.
        """
        for part in self.parts:
            part.update()

    def drew(self, iteration: int | None) -> None:
        """Record which iterate of the run under the cursor is drawn from now on, or None."""
        run = self.cursor.run
        here = iteration is not None and run is not None
        self._place = ShownPlace(ref(run), run.info.label, int(iteration)) if here else None

    def tell(self) -> None:
        """Update the note on the iterate shown, without drawing anything."""
        if self._note is not None and self.in_sight:
            self._note.tell(dict(self._iterates()), self.traces)

    def _iterates(self) -> Iterator[tuple[str, ShownPlace]]:
        """Yield the iterates shown in this view and its parts, each with the title of the view."""
        if self.visible and not self._empty:
            if self._place is not None:
                yield self.title, self._place
            for part in self.parts:
                yield from part._iterates()

    def has_content(self) -> bool:
        """Return whether there is something to draw; otherwise the hint is shown."""
        return any(len(trace) for trace in self.traces)

    def highlight(self, on: bool) -> None:
        """Draw a ring around the view, or remove it."""
        ui.set_class(self._root, "pointed", on)

    def shown_figures(self) -> Iterator[tuple[View, figure]]:
        """Yield the visible figures, each with the view that draws it, which is this one or a part."""
        yield from ((by, fig) for by, fig, _ in self._shown_plots())

    def _shown_plots(self) -> Iterator[tuple[View, figure, hv.Overlay | None]]:
        """Yield the visible figures with their views, each with its HoloViews element or None."""
        found = {}
        for pane in self._root.select(lambda one: isinstance(one, pn.pane.Bokeh | pn.pane.HoloViews)):
            plot = pane.object
            if plot is not None:
                element = plot.hmap.last if isinstance(pane, pn.pane.HoloViews) else None
                fig = plot if element is None else plot.state
                found[fig.id] = self, fig, element
        for part in self.parts:
            found |= {fig.id: (by, fig, element) for by, fig, element in part._shown_plots()}
        yield from found.values()

    def tables(self) -> list[ShownTable]:
        """Return the visible tables: every :class:`SortedTable`. Subclasses add their own."""
        found = self._root.select(SortedTable)
        return [ShownTable(self.title, table.heads, table.rows) for table in found if table.rows]

    def to_holoviews(self) -> hv.Overlay | hv.Table | hv.Layout:
        """Return plots and tables as a HoloViews object: one element, or a layout of several.

        An update of six live runs takes 75 ms, compared to 2.2 ms for streaming to plain Bokeh. Drawing eight
        curves anew takes 0.57 s (0.2 ms), and the plane 0.37 s (17 ms).

        >>> hv.DynamicMap(lambda data: view.to_holoviews(), streams=[hv.streams.Pipe()])

        Raises
        ------
        ValueError
            If there is nothing to draw, or HoloViews has no element for a part of a plot.
        """
        from solverscope.app.views.base.elements import drawing  # HoloViews takes long to import

        self.update()
        if self._empty:
            raise ValueError(f"the view {self.id} has nothing to draw: {self.hint}")
        shown = [fig if element is None else element for _, fig, element in self._shown_plots()]
        return drawing(self.id, shown, self.tables())

    def explain(self, name: str) -> Help | None:
        """Return the help on the figure with this name, or None."""
        return self.help.get(name)

    def show(self, traces: Sequence[Trace]) -> None:
        """Set the runs to draw, and draw them."""
        self.traces = traces
        self.update()

    @property
    def in_sight(self) -> bool:
        """Return whether the view, and all views that contain it, are visible."""
        return self.visible and (self._whole is None or self._whole.in_sight)

    def update(self) -> None:
        """Draw all changes, unless the view is hidden."""
        if self.in_sight:
            recorded = [(id(trace), len(trace) > 0) for trace in self.traces]
            new = recorded != self._recorded  # each is drawn by models of its own
            with self.sending(), batch(models=new):
                self._recorded = recorded
                self._attempt(self._draw_all)

    def _draw_all(self) -> None:
        if self._alone or self.cursor.run is None:
            self.cursor.keep_up(self.traces)
        if self._alone:
            self._legend.object = ui.runs_legend(
                (trace.info.label, *run_styles.color_and_dash(trace, k), "", run_styles.style_of(trace).ghost)
                for k, trace in enumerate(self.traces)
            )
        if self._whole is None:
            self._look_anew()
        self._draw_content()

    def _look_anew(self) -> None:
        """Reset the zoom if all runs have been replaced by runs on other problems."""
        runs = {ref(trace) for trace in self.traces}
        keys = {trace.info.problem.get("key") for trace in self.traces}
        before, known = self._seen
        if runs and runs != before:
            if before and before.isdisjoint(runs) and known.isdisjoint(keys):
                self.show_all()
            self._seen = runs, keys

    def show_all(self) -> None:
        """Reset the zoom of all figures."""
        for _, plot in self.shown_figures():
            ui.show_all(plot)

    def _draw_content(self) -> None:
        self._update_hint()
        self._cover(not self.has_content())
        if self.always or not self._empty:
            for line, shift in self._cursor_lines:
                line.location = self.cursor.iteration + shift
            self.draw()
            for pane, plot in self._late:
                pane.object = plot
            self._late.clear()

    @batch()
    def _attempt(self, work: Callable[[], None]) -> None:
        """Call ``work``, which draws.

        An exception is passed to ``on_failure`` and shown in place of the panes; without ``on_failure`` it is
        raised.
        """
        try:
            work()
            self.tell()
        except Exception as error:
            if self.on_failure is None:
                raise
            what = html.escape(f"{type(error).__name__}: {error}")
            self._hint.object = f'<p class="hint error" role="alert">This view cannot be drawn: {what}.</p>'
            self._cover(True)
            self.on_failure(self, error)

    def _update_hint(self) -> None:
        """Update the hint on what to do, or what to wait for, in this view and its parts."""
        awaited = "" if any(len(trace) for trace in self.traces) else html.escape(self.top.awaits)
        text = awaited or self.unobserved() or self.hint
        self._hint.object = f'<p class="hint">{text}</p>'
        for part in self.parts:
            part._update_hint()

    def unobserved(self) -> str:
        """Return the message that lists the probes that the run was recorded without.

        Return "" if none is missing, or if the run's solver has nothing for them to observe.
        """
        trace = self.chosen or next((trace for trace in self.traces if len(trace)), None)
        if trace is None or not len(trace):
            return ""
        solver = SOLVERS.get(trace.info.solver)
        if solver is not None and not self.fits(None, [solver]):
            return ""
        had = {probe.name for probe in trace.probes.probes}
        missing = [p for p in self.observed if p.name not in had and not trace.probes.iterations(p.name)]
        if not missing:
            return ""
        names = ", ".join(sorted(PROBES.get(probe.name, probe.name) for probe in missing))
        return (
            f"Nothing has been observed of {html.escape(trace.info.label)} for this view: run it again, in "
            f"Python with <code>probes=[{html.escape(names)}]</code>."
        )

    def _cover(self, empty: bool) -> None:
        """Show the hint in place of the panes, or vice versa.

        Once the panes have been shown, only styles are changed, as Bokeh lays out the whole page again when
        the visibility of anything changes.
        """
        if empty == self._empty:
            return
        self._empty = empty
        if not empty and not self._body.visible:
            self._body.visible = True
        over = {"position": "absolute", "height": "100%"} if self._body.visible else {}
        self._hint.styles = {**over, **ui.visibility_css(empty)}
        self._body.styles = ui.visibility_css(not empty)

    @batch()
    def _show_or_hide(self) -> None:
        self._root.visible = self.visible
        self.update()

    def _moved(self, *events: param.parameterized.Event) -> None:
        if self.visible and not self.cursor.keeping_up:
            self._attempt(self._draw_content)

    @batch()
    def _tapped(self, event: object) -> None:
        """Move the cursor to the iteration that was clicked in a plot over iterations, on the run drawn
        there."""
        run = self.cursor.run if self._place is None else self._place.run()
        if self.cursor.run is not None and placed(event) and run in self.traces:
            self.cursor.place(run, round(event.x))

    def __panel__(self) -> pn.viewable.Viewable:
        return self._root


def placed(event: object) -> bool:
    """Return whether a click has coordinates, which are missing while an axis has no range."""
    return all(value is not None and math.isfinite(value) for value in (event.x, event.y))
