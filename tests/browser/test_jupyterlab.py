"""Notebooks in a real JupyterLab: curves grow while a cell is executed, and menus answer at its end."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
import pyviz_comms

from tests import waiting
from tests.jupyter import TOKEN, Jupyter

pytestmark = pytest.mark.slow

#: Cells end when there is this file.
SEEN = "seen"
SEARCH = (
    "from solverscope.app.notebook import Scope, extension; extension()",
    "scope = Scope(); scope",
    f"""from pathlib import Path
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

X, y = load_digits(return_X_y=True)
model = LogisticRegression(max_iter=1000, tol=1e-12)
search = scope.watch(GridSearchCV(model, {{"C": [1.0]}}, cv=3, refit=False))
while not Path("{SEEN}").exists():
    search.fit(X, y)""",
)
#: A loop that is shown in its own cell, with a plot that is made while it runs.
LOOP = (
    f"""from pathlib import Path
import numpy as np
from solverscope.app.notebook import live, solverscope_run

scope, A = live(), np.random.rand(200, 200)
for name in ("one", "two", "three"):
    with solverscope_run(name, None, scope) as run:
        k = 0
        while k < 3 or not Path("{SEEN} " + name).exists():
            k += 1
            run.iterate(objective=1 / k, length=np.linalg.norm(A @ A))""",
)
#: Points of curves by run, of all plots.
CURVES = """() => Object.fromEntries((window.Bokeh?.documents ?? []).flatMap((document) =>
  [...document._all_models.values()].filter((model) => model.type === "GlyphRenderer" && model.name
    && model.data_source?.data.x).map((model) => [model.name, model.data_source.data.x.length])))"""
#: The scales of a plot by its name.
SCALES = """(name) => Bokeh.documents.flatMap((document) => [...document._all_models.values()])
  .filter((model) => model.name === name && model.x_scale)
  .map((plot) => [plot.x_scale.type, plot.y_scale.type])"""


class Lab:
    """A notebook in a browser, and what its console says of errors."""

    def __init__(self, browser, folder: Path, server: Jupyter, cells: tuple[str, ...]) -> None:
        described = [
            {
                "cell_type": "code",
                "id": f"cell-{k}",
                "source": source,
                "metadata": {},
                "outputs": [],
                "execution_count": None,
            }
            for k, source in enumerate(cells)
        ]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        about = {"metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        Path(folder, "plots.ipynb").write_text(json.dumps({"cells": described, **about}))
        self.folder, self.errors = folder, []
        self.page = browser.new_context(viewport={"width": 1440, "height": 1400}).new_page()
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(server.url(f"lab/tree/plots.ipynb?token={TOKEN}"))
        self.cells = self.page.locator(".jp-Notebook .jp-CodeCell")
        self.cells.nth(len(cells) - 1).wait_for(timeout=1000 * waiting.PATIENCE)
        self.page.get_by_text("| Idle").wait_for(timeout=1000 * waiting.PATIENCE)
        self.cells.nth(0).locator(".cm-content").click()

    def prompt(self, k: int) -> str:
        return self.cells.nth(k).locator(".jp-InputPrompt").inner_text()

    def execute(self) -> None:
        """Press what executes a cell and goes on to the next."""
        self.page.keyboard.press("Shift+Enter")

    def wait_for_end(self, k: int) -> None:
        ended = f"[{k + 1}]:"
        waiting.wait_until(lambda: self.prompt(k) == ended, f"cell {k}", 4 * waiting.PATIENCE, period=0.1)

    def watch(self, k: int, enough: Callable[[dict[str, set[int]]], bool]) -> None:
        """Look at the curves while a cell is executed, until their lengths, by name, are enough."""
        lengths: dict[str, set[int]] = defaultdict(set)

        def look() -> bool:
            for name, length in self.page.evaluate(CURVES).items():
                lengths[name].add(length)
            assert self.prompt(k) == "[*]:", f"the cell ended with {dict(lengths)}"
            return enough(lengths)

        waiting.wait_until(look, "curves that grow", 4 * waiting.PATIENCE, period=0.1)

    def choose(self, label: str, option: str) -> None:
        self.page.get_by_role("combobox", name=label).first.click()
        self.page.get_by_role("menuitem", name=option, exact=True).click()

    def wait_for_scales(self, plot: str, *scales: str) -> None:
        def there() -> bool:
            return self.page.evaluate(SCALES, plot) == [list(scales)]

        waiting.wait_until(there, "other scales", period=0.1)


@pytest.fixture
def open_lab(tmp_path, monkeypatch, browser):
    pytest.importorskip("jupyterlab", reason="pip install jupyterlab ipykernel")
    pytest.importorskip("ipykernel", reason="pip install jupyterlab ipykernel")
    # the extension by which Panel's plots follow the kernel, which may be in the environment below this one
    monkeypatch.setenv("JUPYTER_PATH", str(Path(pyviz_comms.__file__).parents[4] / "share" / "jupyter"))
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # on a busy machine they wait for each other
        monkeypatch.setenv(threads, "1")
    server = Jupyter(tmp_path, "jupyterlab")
    yield lambda cells: Lab(browser, tmp_path, server, cells)
    server.stop()


def growing(lengths: dict[str, set[int]]) -> list[str]:
    """The names of the curves that had several lengths."""
    return [name for name, found in lengths.items() if len(found) > 1]


def test_first_and_later_fits_of_a_search_grow_while_it_runs(open_lab):
    lab = open_lab(SEARCH)
    for k in range(2):
        lab.execute()
        lab.wait_for_end(k)
    lab.execute()
    lab.watch(2, lambda lengths: len(growing(lengths)) > 2)
    Path(lab.folder, SEEN).touch()
    lab.wait_for_end(2)
    assert min(lab.page.evaluate(CURVES).values()) > 1
    assert len(lab.page.evaluate(CURVES)) >= 3
    lab.choose("Scale", "log-log")
    lab.wait_for_scales("convergence", "LogScale", "LogScale")
    assert lab.errors == []


def test_loops_of_ones_own_grow_in_the_cell_that_shows_them(open_lab):
    lab = open_lab(LOOP)
    lab.execute()
    for name in ("one", "two", "three"):
        lab.watch(0, lambda lengths, name=name: name in growing(lengths))
        Path(lab.folder, f"{SEEN} {name}").touch()
    lab.wait_for_end(0)
    assert set(lab.page.evaluate(CURVES)) == {"one", "two", "three"}
    assert lab.page.evaluate(SCALES, "record"), "the plot of the loop's own numbers"
    lab.choose("Scale", "linear")
    lab.wait_for_scales("convergence", "LinearScale", "LinearScale")
    assert lab.errors == []
