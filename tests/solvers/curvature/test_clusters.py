import numpy as np
import pytest

from solverscope.solvers.curvature import clusters as module
from solverscope.solvers.curvature.clusters import Clusters, chunked, crossed, kmeans, spreads, within_error


def test_chunks_are_neighbours_of_the_sort_and_ties_keep_their_order():
    values = np.array([0.3, 0.0, -1.0, 0.0, 2.0, 0.0, -0.5])
    assert chunked(values, 3).tolist() == [1, 0, 0, 1, 2, 1, 0]
    assert chunked(values, 3).dtype == np.int32
    assert chunked(np.zeros(5), 2).tolist() == [0, 0, 1, 1, 2]


def test_chunks_that_split_signs_do_not_straddle_zero():
    rng = np.random.default_rng(0)
    values = np.where(rng.random(200) < 0.3, 0.0, rng.normal(size=200))
    labels = chunked(values, 7, split_signs=True)
    for k in range(labels.max() + 1):
        inside = values[labels == k]
        assert 0 < inside.size <= 7
        assert len(set(np.sign(inside))) == 1
    assert any(
        len(set(np.sign(values[labels == k]))) > 1 for labels in [chunked(values, 7)] for k in range(29)
    )


def test_kmeans_finds_groups_that_lie_apart_in_the_change_alone():
    """Two groups cross: their weights are alike, their changes are not, and a thousand times smaller."""
    rng = np.random.default_rng(1)
    beta = rng.normal(size=200)
    change = np.where(np.arange(200) < 100, 1e-3, -1e-3) + 1e-5 * rng.normal(size=200)
    beta *= 1e-2
    labels = kmeans(np.stack([beta, change], axis=1), 2)
    # from quantiles of β, about 0, the centres move apart along the change, where they differ most
    assert len(set(labels[:100])) == len(set(labels[100:])) == 1
    assert labels[0] != labels[-1]
    raw = kmeans(np.stack([beta, change], axis=1), 2, scale="none")
    assert len(set(raw[:100])) == 2


def test_kmeans_is_a_fixed_point_of_lloyd_and_numbers_clusters_by_their_mean():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(500, 2))
    labels = kmeans(points, 12, iterations=500)
    scaled = points / points.std(axis=0)
    centres = np.array([scaled[labels == k].mean(axis=0) for k in range(labels.max() + 1)])
    nearest = np.argmin(((scaled[:, None] - centres) ** 2).sum(axis=2), axis=1)
    assert nearest.tolist() == labels.tolist()
    assert np.all(np.diff(centres[:, 0]) > 0)


def test_kmeans_gives_equal_points_one_cluster_and_leaves_no_cluster_empty():
    rng = np.random.default_rng(3)
    points = np.repeat(rng.normal(size=(40, 2)), 3, axis=0)
    points[60:] = 0.0
    labels = kmeans(points, 30)
    assert np.bincount(labels).min() > 0
    assert all(len(set(labels[3 * j : 3 * j + 3])) == 1 for j in range(40))
    assert kmeans(np.zeros((7, 2)), 3).tolist() == [0] * 7
    assert kmeans(np.zeros((0, 2)), 3).size == 0


def test_kmeans_refuses_a_scale_that_it_does_not_know():
    with pytest.raises(ValueError, match="choose one of deviation, none"):
        kmeans(np.zeros((3, 2)), 1, scale="range")


def test_kmeans_calls_its_pulse_between_look_ups(monkeypatch):
    monkeypatch.setattr(module, "LOOKED_UP", 10)
    calls = []
    kmeans(np.random.default_rng(0).normal(size=(95, 2)), 4, iterations=1, pulse=lambda: calls.append(1))
    assert len(calls) == 10


def test_spreads_are_the_two_parts_of_the_variance():
    rng = np.random.default_rng(4)
    values, labels = rng.normal(size=300), rng.integers(0, 9, size=300)
    within, between = spreads(values, labels)
    assert within + between == pytest.approx(values.var(), rel=1e-12)
    labels[7] = -1
    assert spreads(values, labels)[0] == pytest.approx(spreads(np.delete(values, 7), np.delete(labels, 7))[0])
    assert spreads(values, np.full(300, -1)) == (0.0, 0.0)


