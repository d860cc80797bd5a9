import copy
from dataclasses import dataclass

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers import FIELDS, Iterate, Probe, Trace
from solverscope.solvers.curvature.memory import PairMemory
from solverscope.solvers.methods.iterate import LIVE
from solverscope.solvers.search.outcome import SearchLog, SearchResult
from tests.solvers.helpers import binary

#: Names and order of the fields, on which users' scripts rely.
CONTRACT = [
    "iteration",
    "epoch",
    "phase",
    "cpu_seconds",
    "wall_seconds",
    "passes",
    "objective",
    "loss",
    "penalty",
]
CONTRACT += ["violation", "nnz", "nnz_rows", "working_set", "returned", "step", "ls_trials", "ls_kind"]
CONTRACT += ["memory_pairs", "gamma", "curvature", "inner_iterations", "qp_iterations", "clusters"]
CONTRACT += ["crossovers", "dual_gap", "events"]


@pytest.fixture(scope="module")
def problem():
    return solvers.make_problem(binary(), lam_ratio=0.1)


def test_the_fields_of_the_record_are_the_contracts_in_its_order():
    assert list(FIELDS) == CONTRACT
    assert list(Iterate(0).record()) == CONTRACT


def test_each_field_is_declared_with_all_that_is_needed_to_write_and_to_draw_it():
    for name, field in FIELDS.items():
        assert field.name == name
        assert field.title
        assert field.label
        assert field.type in (int, float, str, tuple)
        assert not field.is_known(field.unknown) or field.type is tuple
    row = Trace.from_records([{"iteration": 0}]).last
    for name, field in FIELDS.items():
        if name != "iteration":
            assert row[name] == field.unknown or row[name] != row[name], name
    assert [FIELDS[name].unit for name in ("cpu_seconds", "wall_seconds", "passes")] == ["s", "s", ""]


def test_an_iterate_that_says_nothing_is_unknown_but_for_its_number():
    record = Iterate(3).record()
    assert record.pop("iteration") == 3
    assert not any(FIELDS[name].is_known(value) for name, value in record.items() if name != "events")
    with pytest.raises(TypeError):
        Iterate()


def test_the_record_is_made_from_the_point_the_search_the_memory_and_the_working_set(problem):
    w = np.zeros(problem.size)
    w[[2, 5]] = 1.0
    point, search, memory = problem.at(w), SearchLog(1.0), PairMemory(3)
    memory.push(np.ones(4), np.ones(4))
    for trial in ((1.0, 9.0), (0.5, 0.5)):
        search.note(*trial, 0.9)
    active = problem.design.working_set(np.array([2, 5, 7]))
    found = SearchResult(point, 0.5, search, 2)
    it = Iterate.at(point, 4, active=active, found=found, memory=memory, events=("kink",), gamma=2.0)
    said = {name: value for name, value in it.record().items() if FIELDS[name].is_known(value)}
    assert said == {
        "iteration": 4,
        "objective": point.objective,
        "loss": point.loss,
        "penalty": point.penalty,
        "nnz": 2,
        "nnz_rows": 2,
        "working_set": 3,
        "step": 0.5,
        "ls_trials": 2,
        "ls_kind": "armijo",
        "memory_pairs": 1,
        "gamma": 2.0,
        "events": ("backtracked", "kink"),
    }
    assert it.live == {"point": point, "active": active, "memory": memory, "line": search}
    assert Iterate.at(point, 4, found=found, ls_trials=7).ls_trials == 7


def test_live_references_are_read_by_name_and_misspelt_ones_are_heard_of(problem):
    it = Iterate(0, live={"bundle": [1, 2]})
    assert it.bundle == [1, 2]
    assert it.line is it.memory is it.active is None
    with pytest.raises(AttributeError, match="'bundel'"):
        it.bundel  # noqa: B018
    assert copy.copy(it).bundle == [1, 2]


def test_no_live_reference_is_hidden_by_a_field_of_its_name():
    assert not LIVE.keys() & FIELDS.keys()
    for name in ("clusters", "objective", "w"):
        with pytest.raises(ValueError, match=f"'{name}' has the name of a field"):
            Iterate(0, live={name: object()})


def test_a_solver_with_another_kind_of_reference_needs_a_probe_and_nothing_else(problem):
    @dataclass(frozen=True)
    class Bundling(solvers.Solver):
        id, name, summary = "bundling", "Bundling", "for tests"

        def iterate(self, problem, w0=None):
            planes = []
            for n in range(4):
                planes.append(np.full(2, float(n)))
                yield Iterate.at(problem.at(), n, live={"bundle": planes})

    def planes(iterate):
        bundle = iterate.live.get("bundle")
        return None if bundle is None else {"planes": np.array(bundle)}

    trace = solvers.solve(problem, Bundling(), max_iter=10, probes=(Probe("bundle", planes),))
    assert [len(seen["planes"]) for _, seen in trace.probes.entries("bundle")] == [1, 2, 3, 4]
