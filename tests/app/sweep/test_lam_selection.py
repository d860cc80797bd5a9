"""λ chosen by its metric on held-out data: the test part, or each part of the training part in turn."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from solverscope import datasets
from solverscope.app.sweep.lam_selection import choices, settings_of
from solverscope.app.sweep.spec import Spec

RUN = {
    **{"dataset": "digits", "options": {}, "loss": "logistic", "penalty": "l2", "label": "a"},
    **{"solver": "lbfgs", "lam": None, "lam_ratio": None, "metric_name": "accuracy"},
}


def runs(metrics, **more):
    """A run for each λ and metric, on the parts of a cross-validation where there is more than one."""
    return [
        RUN
        | {"lam": lam, "test_metric": metric}
        | ({"options": {"cv": f"{k}/{len(found)}"}} if len(found) > 1 else {})
        | more
        for lam, found in metrics.items()
        for k, metric in enumerate(found, 1)
    ]


def test_the_best_mean_counts_and_of_equally_good_lams_the_largest():
    (one,) = choices(runs({0.01: [0.5, 1.0], 1.0: [0.7, 0.7], 0.1: [1.0, 0.5]}))
    assert (one["lam"], one["metric"], one["deviation"]) == (0.1, 0.75, 0.25)
    assert (one["runs"], one["held_out"], one["options"]) == (2, "2 parts", {})
    assert [lam for lam, *_ in one["over"]] == [1.0, 0.1, 0.01]
    (one,) = choices(runs({0.01: [0.5], 1.0: [0.7]}))
    assert (one["lam"], one["held_out"]) == (1.0, "test part")


def test_a_lam_counts_once_each_of_its_runs_has_a_metric():
    (one,) = choices(runs({0.1: [0.9, None], 1.0: [0.7, 0.7]}))
    assert one["lam"] == 1.0
    assert choices(runs({0.1: [None]})) == []


def test_the_one_standard_error_rule_is_that_of_numpy():
    lams = np.array([1.0, 0.3, 0.1, 0.03])
    metrics = np.array([[0.5, 0.7, 0.9], [0.8, 0.8, 0.95], [0.8, 0.9, 1.0], [0.7, 0.9, 0.95]])
    (one,) = choices(runs(dict(zip(lams, metrics.tolist(), strict=True))))
    means, errors = metrics.mean(axis=1), metrics.std(axis=1, ddof=1) / np.sqrt(3)
    best = means.argmax()
    rule = np.argmax(means >= means[best] - errors[best])  # λ falls: the first is the largest
    assert (one["lam"], one["lam_1se"]) == (lams[best], lams[rule]) == (0.1, 0.3)
    assert one["standard_error"] == pytest.approx(errors[best])
    assert one["metric_1se"] == pytest.approx(means[rule])
    np.testing.assert_allclose([row[3] for row in one["over"]], errors)


def test_the_standard_error_is_over_parts_and_not_over_seeds():
    metrics = {0.1: [0.8, 1.0], 1.0: [0.82, 0.82]}
    twice = [*runs(metrics), *runs(metrics)]
    (one,) = choices(twice)
    assert (one["runs"], one["standard_error"]) == (4, pytest.approx(0.1))
    assert one["lam_1se"] == 1.0
    (one,) = choices([*runs({0.1: [0.8], 1.0: [0.7]}), *runs({0.1: [0.9], 1.0: [0.7]})])
    assert [one[name] for name in ("standard_error", "lam_1se", "lam_ratio_1se", "metric_1se")] == [None] * 4


def test_shares_of_lam_max_stand_for_lams_which_differ_from_part_to_part():
    given = [
        run | {"lam_ratio": run["lam"], "lam": run["lam"] * (1 + k)}
        for k, run in enumerate(runs({0.1: [0.9, 0.8], 0.5: [0.7, 0.7]}))
    ]
    (one,) = choices(given)
    assert (one["lam_ratio"], one["lam"]) == (0.1, None)
    assert (one["lam_ratio_1se"], one["lam_1se"]) == (0.1, None)


def test_each_data_set_loss_penalty_and_label_has_a_choice_of_its_own():
    others = {"dataset": "letter", "options": {"positive": "A"}, "loss": "b", "penalty": "l1", "label": "b"}
    found = choices(
        [*runs({1.0: [0.5]}), *(one for k, v in others.items() for one in runs({1.0: [0.5]}, **{k: v}))]
    )
    assert len(found) == 6


def test_means_that_differ_by_rounding_are_equally_good():
    """0.7 three times has a mean of 0.7 less an ulp, as floats add up."""
    found = {1.0: [0.7, 0.7, 0.7], 0.1: [0.6, 0.7, 0.8], 0.01: [0.8, 0.7, 0.6]}
    means = {lam: float(np.mean(metrics)) for lam, metrics in found.items()}
    assert means[1.0] < max(means.values())
    (one,) = choices(runs(found))
    assert one["lam"] == 1.0
    (one,) = choices(runs({1.0: [0.7, 0.7, 0.7], 0.1: [0.7, 0.7, 0.7 + 1e-9]}))
    assert one["lam"] == 0.1


def test_runs_that_differ_in_more_than_seed_and_held_out_part_are_not_averaged():
    given = {"data": ["breast-cancer", "breast-cancer,bias=1"], "seeds": [0, 1], "lam_ratio": [0.5, 0.05]}
    base = {"penalty": "elastic-net", "loss": "logistic", "solvers": ["fista-ls"], "choose": "lam"}
    grids = [
        {"penalty_set": {"rho": 0.2}},
        {"penalty_set": {"rho": 0.9}},
        {"penalty_set": {"rho": 0.9}, "average": False},
        {"penalty_set": {"rho": 0.9}, "set": {"restart": True}},
        {"penalty_set": {"rho": 0.9}, "limits": {"max_iter": 3}},
    ]
    spec = Spec.of({**given, **base, "runs": grids})
    cells = [
        RUN
        | {"dataset": cell.problem.data, "options": cell.problem.options, "penalty": cell.problem.penalty}
        | {"lam_ratio": cell.problem.lam_ratio, "test_metric": 0.5, "settings": settings_of(cell)}
        for cell in spec.cells
    ]
    assert len(cells) == 2 * 2 * 2 * len(grids)
    found = choices(cells)
    assert len(found) == 2 * len(grids)
    assert {one["runs"] for one in found} == {2}
    told = [one["settings"] for one in found[: len(grids)]]
    assert [one["penalty_set.rho"] for one in told] == [0.2, 0.9, 0.9, 0.9, 0.9]
    assert [one["average"] for one in told] == [None, None, False, None, None]
    assert [one["limits.max_iter"] for one in told] == [None, None, None, None, 3]
    assert len({str(one) for one in told}) == len(grids)
    (one,) = choices([cell for cell in cells if cell["settings"] == cells[0]["settings"]][:4])
    assert one["settings"] == {}


def test_a_ridge_by_cross_validation_is_that_of_another_program(start):
    lams = [1.0, 1e-2, 1e-4]
    given = {"data": "breast-cancer", "penalty": "l2", "lam": lams, "solvers": ["lbfgs"]}
    sweep = start({**given, "choose": "lam", "folds": 3, "limits": {"tol": 1e-8}}).join()
    (one,) = sweep.choices()
    theirs = dict.fromkeys(lams, 0.0)
    for k in (1, 2, 3):
        data = datasets.load("breast-cancer", cv=f"{k}/3")
        for lam in lams:
            model = LogisticRegression(C=1.0 / (lam * data.n_samples), fit_intercept=False, tol=1e-10)
            model.set_params(max_iter=5000).fit(data.X, data.y)
            theirs[lam] += model.score(data.test.X, data.test.y) / 3
    assert {lam: mean for lam, mean, *_ in one["over"]} == pytest.approx(theirs, abs=1e-12)
    assert one["lam"] == max(lams, key=theirs.get)
