"""The project file covers the sources, the layout is the agreed one, and what it builds works elsewhere."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("app", "datasets", "solvers")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
#: Packages without Python: what is served with the page.
SCRIPTS = ("solverscope.assets", "solverscope.assets.compat")


def folder(package: str) -> Path:
    """The folder of a package, by the longest name that the project file maps to one."""
    below = []
    while package not in SETUPTOOLS["package-dir"]:
        package, _, last = package.rpartition(".")
        below.insert(0, last)
    return ROOT.joinpath(SETUPTOOLS["package-dir"][package], *below)


def test_every_package_is_listed_once_and_no_other():
    listed = [folder(package) for package in SETUPTOOLS["packages"] if package not in SCRIPTS]
    assert sorted(listed) == sorted(
        {path.parent for name in PACKAGES for path in (ROOT / name).rglob("*.py")}
    )
    assert [path for path in listed if not (path / "__init__.py").is_file()] == []


def test_files_that_are_not_python_are_package_data():
    covered = {
        path
        for package, patterns in SETUPTOOLS["package-data"].items()
        for pattern in patterns
        for path in folder(package).glob(pattern)
    }
    others = {
        path
        for name in (*PACKAGES, "assets")
        for path in (ROOT / name).rglob("*")
        if path.is_file() and path.suffix not in {".py", ".png"} and "__pycache__" not in path.parts
    }
    assert others == covered


def test_no_file_of_the_page_is_called_like_a_module_of_the_standard_library():
    # `panel serve app` puts that folder on sys.path
    assert not {path.stem for path in (ROOT / "app").iterdir()} & set(sys.stdlib_module_names)


def test_the_top_level_holds_what_was_agreed():
    names = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    generated = {"build", "dist", "test-results", "__pycache__"}
    names = {n for n in names if n not in generated and not n.endswith(".egg-info")}
    assert names == {*PACKAGES, "tests", "assets", "pyproject.toml", "README.md"}


@pytest.mark.parametrize("what", [["check"], ["format", "--check"]])
def test_sources_are_clean_for_ruff(what):
    command = [sys.executable, "-m", "ruff", *what, "--no-cache", "--quiet", str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_sources_are_clean_for_the_type_checker(tmp_path):
    if importlib.util.find_spec("basedpyright") is None:
        pytest.skip("basedpyright is not installed: it is in the extra `test`")
    # the folder has the name that the package is imported by; a link would be seen through
    copy = tmp_path / "solverscope"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for module in (ROOT / "app" / "package").glob("*.py"):  # as they are installed
        shutil.copy(module, copy)
    shutil.copy(ROOT / "pyproject.toml", copy)
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_source_file_is_longer_than_500_lines():
    long = [
        p for name in PACKAGES for p in (ROOT / name).rglob("*.py") if len(p.read_text().splitlines()) > 500
    ]
    assert not long


@pytest.mark.parametrize(
    ("package", "others"), [("solvers", ("app", "datasets")), ("datasets", ("app", "solvers"))]
)
def test_packages_import_only_what_they_may(package, others):
    for path in (ROOT / package).rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if words[:1] in (["import"], ["from"]):
                origin = words[1].removeprefix("solverscope.").split(".")[0]
                assert origin not in others, f"{path.name}: {line}"


def test_the_container_has_what_is_installed_and_serves_it_by_a_user_without_privileges():
    lines = (ROOT / ".devcontainer" / "Dockerfile").read_text(encoding="utf-8").splitlines()
    steps = [line.partition(" ")[::2] for line in lines if line and not line.startswith("#")]
    names = [name for name, _ in steps]
    copied = [word for name, what in steps if name == "COPY" for word in what.split()[1:-1]]
    assert sorted(copied) == sorted([*PACKAGES, "assets", "pyproject.toml", PROJECT["project"]["readme"]])
    said = dict(steps)
    assert said["USER"] != "root"
    assert names.count("USER") == 1
    assert names.index("USER") < names.index("COPY") < names.index("CMD")
    command = json.loads(said["CMD"])
    assert command == ["solverscope", "serve", "--public", "--port", said["EXPOSE"]]
    editor = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert (ROOT / ".devcontainer" / editor["build"]["dockerfile"]).is_file()
    assert editor["forwardPorts"] == [int(said["EXPOSE"])]


def test_every_dependency_has_the_same_lower_bound_wherever_it_stands():
    """``.ci/lowest`` installs these versions."""
    project = PROJECT["project"]
    extras = project["optional-dependencies"].values()
    bounds = {}
    for text in [*PROJECT["build-system"]["requires"], *project["dependencies"], *chain(*extras)]:
        wanted = Requirement(text)
        (lowest,) = (one.version for one in wanted.specifier if one.operator == ">=")
        assert text.partition(">=")[2].partition(",")[0] == lowest, f"{text}: the lower bound stands first"
        assert bounds.setdefault(wanted.name, lowest) == lowest, text


def test_console_script_is_the_one_installed():
    assert PROJECT["project"]["scripts"]["solverscope"] == "solverscope.app.console:main"
    from solverscope.app import console

    assert callable(console.main)
