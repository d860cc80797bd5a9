"""A run is done again, with the same iterates, by the line and by the Python that the page offers."""

from __future__ import annotations

import shlex

import numpy as np
import pytest

import datasets
import solvers
from app.settings.reproduction import command as line_of
from app.settings.reproduction import snippet, why_not

RUNS = {
    "defaults": ({"data": "breast-cancer", "seed": 0}, {"lam": 0.01}, "prox-qn", {}),
    "options": (
        {"data": "digits", "seed": 3, "positive": "3", "split": "random"},
        {"penalty": "elastic-net", "penalty_params": {"rho": 0.9}, "lam": 0.1 + 0.2, "average": False},
        "owl-qn",
        {"memory": 5},
    ),
    "random": ({"data": "breast-cancer", "seed": 5}, {"penalty": "l1"}, "sgd-l1", {}),
    "preset": ({"data": "digits", "seed": 0}, {"penalty": "l1-l2"}, "bcd-ls", {"preset": "paper"}),
    "no λ": ({"data": "toy-wolfe", "seed": 0, "start": "1,-0.5"}, {}, "bfgs", {}),
}


@pytest.fixture(params=RUNS)
def trace(request):
    data, problem, solver, params = RUNS[request.param]
    data = dict(data)
    made = solvers.make_problem(datasets.load(data.pop("data"), **data), **problem)
    run = solvers.Run(
        made, solvers.make_solver(solver, **params), label="a, b", stopping=solvers.Stopping(max_iter=6)
    )
    return run.execute()


def test_the_command_line_has_the_same_iterates(trace, command):
    answer = command(*shlex.split(line_of(trace))[1:], "--json")
    assert answer.status == 0, answer.err
    records = answer.records
    assert records[0]["key"] == trace.info["problem"]["key"]
    again = [record["objective"] for record in records if record["type"] == "iterate"]
    assert again == trace.objective.tolist()


def test_the_snippet_has_the_same_iterates(trace):
    names = {}
    exec(compile(snippet(trace), "snippet", "exec"), names)
    np.testing.assert_array_equal(names["trace"].objective, trace.objective)
    np.testing.assert_array_equal(names["trace"].w, trace.w)
    assert names["problem"].key == trace.info["problem"]["key"]


def test_what_cannot_be_done_again_is_said_in_a_sentence(trace):
    assert why_not(trace) is None
    branch = solvers.Trace({**trace.info, "from": {"label": "a", "iteration": 3}})
    assert "--from FILE@3" in why_not(branch)
    assert "λ was changed" in why_not(solvers.Trace({**trace.info, "lams": [{"iteration": 3, "lam": 0.5}]}))
    assert "plugin" in why_not(solvers.Trace({**trace.info, "solver": "mine"}))
    assert "weights" in why_not(solvers.Trace({**trace.info, "warm": True}))
    assert "no iterate" in why_not(solvers.Trace(trace.info))
