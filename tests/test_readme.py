"""The READMEs are true: their Python runs, their commands do what they say, what they name is there."""

from __future__ import annotations

import ast
import asyncio
import re
import runpy
import shlex
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app import views
from solverscope.app.plugins import load_file
from solverscope.app.settings.experiment import Experiment
from solverscope.app.stories import by_topic, read, stories
from solverscope.solvers.runs.pseudocode import Pseudocode
from tests import loop
from tests.app.stories.told import Told

ROOT = Path(__file__).resolve().parent.parent
FILES = {
    path: path.read_text(encoding="utf-8")
    for path in (ROOT / folder / "README.md" for folder in (".", "app", "solvers", "datasets"))
}
README, APP, SOLVERS, DATASETS = FILES.values()
FIGURES = (ROOT / "tests" / "benchmarks" / "README.md").read_text(encoding="utf-8")
SETUP = "python -m venv .venv && . .venv/bin/activate && python -m pip install -e"


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


#: What a reader is told to save, by file name.
SAVED = {
    name: content
    for text in FILES.values()
    for name, content in re.findall(r"`([\w-]+\.(?:py|toml))`[^`]*:\n\n```\w+\n(.*?)```", text, re.DOTALL)
}
COMMANDS = [
    line
    for text in FILES.values()
    for block in blocks(text, "sh")
    for line in block.splitlines()
    if line.startswith("solverscope ")
]
#: Those of README itself in each run of the tests, and the others with the slow ones.
SHOWN = [
    line if line in README.splitlines() else pytest.param(line, marks=pytest.mark.slow) for line in COMMANDS
]


