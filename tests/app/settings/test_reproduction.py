"""Runs are done again, with the same iterates, by the lines and by the Python that the page offers."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.settings.reproduction import commands, experiments, snippet
from solverscope.solvers.traces.reading import read
from tests.solvers.helpers import Dial

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
    "factors": ({"data": "digits", "seed": 0}, {"penalty_factors": "pixel (3, 5)=0.5,2=3"}, "prox-qn", {}),
    "adaptive": ({"data": "diabetes", "seed": 0}, {"penalty_factors": "adaptive"}, "newton-cd", {}),
    "no λ": ({"data": "toy-wolfe", "seed": 0, "start": "1,-0.5"}, {}, "bfgs", {}),
}


def make(name):
    data, problem, solver, params = RUNS[name]
    data = dict(data)
    problem = solvers.make_problem(datasets.load(data.pop("data"), **data), **problem)
    return problem, solvers.make_solver(solver, **params)


def executed(problem, solver, *, label="a, b", upto=6, **how):
    stopping = solvers.Stopping(max_iter=upto)
    return solvers.Run(problem, solver, label=label, stopping=stopping, **how).execute()


def branched(old, at, problem, solver, **how):
    return executed(problem, solver, origin=solvers.origin_of(old, at), **how)


@pytest.fixture(params=RUNS)
def trace(request):
    return executed(*make(request.param))


@pytest.fixture(scope="module")
def race():
    """All that a page can have: a run, one whose λ was changed twice, one on other data, and branches of
    the second: by the same solver, by another one after the change, and a branch of that, turned as well."""
    problem, solver = make("defaults")
    other = solvers.make_solver("owl-qn", memory=3)
    plain = executed(problem, solver, label="plain")
    turned = executed(problem, solver, label="turned #3", upto=12, gate=Dial({3: 0.002, 7: 0.03}))
    same = branched(turned, 2, problem, solver, label="turned from 2")
    second = branched(turned, 6, problem.at_lam(0.002), other, label="owl", upto=10, gate=Dial({8: 0.004}))
    third = branched(second, 10, problem.at_lam(0.004), solver, label="qn from 10", upto=13)
    return [plain, turned, same, executed(*make("options")), second, third]


def test_factors_that_a_record_does_not_hold_are_not_said_to_be_repeated():
    data = datasets.load("diabetes")
    problem = solvers.make_problem(data, lam=0.1, penalty_factors=np.full(10, 2.0))
    trace = executed(problem, solvers.make_solver("newton-cd"), label="mine")
    assert "# mine has penalty factors that its record does not hold." in commands([trace])


def again(text, folder, monkeypatch, command):
    """The last run that each line of the command line has, and the problem that it is on."""
    monkeypatch.chdir(folder)
    found = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        words = shlex.split(line)
        out = [] if "--out" in words else ["--out", "found.jsonl"]
        answer = command(*words[1:], *out)
        assert answer.status == 0, answer.err
        found += [] if not out else read("found.jsonl")
    return found


def same(new, old):
    np.testing.assert_array_equal(new.iteration, old.iteration)
    np.testing.assert_array_equal(new.objective, old.objective)
    assert [s[:4] for s in map(about, solvers.segments(new))] == [
        s[:4] for s in map(about, solvers.segments(old))
    ]


def about(segment):
    return segment.first, segment.lam, segment.key


def test_the_command_line_has_the_same_iterates(trace, command, tmp_path, monkeypatch):
    (new,) = again(commands([trace]), tmp_path, monkeypatch, command)
    same(new, trace)


def test_the_snippet_has_the_same_iterates(trace):
    names = {}
    exec(compile(snippet([trace]), "snippet", "exec"), names)
    np.testing.assert_array_equal(names["trace"].objective, trace.objective)
    np.testing.assert_array_equal(names["trace"].w, trace.w)
    assert names["problem"].key == trace.info.problem["key"]


def test_all_runs_have_the_same_iterates_by_the_command_line_turned_and_branched(
    race, command, tmp_path, monkeypatch
):
    text = commands(race)
    assert "--lam-at 4=0.002 --lam-at 8=0.03" in text
    assert text.count(" --out ") == 3, "what two branches leave is run once"
    for new, old in zip(again(text, tmp_path, monkeypatch, command), race, strict=True):
        same(new, old)
        assert new.info.params == old.info.params


def test_all_runs_have_the_same_iterates_by_the_snippet(race):
    names = {}
    exec(compile(snippet(race), "snippet", "exec"), names)
    assert list(names["traces"]) == [trace.info.label for trace in race]
    for old in race:
        same(names["traces"][old.info.label], old)


def test_what_cannot_be_done_again_is_said_in_a_comment_beside_what_can(trace):
    assert experiments(trace)

    def changed(**record):
        columns = {"iteration": [0, 1], "objective": [2.0, 1.0]}
        return solvers.Trace.from_columns(columns, {**trace.info.record(), **record})

    lost = {
        "says what it comes from": changed(**{"from": {"label": "a", "iteration": 3}}),
        "plugin": changed(solver="mine"),
        "did not start where": changed(warm=True),
        "no iterate": solvers.Trace(trace.info),
    }
    for reason, one in lost.items():
        for text in (commands([trace, one]), snippet([trace, one])):
            (said,) = (line for line in text.splitlines() if reason in line)
            assert said.startswith("# ")
    assert commands([trace, *lost.values()]).count("solverscope run") == 1


def test_a_file_of_ones_own_is_named_and_where_to_start_is_said(tmp_path, monkeypatch, command):
    (tmp_path / "mine.svm").write_text("1 1:0.5 3:2\n-1 2:1\n" * 20)
    monkeypatch.chdir(tmp_path)
    problem = solvers.make_problem(datasets.load("svmlight:mine.svm"), lam=0.01)
    trace = executed(problem, solvers.make_solver("prox-qn"))
    assert "# mine.svm is a file of your own: start this in its folder." in commands([trace])
    (new,) = again(commands([trace]), tmp_path, monkeypatch, command)
    same(new, trace)


def test_a_solver_of_a_plug_in_is_said_to_need_it(registries):
    @solvers.register
    @dataclass(frozen=True)
    class Mine(type(solvers.make_solver("prox-gd"))):
        id, name, summary = "mine", "Mine", "as prox-gd"

    trace = executed(make("defaults")[0], Mine())
    for text in (commands([trace]), snippet([trace])):
        assert "# mine is from a plug-in: add --plugin FILE, in Python import it." in text
