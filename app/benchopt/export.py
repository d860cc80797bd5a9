"""Benchmarks of our data, objectives and solvers, as written by ``solverscope benchopt export``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from solverscope import solvers
from solverscope.app import plugins
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.own_file_names import named
from solverscope.app.settings.recipe import Entrant, Recipe
from solverscope.solvers.rivals.observation_mode import RERUN

#: The installed module with the base classes of the files' classes.
BASE_MODULE = "solverscope.app.benchopt.base"
#: The base class for each kind of file, and the noun in its docstring.
BASES = {
    "Dataset": ("RegistryDataset", "A data set"),
    "Objective": ("ProblemObjective", "An objective"),
    "Solver": ("RegistrySolver", "A solver"),
}
#: The line of a file that loads the plug-ins next to it.
LOAD_PLUGINS = f"{BASE_MODULE}.load_plugins(__file__)"


def write_benchmark(folder: Path, name: str, cells: Sequence[Experiment]) -> list[Path]:
    """Write a benchmark of a grid's cells, which are experiments of one run, and return the paths of its
    files.

    The files of loaded plug-ins are copied. Raises ValueError if the folder is not empty, or if benchopt
    cannot time a solver.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} is there already: name a new folder")
    files = {Path(path): text for path, text in _files(folder, name, cells).items()}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return [folder / path for path in files]


def _files(folder: Path, title: str, cells: Sequence[Experiment]) -> dict[str, str]:
    """Return the contents of the files by their paths."""
    recipes = [cell.problem for cell in cells]
    data = _by_name(recipes, lambda recipe: (recipe.data, recipe.options), lambda r: named(r.data))
    entrants = {cell.entrant.label: cell.entrant for cell in cells}
    for entrant in entrants.values():
        if solvers.SOLVERS[entrant.id].observation_mode == RERUN:
            raise ValueError(
                f"solver {entrant.id} runs anew for every point, and benchopt would add up the seconds of "
                "all of them: leave it out"
            )
    runners = _by_name(entrants.values(), lambda entrant: entrant.label, lambda entrant: entrant.label)
    first = next(iter(data))
    written = {f"datasets/{name}.py": _dataset(name, alike) for name, alike in data.items()}
    written |= {f"solvers/{name}.py": _solver(name, one) for name, (one, *_) in runners.items()}
    own = _plugins()
    readme = Path(__file__).with_name("benchmark.md").read_text(encoding="utf-8")
    readme = readme.format(title=title, folder=folder.name, solver=next(iter(runners)))
    written = {"objective.py": _objective(first, title, recipes), **written}
    if own:
        loads = f"import {BASE_MODULE}\n", f"import {BASE_MODULE}\n\n{LOAD_PLUGINS}\n"
        written = {path: text.replace(*loads) for path, text in written.items()}
    return {"README.md": readme, **written, **own}


def _plugins() -> dict[str, str]:
    """Return the sources of plug-ins that are loaded from files, by their paths in a benchmark."""
    found = dict[str, str]()
    for namespace, path in map(plugins.parsed, plugins.loaded()):
        names = itertools.chain([path.name], (f"{path.stem}_{n}.py" for n in itertools.count(2)))
        places = (Path("plugins", namespace, name).as_posix() for name in names)
        found[next(place for place in places if place not in found)] = path.read_text(encoding="utf-8")
    return found


def _by_name(
    items: Iterable[Any], key: Callable[[Any], Any], name: Callable[[Any], str]
) -> dict[str, list[Any]]:
    """Group items with equal keys, and name each group in a way that benchopt and file systems accept."""
    groups: dict[str, list[Any]] = {}
    for item in items:
        groups.setdefault(repr(key(item)), []).append(item)
    found: dict[str, list[Any]] = {}
    for alike in groups.values():
        short = re.sub(r"[^A-Za-z0-9_-]+", "-", name(alike[0])).strip("-")
        names = (f"{short}-{n}" if n > 1 else short for n in itertools.count(1))
        found[next(one for one in names if one not in found)] = alike
    return found


def _dataset(name: str, alike: Sequence[Recipe]) -> str:
    recipe = alike[0]
    given = {option: [value] for option, value in recipe.options.items()}
    seeds = list(dict.fromkeys(one.seed for one in alike))
    return _file("Dataset", name, data=recipe.data, parameters={**given, "seed": seeds})


def _objective(first: str, title: str, recipes: Sequence[Recipe]) -> str:
    one = recipes[0]
    pairs = list(dict.fromkeys((recipe.loss, recipe.penalty) for recipe in recipes))
    grid: dict[str, Any] = {"loss, penalty": pairs}
    for strength in ("lam", "lam_ratio"):
        if getattr(one, strength) is not None:
            grid[strength] = list(dict.fromkeys(getattr(recipe, strength) for recipe in recipes))
    fixed = {"average": one.average, "intercept": one.intercept, "loss_params": dict(one.loss_params)}
    fixed |= {"penalty_params": dict(one.penalty_params), "penalty_factors": one.penalty_factors}
    fixed = {key: value for key, value in fixed.items() if value not in (None, {})}
    return _file("Objective", title, test_dataset_name=first, parameters=grid, fixed=fixed)


def _solver(name: str, entrant: Entrant) -> str:
    given = {parameter: [value] for parameter, value in entrant.params.items()}
    return _file("Solver", name, solver_id=entrant.id, parameters=given)


def _file(kind: str, name: str, **attributes: Any) -> str:
    """Return the source of a file: a class of benchopt that sets these attributes and inherits the rest."""
    base, about = BASES[kind]
    lines = [f'"""{about} of Solverscope, whose {BASE_MODULE} has the rest."""', ""]
    lines += [f"import {BASE_MODULE}", "", "", f"class {kind}({BASE_MODULE}.{base}):", f"    name = {name!r}"]
    for attribute, value in attributes.items():
        lines += [f"    {attribute} = {_literal(value)}"] if value not in ({}, None) else []
    return "\n".join([*lines, ""])


def _literal(value: Any) -> str:
    if not isinstance(value, Mapping):
        return repr(value)
    inside = "".join(f"        {key!r}: {entry!r},\n" for key, entry in value.items())
    return f"{{\n{inside}    }}"
