"""Cells of a notebook without a network: outputs as they are saved, in a page that may ask nobody."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType

import panel as pn
import pytest
from panel.models.comm_manager import CommManager
from panel.viewable import Viewable
from playwright.sync_api import Page, Route

from solverscope import datasets, solvers
from solverscope.app import views
from solverscope.app.compat import panel_cells
from solverscope.app.notebook import Scope
from solverscope.app.ui import cells, frames

#: Bytes that a cell may take.
MOST = 3_000_000
#: Whether all plots are drawn: canvases in shadow roots, and nothing that waits.
READY = """(plots) => {
  const all = (root) => [...root.querySelectorAll("*")].flatMap((el) => [
    el, ...(el.shadowRoot ? all(el.shadowRoot) : [])])
  const drawn = all(document).filter((el) => el.localName === "canvas" && el.width > 100)
  return drawn.length >= plots && document.querySelector("[id^='waits-']") === null
}"""

#: Points of curves by run, of all plots of a page.
CURVES = """() => Object.fromEntries(Bokeh.documents.flatMap((document) => [...document._all_models.values()])
  .filter((model) => model.type === "GlyphRenderer" && model.name && model.data_source.data.x)
  .map((model) => [model.name, model.data_source.data.x.length]))"""


@pytest.fixture
def outputs(monkeypatch):
    """The output that cells publish, in a kernel's place."""
    published: list[dict[str, str]] = []
    display = ModuleType("IPython.display")
    display.publish_display_data = lambda data, metadata=None: published.append(data)
    by_id: dict[str, dict[str, str]] = {}

    def show(data, *, raw, display_id, update=False) -> None:
        """As IPython's: an update takes the place of what has this id."""
        assert raw
        assert update == (display_id in by_id)
        if not update:
            published.append(by_id.setdefault(display_id, {}))
        by_id[display_id].update(data)

    display.display = show
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(panel_cells.panel_extension, "_loaded", False)
    monkeypatch.setattr(Viewable, "_preprocessing_hooks", [*Viewable._preprocessing_hooks])

    def extension(**options: object) -> None:
        """As Panel's, where there is a kernel."""
        panel_cells.panel_extension._loaded = True
        pn.io.notebook.load_notebook()

    monkeypatch.setattr(pn, "extension", extension)
    monkeypatch.setattr(pn.config, "console_output", "disable")
    return published


class Shell:
    """IPython's, as far as it tells of the begin and the end of cells."""

    def __init__(self):
        self.events = self
        self.calls = {}

    def register(self, event, call):
        self.calls[event] = call

    @contextmanager
    def cell(self):
        self.calls["pre_run_cell"](None)
        yield
        self.calls["post_run_cell"](None)


@pytest.fixture
def shell(monkeypatch, outputs):
    shell = Shell()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell, raising=False)
    return shell


def shown(view, outputs):
    """Show what stands in the last line of a cell; return all that the cell puts out."""
    before = len(outputs)
    made = view._repr_mimebundle_()
    return [*outputs[before:], made[0]]


def opened(page: Page, tmp_path, *cells_of):
    """Open a page with the outputs of cells; return what it asked others for."""
    asked: list[str] = []

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        route.abort()

    page.route(lambda url: not url.startswith(("file:", "data:", "blob:")), refuse)
    parts = []
    for data in (data for outputs in cells_of for data in outputs):
        if "text/html" in data:
            parts.append(f"<div>{data['text/html']}</div>")
        else:
            parts.append(f"<script>{data['application/javascript']}</script>")
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{''.join(parts)}</body>", encoding="utf-8")
    page.goto(path.as_uri())
    return asked


@pytest.fixture(scope="module")
def run():
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.01)
    return solvers.solve(problem, solvers.make_solver("prox-qn"), max_iter=5)


def size(cell):
    return sum(len(text.encode()) for data in cell for text in data.values())


