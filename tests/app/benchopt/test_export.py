"""``solverscope benchopt export``: what is written, and that benchopt takes and runs it."""

from __future__ import annotations

import ast
import json
import os
import site
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.benchopt.export import BASE_MODULE, BASES

ROOT = Path(__file__).resolve().parents[3]
GIVEN = (
    *(
        "breast-cancer",
        "digits,positive=3",
        "--loss",
        "logistic",
        "--lam-ratio",
        "0.1",
        "--lam-ratio",
        "0.02",
    ),
    *("--solver", "prox-qn", "--solver", "short=owl-qn,memory=3", "--solver", "sgd-l1"),
)


def said(path: Path) -> dict[str, object]:
    """What the class of a file says, after the file was compiled."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    compile(tree, str(path), "exec")
    (found,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    values = {one.targets[0].id: ast.literal_eval(one.value) for one in found.body}
    return {"class": found.name, "base": ast.unparse(found.bases[0]), **values}


def test_each_data_set_objective_and_solver_has_a_file(command, tmp_path):
    folder = tmp_path / "mine"
    done = command("benchopt", "export", str(folder), *GIVEN)
    assert done.status == 0, done.err
    names = {"README.md", "objective.py", "datasets/breast-cancer.py", "datasets/digits.py"}
    names |= {f"solvers/{name}.py" for name in ("prox-qn", "short", "sgd-l1")}
    assert {str(folder / name) for name in names} == set(done.out.splitlines())
    assert {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()} == names

    assert said(folder / "objective.py") == {
        **{"class": "Objective", "base": "solverscope.app.benchopt.base.ProblemObjective", "name": "mine"},
        "test_dataset_name": "breast-cancer",
        "parameters": {"loss, penalty": [("logistic", "l1")], "lam_ratio": [0.1, 0.02]},
    }
    digits = said(folder / "datasets" / "digits.py")
    assert (digits["class"], digits["data"]) == ("Dataset", "digits")
    assert digits["parameters"] == {"positive": ["3"], "seed": [0]}
    short = said(folder / "solvers" / "short.py")
    assert (short["class"], short["name"], short["solver_id"]) == ("Solver", "short", "owl-qn")
    assert short["parameters"] == {"memory": [3]}
    assert "parameters" not in said(folder / "solvers" / "prox-qn.py")
    assert "benchopt run mine" in (folder / "README.md").read_text(encoding="utf-8")


def test_files_inherit_classes_that_are_there():
    place = Path(*BASE_MODULE.split(".")[1:]).with_suffix(".py")
    tree = ast.parse((ROOT / place).read_text(encoding="utf-8"))
    classes = {node.name: ast.unparse(node.bases[0]) for node in tree.body if isinstance(node, ast.ClassDef)}
    assert classes == {base: f"Base{kind}" for kind, (base, _) in BASES.items()}


def test_labels_that_look_alike_in_a_file_name_get_files_of_their_own(command, tmp_path):
    made = ("--solver", "a/b=prox-qn", "--solver", "a b=owl-qn")
    assert command("benchopt", "export", str(tmp_path / "two"), "breast-cancer", *made).status == 0
    found = {path.stem: said(path)["solver_id"] for path in (tmp_path / "two" / "solvers").iterdir()}
    assert found == {"a-b": "prox-qn", "a-b-2": "owl-qn"}


@pytest.fixture
def own(tmp_path, registries):
    """Two plug-ins with one solver each, of one id and one file name, of which one has a namespace."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("```python\n")[3].split("```")[0]
    for name in ("anna", "mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "my_solver.py").write_text(text, encoding="utf-8")
    return f"anna={tmp_path / 'anna' / 'my_solver.py'}", str(tmp_path / "mine" / "my_solver.py")


def export_own(command, folder, own):
    loaded = [word for file in own for word in ("--plugin", file)]
    both = ("--solver", "anna-my-bb", "--solver", "my-bb")
    done = command("benchopt", "export", str(folder), "breast-cancer", *both, *loaded)
    assert done.status == 0, done.err


def test_plug_ins_are_part_of_what_is_exported(command, tmp_path, own):
    folder = tmp_path / "out"
    export_own(command, folder, own)
    assert (folder / "plugins" / "my_solver.py").read_text() == Path(own[1]).read_text()
    assert (folder / "plugins" / "anna" / "my_solver.py").is_file()
    for path in (folder / "objective.py", *(folder / "solvers").iterdir(), *(folder / "datasets").iterdir()):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.unparse(tree.body[2]) == f"{BASE_MODULE}.load_plugins(__file__)"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["breast-cancer", "--solver", "prox-q"], "choose one of"),
        (["breast-canser", "--solver", "prox-qn"], "choose one of"),
        (["breast-cancer", "--solver", "prox-qn", "--loss", "chain-crf"], "chain-crf"),
        (["breast-cancer", "--solver", "lbfgs", "--penalty", "l1"], "needs a smooth penalty"),
        (
            ["breast-cancer", "--loss", "binary-hinge", "--penalty", "l2", "--solver", "sklearn-linear-svc"],
            "runs anew",
        ),
        (["breast-cancer", "--solver", "prox-qn", "--lam", "1", "--lam-ratio", "0.1"], "give one of them"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_a_line_and_nothing_is_written(
    command, tmp_path, arguments, sentence
):
    done = command("benchopt", "export", str(tmp_path / "mine"), *arguments)
    assert done.status == 2
    assert done.err.count("\n") == 1
    assert sentence in done.err
    assert not (tmp_path / "mine").exists()


def test_a_folder_with_files_is_left_alone(command, tmp_path):
    (tmp_path / "objective.py").write_text("mine")
    done = command("benchopt", "export", str(tmp_path), "breast-cancer", "--solver", "prox-qn")
    assert (done.status, "name a new folder" in done.err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["objective.py"]


@pytest.fixture(scope="module")
def benchopt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with benchopt, and all that is installed here."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = home / "bin" / "python"
    where = "import site; print(site.getsitepackages()[0])"
    packages = Path(subprocess.check_output([python, "-c", where], text=True).strip())
    here = [*(path for path in sys.path if path.endswith("site-packages")), *site.getsitepackages()]
    lines = [f"import site; site.addsitedir({path!r})" for path in dict.fromkeys(here)]
    (packages / "here.pth").write_text("\n".join(lines))
    wanted = [python, "-m", "pip", "install", "--quiet", "benchopt>=1.10", "pyarrow"]
    if subprocess.run(wanted, capture_output=True).returncode:
        pytest.skip("benchopt cannot be installed here")
    # a script of its own where benchopt was found installed here already
    (home / "bin" / "benchopt").write_text(f"#!{python}\nfrom benchopt.cli import benchopt\nbenchopt()\n")
    (home / "bin" / "benchopt").chmod(0o755)
    return home / "bin"


@pytest.mark.slow
def test_benchopt_runs_plug_ins_that_were_exported(command, tmp_path, benchopt, own):
    export_own(command, tmp_path / "out", own)
    for file in own:
        Path(file.removeprefix("anna=")).unlink()
    words = ("benchopt", "run", "out", "--no-plot", "-n", "3", "-r", "1")
    environment = {**os.environ, "PATH": f"{benchopt}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "anna-my-bb" in done.stdout
    assert "error" not in done.stdout.lower()


@pytest.mark.slow
def test_benchopt_tests_and_runs_what_is_exported(command, tmp_path, benchopt):
    folder = tmp_path / "mine"
    assert command("benchopt", "export", str(folder), *GIVEN).status == 0
    environment = {**os.environ, "PATH": f"{benchopt}{os.pathsep}{os.environ['PATH']}"}

    def call(*words: str, cwd: Path = tmp_path) -> str:
        done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    for name, cwd in (("mine", tmp_path), (".", folder)):  # our solvers, not the folder of that name
        tested = call("benchopt", "test", name, "--skip-install", cwd=cwd)
        assert " passed" in tested
        assert " failed" not in tested

    out = str(tmp_path / "results.parquet")
    call("benchopt", "run", "mine", "--no-plot", "-n", "18", "-r", "2", "--output", out)
    table = "pandas.read_parquet(sys.argv[1])"
    to_json = f"import pandas, sys; print({table}.to_json(orient='records', double_precision=15))"
    rows = json.loads(call("python", "-c", to_json, out).splitlines()[-1])
    curves: dict[tuple[object, ...], list[float]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("dataset_name", "p_obj_lam_ratio", "solver_name", "idx_rep"))
        curves.setdefault(key, []).append(row["objective_value"])
    assert len(curves) == 2 * 2 * 3 * 2
    assert {len(curve) > 5 for curve in curves.values()} == {True}
    for data, options in (("breast-cancer", {}), ("digits", {"positive": "3"})):
        for ratio in (0.1, 0.02):
            loaded = datasets.load(data, **options)
            problem = solvers.make_problem(loaded, loss="logistic", penalty="l1", lam_ratio=ratio)
            best = solvers.solve(problem, solvers.make_solver("prox-qn"), tol=1e-8).objective[-1]
            mine = {key[2:]: curve for key, curve in curves.items() if data in key[0] and key[1] == ratio}
            assert len({curve[0] for curve in mine.values()}) == 1  # all start at w = 0
            for (name, _), curve in mine.items():
                assert min(curve) >= best * (1 - 1e-12), name
                if name != "sgd-l1":
                    np.testing.assert_allclose(curve[-1], best, rtol=1e-6)
            assert mine["sgd-l1", 0] != mine["sgd-l1", 1]  # each repetition has a seed of its own
            assert mine["prox-qn", 0] == mine["prox-qn", 1]
