"""The algorithms as text: one a solver, whose steps are told about by the iterates of its runs."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from itertools import combinations

import pytest

from solverscope import solvers
from solverscope.solvers import Pseudocode, pseudocode
from solverscope.solvers.methods.iterate import FIELDS
from solverscope.solvers.runs.breakpoints import known
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


def followed(solver: solvers.Solver) -> Pseudocode:
    """The algorithm that a solver follows."""
    params = {p.name: getattr(solver, p.name) for p in solvers.parameters(type(solver))}
    return pseudocode(type(solver)).with_params(params)


def text(solver: solvers.Solver) -> list[str]:
    return [step.text for step in followed(solver).steps]


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("id", HOUSE)
def test_each_iterate_of_a_solver_tells_about_a_step_of_its_algorithm(id, preset):
    if preset == "paper" and not solvers.SOLVERS[id].presets:
        pytest.skip("its defaults are the paper's")
    solver = solvers.make_solver(id, **({"preset": preset} if preset == "paper" else {}))
    algorithm = followed(solver)
    trace, before = solvers.solve(suitable(id), solver, max_iter=30 if "clustered" in id else 12), {}
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
        ("A source\nx\n@ rule is zhong\n", "is no condition on a hyper-parameter"),
    ],
)
def test_a_line_that_is_wrong_is_said_in_a_sentence(text, wrong):
    with pytest.raises(ValueError, match=wrong):
        Pseudocode.parse(text)


def test_a_plug_in_brings_its_own_in_a_file_next_to_it(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "from solverscope.solvers import Solver\nclass Mine(Solver):\n    id = 'mine'\n", encoding="utf-8"
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
    (tmp_path / "mine.txt").write_text("A source\nx\n@ rule = zhong\n", encoding="utf-8")
    with pytest.raises(ValueError, match="'rule' is no hyper-parameter of mine"):
        pseudocode(module.Mine)
    (tmp_path / "mine.txt").write_text("A source\n» {stp}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine\.txt"):
        pseudocode(module.Mine)


@pytest.mark.parametrize("id", HOUSE)
def test_the_algorithm_is_that_of_the_hyper_parameters(id):
    """Each choice and each switch changes a line, one for each of its values."""
    solver = solvers.make_solver(id)
    bases = [solver]
    if "clustering" in {parameter.name for parameter in solvers.parameters(type(solver))}:
        bases = [replace(solver, clustering=kind) for kind in ("chunks", "kmeans")]
    for parameter in solvers.parameters(type(solver)):
        values = (True, False) if isinstance(parameter.default, bool) else parameter.choices or ()

        def differ(base: solvers.Solver, name=parameter.name, values=values) -> bool:
            texts = [text(replace(base, **{name: value})) for value in values]
            return all(a != b for a, b in combinations(texts, 2))

        assert any(map(differ, bases)), parameter.name


@pytest.mark.parametrize("id", [id for id in HOUSE if solvers.SOLVERS[id].presets])
def test_the_algorithm_of_the_paper_s_values_is_another_than_that_of_the_defaults(id):
    assert text(solvers.make_solver(id, preset="paper")) != text(solvers.make_solver(id))


@pytest.mark.parametrize(
    ("id", "params", "said", "unsaid"),
    [
        ("prox-qn", {"preset": "paper"}, "γ ← sᵀy/sᵀs", "γ ← ‖y‖/‖s‖"),
        ("prox-qn", {}, "γ ← ‖y‖/‖s‖", "γ ← sᵀy/sᵀs"),
        ("prox-qn", {"preset": "paper"}, "forget the pairs", "keep the pairs"),
        ("bcd-ls", {"preset": "paper"}, "in cyclic order", "shrink"),
        ("bcd-ls", {}, "in random order", "cyclic"),
        ("clustered-lbfgs", {"clustering": "kmeans"}, "k-means", "chunks"),
        ("clustered-lbfgs", {}, "chunks", "k-means"),
        ("sgd-l1", {"preset": "paper"}, "η₀ 0.85^(k/N)", "η₀/(1 + k/N)"),
        ("sgd-l1", {}, "η₀/(1 + k/N)", "0.85"),
        ("gd", {"line_search": "armijo"}, "β²", "Wolfe"),
    ],
)
def test_a_line_says_what_the_hyper_parameters_do(id, params, said, unsaid):
    whole = "\n".join(text(solvers.make_solver(id, **params)))
    assert said in whole
    assert unsaid not in whole
