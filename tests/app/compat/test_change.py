"""The form of a change: it is made where the library is the one it was written for, and nowhere else."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from solverscope.app import compat, theme
from solverscope.app.compat import bokeh_model_walk, bokeh_server, panel_busy
from solverscope.app.compat.change import KNOWN, Change
from solverscope.app.compat.scripts import CHANGES, FOLDER, scripts
from solverscope.solvers.compute import kernel_cache

ROOT = Path(__file__).resolve().parents[3]
MODULES = [
    importlib.import_module(f"solverscope.app.compat.{module.name}")
    for module in pkgutil.iter_modules(compat.__path__)
]
ALL = [*(module.CHANGE for module in MODULES if hasattr(module, "CHANGE")), *CHANGES.values()]
#: What names of our modules begin with, and where they lie.
OURS, ROOMS = "solverscope.", ("app", "solvers", "datasets")


def test_every_change_fits_what_is_installed():
    """In a process in which none of them has been made."""
    names = [change.name for change in ALL if not change.script]
    program = (
        "import importlib\n"
        "from solverscope.app.compat.scripts import CHANGES\n"
        f"changes = [importlib.import_module(name).CHANGE for name in {names}]\n"
        "for change in (*changes, *CHANGES.values()):\n"
        "    assert change.found() == change.digest, (change.name, change.found())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert kernel_cache.found() == kernel_cache.DIGEST


@pytest.mark.parametrize("change", ALL, ids=lambda change: change.name)
def test_every_change_says_what_is_wrong_upstream_and_what_it_is_worth(change):
    assert "https://github.com/" in change.upstream or "no issue found" in change.upstream
    assert change.without.endswith(".")
    assert change.knows
    assert change.package in KNOWN


def test_every_script_is_that_of_one_change_and_made():
    assert sorted(CHANGES) == sorted(path.stem for path in FOLDER.iterdir())
    assert all(change.script and change.script in scripts() for change in CHANGES.values())
    assert not any(change.digest in scripts() for change in CHANGES.values()), "the browser need not know"


def test_the_versions_are_those_of_the_project_file():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {r.name.replace("-", "_"): r.specifier for r in map(Requirement, project["dependencies"])}
    for package, versions in {**KNOWN, "numba": kernel_cache.KNOWN}.items():
        assert wanted[package] == SpecifierSet(versions)


def test_what_is_not_as_expected_is_left_out_with_one_line(looked_at_anew, caplog):
    other = dataclasses.replace(CHANGES["bokeh_css_values"], digest="another")
    assert not any(other.fits() for _ in range(3))
    (line,) = caplog.messages
    assert line.startswith("left out bokeh_css_values: bokeh ")
    assert line.endswith(other.without)


@pytest.mark.parametrize(
    "part",
    [
        "nowhere:name",
        "bokeh.document:Nothing.at_all",
        "bokeh.server.tornado:BokehTornado.__init__(nonsense)",
        "server/static/js/nothing.js",
        "server/static/js/bokeh.js:PlotView.nothing",
        "server/static/js/bokeh.js:Nothing.paint",
    ],
)
def test_what_is_not_there_is_left_out(part, looked_at_anew, caplog):
    gone = Change("gone", "bokeh", "x", "It is gone.", (part,), "0")
    assert not gone.fits()
    assert len(caplog.messages) == 1


def test_a_newer_version_in_which_all_fits_is_named_once_and_keeps_its_changes(
    looked_at_anew, caplog, monkeypatch
):
    import bokeh

    monkeypatch.setattr(bokeh, "__version__", "3.10.0rc1")
    assert CHANGES["bokeh_css_values"].fits()
    assert bokeh_model_walk.CHANGE.fits()
    (line,) = caplog.messages
    assert line.startswith("bokeh 3.10.0rc1 is not one of the known versions")


def test_a_method_of_a_script_is_told_from_those_of_other_classes(looked_at_anew):
    base = dataclasses.replace(
        CHANGES["bokeh_css_values"], knows=("server/static/js/bokeh.js:PlotView.paint",)
    )
    other = dataclasses.replace(base, knows=("server/static/js/bokeh.js:CanvasView.paint",))
    assert base.found() != CHANGES["bokeh_css_values"].found()
    with pytest.raises(LookupError):
        other.found()


def test_a_server_that_is_not_known_is_not_guarded_and_a_page_not_silenced(looked_at_anew, monkeypatch):
    """What is left out changes nothing and fails at nothing."""
    from bokeh.server import server

    for module in (bokeh_server, panel_busy, bokeh_model_walk):
        monkeypatch.setattr(module, "CHANGE", dataclasses.replace(module.CHANGE, digest="another"))
    before = server.BokehTornado
    bokeh_server.when_made(lambda *made: None, b"key", 1, (), ())
    assert server.BokehTornado is before
    panel_busy.apply(None)
    with bokeh_model_walk.one_walk(None):
        pass


def foreign(tree: ast.Module) -> set[str]:
    """Names that a module has from other packages than ours."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            others = [alias for alias in node.names if not f"{alias.name}.".startswith(OURS)]
            names |= {(alias.asname or alias.name).split(".")[0] for alias in others}
        elif isinstance(node, ast.ImportFrom) and not (node.level or f"{node.module}.".startswith(OURS)):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def test_nothing_else_touches_the_inside_of_a_library():
    inside = []
    rooms = [path for package in ROOMS for path in (ROOT / package).rglob("*.py")]
    for path in rooms:
        name = path.relative_to(ROOT).as_posix()
        if name.startswith("app/compat/") or name == "solvers/compute/kernel_cache.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = foreign(tree)
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and node.attr.startswith("_")
                and not node.attr.startswith("__")
            ):
                root = node.value
                while isinstance(root, ast.Attribute | ast.Call):
                    root = root.func if isinstance(root, ast.Call) else root.value
                if isinstance(root, ast.Name) and root.id in names and ast.unparse(node) != "os._exit":
                    inside.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
    assert inside == []
    scripts_elsewhere = [path for path in theme.ASSETS.glob("*.js") if "prototype" in path.read_text()]
    assert scripts_elsewhere == []
