import numpy as np
import pytest
from sklearn.metrics import f1_score

import datasets
import solvers
from solvers.problems.losses.two_labels import f1
from tests.solvers.helpers import binary


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9, 1.0])
def test_f1_is_that_of_another_program(share):
    rng = np.random.default_rng(0)
    true, found = rng.random(200) < share, rng.random(200) < 0.3
    assert f1(true, found) == pytest.approx(f1_score(true, found, zero_division=0.0))
    assert f1(np.zeros(3, bool), np.zeros(3, bool)) == 0.0


@pytest.mark.parametrize(("id", "name"), [("digits", "3"), ("synthetic-multilabel", None)])
@pytest.mark.parametrize("loss", ["logistic", "binary-hinge"])
def test_a_class_against_the_rest_is_measured_by_f1(id, name, loss):
    """Of a multiclass and of a multilabel set; objective (3) sums over instances."""
    data = datasets.load(id, positive=name or datasets.load(id).label_names[0])
    problem = solvers.make_problem(data, loss=loss, penalty="l2", lam=1.0, average=False)
    assert problem.scale == 1.0
    trace = solvers.solve(problem, solvers.make_solver("lbfgs"), max_iter=30)
    assert trace.result["metric_name"] == "F1"
    test_loss, scores = problem.test_scores(trace.w)
    predicted = test_loss.predict(scores)
    assert 0.0 < trace.result["test_metric"] == pytest.approx(f1_score(data.test.y, predicted))


def test_two_labels_of_their_own_are_measured_by_accuracy():
    problem = solvers.make_problem(binary(), penalty="l2", lam=0.1)
    trace = solvers.solve(problem, solvers.make_solver("lbfgs"), max_iter=3)
    assert trace.result["metric_name"] == "accuracy"
    assert datasets.load("breast-cancer").metric is None


def test_the_measure_is_no_part_of_the_key():
    one, other = (datasets.load("digits", positive="3"), datasets.load("digits", positive="3"))
    object.__setattr__(other, "metric", None)
    problems = [solvers.make_problem(data, penalty="l2", lam=1.0) for data in (one, other)]
    assert problems[0].key == problems[1].key
