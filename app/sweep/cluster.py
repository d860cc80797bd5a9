"""The Dask cluster of a sweep or of shards: one of its own on this machine, or a scheduler that is named."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client

#: Seconds to wait for a scheduler to answer, and for its first worker.
CONNECT = 10.0
LOOPBACK = "127.0.0.1"
MISSING = 'sweeps and shards need Dask: install it with python -m pip install "solverscope[cluster]"'


class NoCluster(ValueError):
    """There is no cluster to run on; the message is one sentence that says why and what would help."""


@dataclass(frozen=True)
class Place:
    """Where to run: a ``scheduler`` (None: a cluster of processes on this machine, with so many workers)."""

    scheduler: str | None = None
    workers: int | None = None
    threads: int = 1

    @property
    def name(self) -> str:
        """Say where, in a few words."""
        return f"the scheduler {self.scheduler}" if self.scheduler else "this machine"


def why_not() -> str | None:
    """Say why nothing can be run on Dask here; None if it can."""
    return MISSING if importlib.util.find_spec("distributed") is None else None


@contextmanager
def connected(place: Place) -> Iterator[Client]:
    """Give a client of the cluster, as a context. A cluster of its own listens on this machine only, without
    Dask's page, and ends with the context. Raises NoCluster."""
    if reason := why_not():
        raise NoCluster(reason)
    import dask

    # Dask would change the loggers of Bokeh and Tornado as well; what matters is said once, by the sweep
    quiet = {"distributed": {"level": "CRITICAL"}}
    logs = {"version": 1, "incremental": False, "disable_existing_loggers": False, "loggers": quiet}
    dask.config.set({"distributed.logging": logs})
    from distributed import Client, LocalCluster

    settings = {
        "distributed.comm.timeouts.connect": CONNECT,
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "distributed.nanny.pre-spawn-environ.DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical",
    }
    with dask.config.set(settings):
        if place.scheduler is not None:
            with _client(place.scheduler) as client:
                yield client
            return
        workers = place.workers or os.cpu_count() or 1
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=place.threads,
                processes=True,
                host=LOOPBACK,
                dashboard_address=f"{LOOPBACK}:0",
                scheduler_kwargs={"dashboard": False},
                silence_logs=False,  # it would change the handlers of all loggers
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client


def _client(address: str) -> Client:
    from distributed import Client

    try:
        return Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        reason = "nobody answers there" if isinstance(error, OSError | TimeoutError) else str(error)
        raise NoCluster(
            f"there is no scheduler at {address} ({reason}): start one with `dask scheduler` and name it as "
            "tcp://host:port"
        ) from None
