"""A descent is made of values: any direction, search and stop that have the same form."""

import itertools

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers import Ending
from solverscope.solvers.curvature.direction import Direction
from solverscope.solvers.curvature.inverse import DenseInverse, Identity
from solverscope.solvers.curvature.memory import PairMemory
from solverscope.solvers.methods.descent.loop import Descent, record_iterates
from solverscope.solvers.methods.descent.progress import DescentProgress
from solverscope.solvers.methods.descent.rules import (
    DirectionFinding,
    NonsmoothStop,
    SmoothStop,
    Subgradients,
    one_subgradient,
)
from solverscope.solvers.search.line_search import Armijo, Exact, Wolfe
from solverscope.solvers.search.outcome import SearchLog, SearchResult, without_search
from tests.solvers.helpers import binary, multiclass


def smooth():
    return solvers.make_problem(binary(), penalty="l2", lam=1e-2)


def hinge():
    return solvers.make_problem(multiclass(), loss="multiclass-hinge", penalty="l2", lam=0.05)


def outcome(generator, ended):
    """What a generator yields; what it returns is added to ``ended``."""
    ended.append((yield from generator))


def visited(problem, descent, B, n=12):
    """Weights at the first iterates, and what the last of them is."""
    iterates = descent.iterates(problem.at(), B, DescentProgress(problem.penalty.ridge))
    weights = []
    for iterate in itertools.islice(iterates, n):
        weights.append(iterate.here.point.w.copy())
    return weights, iterate


@pytest.mark.parametrize(
    ("id", "make", "descent", "inverse"),
    [
        (
            "lbfgs",
            smooth,
            Descent(one_subgradient, Wolfe(), SmoothStop(), restarts=True),
            lambda problem: PairMemory(15),
        ),
        (
            "sublbfgs",
            hinge,
            Descent(DirectionFinding(), Exact(), NonsmoothStop(), Subgradients(random_at_zero=True)),
            lambda problem: PairMemory(15, h=1e-8),
        ),
        (
            "gd",
            hinge,
            Descent(
                one_subgradient, Exact(), NonsmoothStop(), Subgradients(random=True), unit_first_step=True
            ),
            lambda problem: Identity(),
        ),
    ],
)
def test_a_solver_is_a_composition_that_can_be_made_by_hand(id, make, descent, inverse):
    problem = make()
    own = [it.w.copy() for it in itertools.islice(solvers.make_solver(id).iterate(problem), 12)]
    by_hand, _ = visited(problem, descent, inverse(problem))
    assert len(own) == len(by_hand) > 3
    for w, other in zip(own, by_hand, strict=True):
        np.testing.assert_array_equal(w, other)


def test_a_composition_that_no_solver_has_descends():
    """Algorithm 2 with a full matrix, by Armijo's rule."""
    problem = hinge()
    descent = Descent(DirectionFinding(), Armijo(), NonsmoothStop())
    iterates = descent.iterates(problem.at(), DenseInverse(problem.size, h=1e-8), DescentProgress(0.05))
    values = [iterate.here.point.objective for iterate in itertools.islice(iterates, 15)]
    assert len(values) > 8
    assert values == sorted(values, reverse=True)


def test_each_part_can_be_ones_own():
    """Coordinate descent with a fixed step, until three steps are taken."""

    def largest_entry(here, B, start):
        p = np.zeros(here.g.size)
        j = int(np.abs(here.g).argmax())
        p[j] = -here.g[j]
        return Direction(p, here.g, least=float(here.g @ here.g))

    class AfterThree:
        def ending(self, here, p, progress):
            return Ending("stopped", "three") if np.count_nonzero(here.point.w) >= 3 else None

        def no_step(self, found):
            raise AssertionError("a step without a search is always found")

    def fixed(line, first):
        return line.armijo(line.slope(), Armijo(sigma=0.0))._replace(kind="fixed")

    problem = smooth()
    iterates = Descent(largest_entry, fixed, AfterThree()).iterates(
        problem.at(), Identity(), DescentProgress(0.0)
    )
    values, kinds = [], []

    def record(iterate):
        values.append(iterate.here.point.objective)
        kinds.append(iterate.found and iterate.found.kind)
        return iterate

    ended = []
    list(outcome(record_iterates(iterates, record), ended))
    assert ended == [Ending("stopped", "three")]
    assert values == sorted(values, reverse=True)
    assert set(kinds[1:]) == {"fixed"}


def test_a_step_of_length_one_is_taken_once_and_from_zero_alone():
    problem = hinge()
    descent = Descent(one_subgradient, Wolfe(), NonsmoothStop(), unit_first_step=True)
    iterates = descent.iterates(problem.at(), Identity(), DescentProgress(0.05))
    next(iterates)
    assert next(iterates).found.kind == without_search(None).kind
    w = np.random.default_rng(0).normal(size=problem.size)
    elsewhere = descent.iterates(problem.at(w), Identity(), DescentProgress(0.05))
    next(elsewhere)
    assert next(elsewhere).found.kind == "wolfe"


def test_where_no_step_is_found_the_pairs_are_given_up_and_the_gradient_is_tried():
    problem, B, searched = smooth(), PairMemory(5), []

    def fails_the_third_time(line, first):
        searched.append(line.d.copy())
        if len(searched) == 3:
            return SearchResult(line.point, 0.0, SearchLog(line.point.objective, line.d), 7)
        return line.armijo(line.slope(), Armijo())

    descent = Descent(one_subgradient, fails_the_third_time, SmoothStop(), restarts=True)
    iterates = list(itertools.islice(descent.iterates(problem.at(), B, DescentProgress(1e-2)), 4))
    assert len(searched) == 4
    np.testing.assert_array_equal(searched[3], -iterates[2].here.g)
    assert iterates[3].events == ("memory-cleared",)
    assert iterates[3].found.trials > 7
    assert len(B) == 1
