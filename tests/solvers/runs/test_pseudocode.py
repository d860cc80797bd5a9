"""The algorithms as text: one a solver, whose steps are told about by the iterates of its runs."""

from __future__ import annotations

import importlib.util
import sys

import pytest

import solvers
from solvers import Pseudocode, pseudocode
from solvers.methods.iterate import FIELDS
from solvers.runs.breakpoints import known
from tests.solvers.helpers import HOUSE, MAKERS

#: Problems of which each solver takes one.
PROBLEMS = [
    ("binary", {"penalty": "l1", "lam_ratio": 0.1}),
    ("sequences", {"penalty": "l1", "lam_ratio": 0.1}),
    ("multiclass", {"penalty": "l1-l2", "lam_ratio": 0.1, "loss": "multiclass-squared-hinge"}),
    ("binary", {"penalty": "l2", "lam": 0.1}),
    ("binary", {"penalty": "l2", "lam": 0.1, "loss": "binary-hinge"}),
]

WANTED = """A source
repeat:
  t ← 1, β, β²
     ? step > 0
     » t = {step}
"""


def suitable(id: str) -> solvers.Problem:
    for kind, about in PROBLEMS:
        problem = solvers.make_problem(MAKERS[kind](), **about)
        if id in solvers.compatible(loss=problem.loss.id, penalty=about["penalty"]):
            return problem
    raise AssertionError(f"no problem for {id}")


@pytest.mark.parametrize("id", HOUSE)
def test_each_iterate_of_a_solver_tells_about_a_step_of_its_algorithm(id):
    solver = solvers.make_solver(id)
    algorithm = pseudocode(type(solver))
    trace, before = solvers.solve(suitable(id), solver, max_iter=12), {}
    told, said = set(), set()
    for record in trace.records():
        here = {name: known(name, record[name]) for name in FIELDS}
        now = [step for step in algorithm.steps if step.matches(here, before)]
        assert now, f"iterate {record['iteration']} tells about no step"
        told.update(now)
        said.update(step for step in now if all(here[name] is not None for name in step.fields))
        before = here
    assert len(told) > 2
    assert {step for step in told if step.says} <= said, "what a step says is known where it is told about"
    assert any(step.says for step in said)


def test_every_solver_has_an_algorithm_with_a_source():
    for id in HOUSE:
        algorithm = pseudocode(solvers.SOLVERS[id])
        assert algorithm.source
        assert len([step for step in algorithm.steps if step.when is not None]) > 3


def test_a_step_has_its_text_its_condition_and_what_it_says():
    algorithm = Pseudocode.parse(WANTED)
    assert algorithm.source == "A source"
    first, second = algorithm.steps
    assert (first.text, first.when, first.says) == ("repeat:", None, "")
    assert (second.text, second.says, second.fields) == ("  t ← 1, β, β²", "t = {step}", ["step"])
    assert second.matches({"step": 0.5}, {})
    assert not second.matches({"step": None}, {})
    assert not first.matches({"step": 0.5}, {})


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("A source\n? step > 0\n", "comes before any step"),
        ("A source\nx\n? step >> 0\n", "is no condition"),
        ("A source\nx\n» {stp}\n", "'stp' is no field of the record"),
    ],
)
def test_a_line_that_is_wrong_is_said_in_a_sentence(text, wrong):
    with pytest.raises(ValueError, match=wrong):
        Pseudocode.parse(text)


def test_a_plug_in_brings_its_own_in_a_file_next_to_it(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "from solvers import Solver\nclass Mine(Solver):\n    id = 'mine'\n", encoding="utf-8"
    )
    spec = importlib.util.spec_from_file_location("mine", tmp_path / "mine.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "mine", module)
    spec.loader.exec_module(module)
    assert pseudocode(module.Mine) is None
    pseudocode.cache_clear()
    (tmp_path / "mine.txt").write_text(WANTED, encoding="utf-8")
    assert pseudocode(module.Mine) == Pseudocode.parse(WANTED)
    pseudocode.cache_clear()
    (tmp_path / "mine.txt").write_text("A source\n» {stp}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine\.txt"):
        pseudocode(module.Mine)
