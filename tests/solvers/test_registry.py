import itertools
from dataclasses import dataclass, make_dataclass, replace

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.declare import Trait
from solverscope.solvers.methods.solver import Solver
from solverscope.solvers.registry import register
from tests.solvers.helpers import MAKERS, binary, chains, multiclass


@pytest.fixture(autouse=True)
def put_back(registries):
    """Nothing registered here stays."""


#: What a base declares without a default, beside id, name and summary.
OF_BASE = {
    solvers.Loss: {"kinds": ("binary",), "traits": Trait.SMOOTH, "average": True},
    solvers.Penalty: {"sparse": True},
}


def declared(base, id="mine", called="Mine", **attributes):
    """A new dataclass of this kind."""
    attributes = {"id": id, "name": "Mine", "summary": "for a test", **OF_BASE.get(base, {}), **attributes}
    return make_dataclass(called, [], bases=(base,), namespace=attributes, frozen=True)


@pytest.mark.parametrize("table", ["SOLVERS", "LOSSES", "PENALTIES"])
def test_every_entry_stands_under_its_id_and_describes_itself(table):
    for id, entry in getattr(solvers, table).items():
        assert entry.id == id
        assert entry.name
        assert entry.summary


def test_identifiers_and_classes_are_those_of_the_contract():
    names = {id: cls.__name__ for id, cls in solvers.SOLVERS.items()}
    assert names["prox-qn"] == "ProxQN"
    assert names["owl-qn"] == "OWLQN"
    assert {"logistic", "multiclass-logistic", "chain-crf"} <= set(solvers.LOSSES)
    assert {"none", "l2", "l1", "elastic-net"} <= set(solvers.PENALTIES)


def test_compatibility_is_what_traits_say():
    cases = itertools.product(solvers.LOSSES.items(), solvers.PENALTIES.items(), (True, False))
    for (loss, loss_class), (penalty, penalty_class), uniform in cases:
        offered = loss_class.traits | penalty_class.traits
        offered |= Trait.UNIFORM if uniform or not penalty_class.takes_lam else Trait(0)
        offered |= Trait.DIRECTIONAL_DERIVATIVE if Trait.SMOOTH in offered else Trait(0)
        fitting = solvers.compatible(loss=loss, penalty=penalty, uniform=uniform)
        for id, solver in solvers.SOLVERS.items():
            reason = solvers.why_not_solver(id, loss, penalty, uniform=uniform)
            formulas = getattr(solver, "formulas", Trait(0))
            known = not formulas or bool(formulas & offered)
            fits = known and solver.needs & ~offered == Trait(0) and solver.why_not_here() is None
            assert (id in fitting) == (reason is None) == fits


def test_the_sentence_names_exactly_what_is_missing():
    demanding = register(declared(Solver, needs=Trait.SMOOTH | Trait.SEPARABLE | Trait.PROX))
    rough = register(declared(solvers.Loss, "rough", traits=Trait(0)))
    grouped = register(declared(solvers.Penalty, "grouped", traits=Trait.PROX))
    assert solvers.why_not_solver(demanding.id, "logistic", "l1") is None
    assert solvers.why_not_solver(demanding.id, rough.id, "l1") == f"needs {Trait.SMOOTH.phrase}"
    both = solvers.why_not_solver(demanding.id, rough.id, grouped.id)
    assert both == f"needs {Trait.SMOOTH.phrase} and {Trait.SEPARABLE.phrase}"


def test_a_program_that_knows_several_losses_names_them_all():
    said = "needs a logistic loss of one label, binary or multiclass, or a squared loss of numeric targets"
    assert solvers.why_not_solver("celer", "huber", "l1") == said
    assert solvers.why_not_solver("celer", "squared", "l1") == solvers.SOLVERS["celer"].why_not_here()


def test_a_loss_that_does_not_fit_the_labels_is_refused_with_those_that_do():
    assert solvers.why_not_loss("logistic", "binary") is None
    assert solvers.why_not_loss("logistic", "sequences") == "needs binary labels, and these are sequences"
    with pytest.raises(ValueError, match=r"loss logistic needs binary labels.*choose one of chain-crf"):
        solvers.make_problem(chains(), loss="logistic", lam=1.0)


@pytest.mark.parametrize(
    ("kind", "loss", "penalty"),
    [
        ("binary", "logistic", "l1"),
        ("multiclass", "multiclass-logistic", "l1"),
        ("regression", "huber", "l2"),
        ("binary", "binary-hinge", "l2"),
    ],
)
def test_what_takes_weights_is_known_before_there_is_a_problem(kind, loss, penalty):
    data = MAKERS[kind]()
    problem = solvers.make_problem(data, loss=loss, penalty=penalty, sample_weight=np.ones(len(data.train.y)))
    told = {id: solvers.why_not_solver(id, loss, penalty, weighted=True) for id in solvers.SOLVERS}
    assert told == {id: solvers.why_not_solver_on(id, problem) for id in solvers.SOLVERS}
    refused = [id for id, reason in told.items() if reason and not solvers.why_not_solver(id, loss, penalty)]
    for id in refused:
        assert told[id] == "needs a loss without sample weights"
        assert solvers.make_solver(id).refuses(problem) == f"{id} {told[id]}"


@pytest.mark.parametrize("base", [Solver, solvers.Loss, solvers.Penalty])
def test_a_registered_class_joins_its_list_and_a_double_is_refused(base):
    mine = register(declared(base))
    tables = (solvers.SOLVERS, solvers.LOSSES, solvers.PENALTIES)
    assert [("mine" in table) for table in tables] == [
        issubclass(mine, b) for b in (Solver, solvers.Loss, solvers.Penalty)
    ]
    assert register(mine) is mine
    with pytest.raises(ValueError, match="mine is registered already: give your class another id"):
        register(declared(base, called="Other"))