@pytest.fixture
def saved(tmp_path, monkeypatch, registries):
    """The folder with the files that a reader has saved, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(views, "TABS", dict(views.TABS))
    for name, content in SAVED.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def run_example(code, folder):
    """Run Python as a file of its own; return its names."""
    path = folder / "example.py"
    path.write_text(code, encoding="utf-8")
    return runpy.run_path(str(path))


def test_what_is_to_be_saved_is_found():
    parts = {"my_solver.py", "my_loss.py", "my_penalty.py", "my_norm.py", "my_data.py", "my_rule.py"}
    shown = {"my_view.py", "my_probe_view.py", "my_cursor_view.py", "grid.toml", "29-pairs.toml"}
    assert set(SAVED) == parts | shown


def test_python_example_runs(tmp_path, capsys):
    names = run_example(blocks(README, "python")[0], tmp_path)
    assert names["trace"].status == "converged"
    assert names["transitions"].shape == (10, 10)
    assert "prox-qn" in capsys.readouterr().out


def test_example_of_pandas_has_a_row_for_each_run(tmp_path, capsys):
    code = blocks(README, "python")
    names = run_example(f"from solverscope import datasets, solvers\n\n{code[1]}", tmp_path)
    assert len(names["table"]) == sum(map(len, names["runs"]))
    assert {run.status for run in names["runs"]} == {"converged"}
    printed = capsys.readouterr().out
    assert all(run.info.label in printed for run in names["runs"])


def test_example_of_a_probe_prints_the_largest_weights(tmp_path, capsys):
    names = run_example(blocks(SOLVERS, "python")[-1], tmp_path)
    last = names["trace"].probes.entries("largest")[-1][1]
    assert last["size"][0] == abs(names["trace"].w).max()
    assert len(capsys.readouterr().out.splitlines()) == len(names["trace"])


def test_example_of_a_data_set_prints_its_summary(tmp_path, capsys):
    names = run_example(blocks(DATASETS, "python")[0], tmp_path)
    assert names["data"].summary in capsys.readouterr().out


def test_the_view_of_the_notebook_cell_is_drawn_while_its_run_is_at_work(monkeypatch):
    """In an event loop, as a notebook has one."""
    monkeypatch.setattr("solverscope.app.notebook.extension", lambda: None)
    seen: list[tuple[str, int]] = []

    async def notebook() -> None:
        cell: dict[str, object] = {}
        exec(compile(blocks(APP, "python")[0], "cell", "exec"), cell)
        run, view = cell["run"], cell["view"]
        while not seen or seen[-1][0] != "over":
            await asyncio.sleep(0.05)
            over = "over" if run.trace.result else "at work"
            seen.append((over, max(len(line.data_source.data["x"]) for line in view.figure.renderers)))
            if seen[-1][1] > 5:
                run.interrupt()
        cell["updates"].stop()

    loop.run(asyncio.wait_for(notebook(), 120))
    assert "at work" in {state for state, points in seen if points > 0}
    assert seen[-1][1] > 5


@pytest.fixture
def cells(tmp_path, monkeypatch):
    """What the cells of a notebook have defined, by a word of each."""
    monkeypatch.setattr("solverscope.app.notebook.extension", lambda: None)

    def run(word):
        (cell,) = [block for block in blocks(APP, "python") if word in block]
        return run_example(cell, tmp_path)

    return run


def test_the_cell_of_estimators_draws_both_fits(cells):
    found = cells("SparseLogistic")
    labels = [trace.info.label for trace in found["scope"].traces]
    assert labels == [found["model"].solver, found["other"].solver] == ["prox-qn", "owl-qn"]
    assert found["model"].trace_.status == found["other"].trace_.status == "converged"
    objectives = [trace.objective[-1] for trace in found["scope"].traces]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-6)
    assert found["search"].best_score_ > 0.95


def test_the_cell_of_a_search_of_scikit_learn_s_draws_its_fits(cells):
    found = cells("scope.watch")
    labels = [trace.info.label for trace in found["scope"].traces]
    assert len(labels) == 3 * 3 + 1
    assert labels[0] == "LogisticRegression(C=0.1), split 1 of 3"
    assert all(trace.objective[-1] < trace.objective[0] for trace in found["scope"].traces)
    assert found["search"].best_score_ > 0.95


def test_the_cell_of_ones_own_loop_draws_it_beside_a_solver(cells, capsys):
    found = cells("solverscope_run")
    ours, mine = found["scope"].traces
    assert mine is found["run"].trace
    assert ours.objective[-1] < mine.objective[-1] < 1.05 * ours.objective[-1]
    assert "mine" in capsys.readouterr().out


def test_the_cell_of_holoviews_makes_a_layout(cells):
    found = cells("to_holoviews")
    assert len(found["layout"]) == 2
    assert all(len(plot) > len(found["runs"]) for plot in found["layout"])


def test_own_solver_is_shorter_than_30_lines():
    assert len(SAVED["my_solver.py"].splitlines()) < 30


@pytest.mark.parametrize("line", SHOWN)
def test_command_does_what_it_says(command, saved, line):
    answer = command(*shlex.split(line)[1:])
    assert answer.status == 0, answer.err
    assert answer.out
    if "--gap" in line:
        assert answer.out.count(" converged ") == line.count("--solver")
    if "--out" in line:
        assert (saved / "race.npz").stat().st_size > 0


@pytest.mark.slow
def test_a_solver_with_a_bug_is_found_out_by_the_commands_of_the_chapter(command, saved, capsys):
    (block,) = blocks(SOLVERS, "console")
    copy, *lines = [line.removeprefix("$ ") for line in block.splitlines()]
    subprocess.run(copy, shell=True, cwd=saved, check=True)
    check, _, diff, stopped = answers = [command(*shlex.split(line)[1:]) for line in lines]
    assert [answer.status for answer in answers] == [1, 0, 1, 0], [answer.err for answer in answers]
    assert "the best iterate is at f = " in check.out
    assert (saved / "my_bug.xml").is_file()
    assert "first difference: iteration 1, accepted step t" in diff.out
    assert " stopped " in stopped.out
    run_example(next(code for code in blocks(SOLVERS, "python") if "my-bug" in code), saved)
    assert "of mine" in capsys.readouterr().out


@pytest.mark.parametrize(("file", "id"), [("my_view.py", "balance"), ("my_probe_view.py", "largest")])
def test_own_view_joins_the_tabs_and_draws_a_run(saved, file, id):
    load_file(saved / file)
    view = views.TABS[id]
    problem = solvers.make_problem(datasets.load("breast-cancer"))
    run = solvers.solve(problem, solvers.make_solver("prox-qn"), max_iter=5, probes=views.probes())
    drawn = view(run)
    assert drawn.has_content()
    (figure,) = [figure for _, figure in drawn.shown_figures()]
    assert max(len(next(iter(r.data_source.data.values()))) for r in figure.renderers) > 4


def test_own_view_of_parts_shows_the_iterate_under_the_cursor(saved):
    load_file(saved / "my_cursor_view.py")
    problem = solvers.make_problem(datasets.load("breast-cancer"))
    run = solvers.solve(problem, solvers.make_solver("prox-qn"), max_iter=5)
    drawn = views.TABS["sparsity-and-shares"](run)
    drawn.cursor.place(run, 2)
    sparsity, shares = drawn.parts
    assert shares.source.data == {"what": ["loss", "penalty"], "size": [run.loss[2], run.penalty[2]]}
    assert [by for by, _ in drawn.shown_figures()] == [sparsity, shares]


def test_own_penalty_is_the_dual_norm_and_the_subgradient_it_says(saved):
    load_file(saved / "my_norm.py")
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="norm", lam_ratio=0.1)
    trace = solvers.solve(problem, solvers.make_solver("sparsa"), tol=1e-8)
    penalty, least = problem.penalty, trace.objective[-1]
    assert penalty.violation(trace.w, problem.at(trace.w).gradient()) < 1e-6
    assert not solvers.solve(problem.at_lam(problem.lam_max), solvers.make_solver("sparsa"), tol=1e-8).w.any()
    bounds = trace.objective - trace.dual_gap
    assert (bounds[np.isfinite(bounds)] <= least + 1e-12).all()
    v, step = np.array([1.0, -2.0, 0.5]), 0.7
    w = penalty.prox(v, step)
    d = 1e-6 * np.random.default_rng(0).normal(size=(50, 3))
    value = [0.5 * np.sum((u - v) ** 2) + step * penalty.value(u) for u in (w, *(w + d))]
    assert min(value) == value[0]


def test_own_story_says_what_its_runs_show(saved):
    told = Told(read(saved / "29-pairs.toml"), 0)
    ten, three = told.traces()
    assert ten.status == three.status == "converged"
    assert ten.iteration[-1] < three.iteration[-1]
    assert told.truth().right == ("ten",)
    assert told.story.topic in by_topic()
    assert told.story.view["tab"] in views.TABS


def test_the_address_that_is_shown_is_understood():
    (address,) = re.findall(r"`/app\?(.*?)`", APP)
    query = dict(part.split("=", 1) for part in address.split("&"))
    found, notices = Experiment.from_address(query, next(iter(stories().values())).setting)
    assert notices == []
    assert [str(entrant) for entrant in found.entrants] == query["solvers"].split(";")
    assert (found.problem.data, found.problem.lam, found.limits.max_seconds) == ("digits", 0.001, 5.0)
    assert query["tab"] in views.TABS


def test_own_pseudocode_is_understood():
    (text,) = blocks(SOLVERS, "text")
    assert [step.fields for step in Pseudocode.parse(text).steps] == [["step", "violation"]]


def lam_row(entry, lam):
    """The row of the table of data sets."""
    name = f"`{entry.id}`" + (f" `{lam.when}`" if lam.when else "")
    of_the_loss = solvers.LOSSES[entry.loss].metric_name
    metric = {"entity-f1": "F1 of entities"}.get(entry.metric, of_the_loss)
    return f"| {name} | {lam.value:g} | {lam.nonzeros:,} of {lam.weights:,} | {metric} {lam.metric:.3f} |"


def test_the_table_of_data_sets_says_what_the_catalog_knows():
    rows = [lam_row(entry, lam) for entry in datasets.DATASETS.values() for lam in entry.lams]
    table = FIGURES.split("| data set | λ |")[1].split("\n\n")[0].splitlines()[2:]
    assert table == rows
    without = [entry.id for entry in datasets.DATASETS.values() if not entry.lams]
    assert all(f"`{id}`" in FIGURES for id in without)


def test_both_set_up_commands_are_there():
    lines = [line for block in blocks(README, "sh") for line in block.splitlines()]
    assert f"{SETUP} . && panel serve app --show" in lines
    assert f'{SETUP} ".[test]" && pytest -n 2' in lines


def test_the_first_readme_has_at_most_150_lines():
    assert len(README.splitlines()) <= 150


def test_its_figures_are_measured_ones():
    rows = [line.split("|") for line in README.splitlines() if re.match(r"\| .*`[\w-]+` \| \d", line)]
    figures = {cell.strip() for row in rows for cell in (*row[3:5], *row[6:8])} - {"–"}
    assert len(figures) > 10
    assert sorted(figure for figure in figures if not re.search(rf"\b{figure}\b", FIGURES)) == []


def test_catalog_names_every_data_set():
    table = DATASETS.split("## The catalog")[1].split("\n\n")[1]
    assert sorted(re.findall(r"`([a-z0-9-]+)`", table)) == sorted(datasets.DATASETS)


@pytest.mark.parametrize("readme", FILES, ids=lambda path: path.parent.name)
def test_linked_files_exist(readme):
    for target in re.findall(r"\]\(([^)#:]+)[)#]", FILES[readme]):
        assert (readme.parent / target).is_file(), target


@pytest.mark.parametrize("folder", ["app", "solvers"])
def test_folders_of_a_table_are_those_there_are(folder):
    text = FILES[ROOT / folder / "README.md"]
    named = set(re.findall(r"`(\w+)/`", "".join(re.findall(r"^\| (`.*?) \|", text, re.MULTILINE))))
    assert named == {path.parent.name for path in (ROOT / folder).glob("*/__init__.py")}


@cache
def names_in(path):
    """Classes, functions, methods and constants of a file."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            inner = (each.name for each in node.body if isinstance(each, ast.FunctionDef))
            found |= {node.name, *(f"{node.name}.{name}" for name in inner)}
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def test_each_place_in_the_code_is_there():
    places = [
        (readme, file, name)
        for readme, text in FILES.items()
        for file, name in re.findall(r"`([\w/]+\.py):([\w.]+)`", text)
    ]
    assert len(places) > 80
    missing = [
        f"{file}:{name}" for readme, file, name in places if name not in names_in(readme.parent / file)
    ]
    assert missing == []
