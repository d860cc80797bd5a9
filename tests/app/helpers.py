"""Helpers that read the page and act on it as a visitor would: texts, figures and their data, clicks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import panel as pn
from bokeh.document import Document
from bokeh.events import Event, Tap
from bokeh.models import ColumnDataSource, GlyphRenderer, Span, VSpan
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.page.session import Session
from solverscope.app.runs import problem_cache
from solverscope.app.serving.access import LOCAL_RIGHTS, Rights
from solverscope.app.settings.experiment import Experiment
from solverscope.app.stories import Story
from solverscope.app.views import View
from solverscope.solvers import Problem


def press(button: Any) -> None:
    """Click on a button."""
    button.param.trigger("clicks")


class Browser:
    """Comes and goes, and lets time pass in which nobody is connected; it is the session's timer, too. If
    it ``returns``, the server keeps the session for it."""

    def __init__(self, session: Session, *, returns: bool = False) -> None:
        self.open, self.now, self.kept = 1, 0.0, []
        keep = self.kept.append if returns else None
        session.start_timer(lambda: self.open, keep, timer=self.timer, clock=lambda: self.now)

    def timer(self, *, callback: Callable[[], None], period: int, background: bool) -> Browser:
        self.tick, self.period = callback, period
        return self

    def start(self) -> None:
        self.tick()

    def stop(self) -> None:
        pass

    def away(self, seconds: float) -> None:
        self.open = 0
        self.now += seconds
        self.tick()

    def back(self) -> None:
        self.open = 1
        self.tick()


@dataclass
class FakeProblem:
    """A problem that is chosen, and loaded if there is one."""

    problem: Problem | None = None
    loading: str = ""

    def known(self, key: str | None) -> Problem | None:
        return None


@dataclass
class FakeSolvers:
    """A list of solvers with a style for each chosen one."""

    run_styles: Sequence[int] = ()


@dataclass
class FakePage:
    """The part of a page that the panels of tabs use; nothing can be started without a setting."""

    session: Session
    setting: Experiment | None = None
    problem: FakeProblem = field(default_factory=FakeProblem)
    rights: Rights = LOCAL_RIGHTS

    @property
    def obstacle(self) -> str | None:
        return "no setting" if self.setting is None else None

    @property
    def solvers(self) -> FakeSolvers:
        return FakeSolvers(range(0 if self.setting is None else len(self.setting.entrants)))


def fake_page(
    session: Session,
    setting: Experiment | None = None,
    problem: Problem | None = None,
    rights: Rights = LOCAL_RIGHTS,
) -> FakePage:
    """A page with this session, setting and problem."""
    return FakePage(session, setting, FakeProblem(problem), rights)


def happen(event: Event) -> None:
    """Let a browser tell of an event on a model, drawn in a document or not."""
    model = event.model
    document = model.document or Document()
    if model.document is None:
        document.add_root(model)
    try:
        document.callbacks.trigger_event(event)
    finally:
        if model in document.roots and len(document.roots) == 1:
            document.remove_root(model)


def click(plot: figure, x: float | None, y: float | None) -> None:
    """Click on a place of a figure, in the units of its axes."""
    happen(Tap(plot, sx=0, sy=0, x=x, y=y))


def problem_of(story: Story, solver: str = "") -> Problem:
    """The problem of a story, or of one of its solvers, by its label or the penalty it has of its own."""
    setting = story.setting.problem
    own = next((s for s in story.setting.entrants if solver and solver in (s.label, s.penalty)), None)
    data = problem_cache.load(setting)
    return problem_cache.variant(
        problem_cache.problem(data, setting), own.recipe(setting) if own else setting
    )


# texts


def _panes(view: View) -> list[pn.pane.HTML]:
    return pn.panel(view).select(pn.pane.HTML)


def said(view: View) -> str:
    """What a view and its parts say at the cursor."""
    return "\n".join(pane.object for pane in _panes(view) if isinstance(pane, ui.CursorText))


def text(view: View) -> str:
    """All that a view and its parts say in words, without the hints."""
    return "\n".join(pane.object for pane in _panes(view) if "cover" not in pane.css_classes)


def note(view: View) -> str:
    """What a view says of the iterate that it shows; nothing while that is the cursor's."""
    (pane,) = (pane for pane in _panes(view) if "shown-iterate" in pane.css_classes)
    return pane.object if pane.styles["visibility"] != "hidden" else ""


def _cover(view: View) -> pn.pane.HTML:
    return next(pane for pane in _panes(view) if "cover" in pane.css_classes)


def hint(view: View) -> str:
    """What a view says in place of its panes while there is nothing to draw."""
    return _cover(view).object


def covered(view: View) -> bool:
    """Whether the hint stands in place of what a view draws."""
    body = next(part for part in pn.panel(view).select() if "body" in part.css_classes)
    hidden, shown = ui.visibility_css(False), ui.visibility_css(True)
    cover = _cover(view).styles
    assert (body.styles, {name: cover[name] for name in shown}) in ((hidden, shown), (shown, hidden))
    return body.styles == hidden


# figures


def in_sight(layout: Any) -> Iterator[figure]:
    """Go through the figures that a visitor sees of a view or a part of the page."""
    layout = pn.panel(layout)
    if layout.visible and isinstance(layout, pn.pane.Bokeh) and layout.object is not None:
        yield layout.object
    elif layout.visible:
        for part in getattr(layout, "objects", ()):
            yield from in_sight(part)


def figures(view: View) -> dict[str, figure]:
    """The figures that a view and its parts show, by their names."""
    return {plot.name: plot for _, plot in view.shown_figures()}


def drawn(plot: figure, *columns: str) -> ColumnDataSource:
    """What is drawn in a figure of the data with these columns."""
    (source,) = (
        model
        for model in plot.references()
        if isinstance(model, ColumnDataSource) and set(columns) <= set(model.column_names)
    )
    return source


def glyphs(plot: figure, kind: type) -> list[GlyphRenderer]:
    """What a figure draws by one kind of glyph, in order."""
    return [r for r in plot.renderers if isinstance(r, GlyphRenderer) and isinstance(r.glyph, kind)]


def curves(plot: figure) -> list[ColumnDataSource]:
    """The curves of a figure, one a run, in order; those of runs that were removed are empty."""
    sources = (r.data_source for r in plot.renderers if isinstance(r, GlyphRenderer))
    return list(dict.fromkeys(s for s in sources if {"iteration", "x"} <= set(s.column_names)))


def mark(plot: figure) -> dict[str, list]:
    """Where the cursor is marked in a plot of runs."""
    (found,) = (r.data_source for r in glyphs(plot, VSpan) if "y" in r.data_source.column_names)
    return found.data


def lines(plot: figure) -> list[Span]:
    """The straight lines across a figure."""
    return [model for model in plot.center if isinstance(model, Span)]


def pointer(plot: figure) -> dict[str, Any]:
    """What the browser is told to say of the points near the pointer."""
    (callback,) = plot.js_event_callbacks["mousemove"]
    return callback.args
