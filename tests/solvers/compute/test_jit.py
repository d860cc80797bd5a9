import ast
import importlib
import pkgutil
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import event
from numba.core.registry import CPUDispatcher

from solverscope import solvers
from solverscope.solvers.compute import jit

PACKAGE = Path(solvers.__file__).parent
MODULES = [m.name for m in pkgutil.walk_packages([str(PACKAGE)], "solverscope.solvers.")]
SOURCES = sorted(PACKAGE.rglob("*.py"))


def kernels():
    """All compiled functions of the package, by name."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(name)
        for attribute, value in vars(module).items():
            if isinstance(value, CPUDispatcher) and value.py_func.__module__ == name:
                found[f"{name}.{attribute}"] = value
    return found


def test_every_kernel_is_cached_and_runs_without_the_gil():
    found = kernels()
    assert len(found) > 15
    for name, kernel in found.items():
        assert kernel.targetoptions["nogil"], name
        assert kernel.stats.cache_path.startswith(numba.config.CACHE_DIR), name
        assert kernel.targetoptions["error_model"] == "numpy", name
        assert not kernel.targetoptions.get("parallel"), name
        # sums in another order are repeatable, and infinite or undefined numbers stay what they are
        assert kernel.targetoptions.get("fastmath", set()) <= {"reassoc"}, name


def test_division_by_zero_in_a_kernel_is_infinite():
    @numba.njit(**{k: v for k, v in jit.kernel(lambda: 0).targetoptions.items() if k == "error_model"})
    def divide(a, b):
        return a / b

    assert divide(1.0, 0.0) == np.inf


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.removeprefix("solverscope.").split(".")[0]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_solvers_know_nothing_of_the_app_or_of_data_sets(path):
    barred = {"app", "datasets", "tests", "panel", "bokeh", "holoviews"}
    # other people's programs are solvers there, and solvers are scikit-learn's estimators
    if path.parent.name not in ("rivals", "estimators"):
        barred.add("sklearn")
    assert not set(imports(path)) & barred


def test_importing_solvers_imports_nothing_of_the_page():
    page = ("panel", "bokeh", "holoviews", "sklearn")
    code = f"import sys; from solverscope import solvers; print([m for m in {page} if m in sys.modules])"
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"


def test_the_cache_is_named_after_all_sources(tmp_path, monkeypatch):
    before = jit.source_hash()
    assert before == jit.source_hash()
    copy = tmp_path / "solvers"
    for path in SOURCES:
        target = copy / path.relative_to(PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    monkeypatch.setattr(jit, "PACKAGE", copy)
    assert jit.source_hash() == before
    with monkeypatch.context() as renamed:
        renamed.setattr(jit, "__name__", "solvers.compute.jit")
        assert jit.source_hash() != before
    helper = copy / "problems" / "losses" / "loss.py"
    helper.write_text(helper.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    assert jit.source_hash() != before


def test_the_compile_clock_counts_the_compiling_thread_alone(clock):
    other, before, net = [], jit.compile_clock.spent(), jit.compile_clock.net()
    with event.trigger_event("numba:compile"):
        clock.work(2.0)
        with event.trigger_event("numba:compile"):  # of a function that the first one calls
            clock.work(1.0)
            thread = threading.Thread(target=lambda: other.append(jit.compile_clock.spent()))
            thread.start()
            thread.join()
        clock.idle(4.0)
    clock.work(8.0)
    assert np.subtract(jit.compile_clock.spent(), before) == pytest.approx([7.0, 3.0])
    assert np.subtract(jit.compile_clock.net(), net) == pytest.approx([8.0, 8.0])
    assert other == [(0.0, 0.0)]


def test_compiling_is_an_event_that_the_clock_hears():
    wall, cpu = jit.compile_clock.spent()
    numba.njit(lambda x: np.sort(x) + 1)(np.ones(3))
    spent_wall, spent_cpu = jit.compile_clock.spent()
    assert spent_wall > wall
    assert spent_cpu > cpu
