"""Lines of a sample's labels, and the stacks of Algorithm 4, are those of the kernels."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers.probes.label_lines import label_lines, stages
from solverscope.solvers.problems.losses.envelope import envelope


@pytest.mark.parametrize("seed", range(20))
def test_the_last_stack_is_the_envelope_of_the_kernel(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-3, 4, 9).astype(float), rng.integers(-3, 4, 9).astype(float)
    order, t, line = np.empty(9, np.int64), np.empty(9), np.empty(9, np.int64)
    n = envelope(a, b, 9, order, t, line)
    last = stages(a, b)[-1]
    assert last.starts == pytest.approx(t[:n].tolist())
    assert [(a[k], b[k]) for k in last.active] == [(a[k], b[k]) for k in line[:n]]


@pytest.mark.parametrize("seed", range(10))
def test_each_stack_is_the_maximum_of_the_lines_examined_so_far(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=12), rng.normal(size=12)
    examined, t = [], np.linspace(0.0, 5.0, 200)
    for stage in stages(a, b):
        examined.append(stage.line)
        highest = (b[examined][:, None] + np.outer(a[examined], t)).max(axis=0)
        at = np.searchsorted(stage.starts, t, side="right") - 1
        active = np.array(stage.active)[at]
        np.testing.assert_allclose(b[active] + t * a[active], highest)
        assert not set(stage.popped) & set(stage.active)
    assert any(stage.popped for stage in stages(np.array([0.0, 1.0, 3.0]), np.array([0.0, -1.0, -2.0])))


@pytest.fixture(scope="module")
def line():
    problem = solvers.make_problem(datasets.load("digits"), loss="multiclass-hinge", penalty="l2", lam=1e-3)
    point = problem.at(np.zeros(problem.size))
    return problem.line(point, -point.gradient())


def test_the_sample_has_its_loss_as_the_maximum(line):
    found = label_lines(line, 10.0)
    z, d = line.point.scores.Z[found.sample], line.delta.Z[found.sample]
    for t in (0.0, 0.7, 3.0):
        score = z + t * d
        wrong = np.delete(1.0 + score - score[found.label], found.label)
        assert max(0.0, wrong.max()) == pytest.approx((found.b + t * found.a).max())
    assert found.kinks.size >= 1
    assert (found.a[found.label], found.b[found.label]) == (0.0, 0.0)


def test_other_losses_have_no_lines():
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=0.1)
    point = problem.at(np.zeros(problem.size))
    assert label_lines(problem.line(point, -point.gradient()), 1.0) is None
