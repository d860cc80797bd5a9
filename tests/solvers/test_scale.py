"""Nothing hangs on the unit of the features: X times c, λ times c and w over c are the same problem."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.linalg.arrays import LARGEST_ENTRY
from tests.solvers.helpers import HOUSE, MAKERS, binary, dense_of, losses_with
from tests.solvers.oracles import Oracle
from tests.solvers.smooth_programs import minimum

#: 2^-27, about 7e-9: products with it are exact.
UNIT = 0.5**27

#: What is measured in units of the features besides, for a fair comparison.
STEPS = {"fobos": {"eta0": 0.1}, "sgd-l1": {"eta0": 0.01}}
#: Losses with which every solver is tried in the quick tests too.
QUICK = ("logistic", "binary-hinge")
PAIRS = [
    ("multiclass", "multiclass-squared-hinge", "l1-l2"),
    ("multiclass", "multiclass-logistic", "l1"),
    ("binary", "logistic", "l1"),
]


def twins(kind, loss, penalty, unit=UNIT, ratio=0.1):
    data = MAKERS[kind]()
    small = replace(data, train=replace(data.train, X=data.train.X * unit))
    problem = solvers.make_problem(data, loss=loss, penalty=penalty, lam_ratio=ratio)
    return problem, solvers.make_problem(small, loss=loss, penalty=penalty, lam=problem.lam * unit)


def fitting():
    return [(id, *pair) for pair in PAIRS for id in solvers.compatible(pair[1], pair[2]) if id in HOUSE]


@pytest.mark.parametrize(("id", "kind", "loss", "penalty"), fitting())
def test_features_of_another_unit_give_the_same_iterates_in_theirs(id, kind, loss, penalty):
    one, other = twins(kind, loss, penalty)
    made = STEPS.get(id, {})
    rescaled = {name: value / UNIT**2 for name, value in made.items()}
    if id in ("owl-qn", "owl-qn-star"):
        pytest.skip("its first step has length one whatever the unit, as in the authors' program")
    ours = solvers.make_solver(id, **made).iterate(one)
    theirs = solvers.make_solver(id, **rescaled).iterate(other)
    for a, b in itertools.islice(zip(ours, theirs, strict=False), 8):
        np.testing.assert_allclose(b.w * UNIT, a.w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("id", ["owl-qn", "crf-bcd", "fobos", "sgd-l1"])
def test_solvers_left_to_their_defaults_reach_the_same_optimum(id):
    one, other = twins("binary", "logistic", "l1")
    best = solvers.solve(one, solvers.make_solver("fista-ls"), tol=1e-8).result["objective"]
    rough = id in ("fobos", "sgd-l1")
    found = solvers.solve(other, solvers.make_solver(id), tol=None if rough else 1e-6, max_iter=200)
    at_zero = one.at().objective
    assert found.result["objective"] - best <= (0.05 if rough else 1e-6) * (at_zero - best)
    assert found.result["nnz"] > 0


@pytest.mark.parametrize("id", ["fista-ls", "prox-gd", "sparsa"])
def test_a_warm_start_with_small_features_measures_its_first_step_too(id):
    one, other = twins("binary", "logistic", "l1")
    w0 = solvers.solve(one.at_lam(2.0 * one.lam), solvers.make_solver("prox-gd"), tol=1e-3).w
    ours = solvers.solve(one, solvers.make_solver(id), max_iter=30, w0=w0)
    theirs = solvers.solve(other, solvers.make_solver(id), max_iter=30, w0=w0 / UNIT)
    np.testing.assert_allclose(theirs.w * UNIT, ours.w, rtol=1e-6, atol=1e-9)


@pytest.fixture(scope="module", params=["l1", "l2"])
def straight(request):
    """A hinge with a parabola, which is straight around w = 0, and its least f by a convex program."""
    data = binary(density=1.0)
    oracle = Oracle(data, "smoothed-binary-hinge", request.param, 0.02, True)
    return data, request.param, oracle.objective(minimum(oracle))


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_where_the_loss_is_straight_at_the_start_no_first_step_depends_on_the_unit(straight, unit):
    """No second derivative says there how long it may be."""
    data, penalty, least = straight
    lam = 0.02 * (unit if penalty == "l1" else unit**2)
    scaled = replace(data, train=replace(data.train, X=unit * data.train.X))
    problem = solvers.make_problem(scaled, loss="smoothed-binary-hinge", penalty=penalty, lam=lam)
    zero = problem.at().objective
    fitting = set(solvers.compatible("smoothed-binary-hinge", penalty)) & set(HOUSE)
    # as printed γ is 1 at first: too long a step is found out, one too short is not
    made = {id: solvers.make_solver(id) for id in sorted(fitting)}
    if unit > 1.0:
        made["prox-qn as printed"] = solvers.make_solver("prox-qn", preset="paper")
    for id, solver in made.items():
        trace = solvers.solve(problem, solver, tol=1e-6, max_iter=300)
        excess = (trace.result["objective"] - least) / (zero - least)
        assert excess <= (0.01 if id in ("fobos", "sgd-l1", "ftrl") else 1e-4), (id, trace.message)


def pairs_of_all():
    """Each loss with each of our solvers that takes it, and the first penalty that both take."""
    pairs = {}
    for (kind, loss), penalty in itertools.product(losses_with(), ("l1", "l2")):
        for id in sorted({*solvers.compatible(loss, penalty)} & {*HOUSE}):
            slow = [] if loss in QUICK else [pytest.mark.slow]
            pairs.setdefault((id, kind, loss), pytest.param(id, kind, loss, penalty, marks=slow))
    return list(pairs.values())


#: Losses of which η₀ of FOBOS, chosen on a few samples, leaves w at zero: one that does not, for a unit of 1.
GIVEN_STEPS = {("fobos", "quantile"): 0.5, ("fobos", "epsilon-insensitive"): 0.5}
#: Those that choose η₀ among powers of two, of which a unit of 1e12 is none, and end where it leads.
BY_CHOSEN_STEP = {("sgd-l1", "quantile"), ("relay", "quantile")}


@pytest.mark.parametrize(("id", "kind", "loss", "penalty"), pairs_of_all())
def test_the_largest_features_that_are_taken_make_no_solver_stop_early(id, kind, loss, penalty):
    data = MAKERS[kind](n=30, d=5)
    X = dense_of(data.train.X)
    X = X / np.abs(X).max()

    def solved(unit):
        lam = 0.01 * (unit**2 if penalty == "l2" else unit)
        features = replace(data, train=replace(data.train, X=X * unit))
        problem = solvers.make_problem(features, loss=loss, penalty=penalty, lam=lam, average=True)
        eta0 = GIVEN_STEPS.get((id, loss))
        solver = solvers.make_solver(id, **({} if eta0 is None else {"eta0": eta0 / unit**2}))
        return problem.at().objective, solvers.solve(problem, solver, max_iter=100, max_seconds=5.0).result

    # transitions have no unit: a penalty for features of a thousand leaves none of them
    (at_zero, usual), (_, found) = solved(1e3 if kind == "sequences" else 1.0), solved(LARGEST_ENTRY)
    fallen = at_zero - usual["objective"]
    assert fallen > 0.0
    assert found["status"] != "failed"
    share = 0.05 if (id, loss) in BY_CHOSEN_STEP else 0.02
    assert found["objective"] <= usual["objective"] + share * fallen
