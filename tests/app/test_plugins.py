"""Users' own solvers and data sets from a Python file, and what a broken file is told."""

from __future__ import annotations

import os
import re
import sys

import pytest

from solverscope import datasets, solvers
from solverscope.app import plugins
from solverscope.app.plugins import PluginError, load_all, load_file
from solverscope.solvers import Run
from solverscope.solvers.compute.user_code import user_code
from solverscope.solvers.probes.probe import CODE_LINES

pytestmark = pytest.mark.usefixtures("registries")

SOLVER = """
from __future__ import annotations
from dataclasses import dataclass
from solverscope import solvers

@solvers.register
@dataclass(frozen=True)
class Steps(solvers.Solver):
    id, name, summary = "steps", "Steps", "proximal gradient with a fixed step"
    needs = solvers.Trait.SMOOTH | solvers.Trait.PROX
    step: float = solvers.param(1.0, "length of every step", low=0.0, open_low=True)

    def iterate(self, problem, w0=None):
        point, k = problem.at(w0), 0
        while True:
            g = point.gradient()
            yield solvers.Iterate.at(point, k, violation=problem.penalty.violation(point.w, g))
            point, k = problem.at(problem.penalty.prox(point.w - self.step * g, self.step)), k + 1
"""

DATA = """
import numpy as np
from solverscope import datasets

def load(request):
    rng = np.random.default_rng(request.seed)
    y = np.where(rng.random(60) < 0.5, -1, 1).astype(np.int8)
    X = rng.normal(size=(60, 3)) + y[:, None]
    return datasets.Content(datasets.Part(X, y), ("no", "yes"), ("a", "b", "c"), "blobs")

datasets.register(datasets.DataSetInfo("blobs", "Blobs", "two blobs", "binary", load))
"""


def write(folder, text, name="mine.py"):
    path = folder / name
    path.write_text(text)
    return path


def test_own_solver_runs_beside_the_others_and_is_listed(command, tmp_path):
    path = str(write(tmp_path, SOLVER))
    answer = command(
        *("run", "digits", "--plugin", path, "--solver", "steps,step=0.5", "--solver", "prox-qn"),
        *("--max-iter", "5", "--json"),
    )
    assert answer.status == 0, answer.err
    assert [record["solver"] for record in answer.of_type("result")] == ["steps", "prox-qn"]
    objectives = [r["objective"] for r in answer.of_type("iterate") if r["solver"] == "steps"]
    assert objectives == sorted(objectives, reverse=True)
    listed = command("list", "solvers", "--json", "--plugin", path).records
    assert {"steps"} < {entry["id"] for entry in listed}


def test_own_data_set_runs(command, tmp_path):
    path = str(write(tmp_path, DATA))
    answer = command("run", "blobs", "--plugin", path, "--solver", "prox-qn", "--json", "--seed", "4")
    assert answer.status == 0, answer.err
    assert answer.of_type("result")[0]["status"] == "converged"
    assert answer.records[0]["dataset"] == "blobs"


def test_several_files_are_loaded_each_once(tmp_path):
    paths = [write(tmp_path, SOLVER, "a.py"), write(tmp_path, DATA, "b.py")]
    load_all(paths)
    load_all(paths)
    assert "steps" in solvers.SOLVERS
    assert "blobs" in datasets.DATASETS


def test_files_named_in_the_environment_are_loaded(monkeypatch, tmp_path):
    files = [write(tmp_path, SOLVER, "a.py"), write(tmp_path, DATA, "b.py")]
    monkeypatch.setenv(plugins.FILES_VARIABLE, os.pathsep.join(map(str, files)))
    load_all()
    assert "steps" in solvers.SOLVERS
    assert "blobs" in datasets.DATASETS


def test_a_wrong_separator_in_the_environment_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv(plugins.FILES_VARIABLE, f"{write(tmp_path, SOLVER, 'a.py')},b.py")
    with pytest.raises(
        PluginError, match=f"SOLVERSCOPE_PLUGINS names Python files, separated by '{os.pathsep}'"
    ):
        load_all()


def test_submissions_of_one_id_race_under_their_namespaces(command, tmp_path):
    files = []
    for name, step in (("anna", 0.5), ("ben", 0.25)):
        (tmp_path / name).mkdir()
        files.append(f"{name}={write(tmp_path / name, SOLVER.replace('1.0', str(step)))}")
    given = [word for file in files for word in ("--plugin", file)]
    both = ("--solver", "anna-steps", "--solver", "ben-steps,step=0.1")
    answer = command("run", "breast-cancer", *given, *both, "--max-iter", "3", "--json")
    assert answer.status == 0, answer.err
    assert [one["solver"] for one in answer.of_type("result")] == ["anna-steps", "ben-steps"]
    assert solvers.SOLVERS["anna-steps"].name == "Steps (anna)"
    assert plugins.loaded() == files
    load_all([f"anna={write(tmp_path, DATA, 'blobs.py')}"])
    assert datasets.load("anna-blobs").id == "anna-blobs"
    (tmp_path / "ben" / "steps.txt").write_text("A text\n", encoding="utf-8")
    assert solvers.pseudocode(solvers.SOLVERS["ben-steps"]) is not None


