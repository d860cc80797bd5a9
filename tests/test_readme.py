"""README is true: its Python runs, its commands do what they say, its files are there."""

from __future__ import annotations

import asyncio
import re
import runpy
import shlex
from pathlib import Path

import panel as pn
import pytest

import datasets
import solvers
from tests import loop

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DATA = (ROOT / "tests" / "benchmarks" / "README.md").read_text(encoding="utf-8")
SETUP = "python -m venv .venv && . .venv/bin/activate && python -m pip install -e"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


API, NOTEBOOK, OWN_SOLVER = blocks("python")
(GRID,) = blocks("toml")
COMMANDS = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("solverscope ")]


def test_python_example_runs(tmp_path, capsys):
    path = tmp_path / "example.py"
    path.write_text(API, encoding="utf-8")
    names = runpy.run_path(str(path))
    assert names["trace"].status == "converged"
    assert names["transitions"].shape == (10, 10)
    assert "prox-qn" in capsys.readouterr().out


def test_the_view_of_the_notebook_cell_is_drawn_while_its_run_is_at_work(monkeypatch):
    """In an event loop, as a notebook has one."""
    monkeypatch.setattr(pn, "extension", lambda: None)
    seen: list[tuple[str, int]] = []

    async def notebook() -> None:
        cell: dict[str, object] = {}
        exec(compile(NOTEBOOK, "cell", "exec"), cell)
        run, view = cell["run"], cell["view"]
        while not seen or seen[-1][0] != "over":
            await asyncio.sleep(0.05)
            over = "over" if run.trace.result else "at work"
            (curve,) = view._curves.values() or (None,)
            seen.append((over, len(curve.feed.source.data["x"]) if curve else 0))
            if seen[-1][1] > 5:
                run.interrupt()
        cell["updates"].stop()

    loop.run(asyncio.wait_for(notebook(), 120))
    assert "at work" in {state for state, points in seen if points > 0}
    assert seen[-1][1] > 5


def test_own_solver_is_shorter_than_30_lines():
    assert len(OWN_SOLVER.splitlines()) < 30


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize("line", COMMANDS)
def test_command_does_what_it_says(command, tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    Path("my_solver.py").write_text(OWN_SOLVER, encoding="utf-8")
    Path("grid.toml").write_text(GRID, encoding="utf-8")
    answer = command(*shlex.split(line)[1:])
    assert answer.status == 0, answer.err
    assert answer.out
    if "--gap" in line:
        assert answer.out.count(" converged ") == line.count("--solver")
    if "--out" in line:
        assert Path("race.npz").stat().st_size > 0


def lam_row(entry, lam):
    """The row of the table of data sets."""
    name = f"`{entry.id}`" + (f" `{lam.when}`" if lam.when else "")
    metric = f"{solvers.LOSSES[entry.loss].metric_name} {lam.metric:.3f}"
    return f"| {name} | {lam.value:g} | {lam.nonzeros:,} of {lam.weights:,} | {metric} |"


def test_the_table_of_data_sets_says_what_the_catalog_knows():
    rows = [lam_row(entry, lam) for entry in datasets.DATASETS.values() for lam in entry.lams]
    table = DATA.split("| data set | λ |")[1].split("\n\n")[0].splitlines()[2:]
    assert table == rows
    without = [entry.id for entry in datasets.DATASETS.values() if not entry.lams]
    assert all(f"`{id}`" in DATA for id in without)


def test_both_set_up_commands_are_there():
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert f"{SETUP} . && panel serve app --show" in lines
    assert f'{SETUP} ".[test]" && pytest' in lines


def test_linked_files_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).is_file(), target