@pytest.mark.parametrize("base", [Solver, solvers.Loss, solvers.Penalty])
def test_a_class_of_the_same_place_takes_the_place_of_the_old_one(base):
    old, new = declared(base), declared(base, name="Mine, corrected")
    register(old)
    assert register(new) is new
    (table,) = [t for t in (solvers.SOLVERS, solvers.LOSSES, solvers.PENALTIES) if "mine" in t]
    assert table["mine"] is new


def test_what_is_no_solver_loss_or_penalty_is_refused():
    for thing in (int, 3, "prox-qn", solvers.make_solver("prox-qn")):
        with pytest.raises(TypeError, match="neither a Solver, nor a Loss, nor a Penalty, nor a Rule class"):
            register(thing)


def test_a_class_that_lacks_something_is_refused():
    class Bare(Solver):
        id, name, summary = "bare", "Bare", "no dataclass"

    @dataclass(frozen=True)
    class Nameless(Solver):
        id = "nameless"

    with pytest.raises(ValueError, match=r"Bare is no dataclass: write @dataclass\(frozen=True\) above it"):
        register(Bare)
    with pytest.raises(ValueError, match="Nameless has no name: give the class one"):
        register(Nameless)


@pytest.mark.parametrize(
    ("base", "name"), [(base, name) for base, others in OF_BASE.items() for name in others]
)
def test_a_class_without_what_its_base_leaves_to_it_is_refused(base, name):
    thing = declared(base)
    delattr(thing, name)
    with pytest.raises(ValueError, match=f"Mine has no {name}: give the class one"):
        register(thing)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: solvers.make_solver("newton"),
            "there is no solver 'newton' (did you mean newton-cd?): choose one of prox-qn, ",
        ),
        (lambda: solvers.make_problem(binary(), loss="hinge", lam=1.0), "there is no loss 'hinge'"),
        (lambda: solvers.make_problem(binary(), penalty="l0", lam=1.0), "there is no penalty 'l0'"),
        (
            lambda: solvers.make_solver("prox-qn", speed=3),
            "solver prox-qn has no parameter 'speed': it has memory",
        ),
        (
            lambda: solvers.make_problem(binary(), penalty_params={"rho": 1}, lam=1.0),
            "penalty l1 has no parameter 'rho'",
        ),
        (lambda: solvers.make_problem(binary(), lam=0), "lam=0: lam must be a number above 0"),
        (lambda: solvers.make_problem(binary(), lam=-1.0), "lam=-1.0: lam must be a number above 0"),
        (lambda: solvers.make_problem(binary(), lam="many"), "lam=many: lam must be a number above 0"),
        (lambda: solvers.make_problem(binary(), lam=float("nan")), "lam=nan: lam must be a number above 0"),
        (lambda: solvers.make_problem(binary(), lam_ratio=float("inf")), "lam_ratio=inf"),
        (lambda: solvers.make_problem(binary(), lam=1, lam_ratio=1), "both lam and lam_ratio are given"),
        (lambda: solvers.make_problem(binary(), penalty="none", lam=1), "penalty none has no λ"),
        (lambda: solvers.make_problem(binary(), penalty="l2", lam_ratio=1), "penalty l2 has no λ_max"),
        (lambda: solvers.make_problem(binary(), lam=1, threads=0), "threads is 0"),
    ],
)
def test_bad_choices_are_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as error:
        make()
    assert str(error.value).startswith(sentence)


def test_the_strength_where_none_is_given():
    data = multiclass()
    sparse = solvers.make_problem(data)
    assert sparse.lam == pytest.approx(0.05 * sparse.lam_max)
    assert solvers.make_problem(data, penalty="l2").lam == 1e-4
    assert solvers.make_problem(data, penalty="l2", average=False).lam == pytest.approx(
        1e-4 * data.train.y.size
    )
    assert solvers.make_problem(data, lam_ratio="0.5").lam == pytest.approx(0.5 * sparse.lam_max)
    assert solvers.make_problem(data, penalty="none").lam is None
    own = replace(data, lam=0.123)
    assert solvers.make_problem(own).lam == 0.123
    assert solvers.make_problem(own, penalty="elastic-net").lam != 0.123
    assert solvers.make_problem(own, lam_ratio=0.5).lam == pytest.approx(0.5 * sparse.lam_max)


@pytest.mark.parametrize("data", [multiclass(), chains()], ids=["average", "sum"])
def test_the_data_sets_own_strength_is_worth_the_same_for_a_sum_and_for_an_average(data):
    own = replace(data, lam=0.123)
    whole, mean = (solvers.make_problem(own, average=average) for average in (False, True))
    assert 0.123 in (whole.lam, mean.lam)
    assert whole.lam / whole.lam_max == pytest.approx(mean.lam / mean.lam_max)


def test_average_divides_the_loss_by_the_number_of_instances():
    data, w = chains(), np.ones(33)
    whole, mean = (solvers.make_problem(data, lam=1.0, average=a).at(w).loss for a in (False, True))
    assert whole == pytest.approx(20 * mean)
    assert not solvers.make_problem(data, lam=1.0).average
    assert solvers.make_problem(binary(), lam=1.0).average


def test_hyper_parameters_come_as_text_too():
    solver = solvers.make_solver("prox-qn", memory="5", shrinking="off", sigma="1e-3")
    assert (solver.memory, solver.shrinking, solver.sigma) == (5, False, 1e-3)
    assert (
        solvers.make_problem(
            binary(), penalty="elastic-net", lam=1, penalty_params={"rho": "0.25"}
        ).penalty.rho
        == 0.25
    )
