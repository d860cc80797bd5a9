"""Private parts of scikit-learn: a version that has changed one is refused in a sentence, by one rival."""

from __future__ import annotations

import inspect
import re
import shutil

import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._sag import sag_solver

from solverscope import datasets, solvers
from solverscope.solvers.rivals import private_parts
from solverscope.solvers.rivals.callback_generator import Cancelled
from solverscope.solvers.rivals.external_solver import Task
from solverscope.solvers.rivals.scikit import SAG_KEYWORDS
from tests.solvers.helpers import binary

PROGRAMS = [id for id in solvers.SOLVERS if id.startswith("sklearn-")]
SAG, LOGISTIC = "linear_model/_sag.py", "linear_model/_logistic.py"


@pytest.fixture
def sources(monkeypatch, tmp_path):
    """A folder with copies of the two modules, which takes the place of the installed package's."""
    installed = private_parts.package_folder()
    (tmp_path / "linear_model").mkdir()
    for module in (SAG, LOGISTIC):
        shutil.copy(installed / module, tmp_path / module)
    monkeypatch.setattr(private_parts, "package_folder", lambda: tmp_path)
    return tmp_path


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    changed = re.sub(old, new, text)
    assert changed != text
    path.write_text(changed, encoding="utf-8")


def refusals():
    return {id: reason for id in PROGRAMS if (reason := solvers.SOLVERS[id].why_not_here())}


def sentence(part):
    return (
        f"uses {part}, which is private to scikit-learn and has changed in {sklearn.__version__}: "
        "install scikit-learn 1.9"
    )


def test_the_installed_version_is_not_refused(sources):
    assert refusals() == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"def sag_solver\(", "def saga_solver("),
        ("    warm_start_mem=None,", "    state=None,"),
        ("    y,\n    sample_weight=None,", "    y,\n    sample_weight,"),
        ("    y,\n    sample_weight=None,", "    y,\n    *,\n    sample_weight,"),
        ("    X,\n    y,\n    sample_weight=None,", "    X,\n    *,\n    y=None,\n    sample_weight=None,"),
        (r"(?s)\A.*\Z", "this is no longer Python"),
    ],
    ids=["renamed", "keyword renamed", "default gone", "keyword required", "labels by name", "rewritten"],
)
def test_another_sag_solver_is_refused_by_saga_alone(sources, old, new):
    edit(sources / SAG, old, new)
    assert refusals() == {"sklearn-saga": sentence("sag_solver")}


def test_a_module_that_is_gone_is_refused_too(sources):
    (sources / SAG).unlink()
    assert refusals() == {"sklearn-saga": sentence("sag_solver")}


def test_what_is_added_to_sag_solver_is_no_reason_to_refuse_it(sources):
    edit(sources / SAG, "    is_saga=False,\n", "    is_saga=False,\n    *,\n    early=False,\n")
    assert refusals() == {}


def test_another_task_name_is_refused_by_lbfgs_alone(sources, command):
    edit(sources / LOGISTIC, 'task_name="lbfgs-iter"', 'task_name="iteration"')
    reason = sentence("the callbacks of lbfgs-iter")
    assert refusals() == {"sklearn-lbfgs": reason}
    assert solvers.why_not_solver("sklearn-lbfgs", "logistic", "l2") == reason
    fitting = solvers.compatible("logistic", "l2")
    assert "sklearn-lbfgs" not in fitting
    assert "sklearn-saga" in fitting
    answer = command("run", "breast-cancer", "--penalty", "l2", "--solver", "sklearn-lbfgs")
    assert answer.status == 2
    assert f"sklearn-lbfgs {reason}" in answer.err
    assert len(answer.err.strip().splitlines()) == 1


def test_the_call_that_is_checked_is_the_one_that_is_made(monkeypatch):
    calls = []

    def recorded(*arguments, **keywords):
        calls.append((len(arguments), set(keywords)))
        return sag_solver(*arguments, **keywords)

    def leave_after_two(n, w):
        if n == 2:
            raise Cancelled

    monkeypatch.setattr("sklearn.linear_model._sag.sag_solver", recorded)
    task = Task.of(solvers.make_problem(binary(), penalty="l2", lam=0.1), None, 0.0)
    with pytest.raises(Cancelled):
        solvers.make_solver("sklearn-saga").advance(task, leave_after_two)
    assert calls == [(2, set(SAG_KEYWORDS))] * 2
    inspect.signature(sag_solver).bind(None, None, **dict.fromkeys(SAG_KEYWORDS))


def test_a_callback_that_misses_iterates_fails_the_run(monkeypatch):
    monkeypatch.setattr(LogisticRegression, "set_callbacks", lambda model, *callbacks: model)
    task = Task.of(solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=0.1), None, 0.0)
    with pytest.raises(RuntimeError, match=r"^its callback was shown 0 of \d+ iterates$"):
        solvers.make_solver("sklearn-lbfgs").advance(task, None)
