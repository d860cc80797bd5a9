"""Every solver on every problem that the registry calls compatible: where the loss is smooth, against one
optimality condition; where it has kinks, against the least value that another program finds."""

import dataclasses
import functools
import itertools
from pathlib import Path

import numpy as np
import pytest

from solverscope import solvers
from solverscope.app.plugins import load_file
from tests.solvers.convex import Program
from tests.solvers.helpers import MAKERS, dense_of
from tests.solvers.oracles import Oracle

PLUGIN = Path(__file__).resolve().parents[1] / "app" / "hinge_plugin.py"
#: λ of problems whose optimum all solvers reach in a second or so; ratio to λ_max for sparse penalties.
#: The ridge goes with the average over instances, whatever the convention of the loss.
RATIO, RIDGE = 0.05, 0.01
TOL = 1e-6
#: Solvers that only come near an optimum, the passes they get for it, and how near: (f - f*)/|f*|.
NEAR = {
    **{
        "sgd-l1": (1000, 0.01),
        "ftrl": (1000, 0.01),
        "fobos": (200, 0.08),
        "gd": (300, 0.01),
        "subgd": (300, 0.01),
        "sklearn-sgd": (500, 0.05),
    },
    **{"owl-qn-star": (500, 1e-3), "bmrm": (400, 1e-4), "ls-bmrm": (150, 1e-4), "ocas": (150, 1e-4)},
    "level-bundle": (400, 1e-4),
}
#: The step that FOBOS would choose on a few noisy held-out instances is far too short for its 200 passes.
#: At w = 0 all labels tie, and no step of these two leads downwards from there.
PARAMS = {
    "fobos": {"eta0": 0.5},
    "ftrl": {"batch": 1},
    "bfgs": {"first_step": "unit"},
    "lbfgs": {"first_step": "unit"},
    "sklearn-sgd": {"schedule": "invscaling", "eta0": 0.2},
}

#: Solvers of losses with kinks: how far from the minimum they may end after 3 CPU seconds, (f - f*)/f*.
#: Those that go by one subgradient break at a kink on the way.
KINKED = {
    **{
        "dual-cd": 1e-7,
        "bmrm": 1e-5,
        "ls-bmrm": 1e-5,
        "ocas": 1e-5,
        "level-bundle": 1e-5,
        "sgd-l1": 0.01,
        "ftrl": 0.02,
        "fobos": 0.08,
        "sklearn-linear-svc": 1e-5,
        "sklearn-quantile": 1e-8,
        "sklearn-sgd": 0.05,
    },
    **{"gd": 0.1, "subgd": 0.1, "bfgs": 0.15, "lbfgs": 0.15, "subbfgs": 1e-3, "sublbfgs": 0.01},
}

#: Where the minimum is next to w = 0, a pass at any step ends above f(0), and SGD tunes its step to nothing.
KINKED_PARAMS = PARAMS | {"sgd-l1": {"eta0": 1.0}}

ALL = [
    (kind, loss, penalty, storage)
    for kind in MAKERS
    for loss in solvers.losses_for(kind)
    for penalty in solvers.PENALTIES
    for storage in ("dense", "binary")
]
SMOOTH = [problem for problem in ALL if solvers.Trait.SMOOTH in solvers.LOSSES[problem[1]].traits]


def pairs_of(problems, *, uniform=True):
    """Return (solver, *problem) for all solvers that the registry calls compatible, but the relay, which is
    made of others, and SciPy's Newton-CG without a ridge, which gives up where the Hessian is singular.

    Without ``uniform`` the problems have an intercept and penalty factors, and so no ridge on all weights."""
    return [
        (s, *p)
        for p in problems
        for s in solvers.compatible(loss=p[1], penalty=p[2], uniform=uniform)
        if s != "relay" and (s != "scipy-newton-cg" or (uniform and p[2] != "none"))
    ]


def facets(pair):
    """Two choices at a time: the loss goes with the kind of labels."""
    solver, kind, loss, penalty, storage = pair
    return set(itertools.combinations((solver, (kind, loss), penalty, storage), 2))


def covering(pairs):
    """Few of the pairs, in which any two choices that go together are seen together: always one that shows
    the most that is new, the first of these in a random order."""
    in_turn = np.random.default_rng(0).permutation(np.array(pairs, dtype=object))
    left = [(pair, facets(pair)) for pair in in_turn]
    unseen, chosen = set().union(*(found for _, found in left)), []
    while unseen:
        pair, found = max(left, key=lambda entry: len(entry[1] & unseen))
        chosen.append(tuple(pair))
        unseen -= found
    return sorted(chosen)