def test_a_name_that_cannot_stand_before_ids_is_refused(tmp_path):
    with pytest.raises(PluginError, match="'Anna B' cannot stand before ids: write NAME=FILE"):
        load_all([f"Anna B={write(tmp_path, SOLVER)}"])
    (tmp_path / "a=b").mkdir()
    load_all([write(tmp_path / "a=b", SOLVER)])  # a path with =
    assert "steps" in solvers.SOLVERS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from solverscope import solvers\n\nsolvers.register(1)\n", "line 3: TypeError: 1 is neither"),
        ("x = 1\nx = = 2\n", "line 2: SyntaxError"),
        ("import no_such_package\n", "line 1: ModuleNotFoundError"),
        (SOLVER.replace('"steps"', '"prox-qn"'), "registered already: give your class another id"),
        (SOLVER.replace("@dataclass(frozen=True)\n", ""), "write @dataclass(frozen=True) above it"),
        (SOLVER.replace('id, name, summary = "steps", "Steps", ', "summary = "), "has no id"),
        (DATA.replace('"blobs", "Blobs"', '"digits", "Blobs"'), "choose another id"),
        ("raise SystemExit(0)\n", "line 1: SystemExit"),
    ],
)
def test_broken_file_gets_one_sentence_with_the_line(command, tmp_path, text, said):
    path = write(tmp_path, text)
    answer = command("run", "digits", "--solver", "prox-qn", "--plugin", str(path))
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert "mine.py, line" in answer.err
    assert said in answer.err


def test_repaired_file_can_be_loaded_again(tmp_path):
    path = write(tmp_path, "1 / 0\n")
    with pytest.raises(PluginError, match="line 1: ZeroDivisionError"):
        load_file(path)
    path.write_text(SOLVER)
    load_file(path)
    assert "steps" in solvers.SOLVERS


def test_installed_package_joins_by_its_entry_point(monkeypatch, tmp_path):
    write(tmp_path, SOLVER, "steps_for_solverscope.py")
    about = tmp_path / "steps_for_solverscope-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: steps-for-solverscope\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{plugins.ENTRY_POINT_GROUP}]\nsteps = steps_for_solverscope\n")
    monkeypatch.syspath_prepend(tmp_path)
    load_all()
    assert "steps" in solvers.SOLVERS
    (about / "entry_points.txt").write_text(f"[{plugins.ENTRY_POINT_GROUP}]\nsteps = no_such_module\n")
    with pytest.raises(PluginError, match=r"installed plugin steps .* repair or uninstall it"):
        load_all()


