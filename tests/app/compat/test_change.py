"""The form of a change: it is made where the library is the one it was written for, and nowhere else."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from solverscope.app import compat, ui
from solverscope.app.compat import bokeh_server, panel_event_lock
from solverscope.app.compat import change as change_module
from solverscope.app.compat.change import KNOWN_VERSIONS, Change
from solverscope.app.compat.scripts import CHANGES, SCRIPTS_FOLDER, scripts
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
        "    change.fits()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), "one that does not fit warns"
    assert kernel_cache.found() in kernel_cache.DIGESTS


@pytest.mark.parametrize("change", ALL, ids=lambda change: change.name)
def test_every_change_says_what_is_wrong_upstream_and_what_it_is_worth(change):
    assert "https://github.com/" in change.upstream or "no issue found" in change.upstream
    assert change.without.endswith(".")
    assert change.knows
    assert change.package in KNOWN_VERSIONS


#: What a report has below its title.
PARTS = ("## What is wrong", "## Smallest example", "## Versions")


def test_few_changes_are_left():
    """In Bokeh, BokehJS and Panel."""
    assert len(ALL) <= 10


REPORTS = Path(compat.__file__).with_name("reports")
#: The library of each report.
REPORTED = {REPORTS / f"{change.name.rpartition('.')[2]}.md": change.package for change in ALL}


def test_every_report_is_that_of_one_change():
    assert sorted(REPORTS.iterdir()) == sorted(REPORTED)


@pytest.mark.parametrize(
    ("package", "path"),
    [(package, path) for path, package in REPORTED.items()]
    + [("numba", Path(kernel_cache.__file__).with_suffix(".md"))],
    ids=lambda value: getattr(value, "stem", value),
)
def test_each_has_a_report_that_could_be_sent(package, path):
    report = path.read_text(encoding="utf-8")
    assert re.match("# .+\n", report)
    assert [part for part in PARTS if f"\n{part}\n" in report] == list(PARTS)
    _, example, versions = (report.partition(f"\n{part}\n")[2] for part in PARTS)
    assert example.partition("## ")[0].count("```") >= 2
    assert re.search(rf"{package}\W+\d+\.\d+\.\d+", versions, re.IGNORECASE)
    assert "Python" in versions


def test_every_script_is_that_of_one_change_and_made():
    assert sorted(CHANGES) == sorted(path.stem for path in SCRIPTS_FOLDER.iterdir())
    assert all(change.script and change.script in scripts() for change in CHANGES.values())
    digests = [digest for change in CHANGES.values() for digest in change.digests]
    assert not any(digest in scripts() for digest in digests), "the browser need not know"


def test_the_versions_are_those_of_the_project_file():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {r.name.replace("-", "_"): r.specifier for r in map(Requirement, project["dependencies"])}
    for package, versions in {**KNOWN_VERSIONS, "numba": kernel_cache.NUMBA_VERSIONS}.items():
        assert wanted[package] == SpecifierSet(versions)


def test_what_is_not_as_expected_is_left_out_with_one_line(looked_at_anew, caplog):
    other = dataclasses.replace(CHANGES["bokeh_reconnect"], digests=("another",))
    assert not any(other.fits() for _ in range(3))
    (line,) = caplog.messages
    assert line.startswith("left out bokeh_reconnect: bokeh ")
    assert line.endswith(other.without)


def test_a_change_fits_each_form_of_the_library_that_it_knows(looked_at_anew, caplog):
    """A library has one form in one version, and another in the next."""
    made_for_one = panel_event_lock.CHANGE
    made_for_two = dataclasses.replace(made_for_one, digests=("another", made_for_one.found()))
    assert made_for_two.fits()
    assert not caplog.messages


def test_a_change_that_is_mended_upstream_is_silently_not_made(looked_at_anew, caplog, monkeypatch):
    import bokeh

    mended = dataclasses.replace(bokeh_server.CHANGE, until="3.10")
    for version, needed in (("3.9.9", True), ("3.10.0rc1", False), ("3.10.0", False), ("3.10.2", False)):
        change_module.forget()
        monkeypatch.setattr(bokeh, "__version__", version)
        assert mended.fits() is needed, version
    assert not caplog.messages


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
    gone = Change("gone", "bokeh", "x", "It is gone.", (part,), ("0",))
    assert not gone.fits()
    assert len(caplog.messages) == 1


def test_a_newer_version_in_which_all_fits_is_named_once_and_keeps_its_changes(
    looked_at_anew, caplog, monkeypatch
):
    import bokeh

    monkeypatch.setattr(bokeh, "__version__", "3.11.0rc1")
    assert CHANGES["bokeh_reconnect"].fits()
    assert bokeh_server.CHANGE.fits()
    (line,) = caplog.messages
    assert line.startswith("bokeh 3.11.0rc1 is not one of the known versions")


def test_a_method_of_a_script_is_told_from_those_of_other_classes(looked_at_anew):
    base = dataclasses.replace(
        CHANGES["bokeh_reconnect"], knows=("server/static/js/bokeh.js:PlotView.paint",)
    )
    other = dataclasses.replace(base, knows=("server/static/js/bokeh.js:CanvasView.paint",))
    assert base.found() != CHANGES["bokeh_reconnect"].found()
    with pytest.raises(LookupError):
        other.found()


def test_a_server_that_is_not_known_is_not_guarded(looked_at_anew, monkeypatch):
    """What is left out changes nothing and fails at nothing."""
    from bokeh.server import server

    unknown = dataclasses.replace(bokeh_server.CHANGE, digests=("another",))
    monkeypatch.setattr(bokeh_server, "CHANGE", unknown)
    before = server.BokehTornado
    bokeh_server.when_made(lambda *made: None, b"key", 1, (), ())
    assert server.BokehTornado is before


#: Names with an underscore that Python's documentation has.
DOCUMENTED = ("os._exit", "sys._current_frames")


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
                if isinstance(root, ast.Name) and root.id in names and ast.unparse(node) not in DOCUMENTED:
                    inside.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
    assert inside == []
    scripts_elsewhere = [path for path in ui.ASSETS.glob("*.js") if "prototype" in path.read_text()]
    assert scripts_elsewhere == []