ALL_PAIRS = pairs_of(ALL)
PAIRS = covering(pairs_of(SMOOTH))
KINKED_PAIRS = covering(pairs_of([problem for problem in ALL if problem not in SMOOTH]))
PENALISED = [p for p in ALL if p[0] != "function" and solvers.PENALTIES[p[2]].takes_lam]
#: Methods of gradients alone take more than 20,000 iterations on these with an intercept.
TOO_LONG = set(itertools.product(("fista-ls", "fista-cst", "prox-gd"), ("chain-crf", "tree-softmax")))
FACTOR_PAIRS = covering(
    [
        p
        for p in pairs_of([p for p in PENALISED if p in SMOOTH], uniform=False)
        if (p[0], p[2]) not in TOO_LONG
    ]
)
KINKED_FACTOR_PAIRS = covering(pairs_of([p for p in PENALISED if p not in SMOOTH], uniform=False))


@functools.cache
def setting(kind, loss, penalty, storage, factors=False):
    """A small problem that has an optimum (labels are not separable), and its formula in NumPy, or as a
    convex program where the loss has kinks. With ``factors`` it has penalty factors, two of them 0, and an
    intercept, which the formula knows as a feature of ones."""
    data = MAKERS[kind](storage=storage)
    v, given = None, {}
    if factors:
        v = np.random.default_rng(7).uniform(0.2, 2.0, data.train.X.shape[1])
        v[1] = 0.0
        given = {"intercept": True, "penalty_factors": v}
    smooth = solvers.Trait.SMOOTH in solvers.LOSSES[loss].traits
    sparse, ridge = solvers.PENALTIES[penalty].sparse, penalty == "l2"
    problem = solvers.make_problem(
        data,
        loss=loss,
        penalty=penalty,
        average=True if ridge else None,
        lam=RIDGE if ridge or (sparse and not smooth) else None,
        lam_ratio=RATIO if sparse and smooth else None,
        **given,
    )
    formula = Oracle if smooth else Program
    if factors:
        ones = np.ones((data.train.X.shape[0], 1))
        part = dataclasses.replace(data.train, X=np.hstack([dense_of(data.train.X), ones]))
        data = dataclasses.replace(data, train=part)
        n_tail = problem.design.n_tail
        v = np.concatenate([np.repeat(np.append(v, 0.0), problem.design.n_outputs), np.ones(n_tail)])
    return problem, formula(data, loss, penalty, problem.lam or 0.0, problem.average, v)


@functools.cache
def least(*problem):
    """The minimum of a problem with kinks in its loss, by another program."""
    return setting(*problem)[1].least()


@functools.cache
def answer(solver, *problem):
    f, _ = setting(*problem)
    most = NEAR.get(solver, (20_000, 0.0))[0]
    # a step that is right for hinges makes exp z overflow
    params = {} if problem[1] == "poisson" else PARAMS.get(solver, {})
    return solvers.solve(f, solvers.make_solver(solver, **params), tol=TOL, max_iter=most, max_seconds=60)


@functools.cache
def another(solver, *problem):
    """The objective at the answer of another solver that reaches an optimum."""
    fitting = solvers.compatible(loss=problem[1], penalty=problem[2])
    other = next(s for s in ("prox-qn", "lbfgs", "fista-ls", "sparsa") if s in fitting and s != solver)
    return setting(*problem)[1].objective(answer(other, *problem).w)


def test_few_pairs_show_any_two_choices_together():
    chosen = PAIRS + KINKED_PAIRS
    assert set().union(*map(facets, chosen)) == set().union(*map(facets, ALL_PAIRS))
    assert {pair[:3] for pair in chosen} == {pair[:3] for pair in ALL_PAIRS}, "each solver on each loss"
    assert len(chosen) < len(ALL_PAIRS) / 5


@pytest.mark.parametrize("pair", [p for p in PAIRS if p[0] not in NEAR], ids="/".join)
def test_the_answer_is_an_optimum_and_that_of_another_solver(pair):
    solver, *problem = pair
    trace = answer(solver, *problem)
    _, oracle = setting(*problem)
    objective = oracle.objective(trace.w)
    assert trace.status in ("converged", "stalled"), trace.message
    assert oracle.violation(trace.w) <= 1e-5 * oracle.violation(np.zeros(trace.w.size))
    assert trace.result["objective"] == pytest.approx(objective, rel=1e-11)
    assert trace.result["violation"] == pytest.approx(oracle.violation(trace.w), rel=1e-2, abs=1e-11)
    assert trace.result["nnz"] == np.count_nonzero(trace.w)
    assert objective == pytest.approx(another(solver, *problem), rel=1e-8)


