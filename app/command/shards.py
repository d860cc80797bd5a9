"""``solverscope run --shards K``: one run whose rows are split over the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from solvers.problems.shards.shard import check_count

from ..settings.recipe import Recipe
from ..sweep.cluster import Place, why_no_dask
from ..sweep.shard_crew import DaskCrew, hired
from .progress_bar import Progress


@dataclass(frozen=True)
class Shards:
    """How many shards, and on which ``scheduler`` (None: a cluster on this machine); ``files`` are
    plug-ins."""

    count: int
    scheduler: str | None = None
    files: Sequence[str] = ()

    @contextmanager
    def hired(self, recipe: Recipe, data: Any, progress: Progress) -> Iterator[DaskCrew]:
        """Give the crew for the data of a recipe, as a context. ValueError, before any worker is asked, for
        what is not possible."""
        check_count(self.count, data.n_samples)
        place = Place(self.scheduler, workers=self.count)
        with ExitStack() as stack:
            with progress.working(f"loading {recipe.data} on {place.name}, in {self.count} shards"):
                crew = stack.enter_context(hired(place, recipe, self.count, self.files))
            yield crew


def checked(shards: int | None, scheduler: str | None, files: Sequence[str]) -> Shards | None:
    """Return the shards that are asked for; None where there are none. ValueError, one sentence."""
    if shards is None:
        if scheduler is not None:
            raise ValueError("--scheduler names the cluster of shards: give --shards too")
        return None
    if reason := why_no_dask():
        raise ValueError(reason)
    return Shards(shards, scheduler, files)


def traffic(crew: DaskCrew, iterations: int) -> str:
    """Say how much has gone over the wires since this was said last."""
    each, here = (total // max(iterations, 1) for total in (crew.moved, crew.at_root))
    crew.moved = crew.at_root = 0
    return (
        f"{each:,} bytes an iteration on the wires of {len(crew)} shards, {here:,} of them from and to here"
    )
