"""What it costs the fits of a search to be drawn in a cell of a kernel, as a share of their CPU time."""

from __future__ import annotations

import ast
import os

import pytest

pytestmark = pytest.mark.bench

CELLS = (
    """import time, warnings
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from solverscope.app.notebook import Scope, extension
from solverscope.solvers.estimators import FitWatch

extension()
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)

def search(n, d):
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + rng.normal(size=n) > 0.0
    estimator = LogisticRegression(tol=1e-12, max_iter=300)
    return GridSearchCV(estimator, {"C": [0.1, 1.0, 10.0]}, cv=3), X, y

def seconds(grid, X, y):
    began = time.process_time()
    grid.fit(X, y)
    return time.process_time() - began

compiles = seconds(Scope().watch(search(100, 3)[0]), *search(100, 3)[1:])""",
    "scope = Scope(); scope",
    """grid, X, y = search(*SIZE)
grid.fit(X, y)
alone = min(seconds(grid, X, y) for _ in range(2))
undrawn = seconds(search(*SIZE)[0].set_callbacks(FitWatch(lambda trace: None)), X, y)
began = time.process_time()
scope.watch(search(*SIZE)[0]).fit(X, y)""",
    # what is left is drawn before
    "print([alone, undrawn - alone, time.process_time() - began - alone])",
)


@pytest.mark.parametrize("size", [(500, 20), (5_000, 100), (50_000, 300)])
def test_a_search_that_is_drawn(size, capsys):
    manager = pytest.importorskip("jupyter_client.manager", reason="pip install ipykernel")
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # others spin, on the clock
    kernel, client = manager.start_new_kernel(kernel_name="python3", env=os.environ | one_thread)
    told: list[str] = []
    try:
        for cell in CELLS:
            reply = client.execute_interactive(
                cell.replace("SIZE", str(size)),
                output_hook=lambda message: told.append(message["content"].get("text", "")),
            )
            assert reply["content"]["status"] == "ok", reply["content"]
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
    (line,) = (text for text in told if text.startswith("["))
    alone, watched, drawn = ast.literal_eval(line)
    with capsys.disabled():
        print(
            f"\na search of 10 fits, {size[0]} x {size[1]}: {1e3 * alone / 10:.3g} ms of CPU a fit alone; "
            f"watched {100 * watched / alone:.1f} % more, drawn in a cell {100 * drawn / alone:.1f} %"
        )
