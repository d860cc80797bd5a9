"""Compatibility: which losses suit the labels of data, and which solvers accept a loss, a penalty or a
problem."""

from __future__ import annotations

from collections.abc import Sequence

from .declare import Trait, unmet_needs
from .methods.solver import Solver
from .problems.losses.weighted import NEEDS_NO_WEIGHTS, WeightedLoss, weighted_traits
from .problems.problem import Problem
from .problems.shards.sharded import SHARDED_TRAITS, ShardedDesign
from .registry import LOSSES, PENALTIES, SOLVERS, lookup, make_solver
from .rivals.external_solver import ExternalSolver


def why_not_loss(loss: str, kind: str) -> str | None:
    """Return why a loss does not suit data with this kind of labels.

    Parameters
    ----------
    loss : str
        The id of the loss.
    kind : str
        The kind of labels: ``binary``, ``multiclass``, ``multilabel``, ``sequences``, ``tree``,
        ``regression`` (one numeric target), ``multitask`` (several) or ``function``.

    Returns
    -------
    str or None
        The predicate of a sentence whose subject is the loss; None if the loss suits the data.
    """
    kinds = lookup(LOSSES, "loss", loss).kinds
    return None if kind in kinds else f"needs {' or '.join(kinds)} labels, and these are {kind}"


def why_not_solver(
    solver: str,
    loss: str,
    penalty: str,
    *,
    sharded: bool = False,
    uniform: bool = True,
    weighted: bool = False,
) -> str | None:
    """Return why a solver does not accept a loss with a penalty.

    Parameters
    ----------
    solver, loss, penalty : str
        The ids of solver, loss and penalty.
    sharded : bool
        Whether the rows are split over shards, for which a loss offers fewer traits.
    uniform : bool
        Whether all weights have the same penalty factor; False with an intercept or penalty factors.
    weighted : bool
        Whether samples have weights, for which a loss offers fewer traits.

    Returns
    -------
    str or None
        The predicate of a sentence whose subject is the solver; None if it accepts them.
    """
    seen = lookup(LOSSES, "loss", loss).traits
    lost = seen & ~weighted_traits(seen) if weighted else Trait(0)
    offered = (seen & SHARDED_TRAITS if sharded else seen) | lookup(PENALTIES, "penalty", penalty).traits
    if uniform or not PENALTIES[penalty].takes_lam:
        offered |= Trait.UNIFORM
    return _why_not(lookup(SOLVERS, "solver", solver), offered, lost)


def compatible(
    loss: str, penalty: str, *, sharded: bool = False, uniform: bool = True, weighted: bool = False
) -> list[str]:
    """Return the ids of the solvers that accept a loss with a penalty.

    Parameters
    ----------
    loss, penalty : str
        The ids of loss and penalty.
    sharded : bool
        Whether the rows are split over shards.
    uniform : bool
        Whether all weights have the same penalty factor; False with an intercept or penalty factors.
    weighted : bool
        Whether samples have weights.

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
    how = {"sharded": sharded, "uniform": uniform, "weighted": weighted}
    return [id for id in SOLVERS if why_not_solver(id, loss, penalty, **how) is None]


def why_not_solver_on(solver: str, problem: Problem) -> str | None:
    """Return why a solver does not accept a problem, which may be on shards.

    Parameters
    ----------
    solver : str
        The id of the solver.
    problem : Problem
        The problem.

    Returns
    -------
    str or None
        The predicate of a sentence whose subject is the solver; None if it accepts the problem.
    """
    return _why_not_on(lookup(SOLVERS, "solver", solver), problem)


def _why_not_on(solver: type[Solver], problem: Problem) -> str | None:
    loss = problem.loss
    unweighted = loss.inner.traits if isinstance(loss, WeightedLoss) else loss.traits
    offered = unweighted | problem.penalty.traits
    if problem.uniform:
        offered |= Trait.UNIFORM
    return _why_not(solver, offered, unweighted & ~loss.traits)


def _why_not(solver: type[Solver], offered: Trait, lost: Trait) -> str | None:
    """Return which traits a solver needs that are not offered, or why it cannot run in this installation.

    Return None if it can run. Of the traits ``offered``, sample weights remove those in ``lost``.
    """
    one_of = solver.formulas if issubclass(solver, ExternalSolver) else None
    if reason := unmet_needs(solver.needs, offered, one_of):
        return reason
    if unmet_needs(solver.needs, offered & ~lost, one_of):
        return NEEDS_NO_WEIGHTS
    return solver.why_not_here()


def refusal(solver: Solver, problem: Problem) -> str | None:
    """Return why a solver cannot run on a problem, as a sentence; return None if it can.

    The class of the solver need not be registered.
    """
    if reason := _why_not_on(type(solver), problem):
        kind = {"sharded": isinstance(problem.design, ShardedDesign), "weighted": problem.loss.weighted}
        pair = describe_pair(problem.loss.id, problem.penalty.id, uniform=problem.uniform, **kind)
        others = [id for id in SOLVERS if why_not_solver_on(id, problem) is None]
        return refusal_of_pair(solver.id, reason, pair, others)
    if reason := solver.refuses(problem):
        return f"solver {solver.id} refuses this problem: {reason}"
    return None


def refusal_of_pair(solver: str, reason: str, pair: str, others: Sequence[str]) -> str:
    """Return the sentence that a solver does not accept a loss with a penalty, and which ``others`` do."""
    advice = f"choose one of {', '.join(others)}" if others else "choose another loss or penalty"
    return f"solver {solver} {reason}, unlike {pair}: {advice}"


def describe_pair(
    loss: str, penalty: str, *, sharded: bool = False, uniform: bool = True, weighted: bool = False
) -> str:
    """Return a description of a loss with a penalty, and of other properties that solvers may not accept."""
    others = [] if uniform else ["an intercept or penalty factors"]
    others += ["sample weights"] if weighted else []
    given = f"{loss} with penalty {penalty}{' on shards' if sharded else ''}"
    return given + "".join(f" and {other}" for other in others)


def fitting(problem: Problem) -> list[str]:
    """Return the ids of the solvers that accept a problem.

    Parameters
    ----------
    problem : Problem
        The problem.

    Returns
    -------
    list of str
        Ids of the solvers that accept it with their default hyper-parameters, as ordered in
        ``solvers.SOLVERS``.
    """
    return [id for id in SOLVERS if accepts(id, problem)]


def accepts(solver: str, problem: Problem) -> bool:
    """Return whether a solver with default hyper-parameters accepts a problem.

    Parameters
    ----------
    solver : str
        The id of the solver.
    problem : Problem
        The problem.

    Returns
    -------
    bool
    """
    return why_not_solver_on(solver, problem) is None and make_solver(solver).refuses(problem) is None


def losses_for(kind: str) -> list[str]:
    """Return the ids of the losses for a kind of labels.

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
