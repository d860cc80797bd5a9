"""The registries of solvers, losses, penalties and rules, and functions that create solvers."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import fields
from typing import Any, TypeVar

from solverscope.ids import unknown_id

from .declare import Declared, Trait, parameters
from .methods.coordinate.anderson_bcd import AndersonBCD
from .methods.coordinate.bcd import BCDCST, BCDLS
from .methods.coordinate.crf_bcd import CRFBlockCoordinateDescent
from .methods.coordinate.dual_cd import DualCD
from .methods.coordinate.newton_cd import NewtonCD
from .methods.descent.bundle import BMRM, OCAS, LevelBundle, LsBMRM
from .methods.descent.clustered import ClusteredBFGS, ClusteredLBFGS
from .methods.descent.quasi_newton import BFGS, LBFGS, GradientDescent, SubBFGS, SubGD, SubLBFGS
from .methods.descent.scaling import FIS
from .methods.proximal.fista import FISTACST, FISTALS
from .methods.proximal.owlqn import OWLQN, OWLQNStar
from .methods.proximal.prox_gradient import ProxGD
from .methods.proximal.prox_qn import ProxQN
from .methods.proximal.semismooth import SemismoothNewton
from .methods.proximal.sparsa import SpaRSA
from .methods.solver import Solver
from .methods.stochastic.fobos import FOBOS
from .methods.stochastic.ftrl import FTRL
from .methods.stochastic.sgd import SGDL1
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
from .problems.losses.targets.lines import EpsilonInsensitive, Quantile
from .problems.losses.targets.smooth import Huber, MultitaskSquared, Poisson, Squared
from .problems.losses.targets.target_loss import TargetLoss
from .problems.losses.toy import Toy
from .problems.losses.tree import TreeSoftmax
from .problems.penalties import L1, L1L2, L2, ElasticNet, L1Linf, NoPenalty, Penalty, SparseGroup
from .rivals.celer import Celer, CelerMultiTaskLasso
from .rivals.crfsuite import CRFsuite
from .rivals.liblinear import LiblinearSolver
from .rivals.scikit import ScikitLBFGS, ScikitLinearSVC, ScikitNewtonCholesky, ScikitSAGA, ScikitSGD
from .rivals.scikit_regression import ScikitElasticNet, ScikitMultiTaskLasso, ScikitQuantile
from .rivals.scipy_minimize import SciPyLBFGSB, SciPyNewtonCG, SciPyTrustConstr
from .rivals.skglm import Skglm, SkglmMultiTaskLasso
from .rivals.wapiti import Wapiti
from .working_sets.rule import Rule
from .working_sets.rules import RULES

#: A row for each family, in the order of menus and lists.
_SOLVERS = (
    (ProxQN, ProxGD, OWLQN, OWLQNStar),
    (SGDL1, FTRL, CRFBlockCoordinateDescent, NewtonCD, SemismoothNewton),
    (FISTALS, FISTACST, SpaRSA, BCDLS, BCDCST, AndersonBCD, FOBOS, DualCD),
    (BMRM, LsBMRM, OCAS, LevelBundle),
    (GradientDescent, SubGD, BFGS, LBFGS, SubBFGS, SubLBFGS, ClusteredBFGS, ClusteredLBFGS, FIS),
    (SciPyLBFGSB, SciPyNewtonCG, SciPyTrustConstr),
    (ScikitSAGA, ScikitLBFGS, ScikitNewtonCholesky, ScikitLinearSVC, ScikitSGD),
    (ScikitElasticNet, ScikitMultiTaskLasso, ScikitQuantile),
    (LiblinearSolver, Skglm, SkglmMultiTaskLasso, Celer, CelerMultiTaskLasso, CRFsuite, Wapiti),
)
_LOSSES = (
    (Logistic, MulticlassLogistic),
    (MulticlassSquaredHinge, MultitaskSquaredHinge, MultilabelSquaredHinge),
    (BinaryHinge, SmoothedBinaryHinge, MulticlassHinge, MultilabelHinge),
    (ChainCRF, TreeSoftmax),
    (Squared, MultitaskSquared, Huber, Poisson, Quantile, EpsilonInsensitive, Toy),
)
SOLVERS: dict[str, type[Solver]] = {s.id: s for family in _SOLVERS for s in family}
LOSSES: dict[str, type[Loss]] = {c.id: c for family in _LOSSES for c in family}
PENALTIES: dict[str, type[Penalty]] = {
    p.id: p for p in (NoPenalty, L2, L1, ElasticNet, L1L2, L1Linf, SparseGroup)
}

Thing = TypeVar("Thing", bound=type)
#: What is put before the ids of classes that are registered; set while a plug-in is loaded.
PLUGIN_NAMESPACE = ContextVar("PLUGIN_NAMESPACE", default="")


def register(thing: Thing) -> Thing:
    """Register a solver, loss, penalty or rule of the working set by its id; usable as a decorator.

    A class with the same module and qualified name is replaced, for example when a notebook cell is run
    again.

    Parameters
    ----------
    thing : type
        A subclass of Solver, Loss, Penalty or Rule. It is a frozen dataclass with all attributes that its
        base declares without a default, such as ``id``, ``name`` and ``summary``.

    Returns
    -------
    type
        The class itself.

    Raises
    ------
    ValueError
        If the class lacks an attribute, or its id is taken.
    TypeError
        If it is neither a solver, nor a loss, nor a penalty, nor a rule.
    """
    for base, table in ((Solver, SOLVERS), (Loss, LOSSES), (Penalty, PENALTIES), (Rule, RULES)):
        if isinstance(thing, type) and issubclass(thing, base):
            return _add(thing, base, table)
    raise TypeError(f"{thing!r} is neither a Solver, nor a Loss, nor a Penalty, nor a Rule class")


def _add(cls: Any, base: type[Declared], table: dict[str, Any]) -> Any:
    """Add a class to a table by its id, and return the class.

    Raises ValueError if the class lacks an attribute or the id is taken.
    """
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
    if (space := PLUGIN_NAMESPACE.get()) and cls.namespace != space:
        cls.namespace, cls.id, cls.name = space, f"{space}-{cls.id}", f"{cls.name} ({space})"
    if cls.id in table and place(table[cls.id]) != place(cls):
        raise ValueError(f"{cls.id} is registered already: give your class another id")
    if issubclass(cls, Loss) and (reason := why_not_in_kernels(cls)):
        raise ValueError(f"{cls.__name__} {reason}")
    table[cls.id] = cls
    return cls


def place(thing: Any) -> tuple[str, str]:
    """Return the module and the qualified name of a class or function; a new one with both the same replaces
    it."""
    return thing.__module__, thing.__qualname__


def why_not_in_kernels(loss: type[Loss]) -> str | None:
    """Return why compiled kernels cannot call a plug-in loss, although its traits promise this.

    Return None if they can, or if its traits do not promise it.
    """
    if not getattr(loss, "traits", Trait(0)) & (Trait.INSTANCE_KERNELS | Trait.ROW_KERNELS):
        return None
    for base, arguments in ((MarginLoss, (0.5,)), (TargetLoss, (0.5, 1.0))):
        if issubclass(loss, base):
            if loss.derivatives is base.derivatives:
                return "defines no derivatives"
            loss().derivatives(*arguments)  # what Python refuses is said here with its line, by Numba later
            return None
    return (
        "cannot be called inside compiled kernels: derive it from solvers.MarginLoss, if it is a loss of "
        "margins, or from solvers.TargetLoss, if it is one of numeric targets, or leave "
        "Trait.INSTANCE_KERNELS and Trait.ROW_KERNELS out of its traits"
    )


def lookup(table: Mapping[str, Any], noun: str, id: str) -> Any:
    """Return the entry ``id`` of a table; raise ValueError, with the nearest id and all others, if it is
    missing."""
    if id not in table:
        raise ValueError(unknown_id(noun, id, table))
    return table[id]


def make(cls: type, noun: str, params: Mapping[str, Any]) -> Any:
    """Return an instance of ``cls`` with hyper-parameters as strings or typed values.

    Raises ValueError for an unknown hyper-parameter, with ``noun`` in the message, or an invalid value.
    """
    declared = {p.name: p for p in parameters(cls)}
    for name in params:
        if name not in declared:
            known = f"it has {', '.join(declared)}" if declared else "it has no parameters"
            raise ValueError(f"{noun} {cls.id} has no parameter {name!r}: {known}")
    return cls(**{name: declared[name].parse(value) for name, value in params.items()})


def make_solver(id: str, preset: str | None = None, **params: Any) -> Solver:
    """Return a solver with given hyper-parameters.

    Parameters
    ----------
    id : str
        One of ``solvers.SOLVERS``.
    preset : str, optional
        A named set of hyper-parameters: "paper" has the values printed in the paper that differ from the
        defaults.
    params
        Hyper-parameters by name, typed or as strings, which override those of the preset;
        :func:`solvers.parameters` lists those of a class.

    Returns
    -------
    Solver
        A frozen dataclass of hyper-parameters.

    Raises
    ------
    ValueError
        If the solver, the preset or a hyper-parameter does not exist, or a value is out of its range.

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
        The id of the solver.
    preset : str or None
        The name of the preset; None returns an empty dictionary.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If the solver or the preset does not exist.
    """
    presets = lookup(SOLVERS, "solver", id).presets
    if preset is None:
        return {}
    if preset not in presets:
        known = f"it has {', '.join(presets)}" if presets else "it has none, its defaults are the paper's"
        raise ValueError(f"solver {id} has no preset {preset!r}: {known}")
    return dict(presets[preset])
