"""Shards on the workers of a Dask cluster: one run whose samples are distributed over machines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from solverscope.app import plugins
from solverscope.app.settings.recipe import Recipe
from solverscope.app.sweep.cluster import CONNECT, ClusterSpec, connected
from solverscope.solvers.problems.shards.shard import Order, Shard
from solverscope.solvers.problems.shards.worker_pool import ShardAnswer, ShardLost, ShardWorker, WorkerPool

if TYPE_CHECKING:
    from distributed import Client

#: Seconds to wait for a shard to load its data, and to take leave; and between two looks for who is there.
LOADING, LEAVING, LOOK = 600.0, 5.0, 1.0


class DaskCrew(WorkerPool):
    """A worker pool of Dask actors, each on a separate worker, that exchange messages directly.

    Orders consist of names and numbers only; each actor loads its samples, and the plug-ins of this process,
    itself.
    """

    def __init__(self, client: Client, recipe: Recipe, count: int) -> None:
        self.client, files = client, plugins.loaded()
        self.workers = sorted(client.scheduler_info(n_workers=-1)["workers"])[:count]
        futures = [
            client.submit(make_hand, recipe, k, count, files, actor=True, pure=False, workers=[worker])
            for k, worker in enumerate(self.workers)
        ]
        with client.as_current():  # an actor asks for the client when it is made
            super().__init__([future.result(LOADING) for future in futures])
        for met in [hand.connect(self.members) for hand in self.members]:
            met.result(CONNECT)

    def ask(self, orders: Sequence[Order], pulse: Callable[[], None]) -> ShardAnswer:
        """Send orders to every shard and return the combined answer. Raises ShardLost if a worker is gone."""
        looked = time.monotonic()

        def look() -> None:
            nonlocal looked
            pulse()
            if time.monotonic() - looked > LOOK:  # Dask waits forever for an actor that has gone
                self._check()
                looked = time.monotonic()

        try:
            return super().ask(orders, look)
        except ShardLost:
            raise
        except (OSError, RuntimeError, ValueError, KeyError):
            self._check()
            raise

    def leave(self) -> None:
        """Disconnect the actors from each other, as Dask keeps an actor while another one refers to it."""
        there = self._there()
        with suppress(OSError):
            hands = [hand for hand, worker in zip(self.members, self.workers, strict=True) if worker in there]
            for left in [hand.disconnect() for hand in hands]:
                left.result(LEAVING)

    def _there(self) -> set[str]:
        """Return the workers known to the scheduler; an empty set if it does not answer."""
        try:
            return set(self.client.scheduler_info(n_workers=-1)["workers"])
        except (OSError, RuntimeError):
            return set()

    def _check(self) -> None:
        if not set(self.workers) <= self._there():
            raise ShardLost(
                "a worker that held a shard is gone, and the scores of its rows with it: run it again"
            )


def make_hand(recipe: Recipe, k: int, count: int, files: Sequence[str]) -> ShardWorker:
    """Load the data of a recipe, on a worker, and return shard ``k`` of ``count``; ``files`` are plug-ins to
    load."""
    plugins.load_all(files)
    data = recipe.load()
    return ShardWorker(Shard.of(data, recipe.make_loss(data), k, count, recipe.threads))


@contextmanager
def hired(place: ClusterSpec, recipe: Recipe, count: int) -> Iterator[DaskCrew]:
    """Yield a pool of ``count`` shards on a cluster, as a context.

    Each loads the data and the loss of the recipe, and uses its number of threads. Raises ValueError if the
    cluster cannot provide the workers.
    """
    with connected(place) as client:
        try:
            client.wait_for_workers(count, timeout=CONNECT)
        except TimeoutError:
            found = len(client.scheduler_info(n_workers=-1)["workers"])
            fewer = f", or give --shards {found}" if found else ""
            raise ValueError(
                f"{place.name} has {found} workers, and {count} shards take one each: start more with "
                f"`dask worker`{fewer}"
            ) from None
        crew = DaskCrew(client, recipe, count)
        try:
            yield crew
        finally:
            crew.leave()
