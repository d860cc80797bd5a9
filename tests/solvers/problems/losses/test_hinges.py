"""Hinge losses with kinks: values, oracles and breakpoints against enumeration, ties included."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from solverscope import solvers
from solverscope.solvers.linalg.scores import Scores

M = 4
MATRIX = "0,1,2,3;1,0,1,2;2,1,0,1;1,1,4,0"
CASES = {
    "binary": ("binary-hinge", {}),
    "multiclass": ("multiclass-hinge", {}),
    "multiclass, Δ": ("multiclass-hinge", {"label_loss": MATRIX}),
    "multiclass, slack": ("multiclass-hinge", {"label_loss": MATRIX, "rescale": "slack"}),
    "multilabel": ("multilabel-hinge", {}),
    "multilabel, Δ": ("multilabel-hinge", {"label_loss": MATRIX}),
    "multilabel, slack": ("multilabel-hinge", {"label_loss": MATRIX, "rescale": "slack"}),
    "multilabel, slack, one Δ": ("multilabel-hinge", {"label_loss": "0.5", "rescale": "slack"}),
}
SEEDS = st.integers(0, 10**6)


def bound(case, seed, n=5):
    """A loss, scores and a direction of small whole numbers, so that much ties; halves for every third."""
    id, params = CASES[case]
    rng = np.random.default_rng(seed)
    if case == "binary":
        y, m = rng.choice([-1, 1], n), 1
    elif case.startswith("multilabel"):
        y, m = sp.csr_matrix(rng.integers(0, 2, (n, M))), M
    else:
        y, m = rng.integers(0, M, n), M
    loss = solvers.LOSSES[id](**params).bind(SimpleNamespace(y=y), 2 if m == 1 else m)
    step = 0.5 if seed % 3 == 0 else 1.0
    draw = [Scores(step * rng.integers(-2, 3, (n, m)), np.zeros(0)) for _ in range(2)]
    if seed % 4 == 1:
        draw = [Scores(rng.normal(size=(n, m)), np.zeros(0)) for _ in range(2)]
    return loss, *draw


def row_lines(loss, i):
    """The linear functions (constant, gradient) whose maximum is the loss of row i."""
    params, m = loss.declared, loss.n_outputs
    if loss.id == "binary-hinge":
        return [(0.0, np.zeros(1)), (1.0, np.array([-float(loss.y[i])]))]
    delta = np.array([[float(x) for x in row.split(",")] for row in params.label_loss.split(";")])
    delta = np.broadcast_to(delta, (m, m))
    slack = params.rescale == "slack"
    truth = np.arange(m) == loss.y[i] if loss.id == "multiclass-hinge" else loss.y[i] != 0
    found = [(0.0, np.zeros(m))]
    for q, r in product(np.flatnonzero(~truth), np.flatnonzero(truth)):
        rho = delta[q, r] if slack else 1.0
        found.append((delta[q, r], rho * (np.eye(m)[q] - np.eye(m)[r])))
    return found


def heights(lines, z):
    return np.array([constant + gradient @ z for constant, gradient in lines])


def row_value(lines, z):
    return heights(lines, z).max()


@pytest.mark.parametrize("case", CASES)
@settings(deadline=None)
@given(seed=SEEDS)
def test_values_and_the_residual_are_those_of_the_highest_line(case, seed):
    loss, at, other = bound(case, seed)
    values, G = loss.values(at), loss.residual(at).Z
    for i, z in enumerate(at.Z):
        lines = row_lines(loss, i)
        assert values[i] == pytest.approx(row_value(lines, z), abs=1e-12)
        assert row_value(lines, other.Z[i]) >= values[i] + G[i] @ (other.Z[i] - z) - 1e-12


@pytest.mark.parametrize("case", CASES)
@settings(deadline=None)
@given(seed=SEEDS)
def test_the_sup_oracle_agrees_with_enumeration_of_all_extreme_points(case, seed):
    loss, at, delta = bound(case, seed)
    G = loss.subgradient_sup(at, delta).Z
    for i, z in enumerate(at.Z):
        lines = row_lines(loss, i)
        top = row_value(lines, z)
        vertices = [g for (_, g), h in zip(lines, heights(lines, z), strict=True) if h >= top - 1e-9]
        assert G[i] @ delta.Z[i] == pytest.approx(max(g @ delta.Z[i] for g in vertices), abs=1e-12)
        assert min(np.abs(G[i] - g).max() for g in vertices) == 0.0, "an extreme point"


@pytest.mark.parametrize("case", CASES)
@settings(deadline=None)
@given(seed=SEEDS, apart=st.floats(-13.0, -7.0), level=st.sampled_from([0.0, 10.0, 100.0]))
def test_all_oracles_take_lines_that_attain_the_loss_to_one_tolerance(case, seed, apart, level):
    """Scores next to each other, however high: what counts as a tie is said once, relative to the loss."""
    loss, at, delta = bound(case, seed)
    rng = np.random.default_rng(seed)
    at.Z[:] = level * (case != "binary") + np.round(at.Z) + 10.0**apart * rng.integers(-5, 6, at.Z.shape)
    found = [loss.subgradient_sup(at, delta).Z, loss.random_subgradient(at, rng).Z, loss.residual(at).Z]
    settled = Scores(at.Z.copy(), at.tail)
    loss.settle(settled)
    for i, z in enumerate(at.Z):
        lines = row_lines(loss, i)
        h, gradients = heights(lines, z), np.array([g for _, g in lines])
        most = 1e-10 * (1.0 + h.max()) + 1e-12 * (1.0 + level)
        for G in found:
            same = (gradients == G[i]).all(axis=1)
            assert h[same].max(initial=-np.inf) >= h.max() - most
        steepest = max(gradients[h >= h.max() - 0.9e-10 * (1.0 + h.max())] @ delta.Z[i])
        assert found[0][i] @ delta.Z[i] >= steepest - 1e-12
        # two scores of a line may move, each by the tolerance
        assert np.abs(heights(lines, settled.Z[i]).max() - h.max()) <= 2.0 * most


def test_labels_next_to_the_highest_leave_the_oracle_a_pair():
    loss = solvers.LOSSES["multilabel-hinge"]().bind(
        SimpleNamespace(y=sp.csr_matrix([[0, 0, 1], [1, 0, 0]])), 3
    )
    at = Scores(np.array([[10.0, 10.0 - 5e-10, 10.0], [0.0, 0.0, 0.0]]), np.zeros(0))
    ahead = Scores(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), np.zeros(0))
    np.testing.assert_array_equal(loss.subgradient_sup(at, ahead).Z[0], [1.0, 0.0, -1.0])


@pytest.mark.parametrize("case", CASES)
@settings(deadline=None)
@given(seed=SEEDS)
def test_breakpoints_rebuild_the_loss_along_the_line(case, seed):
    """φ(0) + slope t + Σ jump (t - t_k)₊ at every crossing of two lines, in between and beyond."""
    loss, at, delta = bound(case, seed)
    b = loss.breakpoints(at, delta)
    crossings = [0.0, 50.0]
    for i, z in enumerate(at.Z):
        lines = row_lines(loss, i)
        h, a = heights(lines, z), np.array([g @ delta.Z[i] for _, g in lines])
        for j, k in product(range(len(lines)), repeat=2):
            if a[j] > a[k] and h[k] > h[j]:
                crossings.append((h[k] - h[j]) / (a[j] - a[k]))
    crossings = np.unique(crossings)
    assert (np.diff(b.t) >= 0.0).all()
    assert (b.jump > 0.0).all()
    for t in np.concatenate([crossings, 0.5 * (crossings[1:] + crossings[:-1])]):
        rebuilt = loss.value(at) + b.slope * t + np.sum(b.jump * np.maximum(t - b.t, 0.0))
        assert rebuilt == pytest.approx(loss.value(at, delta, t), rel=1e-12, abs=1e-12 * (1.0 + t))
    assert all(np.abs(crossings - t).min() <= 1e-9 * (1.0 + t) for t in b.t), "each is a crossing"


@pytest.mark.parametrize("case", CASES)
def test_random_subgradients_are_seeded_and_reach_every_extreme_point_that_is_tied(case):
    loss, at, _ = bound(case, 6, n=3)
    at.Z[:] = loss.y[:, None] if case == "binary" else 0.0
    rng = np.random.default_rng(0)
    drawn = [loss.random_subgradient(at, rng).Z for _ in range(300)]
    np.testing.assert_array_equal(drawn[0], loss.random_subgradient(at, np.random.default_rng(0)).Z)
    for i, z in enumerate(at.Z):
        lines = row_lines(loss, i)
        top = row_value(lines, z)
        vertices = {tuple(g) for (_, g), h in zip(lines, heights(lines, z), strict=True) if h >= top}
        assert {tuple(G[i]) for G in drawn} == vertices


@pytest.mark.parametrize("case", CASES)
@settings(deadline=None)
@given(seed=SEEDS)
def test_scores_next_to_a_kink_are_settled_onto_it_and_others_stay(case, seed):
    loss, at, delta = bound(case, seed)
    rng = np.random.default_rng(seed)
    near = Scores(at.Z + 1e-13 * rng.normal(size=at.Z.shape), at.tail)
    G = loss.subgradient_sup(near, delta).Z
    np.testing.assert_array_equal(G, loss.subgradient_sup(at, delta).Z)
    loss.settle(near)
    np.testing.assert_allclose(near.Z, at.Z, atol=1e-12)
    np.testing.assert_array_equal(loss.subgradient_sup(near, delta).Z, G)
    assert loss.breakpoints(near, delta).slope == loss.breakpoints(at, delta).slope


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("alpha", [1.0, 0.4])
def test_the_dual_value_is_minus_the_conjugate(case, alpha):
    """min_Z Σ_i ξ_i - α‹G, Z› over ξ_i above all lines of row i, as a linear program."""
    for seed in range(8):
        loss, at, _ = bound(case, seed, n=3)
        residual = loss.residual(at)
        n, m = at.Z.shape
        cost = np.concatenate([-alpha * residual.Z.ravel(), np.ones(n)])
        rows, right = [], []
        for i in range(n):
            for constant, gradient in row_lines(loss, i):
                row = np.zeros(n * m + n)
                row[i * m : (i + 1) * m], row[n * m + i] = gradient, -1.0
                rows.append(row)
                right.append(-constant)
        found = linprog(cost, np.array(rows), np.array(right), bounds=(None, None))
        assert loss.dual_value(at, residual, alpha) == pytest.approx(found.fun, abs=1e-9)


def test_a_uniform_label_loss_is_a_number_and_a_matrix_has_a_row_for_each_label():
    loss = solvers.LOSSES["multiclass-hinge"]
    assert loss(label_loss=2).label_loss == loss(label_loss="2.0").label_loss == "2"
    assert loss(label_loss=[[0, 1], [0.5, 0]]).label_loss == loss(label_loss="0,1; 0.5,0").label_loss
    same = loss(label_loss=1.0 - np.eye(M))
    one, other = (
        made.bind(SimpleNamespace(y=np.arange(M)), M) for made in (loss(), same)
    )  # the same loss, as a number and as a matrix
    at = Scores(np.random.default_rng(0).normal(size=(M, M)), np.zeros(0))
    np.testing.assert_array_equal(one.values(at), other.values(at))
    with pytest.raises(ValueError, match="label_loss has 2 rows, and there are 4 labels: give a number"):
        loss(label_loss="0,1;1,0").bind(SimpleNamespace(y=np.arange(M)), M)


@pytest.mark.parametrize("bad", ["x", "0", "-1", "nan", "0,1", "0,1;1", "1,1;1,0", "0,-1;1,0", "", None])
def test_other_label_losses_are_refused_in_a_sentence(bad):
    with pytest.raises(
        ValueError, match="label_loss must be a number above 0 for any two labels, or a matrix"
    ):
        solvers.LOSSES["multilabel-hinge"](label_loss=bad)
