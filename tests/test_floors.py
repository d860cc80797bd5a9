"""The house: each package stands on floors, imports go down, and none goes in a circle."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: Files of a folder, at most.
MOST = 22
#: Lowest first; modules or packages of one floor may know each other, but not in a circle. What is named in
#: full stands where it is named, not with its package.
FLOORS = {
    "solvers": (
        ("solvers.declare", "solvers.compute"),
        ("solvers.linalg",),
        ("solvers.search", "solvers.curvature", "solvers.working_sets"),
        ("solvers.problems",),
        ("solvers.methods",),
        ("solvers.rivals",),
        ("solvers.probes",),
        ("solvers.traces",),
        ("solvers.registry",),
        ("solvers.compatibility",),
        ("solvers.runs",),
        ("solvers.relay",),
        ("solvers.penalty_factors",),
        ("solvers.from_data",),
        ("solvers.checks",),
        ("solvers.doctor",),
        ("solvers.estimators",),
        ("solvers",),
    ),
    "datasets": (
        (
            "datasets.errors",
            "datasets.kinds",
            "datasets.limits",
            "datasets.names",
            "datasets.size",
            "datasets.metrics",
        ),
        ("datasets.options", "datasets.store", "datasets.matrix", "datasets.trees"),
        ("datasets.dataset",),
        ("datasets.entry",),
        ("datasets.readers", "datasets.transforms"),
        ("datasets.loaders",),
        ("datasets.catalog",),
        ("datasets.registry",),
        ("datasets",),
    ),
    "app": (
        ("app.compat", "app.files", "app.help", "app.plugins"),
        ("app.ui",),
        ("app.settings",),
        ("app.stories", "app.serving", "app.views"),
        ("app.benchopt",),
        ("app.runs",),
        ("app.loops", "app.sweep"),
        ("app.papers",),
        ("app.notebook",),
        ("app.page",),
        ("app.command",),
        ("app",),
    ),
}


def modules(package: str) -> dict[str, Path]:
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imports(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Modules of the same package that a module imports, also late or for its types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    folder = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = (alias.name.removeprefix("solverscope.") for alias in node.names)
            yield from (name for name in names if name in known)
        elif isinstance(node, ast.ImportFrom):
            above = folder[: len(folder) - node.level + 1] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            origin = origin.removeprefix("solverscope").removeprefix(".")
            for alias in node.names:
                full = f"{origin}.{alias.name}".removeprefix(".")
                if full in known:
                    yield full
                elif origin in known:
                    yield origin


def floor(package: str, module: str) -> int:
    """The floor of the longest name that the module lies in."""
    places = {name: k for k, floor in enumerate(FLOORS[package]) for name in floor}
    while module not in places:
        module = module.rpartition(".")[0]
    return places[module]


@pytest.mark.parametrize("package", FLOORS)
def test_no_import_goes_in_a_circle(package):
    known = modules(package)
    graph = {name: set(imports(name, path, known)) - {name} for name, path in known.items()}
    assert sum(map(len, graph.values())) > len(known)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize("package", FLOORS)
def test_no_import_goes_up(package):
    known = modules(package)
    up = [
        f"{name} imports {other}"
        for name, path in known.items()
        for other in imports(name, path, known)
        if floor(package, other) > floor(package, name)
    ]
    assert up == []


@pytest.mark.parametrize("package", FLOORS)
def test_every_name_of_the_floors_is_there(package):
    known = modules(package)
    assert [name for floor in FLOORS[package] for name in floor if name not in known] == []


@pytest.mark.parametrize("package", FLOORS)
def test_each_folder_says_in_a_line_who_lives_there(package):
    for name, path in modules(package).items():
        if path.name == "__init__.py":
            assert (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").strip(), name


@pytest.mark.parametrize("package", FLOORS)
def test_a_room_is_seen_at_a_glance(package):
    rooms = Counter(path.parent for path in modules(package).values())
    assert {room.name: count for room, count in rooms.items() if count > MOST} == {}
