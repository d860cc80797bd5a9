"""Cells of a notebook without a network: outputs as they are saved, in a page that may ask nobody."""

from __future__ import annotations

import sys
from types import ModuleType

import panel as pn
import pytest
from panel.viewable import Viewable
from playwright.sync_api import Page, Route

from solverscope import datasets, solvers
from solverscope.app import views
from solverscope.app.compat import panel_cells
from solverscope.app.notebook import Scope
from solverscope.app.ui import cells

#: Bytes that a cell may take.
MOST = 3_000_000
#: Whether all plots are drawn: canvases in shadow roots, and nothing that waits.
READY = """(plots) => {
  const all = (root) => [...root.querySelectorAll("*")].flatMap((el) => [
    el, ...(el.shadowRoot ? all(el.shadowRoot) : [])])
  const drawn = all(document).filter((el) => el.localName === "canvas" && el.width > 100)
  return drawn.length >= plots && document.querySelector("[id^='waits-']") === null
}"""


@pytest.fixture
def outputs(monkeypatch):
    """The output that cells publish, in a kernel's place."""
    published: list[dict[str, str]] = []
    display = ModuleType("IPython.display")
    display.publish_display_data = lambda data, metadata=None: published.append(data)
    display.display = lambda *args, **kwargs: None
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


def test_a_cell_without_its_scripts_says_what_to_do(page, tmp_path, outputs, run):
    *_, plot = shown(views.Convergence(run), outputs)
    opened(page, tmp_path, [plot])
    page.get_by_text("from solverscope.app.notebook import extension; extension()").wait_for(state="visible")
