"""A descent is made of values: any direction, search and stop that have the same form."""

import itertools

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers import Ending
from solverscope.solvers.methods.descent.loop import Descent, each
from solverscope.solvers.methods.descent.progress import Progress
from solverscope.solvers.methods.descent.rules import (
    Armijo,
    DirectionFinding,
    Exact,
    NonsmoothStop,
    SmoothStop,
    Subgradients,
    Wolfe,
    one_subgradient,
)
from solverscope.solvers.parts.direction import Direction
from solverscope.solvers.parts.inverse import DenseInverse, Identity
from solverscope.solvers.parts.linesearch import Found, Search, unsearched
from solverscope.solvers.parts.memory import PairMemory
from tests.solvers.helpers import binary, multiclass


def smooth():
    return solvers.make_problem(binary(), penalty="l2", lam=1e-2)


def hinge():
    return solvers.make_problem(multiclass(), loss="multiclass-hinge", penalty="l2", lam=0.05)


def outcome(generator, ended):
    """What a generator yields; what it returns is added to ``ended``."""
    ended.append((yield from generator))


def visited(problem, descent, B, n=12):
    """Weights at the first visits, and what the last of them is."""
    visits = descent.visits(problem.at(), B, Progress(problem.penalty.ridge))
    weights = []
    for visit in itertools.islice(visits, n):
        weights.append(visit.here.point.w.copy())
    return weights, visit


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
    visits = descent.visits(problem.at(), DenseInverse(problem.size, h=1e-8), Progress(0.05))
    values = [visit.here.point.objective for visit in itertools.islice(visits, 15)]
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
        return line.armijo(line.slope(), beta=0.5, sigma=0.0)._replace(kind="fixed")

    problem = smooth()
    visits = Descent(largest_entry, fixed, AfterThree()).visits(problem.at(), Identity(), Progress(0.0))
    values, kinds = [], []

    def record(visit):
        values.append(visit.here.point.objective)
        kinds.append(visit.found and visit.found.kind)
        return visit

    ended = []
    list(outcome(each(visits, record), ended))
    assert ended == [Ending("stopped", "three")]
    assert values == sorted(values, reverse=True)
    assert set(kinds[1:]) == {"fixed"}


def test_a_step_of_length_one_is_taken_once_and_from_zero_alone():
    problem = hinge()
    descent = Descent(one_subgradient, Wolfe(), NonsmoothStop(), unit_first_step=True)
    visits = descent.visits(problem.at(), Identity(), Progress(0.05))
    next(visits)
    assert next(visits).found.kind == unsearched(None).kind
    w = np.random.default_rng(0).normal(size=problem.size)
    elsewhere = descent.visits(problem.at(w), Identity(), Progress(0.05))
    next(elsewhere)
    assert next(elsewhere).found.kind == "wolfe"


def test_where_no_step_is_found_the_pairs_are_given_up_and_the_gradient_is_tried():
    problem, B, searched = smooth(), PairMemory(5), []

    def fails_the_third_time(line, first):
        searched.append(line.d.copy())
        if len(searched) == 3:
            return Found(line.point, 0.0, Search(line.point.objective, line.d), 7)
        return line.armijo(line.slope(), beta=0.5, sigma=1e-4)

    descent = Descent(one_subgradient, fails_the_third_time, SmoothStop(), restarts=True)
    visits = list(itertools.islice(descent.visits(problem.at(), B, Progress(1e-2)), 4))
    assert len(searched) == 4
    np.testing.assert_array_equal(searched[3], -visits[2].here.g)
    assert visits[3].events == ("memory-cleared",)
    assert visits[3].found.trials > 7
    assert len(B) == 1