ITERATE = "solvers.Iterate.at(point, k, violation=problem.penalty.violation(point.w, g))"
FIELD = SOLVER.replace('solvers.param(1.0, "length of every step", low=0.0, open_low=True)', "1.0")
LOSS = """
from dataclasses import dataclass
from solverscope import solvers

@solvers.register
@dataclass(frozen=True)
class Half(solvers.Loss):
    id, name, summary, kinds, average = "half", "Half", "half a loss", ("binary",), True
    traits = solvers.Trait.SMOOTH

    def bind(self, part, n_classes, parents=None):
        return Bound(self, 1, part.y)

@dataclass(frozen=True, eq=False)
class Bound(solvers.RowLoss):
    def chunk_values(self, Z, y, out):
        out[:] = Z[:, 0] ** 2
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FIELD, "mine.py, line 6: ValueError: Steps does not declare step: write step: type = solvers.param"),
        (LOSS, "TypeError: Bound has no term: define chunk_values and chunk_residual"),
        (
            LOSS.replace("part.y", "part.labels"),
            "mine.py, line 12: AttributeError: 'Part' object has no",
        ),
    ],
)
def test_an_error_in_a_plugin_is_one_line_with_its_place(command, tmp_path, text, said):
    path = str(write(tmp_path, text))
    done = command("run", "breast-cancer", "--plugin", path, "--loss", "half", "--solver", "prox-gd")
    assert done.status == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("violation=", "violations=", r"unexpected keyword argument 'violations'.* \(mine\.py, line 17\)"),
        (
            "solvers.Iterate.at(point, k, violation=problem.penalty.violation(point.w, g))",
            "g",
            "yields ndarray",
        ),
        (
            "yield solvers",
            "return solvers",
            "Steps.iterate returns Iterate, and is no generator: let it yield",
        ),
    ],
)
def test_a_failed_solver_names_the_line_of_its_own_file(tmp_path, old, new, said):
    load_file(write(tmp_path, SOLVER.replace(old, new)))
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.1)
    trace = solvers.solve(problem, solvers.make_solver("steps"), max_iter=3, on_error="keep")
    assert trace.status == "failed"
    assert re.search(said, trace.message)


def test_a_solver_that_tells_no_violation_is_told_why_no_tolerance_ends_it(tmp_path):
    silent = SOLVER.replace(", violation=problem.penalty.violation(point.w, g)", "")
    load_file(write(tmp_path, silent))
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.1)
    trace = solvers.solve(problem, solvers.make_solver("steps"), tol=0.5, max_iter=50)
    assert trace.status == "max-iter"
    assert "no iterate has a violation to compare tol with: yield it, or" in trace.message
    knows = "knows = solvers.Knows(violation=False, dual_gap=False)"
    assert knows in trace.message
    said = silent.replace('"steps"', '"heard"').replace("    step:", f"    {knows}\n    step:")
    load_file(write(tmp_path, said, "heard.py"))
    heard = solvers.solve(problem, solvers.make_solver("heard", step=0.1), tol=0.5, max_seconds=20)
    assert heard.status == "converged"


def test_an_edit_of_one_letter_within_a_second_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "own.py"
    for step in ("1.0", "2.0"):
        file.write_text(SOLVER.replace("param(1.0", f"param({step}"))
        os.utime(file, (1e9, 1e9))
        monkeypatch.delitem(solvers.SOLVERS, "steps", raising=False)
        for name in [name for name in sys.modules if name.startswith(plugins.MODULE_PREFIX)]:
            del sys.modules[name]
        load_file(file)
        assert solvers.make_solver("steps").step == float(step)


@pytest.fixture
def reloads(monkeypatch):
    monkeypatch.setattr(plugins, "RELOADS", [])
    return plugins.RELOADS


def save(path, text):
    """Write a file whose time differs from before, however coarse the clock of the disk is."""
    before = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


def test_a_saved_file_is_loaded_again_and_a_broken_one_leaves_the_old_code(tmp_path, reloads):
    path = write(tmp_path, SOLVER + DATA)
    load_file(path)
    old = solvers.SOLVERS["steps"]
    plugins.reload_saved()
    save(path, SOLVER + DATA)
    plugins.reload_saved()
    assert reloads == [], "nothing has changed"
    save(path, SOLVER.replace('"steps", "Steps"', '"steps", "Strides"'))
    plugins.reload_saved()
    assert solvers.SOLVERS["steps"].name == "Strides"
    assert "blobs" not in datasets.DATASETS, "the file does not register it any more"
    assert (reloads[-1].ids, reloads[-1].wrong) == ({"steps", "blobs"}, "")
    new = solvers.SOLVERS["steps"]
    save(path, SOLVER.replace('"steps"', '"others"') + "\n1 / 0\n")
    plugins.reload_saved()
    plugins.reload_saved()
    assert solvers.SOLVERS["steps"] is new
    assert "others" not in solvers.SOLVERS
    assert re.fullmatch(r"mine\.py, line \d+: ZeroDivisionError: division by zero", reloads[-1].wrong)
    assert len(reloads) == 2, "it is said once"
    codes = [user_code(cls) for cls in (old, new)]
    assert ["Strides" in code.text for code in codes] == [False, True]
    assert codes[1].digest == reloads[0].digest != codes[0].digest
    assert user_code(solvers.SOLVERS["prox-gd"]) is None


def test_executed_lines_of_a_plugin_are_followed_while_that_is_asked_for(tmp_path, small_problem):
    load_file(write(tmp_path, SOLVER))
    run = Run(small_problem, solvers.make_solver("steps"), probes=[CODE_LINES])
    for trace in run.steps():
        trace.follows_lines = len(trace) in (2, 3)
        if len(trace) == 5:
            break
    seen = {iteration: found["lines"].tolist() for iteration, found in trace.probes.entries("code-lines")}
    assert seen.keys() == {2, 3}
    lines = trace.code.text.splitlines()
    executed = [lines[k - 1].strip() for k in seen[2]]
    assert executed[0] == "while True:"
    assert any("problem.penalty.prox" in line for line in executed)
    assert not any("self.step" in line and "param" in line for line in executed)
