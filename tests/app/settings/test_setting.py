"""A set-up survives the way through an address, and bad values fall back with a notice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.settings.setting import ProblemSetting, Setting, SolverSetting, default_solvers, fits
from app.stories import stories

DEFAULT = stories()["shrinking"].setting


@pytest.mark.parametrize("story", stories().values(), ids=stories())
def test_every_story_comes_back_from_its_address(story):
    setting, notices = DEFAULT.updated(story.setting.query())
    assert notices == []
    assert setting == story.setting


def test_everything_a_user_can_set_comes_back():
    problem = ProblemSetting(
        "digits", {"positive": "3"}, 7, "logistic", "elastic-net", {"rho": 0.25}, 0.0123456789
    )
    chosen = (
        SolverSetting("prox-qn", "few pairs", {"memory": 3, "shrinking": False}),
        SolverSetting("prox-gd", "prox-gd"),
        SolverSetting("prox-qn", "prox-qn@l1", penalty="l1"),
        SolverSetting("owl-qn", "lasso", {"memory": 3}, penalty="l1"),
    )
    setting = Setting(problem, chosen, tol=1e-5, max_seconds=7.5)
    again, notices = DEFAULT.updated(setting.query())
    assert notices == []
    assert again == setting


def test_values_with_commas_come_back():
    problem = ProblemSetting("toy", {"start": "0.5,-2", "pieces": "x^2+y^2; 2x"}, 0, "toy", "none")
    setting = Setting(problem, (SolverSetting("subbfgs", "subbfgs"),))
    again, notices = DEFAULT.updated(setting.query())
    assert notices == []
    assert again == setting


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("options", "start", "name=value"),
        ("data", "no-such-set", "no data set"),
        ("data", "svmlight:/etc/passwd", "no data set"),
        ("data", "digits\0", "cannot be printed"),
        ("options", "positive=3\0", "cannot be printed"),
        ("solvers", "a\0=prox-qn", "cannot be printed"),
        ("tol", "1e-3\n", "cannot be printed"),
        ("options", "n_samples=-5", "n_samples"),
        ("options", "colour=red", "no option"),
        ("options", "degree", "name=value"),
        ("seed", "-1", "whole number"),
        ("seed", "1e3", "whole number"),
        ("loss", "logistic", "labels"),
        ("loss", "nonsense", "no loss"),
        ("penalty", "l7", "no penalty"),
        ("penalty", "l1,rho=0.5", "no parameter"),
        ("lam", "-1", "above 0"),
        ("lam", "nan", "above 0"),
        ("lam", "soon", "above 0"),
        ("solvers", "prox-qn,memory=0", "memory"),
        ("solvers", "simplex", "no solver"),
        ("solvers", "prox-gd@l7", "no penalty"),
        ("solvers", "bcd-ls@l1-l2", "bcd-ls needs"),
        ("solvers", "a=prox-qn;a=prox-gd", "two solvers"),
        ("solvers", ";".join(f"s{k}=prox-qn" for k in range(13)), "one to 12"),
        ("tol", "0", "above 0"),
        ("max_seconds", "inf", "above 0"),
    ],
)
def test_a_bad_value_is_left_out_with_one_sentence_and_the_others_stand(name, value, says):
    query = DEFAULT.query() | {"lam": "6", "tol": "1e-5"} | {name: value}
    setting, notices = DEFAULT.updated(query)
    assert len(notices) == 1
    assert says in notices[0]
    assert "\n" not in notices[0]
    if name != "lam":
        assert setting.problem.lam == 6.0
    if name != "tol":
        assert setting.tol == 1e-5


def test_another_data_set_brings_its_own_loss_penalty_and_solvers():
    setting, notices = DEFAULT.updated({"data": "digits"})
    assert notices == []
    assert setting.problem == ProblemSetting.of("digits")
    assert setting.solvers == default_solvers(setting.problem)


@pytest.mark.parametrize(
    ("data", "options", "kind", "loss"),
    [
        ("digits", {}, "multiclass", "multiclass-logistic"),
        ("digits", {"positive": "0"}, "binary", "logistic"),
        ("synthetic-text", {"n_classes": 2}, "binary", "logistic"),
        ("synthetic-text", {"preset": "binary"}, "binary", "logistic"),
        ("news20", {"form": "tree"}, "tree", "tree-softmax"),
        ("news20", {"form": "tree", "labels": "flat"}, "multiclass", "multiclass-logistic"),
        ("rcv1", {"task": "multilabel"}, "multilabel", "multilabel-squared-hinge"),
    ],
)
def test_options_that_change_the_kind_of_labels_bring_a_loss_for_them(data, options, kind, loss):
    other = ProblemSetting(data, options, loss="chain-crf", penalty="l1").with_fitting_loss()
    assert (other.kind, other.loss) == (kind, loss)
    assert other.with_fitting_loss() is other


@pytest.mark.parametrize("options", ["n_classes=2", "preset=binary"])
def test_an_address_may_name_a_loss_for_the_kind_that_its_options_make(options):
    query = {"data": "synthetic-text", "options": options, "loss": "logistic"}
    setting, notices = DEFAULT.updated(query)
    assert notices == []
    assert setting.problem.loss == "logistic"
    assert DEFAULT.updated(setting.query()) == (setting, [])
    refused, notices = DEFAULT.updated(query | {"loss": "multiclass-logistic"})
    assert "these are binary" in notices[0]
    assert refused.problem.loss == "logistic"


def test_solvers_that_do_not_fit_another_penalty_are_not_kept(monkeypatch):
    from app.settings import setting

    monkeypatch.setattr(
        setting, "fits", lambda solver, problem: "needs more" if solver.id == "owl-qn" else None
    )
    setting, _ = DEFAULT.updated({"lam": "3"})
    assert "owl-qn" not in [solver.id for solver in setting.solvers]


def test_a_solver_setting_is_written_as_on_the_command_line():
    (solver,) = SolverSetting.parse_all(["few=prox-qn,memory=3,shrinking=off,beta=0.5"])
    assert str(solver) == "few=prox-qn,memory=3,shrinking=False"
    assert solver.make().memory == 3


def test_a_solver_may_have_a_penalty_of_its_own_at_the_same_lambda():
    shared = ProblemSetting("digits", loss="multiclass-logistic", penalty="elastic-net", lam=0.01)
    shared = replace(shared, penalty_params={"rho": 0.25})
    (own,) = SolverSetting.parse_all(["rows=fista-ls@l1-l2"])
    assert own.problem(shared) == replace(shared, penalty="l1-l2", penalty_params={})
    (same,) = SolverSetting.parse_all(["fista-ls@elastic-net"])
    assert same.problem(shared) == shared
    assert fits(own, shared) is None
    assert "needs" in fits(*SolverSetting.parse_all(["owl-qn@l1-l2"]), shared)
    assert "needs a λ" in fits(own, replace(shared, penalty="none", penalty_params={}, lam=None))
