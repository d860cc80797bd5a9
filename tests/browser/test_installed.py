"""Wheel and sdist, installed where there is no clone: commands, the page, a cell of a notebook."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT, Server, Visit, complaints

pytestmark = pytest.mark.slow

#: What a clone has besides its sources.
GENERATED = (".*", "build", "dist", "*.egg-info", "__pycache__", "test-results")
BUILD = "from setuptools import build_meta; print(build_meta.build_{kind}({out!r}))"
#: Packages that others have under names that folders of ours bear too.
FOREIGN = ("app", "assets", "datasets", "solvers", "tests")
#: A kernel's place is taken by what keeps the output.
CELL = """
import sys
from types import ModuleType
display = ModuleType("IPython.display")
display.publish_display_data = lambda data, metadata=None: None
display.display = lambda *args, **kwargs: None
sys.modules |= {"IPython": ModuleType("IPython"), "IPython.display": display}

from solverscope import datasets, solvers
from solverscope.app import views
problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.01)
trace = solvers.solve(problem, solvers.make_solver("prox-qn"))
cell, _ = views.Convergence([trace])._repr_mimebundle_()
foreign = {name.partition(".")[0] for name in sys.modules} & set(sys.argv[1:])
print(trace.status, len(cell["text/html"]), *foreign)
"""


class Installed:
    """An environment with a program in it, and a folder elsewhere in which it is called."""

    def __init__(self, home: Path) -> None:
        self.python, self.elsewhere = home / "bin" / "python", home / "elsewhere"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
        where = [str(self.python), "-c", "import site; print(site.getsitepackages()[0])"]
        self.packages = Path(subprocess.check_output(where, text=True).strip())
        # of the environment of the tests all but what its .pth files point to: the clone
        seen = [path for path in sys.path if path.endswith("-packages")]
        (self.packages / "dependencies.pth").write_text("\n".join(seen))
        self.elsewhere.mkdir()
        self.environment = {**os.environ, "SOLVERSCOPE_HOME": str(home / "data"), "PYTHONPATH": ""}

    def install(self, built: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet"]
        offline = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
        subprocess.run([*pip, *offline, str(built)], check=True, cwd=self.elsewhere, env=self.environment)

    def call(self, *words: str, status: int = 0) -> str:
        done = subprocess.run(
            [str(self.python.parent / words[0]), *words[1:]],
            cwd=self.elsewhere,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources alone, in another place."""
    return shutil.copytree(
        ROOT, tmp_path_factory.mktemp("clone") / "solverscope", ignore=shutil.ignore_patterns(*GENERATED)
    )


#: Of the ways to install it the one in which most can go wrong.
BESIDE_OTHERS = "wheel beside others"


@pytest.fixture(scope="module", params=["wheel", "sdist", BESIDE_OTHERS])
def installed(
    request: pytest.FixtureRequest, clone: Path, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    kind, _, others = request.param.partition(" ")
    out = tmp_path_factory.mktemp("built")
    script = BUILD.format(kind=kind, out=str(out))
    subprocess.run([sys.executable, "-c", script], cwd=clone, check=True, capture_output=True)
    found = Installed(tmp_path_factory.mktemp("environment"))
    found.install(*out.iterdir())
    for name in FOREIGN if others else ():
        (found.packages / name).mkdir()
        (found.packages / name / "__init__.py").write_text(f"raise SystemExit('the other {name}')\n")
    return found


def test_a_clone_that_is_not_installed_says_what_to_do(clone, tmp_path):
    bare = Installed(tmp_path / "bare")
    bare.elsewhere = clone
    said = bare.call("python", "-m", "panel", "serve", "app", "--port", "0", status=1)
    assert said.splitlines()[-1] == (
        "Solverscope is not installed: run `python -m pip install -e .` in its folder"
    )


def test_commands_work_where_there_is_no_clone(installed):
    version = installed.call("solverscope", "--version")
    assert version == installed.call("python", "-m", "solverscope", "--version")
    where = installed.call(
        "python", "-c", "import solverscope; print(solverscope.__version__, solverscope.__file__)"
    )
    assert where.split() == [version.split()[1], str(installed.packages / "solverscope" / "__init__.py")]
    assert "prox-qn" in installed.call("solverscope", "list", "solvers")
    digits = (
        "digits",
        "--option",
        "positive=3",
        "--loss",
        "logistic",
        "--penalty",
        "l1",
        "--solver",
        "prox-qn",
    )
    results = [
        json.loads(line) for line in installed.call("solverscope", "run", *digits, "--json").splitlines()
    ]
    assert results[-1]["status"] == "converged"
    path = installed.call("solverscope", "path", *digits, "--n-lams", "5")
    assert path.count("converged") == 5
    installed.call("solverscope", "paper", "yu2010", "figure-3", "--budget", "20s", "--workers", "1")
    report = (installed.elsewhere / "yu2010.paper" / "figure-3.html").read_text(encoding="utf-8")
    assert "subBFGS is at the optimum at its second step" in report
    assert "Bokeh" in report


@pytest.mark.parametrize("installed", [BESIDE_OTHERS], indirect=True)
def test_a_view_is_drawn_in_a_cell_where_there_is_no_clone(installed):
    status, size, *foreign = installed.call("python", "-c", CELL, *FOREIGN).split()
    assert (status, foreign) == ("converged", [])
    assert int(size) > 100_000


@pytest.mark.parametrize("installed", [BESIDE_OTHERS], indirect=True)
def test_the_page_opens_and_runs_where_there_is_no_clone(installed, browser, tmp_path):
    program = [str(installed.python.parent / "solverscope"), "serve"]
    server = Server(tmp_path / "log", tmp_path / "home", program=program, cwd=installed.elsewhere)
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    try:
        visit = Visit(context.new_page(), server).open(data="breast-cancer", solvers="prox-qn;owl-qn")
        visit.button("Run").click()
        visit.wait_until(lambda: visit.states() == ["finished", "finished"], "the end of both runs")
        visit.wait_until(lambda: visit.points("convergence") > 4, "their curves")
        assert visit.errors == []
    finally:
        context.close()
        log = server.stop()
    assert complaints(log) == []
