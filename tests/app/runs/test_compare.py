"""What differs between two runs: settings, and how they end."""

from __future__ import annotations

import pytest

from solverscope import solvers
from solverscope.app.runs.archive import Archive, ArchiveLimits
from solverscope.app.runs.compare import Difference, differing_ends, differing_settings, options


@pytest.fixture
def archive():
    archive = Archive(None, ArchiveLimits(100, 1 << 30))
    yield archive
    archive.close()


def entered(archive, problem, setting="", **params):
    solver = solvers.make_solver("prox-qn", **params)
    trace = solvers.Run(problem, solver, stopping=solvers.Stopping(tol=1e-6)).execute()
    id = archive.enter(trace, setting=setting)
    return archive.run(id), archive.trace(id)


def test_another_memory_is_what_differs(archive, small_problem):
    a, b = entered(archive, small_problem), entered(archive, small_problem, memory=2)
    assert differing_settings(a[0], b[0]) == [Difference("solver: pairs kept m", "auto", 2)]
    named = {end.what: (end.left, end.right) for end in differing_ends(a, b)}
    assert named["objective"] == (a[0].result["objective"], b[0].result["objective"])


def test_the_same_run_twice_differs_in_times_alone(archive, small_problem):
    a, b = entered(archive, small_problem), entered(archive, small_problem)
    assert differing_settings(a[0], b[0]) == []
    assert {end.what for end in differing_ends(a, b)} <= {"cpu_seconds"}


def test_problems_and_limits_are_settings_too(archive, small_problem):
    other = small_problem.at_lam(0.5)
    a = entered(archive, small_problem, "tol=1e-06&max_seconds=120")
    b = entered(archive, other, "tol=0.001&max_seconds=120")
    assert differing_settings(a[0], b[0]) == [
        Difference("λ", small_problem.lam, 0.5),
        Difference("relative violation ε", "1e-06", "0.001"),
    ]


def test_options_are_those_that_were_given_or_else_those_that_are_not_the_defaults(archive, small_problem):
    given = entered(archive, small_problem, "solvers=mine%3Dprox-qn%2Cmemory%3D7", memory=7, max_inner=5)
    assert options(given[0]) == {"memory": 7}
    unknown = entered(archive, small_problem, "solvers=nobody", memory=7)
    assert options(unknown[0]) == {"memory": 7}
    imported = entered(archive, small_problem, memory=7)
    assert options(imported[0]) == {"memory": 7}


def test_a_change_of_lambda_on_the_way_is_a_difference(archive, small_problem):
    a = entered(archive, small_problem)
    run = solvers.Run(small_problem, solvers.make_solver("prox-qn"), stopping=solvers.Stopping(tol=1e-6))
    run.set_lam(0.5)
    id = archive.enter(run.execute())
    kept, trace = archive.run(id), archive.trace(id)
    assert differing_settings(a[0], kept) == [Difference("λ from iteration 1", None, 0.5)]
    assert [segment.lam for segment in solvers.segments(trace)] == [small_problem.lam, 0.5]
