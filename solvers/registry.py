"""The lists of solvers, losses and penalties, and what fits what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from .declare import Declared, Trait, parameters, unmet_needs
from .methods.bundle import BMRM, OCAS, LevelBundle, LsBMRM
from .methods.coordinate.anderson_bcd import AndersonBCD
from .methods.coordinate.bcd import BCDCST, BCDLS
from .methods.coordinate.crf_bcd import CRFBlockCoordinateDescent
from .methods.coordinate.dual_cd import DualCD
from .methods.coordinate.newton_cd import NewtonCD
from .methods.descent.clustered import ClusteredBFGS, ClusteredLBFGS
from .methods.descent.quasi_newton import BFGS, LBFGS, GradientDescent, SubBFGS, SubGD, SubLBFGS
from .methods.fista import FISTACST, FISTALS
from .methods.fobos import FOBOS
from .methods.ftrl import FTRL
from .methods.owlqn import OWLQN, OWLQNStar
from .methods.prox_gradient import ProxGD
from .methods.prox_qn import ProxQN
from .methods.scaling import FIS
from .methods.semismooth import SemismoothNewton
from .methods.sgd import SGDL1
from .methods.solver import Solver
from .methods.sparsa import SpaRSA
from .parts.rules import RULES, Rule
from .problems.losses.binary import Logistic
from .problems.losses.binary_hinge import BinaryHinge, SmoothedBinaryHinge
from .problems.losses.crf import ChainCRF
from .problems.losses.loss import Loss
from .problems.losses.margin import MarginLoss
from .problems.losses.multiclass import MulticlassLogistic
from .problems.losses.multiclass_hinge import MulticlassHinge
from .problems.losses.multilabel_hinge import MultilabelHinge
from .problems.losses.squared_hinge import (
    MulticlassSquaredHinge,
    MultilabelSquaredHinge,
    MultitaskSquaredHinge,
)
from .problems.losses.toy import Toy
from .problems.losses.tree import TreeSoftmax
from .problems.penalties import L1, L1L2, L2, ElasticNet, L1Linf, NoPenalty, Penalty, SparseGroup
from .problems.problem import Problem
from .problems.shards.sharded import OFFERED
from .rivals.celer import Celer
from .rivals.crfsuite import CRFsuite
from .rivals.liblinear import Liblinear
from .rivals.scikit import ScikitLBFGS, ScikitLinearSVC, ScikitNewtonCholesky, ScikitSAGA, ScikitSGD
from .rivals.scipy_minimize import SciPyLBFGSB, SciPyNewtonCG, SciPyTrustConstr
from .rivals.skglm import Skglm
from .rivals.wapiti import Wapiti

SOLVERS: dict[str, type[Solver]] = {
    s.id: s
    for s in (
        ProxQN,
        ProxGD,
        OWLQN,
        OWLQNStar,
        SGDL1,
        FTRL,
        CRFBlockCoordinateDescent,
        NewtonCD,
        SemismoothNewton,
        FISTALS,
        FISTACST,
        SpaRSA,
        BCDLS,
        BCDCST,
        AndersonBCD,
        FOBOS,
        DualCD,
        BMRM,
        LsBMRM,
        OCAS,
        LevelBundle,
        GradientDescent,
        SubGD,
        BFGS,
        LBFGS,
        SubBFGS,
        SubLBFGS,
        ClusteredBFGS,
        ClusteredLBFGS,
        FIS,
        SciPyLBFGSB,
        SciPyNewtonCG,
        SciPyTrustConstr,
        ScikitSAGA,
        ScikitLBFGS,
        ScikitNewtonCholesky,
        ScikitLinearSVC,
        ScikitSGD,
        Liblinear,
        Skglm,
        Celer,
        CRFsuite,
        Wapiti,
    )
}
LOSSES: dict[str, type[Loss]] = {
    c.id: c
    for c in (
        Logistic,
        MulticlassLogistic,
        MulticlassSquaredHinge,
        MultitaskSquaredHinge,
        MultilabelSquaredHinge,
        BinaryHinge,
        SmoothedBinaryHinge,
        MulticlassHinge,
        MultilabelHinge,
        ChainCRF,
        TreeSoftmax,
        Toy,
    )
}
PENALTIES: dict[str, type[Penalty]] = {
    p.id: p for p in (NoPenalty, L2, L1, ElasticNet, L1L2, L1Linf, SparseGroup)
}

Thing = TypeVar("Thing", bound=type)


def register(thing: Thing) -> Thing:
    """Add a solver, loss, penalty or rule of the working set to its list; usable as a decorator.

    Parameters
    ----------
    thing : type
        A subclass of Solver, Loss, Penalty or Rule: a frozen dataclass with all attributes that its base
        declares without a default, as ``id``, ``name`` and ``summary``.

    Returns
    -------
    type
        The class itself.

    Raises
    ------
    ValueError
        If the class lacks something, or its id is taken.
    TypeError
        If it is neither a solver, nor a loss, nor a penalty, nor a rule.
    """
    for base, table in ((Solver, SOLVERS), (Loss, LOSSES), (Penalty, PENALTIES), (Rule, RULES)):
        if isinstance(thing, type) and issubclass(thing, base):
            return _add(thing, base, table)
    raise TypeError(f"{thing!r} is neither a Solver, nor a Loss, nor a Penalty, nor a Rule class")


def _add(cls: Any, base: type[Declared], table: dict[str, Any]) -> Any:
    """Add a class to a table by its id, and return it; ValueError if it lacks something or the id is
    taken."""
    for name, kind in (Declared.__annotations__ | base.__annotations__).items():
        if kind.startswith("ClassVar") and not hasattr(cls, name):
            raise ValueError(f"{cls.__name__} has no {name}: give the class one")
    if "__dataclass_fields__" not in vars(cls):
        raise ValueError(f"{cls.__name__} is no dataclass: write @dataclass(frozen=True) above it")
    declared = {parameter.name for parameter in parameters(cls)}
    if issubclass(cls, Solver | Loss) and (other := {f.name for f in fields(cls)} - declared):
        raise ValueError(
            f"{cls.__name__} does not declare {min(other)}: write {min(other)}: type = "
            "solvers.param(default, help)"
        )
    if cls.id in table and table[cls.id] is not cls:
        raise ValueError(f"{cls.id} is registered already: give your class another id")
    if issubclass(cls, Loss) and (reason := why_not_in_kernels(cls)):
        raise ValueError(f"{cls.__name__} {reason}")
    table[cls.id] = cls
    return cls


def why_not_in_kernels(loss: type[Loss]) -> str | None:
    """Say why a plug-in loss cannot be called inside compiled kernels, as its traits promise; None if it can,
    or need not."""
    if not getattr(loss, "traits", Trait(0)) & (Trait.SAMPLES | Trait.ROWS):
        return None
    if issubclass(loss, MarginLoss):
        if loss.derivatives is MarginLoss.derivatives:
            return "defines no derivatives"
        loss().derivatives(0.5)  # what Python refuses here is said with its line; Numba would say it later
        return None
    return (
        "cannot be called inside compiled kernels: derive it from solvers.MarginLoss, if it is a loss of "
        "margins, or leave Trait.SAMPLES and Trait.ROWS out of its traits"
    )


def lookup(table: Mapping[str, Any], noun: str, id: str) -> Any:
    """Return the entry ``id``; ValueError that lists the ids there are."""
    if id not in table:
        raise ValueError(f"there is no {noun} {id!r}: choose one of {', '.join(table)}")
    return table[id]


def make(cls: type, noun: str, params: Mapping[str, Any]) -> Any:
    """Make an instance of ``cls`` from declared parameters given as text or typed."""
    declared = {p.name: p for p in parameters(cls)}
    for name in params:
        if name not in declared:
            known = f"it has {', '.join(declared)}" if declared else "it has no parameters"
            raise ValueError(f"{noun} {cls.id} has no parameter {name!r}: {known}")
    return cls(**{name: declared[name].parse(value) for name, value in params.items()})


def make_solver(id: str, preset: str | None = None, **params: Any) -> Solver:
    """Make a solver.

    Parameters
    ----------
    id : str
        One of ``solvers.SOLVERS``.
    preset : str, optional
        A named set of hyper-parameters: "paper", as the paper prints them, where its values are not the
        defaults.
    params
        Hyper-parameters by name, typed or as text, which go before those of the preset;
        :func:`solvers.parameters` lists those of a class.

    Returns
    -------
    Solver
        A frozen dataclass of hyper-parameters.

    Raises
    ------
    ValueError
        If there is no such solver, preset or hyper-parameter, or a value is out of its range.

    Examples
    --------
    >>> from solverscope import solvers
    >>> solvers.make_solver("lbfgs", memory=5).memory
    5
    >>> solvers.make_solver("lbfgs", preset="paper").line_search
    'ils'
    """
    return make(lookup(SOLVERS, "solver", id), "solver", preset_params(id, preset) | params)


def preset_params(id: str, preset: str | None) -> dict[str, Any]:
    """Return the hyper-parameters of a preset.

    Parameters
    ----------
    id : str
        The solver's id.
    preset : str or None
        The preset's name; None stands for no preset, hence no hyper-parameters.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If there is no such solver or preset; the message names those there are.
    """
    presets = lookup(SOLVERS, "solver", id).presets
    if preset is None:
        return {}
    if preset not in presets:
        known = f"it has {', '.join(presets)}" if presets else "it has none, its defaults are the paper's"
        raise ValueError(f"solver {id} has no preset {preset!r}: {known}")
    return dict(presets[preset])


def why_not_loss(loss: str, kind: str) -> str | None:
    """Return why data with this kind of labels cannot have a loss.

    Parameters
    ----------
    loss : str
        The loss's id.
    kind : str
        The kind of labels: ``binary``, ``multiclass``, ``multilabel``, ``sequences``, ``tree`` or
        ``function``.

    Returns
    -------
    str or None
        The end of a sentence that begins with the loss; None if they can.
    """
    kinds = lookup(LOSSES, "loss", loss).kinds
    return None if kind in kinds else f"needs {' or '.join(kinds)} labels, and these are {kind}"


def why_not_solver(solver: str, loss: str, penalty: str, *, sharded: bool = False) -> str | None:
    """Return why a solver cannot take a loss with a penalty.

    Parameters
    ----------
    solver, loss, penalty : str
        Their ids.
    sharded : bool
        Whether the rows are split over shards, where a loss offers less.

    Returns
    -------
    str or None
        The end of a sentence that begins with the solver; None if it can.
    """
    seen = lookup(LOSSES, "loss", loss).traits
    offered = (seen & OFFERED if sharded else seen) | lookup(PENALTIES, "penalty", penalty).traits
    return _why_not(lookup(SOLVERS, "solver", solver), offered)


def compatible(loss: str, penalty: str, *, sharded: bool = False) -> list[str]:
    """List the solvers that accept a loss with a penalty.

    Parameters
    ----------
    loss, penalty : str
        Their ids.
    sharded : bool
        Whether the rows are split over shards.

    Returns
    -------
    list of str
        Ids, in the order of ``solvers.SOLVERS``.

    Examples
    --------
    >>> from solverscope import solvers
    >>> solvers.compatible(loss="tree-softmax", penalty="l1")[:3]
    ['prox-qn', 'prox-gd', 'owl-qn']
    """
    return [id for id in SOLVERS if why_not_solver(id, loss, penalty, sharded=sharded) is None]


def why_not_solver_on(solver: str, problem: Problem) -> str | None:
    """Return why a solver cannot take a problem, which may be on shards.

    Parameters
    ----------
    solver : str
        The solver's id.
    problem : Problem
        The problem.

    Returns
    -------
    str or None
        The end of a sentence that begins with the solver; None if it can.
    """
    return _why_not(lookup(SOLVERS, "solver", solver), problem.loss.traits | problem.penalty.traits)


def _why_not(solver: type[Solver], offered: Trait) -> str | None:
    """Return what a solver needs and is not offered, or what it lacks in this installation."""
    return unmet_needs(solver.needs, offered) or solver.why_not_here()


def fitting(problem: Problem) -> list[str]:
    """List the solvers that accept a problem.

    Parameters
    ----------
    problem : Problem
        The problem.

    Returns
    -------
    list of str
        Ids, in the order of ``solvers.SOLVERS``, of those that take it with their default hyper-parameters.
    """
    return [id for id in SOLVERS if accepts(id, problem)]


def accepts(solver: str, problem: Problem) -> bool:
    """Return whether a solver with default hyper-parameters takes a problem.

    Parameters
    ----------
    solver : str
        The solver's id.
    problem : Problem
        The problem.

    Returns
    -------
    bool
    """
    return why_not_solver_on(solver, problem) is None and make_solver(solver).refuses(problem) is None


def losses_for(kind: str) -> list[str]:
    """List the losses for a kind of labels.

    Parameters
    ----------
    kind : str
        The kind of labels, as for :func:`why_not_loss`.

    Returns
    -------
    list of str
        Ids, in the order of ``solvers.LOSSES``.
    """
    return [id for id, cls in LOSSES.items() if kind in cls.kinds]
