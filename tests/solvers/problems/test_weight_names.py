from dataclasses import dataclass

from solverscope import datasets, solvers
from solverscope.solvers import Names
from tests.solvers.helpers import multiclass


def test_a_run_carries_the_names_of_its_data():
    data = datasets.load("digits")
    problem = solvers.make_problem(data, loss="multiclass-squared-hinge", penalty="l1-l2", lam=0.1)
    names = solvers.solve(problem, solvers.make_solver("bcd-ls"), max_iter=1).names
    assert names.feature(8) == data.feature_names[8] == "pixel (2, 1)"
    assert names.output(3) == data.label_names[3]
    assert names.picture_shape == (8, 8)
    assert problem.at_lam(0.2).names is names


def test_one_output_is_named_after_the_second_of_two_classes():
    @dataclass
    class Data:
        label_names: tuple = ("ham", "spam")

    assert Names.of(Data(), 1).output(0) == "spam"


def test_what_has_no_name_is_numbered():
    names = solvers.make_problem(multiclass(), lam=0.1).names
    assert (names.feature(0), names.output(2)) == ("feature 1", "output 3")


def test_a_weight_is_named_after_feature_and_output_and_a_transition_after_two_outputs():
    names = Names(features=("ink", "dot"), outputs=("a", "b", "c"))
    assert names.weight(4, 2, 3) == "dot for b"
    assert names.weight(2 * 3 + 5, 2, 3) == "b → c"
    assert Names(features=("ink", "dot")).weight(1, 2, 1) == "dot"
