"""The parts of an experiment: the recipe of its problem, its entrants, and the limits of their runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from solverscope import datasets, solvers
from solverscope.app.settings.arguments import choices, text_of
from solverscope.app.settings.settings_table import IN_RUN_FORM
from solverscope.datasets.entry import weighs
from solverscope.datasets.kinds import DEFAULT_LOSSES
from solverscope.ids import unknown_id
from solverscope.solvers import PENALTIES, Stopping, parameters


@dataclass(frozen=True)
class Recipe:
    """The recipe of a problem: data, loss, penalty and λ.

    None, and options that are not listed, stand for the defaults of the data set and the loss.
    """

    data: str
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    loss: str | None = None
    penalty: str | None = None
    penalty_params: Mapping[str, Any] = field(default_factory=dict)
    lam: float | None = None
    lam_ratio: float | None = None
    loss_params: Mapping[str, Any] = field(default_factory=dict)
    average: bool | None = None
    intercept: bool | None = None
    penalty_factors: str | None = None
    threads: int = 1

    @classmethod
    def of(cls, data: str) -> Self:
        """Return the default recipe of a data set: a registered one, or a user's own file.

        Raises ValueError if the data set does not exist, cannot be used, or has no suitable loss.
        """
        info = info_of(data)
        if reason := why_not_data(data):
            raise ValueError(f"{info.name} cannot be used: {reason}")
        return cls(data, penalty=info.penalty if info.penalty in PENALTIES else "l1").with_fitting_loss()

    @property
    def kind(self) -> str:
        """Return the kind of labels, which options of the data may change."""
        return info_of(self.data).kind_of(**self.options)

    @property
    def weighted(self) -> bool:
        """Return whether the options of the data assign weights to samples."""
        return weighs(self.options)

    @property
    def uniform(self) -> bool:
        """Return whether all weights are penalized equally, which some solvers require."""
        return not self.intercept and not self.penalty_factors

    @property
    def key(self) -> str:
        """Return a string that is the same for two recipes if and only if they are equal."""
        return json.dumps(asdict(self), sort_keys=True, default=str)

    @property
    def data_text(self) -> str:
        """Return the data set with its options, ``ID,name=value,...``, followed by the seed
        unless that is 0."""
        text = ",".join([self.data, *(f"{name}={value}" for name, value in self.options.items())])
        return f"{text},seed={self.seed}" if self.seed else text

    def with_fitting_loss(self) -> Self:
        """Return this recipe if its loss suits its kind of labels, otherwise a copy with the default loss for
        them."""
        fitting, usual = solvers.losses_for(self.kind), DEFAULT_LOSSES[self.kind]
        if self.loss in fitting:
            return self
        return replace(self, loss=usual if usual in fitting else fitting[0])

    def load(self, progress: Callable[[str, float | None], None] | None = None) -> datasets.Dataset:
        """Load the data. Raises ValueError if they cannot be loaded."""
        return datasets.load(self.data, seed=self.seed, progress=progress, **self.options)

    def make_loss(self, data: datasets.Dataset) -> solvers.Loss:
        """Build the loss. Raises ValueError if it does not suit the data."""
        return solvers.make_loss(data, self.loss, self.loss_params)

    def make(self, data: datasets.Dataset, **how: Any) -> solvers.Problem:
        """Build the problem from its data; ``how`` is passed on to :func:`solvers.make_problem`.

        Raises ValueError if the recipe does not suit the data.
        """
        given = {name: value for name, value in vars(self).items() if name not in ("data", "options", "seed")}
        return solvers.make_problem(data, **given, **how)


@dataclass(frozen=True)
class Entrant:
    """A solver in an experiment: its id, the label of its run, and hyper-parameters that are not at their
    defaults.

    ``penalty`` replaces that of the problem if it is not empty, so that runs with different penalties can be
    compared.
    """

    id: str
    label: str
    params: Mapping[str, Any] = field(default_factory=dict)
    penalty: str = ""

    @classmethod
    def of(cls, label: str, solver: solvers.Solver) -> Self:
        """Return the entrant that describes a solver."""
        return cls(solver.id, label, typed(type(solver), asdict(solver)))

    @classmethod
    def parse_all(cls, texts: Iterable[str]) -> tuple[Self, ...]:
        """Parse strings ``[LABEL=]ID[@PENALTY][,name=value,...]``. Raises ValueError if one is invalid."""
        found = []
        for choice in choices(list(texts)):
            id, at, penalty = choice.id.partition("@")
            if at and penalty not in PENALTIES:
                raise ValueError(unknown_id("penalty", penalty, PENALTIES))
            made = cls.of(choice.label, solvers.make_solver(id, **choice.params))
            found.append(replace(made, penalty=penalty))
        return tuple(found)

    def recipe(self, shared: Recipe) -> Recipe:
        """Return the recipe of this entrant's problem: ``shared``, with the entrant's own penalty if it has
        one."""
        if self.penalty in ("", shared.penalty):
            return shared
        return replace(shared, penalty=self.penalty, penalty_params={})

    def make(self) -> solvers.Solver:
        """Build the solver."""
        return solvers.make_solver(self.id, **self.params)

    def __str__(self) -> str:
        id = f"{self.id}@{self.penalty}" if self.penalty else self.id
        head, params = id if self.label == id else f"{self.label}={id}", dict(self.params)
        # commas of legs are not those between the parameters
        legs = params.pop("legs", "auto") if self.id == solvers.Relay.id else "auto"
        text = ",".join([head, *(f"{name}={text_of(value)}" for name, value in params.items())])
        if legs == "auto":
            return text
        return (text + "+" if params or self.penalty else text.removesuffix(self.id)) + solvers.shorten_legs(
            legs
        )


@dataclass(frozen=True)
class RunLimits(Stopping):
    """Stopping limits as the user sets them.

    ``f_star`` may also be "auto": then f* is looked up, or computed before the run. If it is None, f* is
    unknown and a limit on the gap has no effect.
    """

    f_star: float | str | None = None  # pyright: ignore[reportIncompatibleVariableOverride]

    def stopping(self, f_star: float | None = None) -> Stopping:
        """Return the limits of a run for a known f*, or None.

        The limit on the gap is dropped if f* is None. Default limits apply if no others are set.
        """
        known = {"f_star": f_star, "gap": None if f_star is None else self.gap}
        return Stopping(**{**vars(self), **known}).or_usual()


#: Default limits of runs on the page, which are lower than elsewhere because the user is waiting.
PAGE_LIMITS = RunLimits(**{one.name: one.field.default for one in IN_RUN_FORM if one.part == "limits"})


def make_run(
    problem: solvers.Problem,
    solver: solvers.Solver,
    stopping: Stopping,
    *,
    reference: Mapping[str, Any] | None = None,
    **how: Any,
) -> solvers.Run:
    """Create a run of ``solver``, with its tolerance adapted to that of ``stopping``.

    ``reference`` describes how f* was found, and is stored in the trace. ``how`` is passed on to
    :class:`solvers.Run`. Raises ValueError if the solver refuses the problem.
    """
    run = solvers.Run(problem, solver.with_tol(stopping.tol), stopping=stopping, **how)
    if reference is not None:
        run.trace.tell(reference=reference)
    return run


def info_of(id: str) -> datasets.DataSetInfo:
    """Return the description of a data set; for a user's own file, without the option that names a test file.

    URLs and fields of the page must not name files. Raises ValueError if the data set does not exist.
    """
    info = datasets.describe(id)
    if not info.paths:
        return info
    return replace(info, own=tuple(option for option in info.own if option.name != "test"))


def why_not_data(id: str) -> str | None:
    """Return why a data set cannot be used now; return None if it can."""
    info = info_of(id)
    if not solvers.losses_for(info.kind) and "positive" not in {o.name for o in info.options}:
        return f"no loss for {info.kind} labels is registered"
    available, reason = info.available()
    return None if available else reason


def fits(entrant: Entrant, problem: Recipe) -> str | None:
    """Return why a solver cannot be used for the problem's loss and penalty; return None if it can.

    A penalty of the entrant's own takes the place of the problem's.
    """
    own = entrant.recipe(problem).penalty
    if PENALTIES[own].takes_lam and not PENALTIES[problem.penalty].takes_lam:
        return f"needs a λ for its penalty {own}, and the problem has none"
    return solvers.why_not_solver(entrant.id, problem.loss, own, **_offering(problem))


def default_entrants(problem: Recipe) -> tuple[Entrant, ...]:
    """Return entrants for the first two solvers that suit the problem."""
    ids = solvers.compatible(problem.loss, problem.penalty, **_offering(problem))[:2]
    return tuple(Entrant(id, id) for id in ids)


def _offering(problem: Recipe) -> dict[str, bool]:
    """Return the properties of the problem, apart from loss and penalty, that solvers may require."""
    return {"uniform": problem.uniform, "weighted": problem.weighted}


def typed(cls: type, params: Mapping[str, Any]) -> dict[str, Any]:
    """Convert values of declared parameters to their types, and omit those at their defaults."""
    declared = {p.name: p for p in parameters(cls)}
    values = {name: declared[name].parse(value) for name, value in params.items()}
    return {name: value for name, value in values.items() if value != declared[name].default}
