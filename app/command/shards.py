"""The option ``--shards K`` of ``run``: one run whose samples are split over the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from solverscope.solvers.from_data import NOT_ON_SHARDS
from solverscope.solvers.problems.shards.shard import check_count

from ..settings.recipe import Recipe
from ..sweep.cluster import ClusterSpec, why_no_dask
from ..sweep.shard_crew import DaskCrew, hired
from .progress_bar import ProgressBar


@contextmanager
def crew_on(place: ClusterSpec, recipe: Recipe, data: Any, progress: ProgressBar) -> Iterator[DaskCrew]:
    """Yield a pool of workers for the data of a recipe, as a context, with one shard per worker.

    Raises ValueError, before workers are requested, if the problem cannot be split.
    """
    check_count(place.workers, data.n_samples)
    if recipe.intercept or data.sample_weight is not None:
        raise ValueError(NOT_ON_SHARDS)
    with ExitStack() as stack:
        with progress.working(f"loading {recipe.data} on {place.name}, in {place.workers} shards"):
            crew = stack.enter_context(hired(place, recipe, place.workers))
        yield crew


def place_of(shards: int | None, scheduler: str | None) -> ClusterSpec | None:
    """Return the cluster for this many shards: that of the scheduler, or one on this machine.

    Return None if no shards are requested. Raises ValueError if Dask is missing, or if a scheduler is given
    without shards.
    """
    if shards is None:
        if scheduler is not None:
            raise ValueError("--scheduler names the cluster of shards: give --shards too")
        return None
    if reason := why_no_dask():
        raise ValueError(reason)
    return ClusterSpec(scheduler, workers=shards)


def traffic(crew: DaskCrew, iterations: int) -> str:
    """Describe how many bytes were sent since the last call."""
    each, here = (total // max(iterations, 1) for total in (crew.moved, crew.at_root))
    crew.moved = crew.at_root = 0
    return (
        f"{each:,} bytes an iteration on the wires of {len(crew)} shards, {here:,} of them from and to here"
    )
