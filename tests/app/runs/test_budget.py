"""What problems may take: told before they are made, counted while they are there."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.runs import budget as budgets
from solverscope.app.runs import problem_cache
from solverscope.app.runs.budget import Budget, cost, footprint, gib, size_of
from solverscope.app.settings.recipe import Recipe
from solverscope.datasets.size import Size

GIB = 1 << 30
LARGE = {
    "synthetic-chain": ({"n_samples": 400_000}, "n_samples"),
    "synthetic-tree": ({"n_nodes": 200_000, "n_leaves": 150_000}, "n_nodes"),
    "synthetic-text": ({"n_features": 1_000_000, "n_classes": 1_000}, "n_features"),
    "synthetic-multilabel": ({"n_features": 20_000, "degree": 2}, "degree=1"),
}


@pytest.mark.parametrize("id", LARGE)
def test_a_problem_beyond_the_budget_is_refused_with_what_to_change(id):
    options, change = LARGE[id]
    with pytest.raises(ValueError, match=rf"{change}.*start the server with a larger --memory") as caught:
        Budget(8 * GIB).check(id, datasets.DATASETS[id].estimate(**options))
    assert "\n" not in str(caught.value)


def test_the_largest_story_is_within_the_usual_budget():
    Budget(8 * GIB).check("tree", datasets.DATASETS["synthetic-tree"].estimate(preset="paper"))


@pytest.mark.parametrize("id", [id for id, info in datasets.DATASETS.items() if info.available()[0]])
def test_every_data_set_is_within_the_usual_budget(id):
    Budget(8 * GIB).check(id, datasets.DATASETS[id].estimate())


@pytest.mark.parametrize("id", LARGE)
@pytest.mark.parametrize(
    "options", [{}, {"n_samples": 300, "bias": 1}, {"n_features": 90, "degree": 2}, {"double": 40}]
)
def test_a_generator_tells_its_size_beforehand(id, options):
    told, data = datasets.DATASETS[id].estimate(**options), datasets.load(id, **options)
    made = size_of(data)
    assert (told.rows, told.features, told.outputs) == (made.rows, made.features, made.outputs)
    assert 0.2 * made.nonzeros <= told.nonzeros <= 5 * made.nonzeros
    problem = solvers.make_problem(data)
    tail = made.outputs**2 if data.kind == "sequences" else 0
    assert problem.size == told.features * told.outputs + tail


def test_one_class_against_the_rest_counts_once():
    assert datasets.DATASETS["synthetic-text"].estimate(positive="topic 1").outputs == 1


def test_of_a_set_from_files_the_bytes_of_the_files_are_told(tmp_path, monkeypatch):
    info = next(info for info in datasets.DATASETS.values() if info.files)
    (tmp_path / "a.gz").write_bytes(b"x" * 4000)
    monkeypatch.setattr("solverscope.datasets.store.find", lambda path: tmp_path / "a.gz")
    assert info.estimate().nonzeros == 6000 * len(info.needed())


def test_what_is_in_use_is_counted_until_the_last_copy_is_gone(monkeypatch):
    problem_cache.cache.clear()
    gc.collect()
    own = Budget(8 * GIB)
    monkeypatch.setattr(problem_cache, "budget", own)
    setting = Recipe("breast-cancer", loss="logistic", penalty="l1")
    data = problem_cache.load(setting)
    problem = problem_cache.problem(data, setting)
    copy = problem.at_lam(0.5 * problem.lam)
    assert own.held == pytest.approx(footprint(data, problem), rel=0.2)
    problem_cache.cache.clear()
    del problem
    gc.collect()
    assert own.held > 0
    with pytest.raises(ValueError, match="problems of other pages hold"):
        Budget.room(_with_held(own, 8 * GIB), "x", Size(1, 1, 1, 1), problem_cache.cache.clear)
    del copy, data
    gc.collect()
    assert own.held == 0


def _with_held(budget: Budget, memory: int) -> Budget:
    other = Budget(memory)
    other.held = budget.held + memory
    return other


def test_what_is_only_kept_is_dropped_before_anybody_is_refused():
    own, given_up = Budget(GIB), []

    def give_up():
        own.held = 0
        given_up.append(True)

    own.held = GIB
    own.room("x", Size(10, 10, 10, 10), give_up)
    assert given_up


def test_a_footprint_counts_every_array_once_and_views_with_what_they_show():
    array = np.zeros(100_000)
    assert 800_000 <= footprint(array[:10], {"a": [array]}, lambda: array) < 810_000


def test_cost_counts_weights_and_scores_and_not_only_non_zeros():
    assert cost(Size(1, 1000, 1000, 1)) > cost(Size(1, 1, 1, 1)) + 8 * 10**6
    assert cost(Size(1000, 1, 1000, 1)) > cost(Size(1, 1, 1, 1)) + 8 * 10**6


def test_sizes_are_told_as_people_read_them():
    assert (gib(3 * GIB // 2), gib(5 << 20)) == ("1.5 GiB", "5 MiB")


def test_a_bare_get_loads_nothing(served):
    served.get("/app")
    before = served.memory()
    for query in ("data=synthetic-chain&options=n_samples%3D400000", "data=ocr", "data=conll2000"):
        status, _, text = served.get(f"/app?{query}")
        assert status == 200
        assert "Solverscope" in text
    served.get("/app")
    assert served.memory() - before < 60


def test_the_process_starts_with_the_usual_budget():
    assert 0 < budgets.budget.memory <= budgets.USUAL_MEMORY
