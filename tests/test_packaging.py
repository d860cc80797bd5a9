"""The project file covers the sources, the console script finds ours, and the layout is the agreed one."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("app", "datasets", "solvers")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_package_is_listed_and_no_other():
    folders = {path.parent for name in PACKAGES for path in (ROOT / name).rglob("*.py")}
    found = {folder.relative_to(ROOT).as_posix().replace("/", ".") for folder in folders}
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == found


def test_every_package_has_an_init_file():
    for name in PROJECT["tool"]["setuptools"]["packages"]:
        assert (ROOT / name.replace(".", "/") / "__init__.py").is_file(), name


def test_files_that_are_not_python_are_package_data():
    data = PROJECT["tool"]["setuptools"]["package-data"]
    covered = {
        path
        for package, patterns in data.items()
        for pattern in patterns
        for path in (ROOT / package.replace(".", "/")).glob(pattern)
    }
    others = {
        path
        for name in PACKAGES
        for path in (ROOT / name).rglob("*")
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
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
                assert words[1].split(".")[0] not in others, f"{path.name}: {line}"


def test_console_script_finds_our_packages_before_others_of_the_same_name(tmp_path):
    for name in ("datasets", "solvers"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong package')\n")
    script = (
        "import sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from app import console\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "sys.argv[1:] = ['list', 'losses', '--json']\n"
        "console.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"id": "chain-crf"' in done.stdout


def test_console_script_is_the_one_installed():
    assert PROJECT["project"]["scripts"]["solverscope"] == "app.console:main"
    from app import console

    assert callable(console.main)
