"""An experiment survives the way through an address, a table and the command line; a bad value of an address
falls back with a notice."""

from __future__ import annotations

from dataclasses import replace

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from solverscope import solvers
from solverscope.app.command import cli
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import PAGE_LIMITS, Entrant, Recipe, RunLimits, default_entrants, fits
from solverscope.app.stories import stories
from solverscope.solvers import Condition
from solverscope.solvers.declare import MOST_SEED

DEFAULT = stories()["shrinking"].setting


@pytest.mark.parametrize("story", stories().values(), ids=stories())
def test_every_story_comes_back_from_its_address(story):
    setting, notices = Experiment.from_address(story.setting.address(), DEFAULT)
    assert notices == []
    assert setting == story.setting


def test_everything_a_user_can_set_comes_back():
    problem = Recipe("digits", {"positive": "3"}, 7, "logistic", "elastic-net", {"rho": 0.25}, 0.0123456789)
    chosen = (
        Entrant("prox-qn", "few pairs", {"memory": 3, "shrinking": False}),
        Entrant("prox-gd", "prox-gd"),
        Entrant("prox-qn", "prox-qn@l1", penalty="l1"),
        Entrant("owl-qn", "lasso", {"memory": 3}, penalty="l1"),
    )
    setting = Experiment(problem, chosen, RunLimits(tol=1e-5, max_seconds=7.5))
    again, notices = Experiment.from_address(setting.address(), DEFAULT)
    assert notices == []
    assert again == setting


def test_values_with_commas_come_back():
    problem = Recipe("toy", {"start": "0.5,-2", "pieces": "x^2+y^2; 2x"}, 0, "toy", "none")
    setting = Experiment(problem, (Entrant("subbfgs", "subbfgs"),), PAGE_LIMITS)
    again, notices = Experiment.from_address(setting.address(), DEFAULT)
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
        ("seed", "1.5", "whole number"),
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
        ("threads", "0", "from 1"),
        ("threads", "1000000", "from 1 to"),
        ("tol", "0", "above 0"),
        ("max_seconds", "inf", "above 0"),
    ],
)
def test_a_bad_value_is_left_out_with_one_sentence_and_the_others_stand(name, value, says):
    query = DEFAULT.address() | {"lam": "6", "tol": "1e-5"} | {name: value}
    setting, notices = Experiment.from_address(query, DEFAULT)
    assert len(notices) == 1
    assert says in notices[0]
    assert "\n" not in notices[0]
    if name != "lam":
        assert setting.problem.lam == 6.0
    if name != "tol":
        assert setting.limits.tol == 1e-5


def test_a_wrong_solver_leaves_the_others_in_their_places():
    query = {"solvers": "mine=prox-qn,memory=5;prox-nq;lbfgs;owl-qn"}
    setting, notices = Experiment.from_address(query, DEFAULT)
    assert [entrant.label for entrant in setting.entrants] == ["mine", "owl-qn"]
    unknown, unfit = notices
    assert unknown.startswith(
        "'prox-nq' of solvers in the address was left out: there is no solver 'prox-nq'"
    )
    assert "did you mean prox-qn?" in unknown
    assert unfit.startswith("'lbfgs' of solvers in the address was left out: lbfgs ")


def test_another_data_set_brings_its_own_loss_penalty_and_solvers():
    setting, notices = Experiment.from_address({"data": "digits"}, DEFAULT)
    assert notices == []
    assert setting.problem == Recipe.of("digits")
    assert setting.entrants == default_entrants(setting.problem)


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
    other = Recipe(data, options, loss="chain-crf", penalty="l1").with_fitting_loss()
    assert (other.kind, other.loss) == (kind, loss)
    assert other.with_fitting_loss() is other


@pytest.mark.parametrize("options", ["n_classes=2", "preset=binary"])
def test_an_address_may_name_a_loss_for_the_kind_that_its_options_make(options):
    query = {"data": "synthetic-text", "options": options, "loss": "logistic"}
    setting, notices = Experiment.from_address(query, DEFAULT)
    assert notices == []
    assert setting.problem.loss == "logistic"
    assert Experiment.from_address(setting.address(), DEFAULT) == (setting, [])
    refused, notices = Experiment.from_address(query | {"loss": "multiclass-logistic"}, DEFAULT)
    assert "these are binary" in notices[0]
    assert refused.problem.loss == "logistic"


def test_an_address_with_weights_keeps_them_and_refuses_solvers_that_take_none():
    query = {"data": "breast-cancer", "options": "class_weight=balanced", "solvers": "prox-qn;bcd-ls"}
    setting, notices = Experiment.from_address(query, DEFAULT)
    assert "bcd-ls needs a loss without sample weights" in notices[0]
    assert setting.address()["options"] == "class_weight=balanced"
    assert fits(Entrant("prox-qn", "prox-qn"), setting.problem) is None
    assert "without sample weights" in fits(Entrant("bcd-ls", "bcd-ls"), setting.problem)


def test_solvers_that_do_not_fit_another_penalty_are_not_kept(monkeypatch):
    from solverscope.app.settings import experiment

    monkeypatch.setattr(
        experiment, "fits", lambda solver, problem: "needs more" if solver.id == "owl-qn" else None
    )
    setting, _ = Experiment.from_address({"lam": "3"}, DEFAULT)
    assert "owl-qn" not in [solver.id for solver in setting.entrants]


def test_a_solver_setting_is_written_as_on_the_command_line():
    (solver,) = Entrant.parse_all(["few=prox-qn,memory=3,shrinking=off,beta=0.5"])
    assert str(solver) == "few=prox-qn,memory=3,shrinking=False"
    assert solver.make().memory == 3


