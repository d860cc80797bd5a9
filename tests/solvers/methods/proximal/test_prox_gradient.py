import itertools

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.methods.proximal.prox_gradient import ProxGD
from tests.solvers.helpers import MAKERS
from tests.solvers.oracles import Oracle


@pytest.fixture(params=[("binary", "l1"), ("sequences", "elastic-net"), ("multiclass", "l2")], ids="-".join)
def case(request):
    kind, penalty = request.param
    data = MAKERS[kind]()
    problem = solvers.make_problem(data, penalty=penalty, lam=0.02 if kind != "sequences" else 1.0)
    return problem, Oracle(data, data.loss, penalty, problem.lam, problem.average)


def smooth(problem, oracle, w):
    return oracle.objective(w) - problem.penalty.l1 * np.abs(w).sum()


def test_every_step_is_a_proximal_one_below_its_quadratic_model(case):
    problem, oracle = case
    found = [(it, it.w.copy()) for it in itertools.islice(ProxGD().iterate(problem), 40)]
    for (before, w), (it, w_new) in itertools.pairwise(found):
        g, s, t = oracle.gradient(w), w_new - w, it.step
        target = w - t * g
        shrunk = np.sign(target) * np.maximum(np.abs(target) - t * problem.penalty.l1, 0)
        np.testing.assert_allclose(w_new, shrunk, atol=1e-12)
        model = smooth(problem, oracle, w) + g @ s + s @ s / (2 * t)
        assert smooth(problem, oracle, w_new) <= model + 1e-13 * abs(model)
        assert it.objective <= before.objective + 1e-14 * abs(before.objective)
        # sufficient decrease of a proximal step below its model
        assert it.objective <= before.objective - s @ s / (2 * t) + 1e-13 * abs(before.objective)


def test_the_step_grows_by_growth_at_most(case):
    problem, _ = case
    for growth in (1.0, 1.5):
        steps = [it.step for it in itertools.islice(ProxGD(growth=growth).iterate(problem), 30)][1:]
        assert all(b <= growth * a * (1 + 1e-12) for a, b in itertools.pairwise(steps))
        assert all(s > 0 for s in steps)


def test_a_refused_trial_is_told_and_shortens_by_beta(case):
    problem, _ = case
    its = list(itertools.islice(ProxGD(beta=0.3, growth=4.0).iterate(problem), 20))
    assert any("backtracked" in it.events for it in its)
    for before, it in itertools.pairwise(its[1:]):
        assert it.step == pytest.approx(4.0 * before.step * 0.3 ** (it.ls_trials - 1))
        assert ("backtracked" in it.events) == (it.ls_trials > 1)


def test_violation_is_known_at_every_iterate(case):
    problem, oracle = case
    for it in itertools.islice(ProxGD().iterate(problem), 10):
        assert it.violation == pytest.approx(oracle.violation(it.w), rel=1e-8)


def test_it_ends_when_nothing_is_left_to_do():
    problem = solvers.make_problem(MAKERS["binary"](), lam_ratio=1.0)
    trace = solvers.solve(problem, ProxGD(), max_iter=10)
    assert trace.status == "converged"
    assert trace.result["iterations"] == 0
