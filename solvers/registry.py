"""The lists of solvers, losses and penalties, what fits what, and the two functions that make a problem."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from .compute.jit import compile_clock
from .compute.team import Team
from .declare import Trait, parameters, why_not
from .methods.bcd import BCDCST, BCDLS
from .methods.bundle import BMRM, OCAS, LsBMRM
from .methods.clustered import ClusteredBFGS, ClusteredLBFGS
from .methods.crf_bcd import CRFBlockCoordinateDescent
from .methods.dual_cd import DualCD
from .methods.fista import FISTACST, FISTALS
from .methods.fobos import FOBOS
from .methods.owlqn import OWLQN, OWLQNStar
from .methods.prox_gradient import ProxGD
from .methods.prox_qn import ProxQN
from .methods.quasi_newton import BFGS, LBFGS, GradientDescent, SubBFGS, SubGD, SubLBFGS
from .methods.scaling import FIS
from .methods.sgd import SGDL1
from .methods.solver import Solver
from .methods.sparsa import SpaRSA
from .problems.arrays import from_arrays
from .problems.crew import Crew
from .problems.design import Design
from .problems.losses.base import BoundLoss, Loss
from .problems.losses.binary import Logistic
from .problems.losses.binary_hinge import BinaryHinge
from .problems.losses.crf import ChainCRF
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
from .problems.names import Names
from .problems.penalties import L1, L1L2, L2, ElasticNet, L1Linf, NoPenalty, Penalty, SparseGroup
from .problems.problem import Problem
from .problems.room import check_room
from .problems.sharded import OFFERED, split
from .runs.branch import Origin
from .runs.trace import Trace

SOLVERS: dict[str, type[Solver]] = {
    s.id: s
    for s in (
        ProxQN,
        ProxGD,
        OWLQN,
        OWLQNStar,
        SGDL1,
        CRFBlockCoordinateDescent,
        FISTALS,
        FISTACST,
        SpaRSA,
        BCDLS,
        BCDCST,
        FOBOS,
        DualCD,
        BMRM,
        LsBMRM,
        OCAS,
        GradientDescent,
        SubGD,
        BFGS,
        LBFGS,
        SubBFGS,
        SubLBFGS,
        ClusteredBFGS,
        ClusteredLBFGS,
        FIS,
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

#: λ where none is given, relative to λ_max for sparse penalties, absolute for ``l2`` with an average loss.
DEFAULT_RATIO = 0.05
DEFAULT_RIDGE = 1e-4

Thing = TypeVar("Thing", bound=type)


def register(thing: Thing) -> Thing:
    """Add a solver, loss or penalty class to its list (usable as a decorator).

    Raises ValueError for a class that lacks something or whose id is taken, TypeError for anything else.
    """
    for base, table in ((Solver, SOLVERS), (Loss, LOSSES), (Penalty, PENALTIES)):
        if isinstance(thing, type) and issubclass(thing, base):
            for name in ("id", "name", "summary"):
                if not hasattr(thing, name):
                    raise ValueError(f"{thing.__name__} has no {name}: give the class one")
            if "__dataclass_fields__" not in vars(thing):
                raise ValueError(f"{thing.__name__} is no dataclass: write @dataclass(frozen=True) above it")
            if thing.id in table and table[thing.id] is not thing:
                raise ValueError(f"{thing.id} is registered already: give your class another id")
            if issubclass(thing, Loss) and (reason := why_no_code(thing)):
                raise ValueError(f"{thing.__name__} {reason}")
            table[thing.id] = thing
            return thing
    raise TypeError(f"{thing!r} is neither a Solver, nor a Loss, nor a Penalty class")


def why_no_code(loss: type[Loss]) -> str | None:
    """Say why a loss cannot be chosen inside compiled kernels, as its traits promise; None if it can, or need
    not."""
    in_kernels, code = Trait.SAMPLES | Trait.ROWS, loss.sample_code
    taken = any(other.sample_code == code for other in LOSSES.values() if other is not loss)
    if not getattr(loss, "traits", Trait(0)) & in_kernels or not (code < 0 or taken):
        return None
    return (
        "has no code of its own inside the compiled kernels, which know the losses of this package alone: "
        "leave Trait.SAMPLES and Trait.ROWS out of its traits"
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
    """Make the solver ``id`` with hyper-parameters ``params``, on top of those of a ``preset`` ("paper": as
    the paper prints them)."""
    return make(lookup(SOLVERS, "solver", id), "solver", preset_params(id, preset) | params)


def preset_params(id: str, preset: str | None) -> dict[str, Any]:
    """Return the hyper-parameters of a preset of the solver ``id``; ValueError that names those it has."""
    presets = lookup(SOLVERS, "solver", id).presets
    if preset is None:
        return {}
    if preset not in presets:
        known = f"it has {', '.join(presets)}" if presets else "it has none, its defaults are the paper's"
        raise ValueError(f"solver {id} has no preset {preset!r}: {known}")
    return dict(presets[preset])


def origin_of(trace: Trace, iteration: int) -> Origin:
    """Return where a branch leaves a run, for ``Run(..., origin=)``: the iterate recorded with this number.
    ValueError, one sentence, where the run cannot be replayed to it."""
    return Origin.of(trace, iteration, make_solver)


def why_not_loss(loss: str, kind: str) -> str | None:
    """Say why data of this kind of labels cannot have this loss; None if it can."""
    kinds = lookup(LOSSES, "loss", loss).kinds
    return None if kind in kinds else f"needs {' or '.join(kinds)} labels, and these are {kind}"


def why_not_solver(solver: str, loss: str, penalty: str, *, sharded: bool = False) -> str | None:
    """Say why a solver cannot take this loss and penalty; None if it can. Of a ``sharded`` loss it sees
    less."""
    seen = lookup(LOSSES, "loss", loss).traits
    offered = (seen & OFFERED if sharded else seen) | lookup(PENALTIES, "penalty", penalty).traits
    return why_not(lookup(SOLVERS, "solver", solver).needs, offered)


def compatible(loss: str, penalty: str, *, sharded: bool = False) -> list[str]:
    """List the ids of the solvers that accept this loss and penalty."""
    return [id for id in SOLVERS if why_not_solver(id, loss, penalty, sharded=sharded) is None]


def why_not_here(solver: str, problem: Problem) -> str | None:
    """Say why a solver cannot take a problem; None if it can. Of one on shards it sees less."""
    return why_not(lookup(SOLVERS, "solver", solver).needs, problem.loss.traits | problem.penalty.traits)


def fitting(problem: Problem) -> list[str]:
    """List the ids of the solvers that accept a problem."""
    return [id for id in SOLVERS if why_not_here(id, problem) is None]


def make_loss(data: Any, loss: str | None, loss_params: Mapping[str, Any]) -> Loss:
    """Make the loss with this id (None: the data set's own), which must take the data's kind of labels."""
    loss_class = lookup(LOSSES, "loss", loss or data.loss)
    if reason := why_not_loss(loss_class.id, data.kind):
        raise ValueError(f"loss {loss_class.id} {reason}: choose one of {', '.join(losses_for(data.kind))}")
    return make(loss_class, "loss", loss_params)


def make_problem(
    data: Any,
    y: Any = None,
    *,
    loss: str | None = None,
    penalty: str | None = None,
    offsets: Any = None,
    parents: Any = None,
    lam: float | str | None = None,
    lam_ratio: float | str | None = None,
    average: bool | None = None,
    loss_params: Mapping[str, Any] | None = None,
    penalty_params: Mapping[str, Any] | None = None,
    threads: int = 1,
    crew: Crew | None = None,
) -> Problem:
    """Make the problem min_w s Σ_i loss_i(w) + λR(w) on data.

    ``data`` is a data set as :func:`datasets.load` gives it, whose training part counts, or features (n, d),
    NumPy or SciPy sparse, with labels ``y``: see :func:`.arrays.from_arrays`.

    ``lam`` is λ, ``lam_ratio`` λ/λ_max. With neither, the data set's own λ for its own loss and penalty if it
    has one (times s over the loss's usual s, which leaves the solution as it is), else ratio 0.05 for sparse
    penalties and 1e-4 (average) for ``l2``. ``average``: s = 1/n instead of 1; by default the convention of
    the loss's paper. With a ``crew`` its shards, of these data, do the work, with threads of their own: see
    :mod:`.problems.sharded`.
    """
    began, compiled = time.thread_time(), compile_clock.spent()[1]
    if y is not None:
        kinds = lookup(LOSSES, "loss", loss).kinds if loss is not None else ()
        data = from_arrays(data, y, offsets, parents, kinds)
    elif not hasattr(data, "train"):
        raise ValueError("there are no labels: give them as y, or a data set as datasets.load makes it")
    bare = make_loss(data, loss, loss_params or {})
    loss_class, penalty_class = type(bare), lookup(PENALTIES, "penalty", penalty or data.penalty)
    average = loss_class.average if average is None else average
    strength = make(penalty_class, "penalty", penalty_params or {})
    lam, lam_ratio = _positive("lam", lam), _positive("lam_ratio", lam_ratio)
    if lam is not None and lam_ratio is not None:
        raise ValueError("both lam and lam_ratio are given: give one of them")
    if (lam is not None or lam_ratio is not None) and not penalty_class.takes_lam:
        raise ValueError(f"penalty {penalty_class.id} has no λ: leave lam out, or choose another penalty")
    if crew is None:
        check_room(data)
    team = Team(threads)
    measure = getattr(data, "metric", None) or ""
    bound = bare.bind(data.train, data.n_classes, data.parents).measured_by(measure)
    if crew is None:
        bound = bound.attached(team, lambda: None)
        design = Design(data.train.X, bound.n_outputs, bound.n_tail, team)
    else:
        design, bound = split(data.train.X, bound, crew)

    def test() -> tuple[Design, BoundLoss]:
        held_out = bare.bind(data.test, data.n_classes, data.parents).measured_by(measure)
        return Design(data.test.X, held_out.n_outputs, held_out.n_tail), held_out

    about = {"dataset": data.id, "options": data.options, "seed": data.seed, "digest": data.digest}
    about["source"] = data.source
    problem = Problem(
        design,
        bound,
        strength,
        average=average,
        about=about,
        names=Names.of(data, bound.n_outputs),
        test=None if data.test is None else test,
        start=None if getattr(data, "start", None) is None else np.array(data.start, dtype=np.float64),
    )
    own = loss_class.id == data.loss and penalty_class.id == data.penalty
    if penalty_class.takes_lam:
        # computed only where there is one: it costs a gradient
        relative = penalty_class.sparse and problem.smooth and problem.lam_max is not None
        if lam is None and lam_ratio is None and own and data.lam is not None:
            usual = 1.0 / bound.n_instances if loss_class.average else 1.0
            lam = data.lam * (problem.scale / usual)
        if lam is None and not relative:
            if lam_ratio is not None:
                raise ValueError(f"{_without_lam_max(problem)} has no λ_max: give lam instead of lam_ratio")
            lam = DEFAULT_RIDGE * (1.0 if average else bound.n_instances)
        if lam is None:
            lam = (lam_ratio or DEFAULT_RATIO) * problem.lam_max
        problem = problem.at_lam(lam)
    problem.took(time.thread_time() - began - (compile_clock.spent()[1] - compiled))
    return problem


def _without_lam_max(problem: Problem) -> str:
    if problem.smooth:
        return f"penalty {problem.penalty.id}"
    return f"loss {problem.loss.id} has no gradient and so"


def losses_for(kind: str) -> list[str]:
    """List the ids of the losses for this kind of labels."""
    return [id for id, cls in LOSSES.items() if kind in cls.kinds]


def _positive(name: str, value: float | str | None) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{name}={value}: {name} must be a number above 0")
    return number
