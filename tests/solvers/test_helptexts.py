"""What a notebook and ``help`` say of the objects that users meet."""

import inspect
import pydoc
from operator import methodcaller

import pytest

from solverscope import datasets, solvers

in_notebook = methodcaller("_repr_html_")


@pytest.fixture(scope="module")
def problem():
    return solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.01)


@pytest.mark.parametrize(
    ("thing", "names"),
    [
        (solvers.Point, ["objective, loss, penalty", "residual", "smooth_part", "w"]),
        (solvers.Problem, ["X, y", "lam, lam_max", "penalty", "passes", "size"]),
        (solvers.Trace, ["exception", "info", "status, message", "w"]),
        (solvers.Run, ["here", "stopping", "trace"]),
        (solvers.Search, ["trials, allowed, slopes"]),
        (solvers.Trait, [trait.name for trait in solvers.Trait]),
        (solvers.LIVE, list(solvers.LIVE)),
    ],
    ids=lambda thing: getattr(thing, "__name__", ""),
)
def test_help_lists_the_attributes(thing, names):
    said = pydoc.plain(pydoc.render_doc(thing))
    _, _, listed = inspect.getdoc(thing).partition("Attributes\n----------\n")
    lines = listed.splitlines()
    for name in names:
        assert any(line.split(" :")[0] == name for line in lines), name
    assert lines[0].strip() in said


def test_objects_say_what_they_are(problem):
    about = "breast-cancer: 456 instances, 30 weights, logistic with l1, λ = 0.01"
    run = solvers.Run(problem, solvers.make_solver("prox-qn"), stopping=solvers.Stopping(max_iter=2))
    assert repr(problem) == f"<Problem {about}>"
    assert repr(run) == f"<Run prox-qn: queued; {about}>"
    trace = run.execute()
    reached = f"f = {trace.objective[-1]:.9g}, {trace.nnz[-1]} non-zeros"
    assert repr(trace) == f"<Trace prox-qn: max-iter at iteration 2, {reached}>"
    assert repr(problem.at()).startswith("<Point: f = 0.693147181 on <Problem breast-cancer")
    assert repr(solvers.Trace()) == "<Trace run: queued>"


def test_a_notebook_shows_them_as_tables(problem):
    trace = solvers.solve(problem, "owl-qn", label="<mine>", max_iter=1)
    for thing in (problem, trace, solvers.Run(problem, solvers.make_solver("owl-qn")), solvers.Trace()):
        assert in_notebook(thing).startswith("<table><caption")
    said = in_notebook(trace)
    assert "&lt;mine&gt;: max-iter at iteration 1" in said
    assert '<th style="text-align:left">L-BFGS pairs held</th>' in said
