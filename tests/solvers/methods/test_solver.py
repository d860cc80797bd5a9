import itertools
from dataclasses import FrozenInstanceError, dataclass, fields
from enum import Enum
from types import SimpleNamespace

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.declare import Declared, param, parameters
from tests.solvers.helpers import binary, problem_of

#: A text as a member of an enumeration, whose ``str`` is its name.
Form = Enum("Form", {"B": "b"}, type=str)


@dataclass(frozen=True)
class Sample(Declared):
    whole: int = param(10, "a whole number", low=1, high=100, words=("full",))
    share: float = param(0.5, "a share", low=0.0, high=1.0, open_low=True)
    flag: bool = param(True, "a switch")
    form: str = param("a", "one of two", choices=("a", "b"))


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("whole", "7", 7),
        ("whole", 7.0, 7),
        ("whole", np.int64(7), 7),
        ("whole", "full", "full"),
        ("share", "1e-3", 1e-3),
        ("share", 1, 1.0),
        ("flag", "off", False),
        ("flag", "True", True),
        ("flag", np.bool_(False), False),
        ("form", "b", "b"),
        ("form", Form.B, "b"),
    ],
)
def test_values_are_taken_as_text_or_typed(name, given, value):
    taken = getattr(Sample(**{name: given}), name)
    assert taken == value
    assert type(taken) is type(value)


@pytest.mark.parametrize(
    ("name", "given", "range"),
    [
        ("whole", 0, "a whole number from 1 to 100 or full"),
        ("whole", 101, "a whole number from 1 to 100 or full"),
        ("whole", 2.5, "a whole number from 1 to 100 or full"),
        ("whole", "many", "a whole number from 1 to 100 or full"),
        ("whole", None, "a whole number from 1 to 100 or full"),
        ("share", 0.0, "a number above 0 to 1"),
        ("share", "nan", "a number above 0 to 1"),
        ("share", float("inf"), "a number above 0 to 1"),
        ("flag", "maybe", "one of true, false"),
        ("form", "c", "one of a, b"),
    ],
)
def test_a_bad_value_is_refused_with_name_value_and_range(name, given, range):
    with pytest.raises(ValueError, match=f"^{name}={given}: {name} must be {range}$"):
        Sample(**{name: given})


def test_declared_parameters_are_listed_with_help_and_range():
    listed = {p.name: p for p in parameters(Sample)}
    assert list(listed) == ["whole", "share", "flag", "form"]
    assert (listed["whole"].default, listed["whole"].kind, listed["whole"].help) == (
        10,
        int,
        "a whole number",
    )


@pytest.mark.parametrize("id", solvers.SOLVERS)
def test_every_solver_declares_all_its_fields_and_takes_its_defaults(id):
    cls = solvers.SOLVERS[id]
    assert {p.name for p in parameters(cls)} == {f.name for f in fields(cls)}
    for p in parameters(cls):
        assert p.help
        assert p.parse(p.default) == p.default
        assert p.parse(str(p.default)) == p.default


@pytest.mark.parametrize("id", solvers.SOLVERS)
def test_solvers_are_frozen(id):
    solver = solvers.make_solver(id)
    with pytest.raises((FrozenInstanceError, AttributeError)):
        solver.memory = 3


def test_an_aim_is_taken_over_where_none_was_chosen():
    assert solvers.make_solver("prox-qn").with_tol(1e-5).tol == 1e-5
    assert solvers.make_solver("prox-qn", tol=1e-3).with_tol(1e-5).tol == 1e-3
    assert solvers.make_solver("prox-qn").with_tol(None) == solvers.make_solver("prox-qn")
    owlqn = solvers.make_solver("owl-qn")
    assert owlqn.with_tol(1e-5) is owlqn


@pytest.mark.parametrize("id", solvers.SOLVERS)
def test_a_problem_that_does_not_fit_into_memory_is_refused_beforehand(id, monkeypatch):
    problem, solver = solvers.make_problem(binary(storage="binary"), lam=0.1), solvers.make_solver(id)
    assert solver.refuses(problem) is None
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=100))
    sentence = solver.refuses(problem)
    who = {"relay": "prox-qn"}.get(id, id)  # a relay speaks for its first leg
    assert sentence.startswith((f"{who} needs", f"{who} keeps"))
    assert "free: take" in sentence


def test_more_pairs_need_more_memory():
    few, many = (solvers.make_solver("owl-qn", memory=m).dense_vectors for m in (5, 50))
    assert many - few == 2 * 45


#: What views ask for, of all live references.
CARRIED = {"active", "variables", "line", "memory", "cuts", "clustering"}
#: Options with which a few iterates show all that a solver has.
SOON = {id: {"rounds": 2, "fine_iterations": 2} for id in ("clustered-lbfgs", "clustered-bfgs")}


@pytest.mark.slow
@pytest.mark.parametrize("id", [id for id, cls in solvers.SOLVERS.items() if cls.carries is not None])
def test_a_solver_carries_what_it_says_and_nothing_else(id):
    seen = set()
    for kind in ("multiclass", "sequences", "binary"):
        pairs = itertools.product(solvers.losses_for(kind), ("l2", "l1", "l1-l2"))
        fitting = (pair for pair in pairs if id in solvers.compatible(loss=pair[0], penalty=pair[1]))
        if (pair := next(fitting, None)) is not None:
            iterates = solvers.make_solver(id, **SOON.get(id, {})).iterate(problem_of(kind, *pair, n=40))
            for it in itertools.islice(iterates, 8):
                seen |= CARRIED & it.live.keys()
                if solvers.DIRECTION.take(it) is not None:  # a direction found step by step
                    seen.add("direction")
    assert seen == set(solvers.SOLVERS[id].carries)
