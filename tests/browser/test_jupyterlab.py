"""A notebook in a real JupyterLab: all fits of a search of scikit-learn's are drawn.

A scope that was shown before does not always follow its kernel there, so the last cell shows it again.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest
import pyviz_comms

from tests import waiting
from tests.jupyter import TOKEN, Jupyter

pytestmark = pytest.mark.slow

CELLS = (
    "from solverscope.app.notebook import Scope, extension; extension()",
    "scope = Scope(); scope",
    """from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

X, y = load_digits(return_X_y=True)
model = LogisticRegression(max_iter=60)
search = scope.watch(GridSearchCV(model, {"C": [0.01, 0.1, 1.0]}, cv=2)).fit(X[:600], y[:600])""",
    "scope",
)
#: Points of the curves of fits, by name.
CURVES = """() => Object.fromEntries((window.Bokeh?.documents ?? []).flatMap((document) =>
  [...document._all_models.values()]).filter((model) => /^LogisticRegression/.test(model.name ?? "")
    && model.data_source?.data.x).map((model) => [model.name, model.data_source.data.x.length]))"""


@pytest.fixture
def lab(tmp_path, monkeypatch) -> Generator[Jupyter, None, None]:
    pytest.importorskip("jupyterlab", reason="pip install jupyterlab ipykernel")
    pytest.importorskip("ipykernel", reason="pip install jupyterlab ipykernel")
    cells = [
        {
            "cell_type": "code",
            "id": f"cell-{k}",
            "source": source,
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        for k, source in enumerate(CELLS)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    Path(tmp_path, "search.ipynb").write_text(json.dumps(notebook))
    # the extension by which Panel's plots follow the kernel, which may be in the environment below this one
    monkeypatch.setenv("JUPYTER_PATH", str(Path(pyviz_comms.__file__).parents[4] / "share" / "jupyter"))
    lab = Jupyter(tmp_path, "jupyterlab")
    yield lab
    lab.stop()


def test_the_fits_of_a_search_are_drawn(lab, browser):
    page = browser.new_context(viewport={"width": 1440, "height": 1400}).new_page()
    page.goto(lab.url(f"lab/tree/search.ipynb?token={TOKEN}"))
    cells = page.locator(".jp-Notebook .jp-CodeCell")
    cells.nth(3).wait_for(timeout=60_000)
    page.get_by_text("| Idle").wait_for(timeout=60_000)
    prompts = page.locator(".jp-Notebook .jp-CodeCell .jp-InputPrompt")
    cells.nth(0).locator(".cm-content").click()
    for k in range(len(CELLS)):
        page.keyboard.press("Shift+Enter")
        waiting.wait_until(
            lambda k=k: prompts.nth(k).inner_text() == f"[{k + 1}]:",
            f"cell {k}",
            2 * waiting.PATIENCE,
            period=0.1,
        )
    waiting.wait_until(lambda: len(page.evaluate(CURVES)) == 3 * 2 + 1, "all fits", period=0.1)
    curves = page.evaluate(CURVES)
    assert max(curves.values()) > 10
    assert min(curves.values()) > 1