def test_views_scopes_and_holoviews_are_drawn_and_ask_no_other_host(page, tmp_path, outputs, run):
    scope = Scope()
    scope(run)
    made = [views.Convergence(run), scope, pn.panel(views.Sparsity(run).to_holoviews())]
    found = [shown(view, outputs) for view in made]
    assert sum("solverscope_loaded" in str(data) for cell in found for data in cell) == 1, "scripts come once"
    assert max(map(size, found)) < MOST
    assert size(found[-1]) < MOST / 4
    asked = opened(page, tmp_path, *found)
    page.wait_for_function(READY, arg=4)
    assert asked == []


def test_scripts_that_come_twice_leave_what_is_drawn(page, tmp_path, outputs, run):
    first = shown(views.Convergence(run), outputs)
    cells.extension()
    again = shown(views.Sparsity(run), outputs)
    opened(page, tmp_path, first, outputs, again)
    page.wait_for_function(READY, arg=2)


def curves(page):
    """Points of the curves of a page, by run."""
    page.wait_for_function(READY, arg=1)
    return page.evaluate(CURVES)


def traces(run, names):
    return [solvers.Trace.from_records(run.records(), label=name) for name in names]


@pytest.mark.parametrize("most_recent", [1, 10**9])
def test_runs_are_drawn_after_their_plot_was_shown(
    page, tmp_path, outputs, shell, run, monkeypatch, most_recent
):
    """A page that is opened at the end, as a saved notebook, has skipped all drawings but the last."""
    monkeypatch.setattr(frames, "MOST_RECENT", most_recent)
    scope = Scope([views.Convergence(measure="objective")], clock=lambda: 0.0)
    cell = shown(scope, outputs)
    first, second, third = traces(run, "abc")
    with shell.cell():
        scope(first)
        scope(second)
        drawn = {line.name for line in scope.views[0].figure.renderers if line.name}
        assert drawn == {"a"}, "what is not due is drawn at the end of the cell"
    with shell.cell():
        scope(third)
    opened(page, tmp_path, cell)
    assert curves(page) == {name: len(run) for name in "abc"}


def test_a_browser_that_has_all_drawings_takes_the_new(page, tmp_path, outputs, shell, run):
    scope = Scope([views.Convergence(measure="objective")])
    cell = shown(scope, outputs)
    opened(page, tmp_path, cell)
    page.wait_for_function(READY, arg=1)
    for name, trace in zip("abc", traces(run, "abc"), strict=True):
        with shell.cell():
            scope(trace)
        for data in cell:
            if "PART" in data.get("application/javascript", ""):
                page.evaluate(f"() => {data['application/javascript']}")
        assert curves(page)[name] == len(run)
    assert curves(page) == {name: len(run) for name in "abc"}


def test_what_a_visitor_chooses_is_answered(outputs, shell, run):
    view = views.Convergence(run)
    cell = shown(view, outputs)
    (menu,) = view.__panel__().select(lambda one: getattr(one, "label", "") == "Scale")
    (root,) = menu._models
    model = menu._models[root][0].data
    message = {"header": {"msgid": "1", "msgtype": "PATCH-DOC"}, "metadata": {}, "_buffers": {}}
    event = {"kind": "ModelChanged", "model": {"id": model.id}, "attr": "value", "new": "log-log"}
    (manager,) = (one for one in view.figure.document.roots if isinstance(one, CommManager))
    comm = pn.state._comm_manager._comms[manager.client_comm_id]
    comm._on_msg({**message, "content": {"events": [event]}})
    assert view.x_scale == "log"
    assert any("LogScale" in data.get("application/javascript", "") for data in cell[-3:])


def test_a_cell_without_its_scripts_says_what_to_do(page, tmp_path, outputs, run):
    *_, plot = shown(views.Convergence(run), outputs)
    opened(page, tmp_path, [plot])
    page.get_by_text("from solverscope.app.notebook import extension; extension()").wait_for(state="visible")