@pytest.mark.parametrize("pair", [p for p in PAIRS if p[0] in NEAR], ids="/".join)
def test_solvers_without_an_end_come_near_the_optimum(pair):
    solver, *problem = pair
    trace = answer(solver, *problem)
    objective = setting(*problem)[1].objective(trace.w)
    assert trace.result["objective"] == pytest.approx(objective, rel=1e-10)
    assert -1e-9 <= solvers.relative_gap(objective, another(solver, *problem)) <= NEAR[solver][1]


@pytest.mark.parametrize("pair", KINKED_PAIRS, ids="/".join)
def test_solvers_of_losses_with_kinks_come_near_the_minimum_and_below_what_they_prove(pair):
    solver, *problem = pair
    f, program = setting(*problem)
    made = solvers.make_solver(solver, **KINKED_PARAMS.get(solver, {}))
    trace = solvers.solve(f, made, gap=KINKED[solver], f_star=least(*problem), max_seconds=60)
    assert trace.result["objective"] == pytest.approx(program.objective(trace.w), rel=1e-11)
    away = trace.result["objective"] - least(*problem)
    assert -1e-8 <= away / least(*problem) <= KINKED[solver]
    proved = trace.result["dual_gap"]
    assert (proved is not None) == (problem[2] != "none")
    assert proved is None or away <= proved + 1e-8 * least(*problem)


@pytest.mark.quick("newton-cd/", "owl-qn/", "anderson-bcd/", "sublbfgs/")
@pytest.mark.parametrize("pair", [p for p in FACTOR_PAIRS if p[0] not in NEAR], ids="/".join)
def test_with_an_intercept_and_penalty_factors_the_answer_is_an_optimum_too(pair):
    solver, *problem = pair
    f, oracle = setting(*problem, factors=True)
    trace = solvers.solve(f, solvers.make_solver(solver), tol=TOL, max_iter=20_000, max_seconds=60)
    first = oracle.violation(f.at().w)
    assert trace.status in ("converged", "stalled"), trace.message
    # a softmax is flat along the common shift of its intercepts: SciPy may go 1e8 far along it, where f has
    # eight digits less, and stalls a little above
    far = solver.startswith("scipy") and np.abs(trace.w).max() > 1e6
    assert oracle.violation(trace.w) <= (2e-5 if far else 1e-5) * first
    alike = 1e-10 if far else 1e-11
    assert trace.result["objective"] == pytest.approx(oracle.objective(trace.w), rel=alike)
    assert trace.result["violation"] == pytest.approx(oracle.violation(trace.w), rel=1e-2, abs=alike)
    proved = trace.result["dual_gap"]
    assert proved is None or proved <= 1e-3 * f.at().objective


@pytest.mark.parametrize("pair", KINKED_FACTOR_PAIRS, ids="/".join)
def test_with_an_intercept_and_penalty_factors_kinked_losses_come_near_the_minimum(pair):
    solver, *problem = pair
    f, program = setting(*problem, factors=True)
    least, made = program.least(), solvers.make_solver(solver, **KINKED_PARAMS.get(solver, {}))
    trace = solvers.solve(f, made, gap=KINKED[solver], f_star=least, max_seconds=60)
    assert trace.result["objective"] == pytest.approx(program.objective(trace.w), rel=1e-11)
    away, proved = trace.result["objective"] - least, trace.result["dual_gap"]
    assert -1e-8 <= away / least <= KINKED[solver]
    assert proved is None or away <= proved + 1e-8 * least


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize("kind", MAKERS)
def test_a_solver_and_a_loss_from_a_plug_in_take_part(kind):
    """The subgradient method of the plug-in on every loss with a ridge, its own among them."""
    load_file(PLUGIN)
    seen = 0
    for loss in set(solvers.losses_for(kind)) - {"poisson"}:  # its gradient has no bound: the method diverges
        assert "averaged-subgradient" in solvers.compatible(loss, "l2")
        assert "averaged-subgradient" not in solvers.compatible(loss, "l1")
        data = MAKERS[kind]()
        problem = solvers.make_problem(data, loss=loss, penalty="l2", average=True, lam=0.1)
        solver = solvers.make_solver("averaged-subgradient")
        trace = solvers.solve(problem, solver, max_iter=2_000)
        if not problem.smooth:
            best = Program(data, "binary-hinge" if loss == "hinge" else loss, "l2", 0.1, True).least()
        else:
            best = solvers.solve(problem, solvers.make_solver("prox-qn"), tol=1e-8).result["objective"]
        proved = trace.result["dual_gap"]
        assert -1e-9 <= trace.result["objective"] - best <= proved * (1.0 + 1e-9)
        assert proved <= 0.3 * best
        assert best <= trace.objective[-1] <= trace.objective[0]
        seen += 1
    assert seen == len(set(solvers.losses_for(kind)) - {"poisson"}) > 0