@pytest.mark.parametrize("error", [0.5, 0.01, 1e-4])
def test_a_target_of_the_squared_error_chooses_the_factor(error):
    values = np.random.default_rng(5).normal(size=300)
    labels = within_error(values, error, lambda factor: chunked(values, factor))
    within, between = spreads(values, labels)
    assert within <= error * (within + between)
    size = int(np.bincount(labels).max())
    within, between = spreads(values, chunked(values, 2 * size))
    assert within > error * (within + between)


def test_no_error_at_all_puts_only_equal_values_together():
    values = np.array([1.0, 2.0, 3.0])
    assert within_error(values, 0.0, lambda factor: chunked(values, factor)).tolist() == [0, 1, 2]
    assert within_error(np.ones(4), 0.0, lambda factor: chunked(np.ones(4), factor)).tolist() == [0] * 4


def test_a_weight_crosses_when_most_of_its_cluster_come_from_another_one():
    before = np.array([0, 0, 0, 1, 1, 1, -1, 2])
    assert not crossed(before, np.array([5, 5, 5, 0, 0, 0, -1, 1])).any()  # other numbers, same clusters
    assert crossed(before, np.array([0, 0, 1, 1, 1, 1, -1, 2])).nonzero()[0].tolist() == [2]
    assert not crossed(before, np.array([0, 0, 3, 1, 1, 1, -1, 2])).any()  # a cluster that falls in two
    assert not crossed(np.full(3, -1), np.zeros(3, dtype=int)).any()


def by_hand(labels, size):
    """C as a matrix."""
    C = np.zeros((labels.size, size))
    fine = iter(range(labels.max() + 1, size))
    for j, k in enumerate(labels):
        C[j, k if k >= 0 else next(fine)] = 1.0
    return C


def test_projections_are_those_of_the_matrix():
    rng = np.random.default_rng(6)
    labels = rng.integers(-1, 4, size=40).astype(np.int32)
    clusters = Clusters(labels, 4)
    C = by_hand(labels, clusters.size)
    w, gamma = rng.normal(size=40), rng.normal(size=clusters.size)
    assert clusters.up(gamma) == pytest.approx(C @ gamma, abs=1e-15)
    assert clusters.accumulate(w) == pytest.approx(C.T @ w)
    assert clusters.down(w) == pytest.approx(np.linalg.lstsq(C, w, rcond=None)[0])
    assert clusters.down(clusters.up(gamma)) == pytest.approx(gamma)
    assert clusters.members == pytest.approx(C.sum(axis=0))
    assert clusters.members[:4].tolist() == np.bincount(labels[labels >= 0]).tolist()


def test_projections_of_many_weights_pulse_between_pieces(monkeypatch):
    monkeypatch.setattr(module, "WEIGHTS_PER_CALL", 10)
    calls = []
    clusters = Clusters(np.arange(35, dtype=np.int32) // 5, 7, lambda: calls.append(1))
    assert clusters.down(np.arange(35.0)) == pytest.approx(np.arange(2.0, 35.0, 5.0))
    assert len(calls) == 6  # of the sums and of the numbers of members


def test_columns_are_clustered_apart_and_the_rest_stays_by_itself():
    w = np.random.default_rng(7).normal(size=5 * 3 + 4)
    clusters = Clusters.of_columns(lambda j: chunked(w[j], 2), w.size, 5, 3)
    assert clusters.count == 9
    assert clusters.size == 13
    assert clusters.labels[15:].tolist() == [-1] * 4
    W = clusters.labels[:15].reshape(5, 3)
    assert [sorted(set(column)) for column in W.T] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert clusters.up(clusters.down(w))[15:] == pytest.approx(w[15:])


def test_features_without_data_are_a_cluster_of_their_own():
    w = np.zeros(12)
    w[[0, 1, 4, 5]] = 1.0, 2.0, 3.0, 4.0
    still = np.array([False, True, False, True, True, True])
    clusters = Clusters.of_columns(lambda j: chunked(w[j], 2), 12, 6, 2, still=still)
    W = clusters.labels.reshape(6, 2)
    assert W[:, 0].tolist() == [0, 1, 0, 1, 1, 1]
    assert W[:, 1].tolist() == [2, 3, 2, 3, 3, 3]
    assert Clusters.of_columns(lambda j: chunked(w[j], 2), 12, 6, 2, still=np.ones(6, bool)).count == 2