def test_a_solver_may_have_a_penalty_of_its_own_at_the_same_lambda():
    shared = Recipe("digits", loss="multiclass-logistic", penalty="elastic-net", lam=0.01)
    shared = replace(shared, penalty_params={"rho": 0.25})
    (own,) = Entrant.parse_all(["rows=fista-ls@l1-l2"])
    assert own.recipe(shared) == replace(shared, penalty="l1-l2", penalty_params={})
    (same,) = Entrant.parse_all(["fista-ls@elastic-net"])
    assert same.recipe(shared) == shared
    assert fits(own, shared) is None
    assert "needs" in fits(*Entrant.parse_all(["owl-qn@l1-l2"]), shared)
    assert "needs a λ" in fits(own, replace(shared, penalty="none", penalty_params={}, lam=None))


@st.composite
def entrants(draw):
    labels = draw(st.lists(st.text("ab-.# 0", min_size=1), min_size=1, max_size=4, unique=True))
    found = []
    for label in labels:
        id = draw(st.sampled_from(["prox-qn", "owl-qn"]))
        params = {"memory": draw(st.integers(1, 50)), "max_trials": draw(st.integers(1, 99))}
        known = {p.name for p in solvers.parameters(solvers.SOLVERS[id])}
        if "seed" in known:
            params["seed"] = draw(st.integers(0, MOST_SEED))
        made = solvers.make_solver(id, **{name: value for name, value in params.items() if name in known})
        found.append(Entrant.of(label, made))
    return tuple(found)


STRENGTH = st.floats(1e-12, 1e6)
RHO = st.floats(1e-6, 1.0).filter(lambda rho: rho != 0.5)
PENALTY = st.just(("l1", {})) | RHO.map(lambda rho: ("elastic-net", {"rho": rho}))


@st.composite
def shown(draw):
    """What the page can show."""
    penalty, params = draw(PENALTY)
    positive, seed = draw(st.sampled_from("0123456789")), draw(st.integers(0, MOST_SEED))
    recipe = Recipe("digits", {"positive": positive}, seed, "logistic", penalty, params)
    recipe = replace(recipe, lam=draw(st.none() | STRENGTH))
    limits = RunLimits(tol=draw(st.floats(1e-300, 1.0)), max_seconds=draw(st.floats(1e-3, 1e6)))
    return Experiment(recipe, draw(entrants()), limits)


@st.composite
def experiments(draw):
    """What the command line can ask for."""
    found, positive = draw(shown()), st.floats(0.0, 1e9)
    gap = draw(st.none() | positive)
    f_star = draw(st.just("auto") | st.floats(-1e9, 1e9) | (st.none() if gap is None else st.nothing()))
    texts = draw(st.lists(st.sampled_from(["nnz > 100", '"kink" in events'])))
    limits = RunLimits(
        tol=draw(st.none() | positive),
        gap=gap,
        f_star=f_star,
        max_iter=draw(st.none() | st.integers(0, 10**9)),
        max_seconds=draw(st.none() | positive),
        breaks=tuple(map(Condition.parse, texts)),
    )
    strength = {name: None for name in ("lam", "lam_ratio")}
    strength |= {draw(st.sampled_from(list(strength))): draw(st.none() | STRENGTH)}
    average, threads = draw(st.sampled_from([None, True, False])), draw(st.integers(1, 64))
    factors = draw(st.sampled_from([None, "adaptive", "x1=0.5,pixel (3, 5)=0"]))
    own = {"average": average, "threads": threads, "penalty_factors": factors}
    recipe = replace(found.problem, **strength, **own)
    turns = st.dictionaries(st.integers(1, 10**9), STRENGTH, max_size=3)
    lams = tuple(sorted(draw(turns).items())) if gap is None else ()
    return replace(found, problem=recipe, limits=limits, lams=lams)


@settings(deadline=None, max_examples=40)
@given(shown())
def test_what_the_page_shows_is_the_same_after_its_address(experiment):
    assert Experiment.from_address(experiment.address(), DEFAULT) == (experiment, [])


@settings(deadline=None, max_examples=40)
@given(shown(), st.sampled_from(list(stories().values())))
def test_an_experiment_is_the_same_after_what_differs_from_a_story(experiment, story):
    changes = experiment.changes(story.setting)
    assert Experiment.from_address(changes, story.setting) == (experiment, [])
    assert changes.items() <= experiment.address().items()


@settings(deadline=None, max_examples=40)
@given(st.data(), st.sampled_from(list(stories().values())))
def test_only_what_was_changed_is_said_of_a_story(data, story):
    setting = story.setting
    changed = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "lam": STRENGTH.map(repr),
                "seed": st.integers(1, MOST_SEED).map(str),
                "tol": st.floats(1e-300, 0.9).map(repr),
                "max_seconds": st.floats(1e-3, 1e6).map(repr),
            },
        )
    )
    found, notices = Experiment.from_address(changed, setting)
    assert notices == []
    assert found.changes(setting).keys() <= changed.keys()
    assert Experiment.from_address(found.changes(setting), setting) == (found, [])


@settings(deadline=None, max_examples=40)
@given(experiments())
def test_an_experiment_is_the_same_after_the_command_line(experiment):
    command, *rest = experiment.arguments()
    given = typer.main.get_command(cli.app).commands[command].make_context(command, rest).params
    others = ("dataset", "solver", "shards", "scheduler", "repeat", "as_json", "out", "plugin", "require")
    options = {name: value for name, value in given.items() if name not in others}
    assert Experiment.from_arguments(given["dataset"], given["solver"], **options) == experiment
