"""The Dask cluster of a sweep or of shards: one of its own on this machine, or a scheduler that is named."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from distributed import Client, LocalCluster
    from tornado.ioloop import IOLoop

T = TypeVar("T")

#: Seconds to wait for a scheduler to answer, and for its first worker.
CONNECT = 10.0
LOOPBACK = "127.0.0.1"
#: Seconds without a sign of life of a worker of ours until it is restarted, and its cells run again (Dask's
#: own are five minutes).
WORKER_TTL_SECONDS = 60.0
#: Dask, and what makes the keys that processes of a cluster of our own know each other by.
NEEDED = ("distributed", "cryptography")
DASK_MISSING = 'sweeps and shards need Dask: install it with python -m pip install "solverscope[cluster]"'


@dataclass(frozen=True)
class ClusterSpec:
    """A Dask cluster: that of a ``scheduler``, or, if None, one of ``workers`` processes on this machine."""

    scheduler: str | None = None
    workers: int | None = None
    threads: int = 1

    @property
    def name(self) -> str:
        """Return the location of the cluster in a few words."""
        return f"the scheduler {self.scheduler}" if self.scheduler else "this machine"


def why_no_dask() -> str | None:
    """Return why nothing can be run on Dask here; return None if it can."""
    return DASK_MISSING if any(importlib.util.find_spec(name) is None for name in NEEDED) else None


@contextmanager
def connected(place: ClusterSpec) -> Iterator[Client]:
    """Yield a client of the cluster, as a context. A cluster of its own listens on this machine only, without
    Dask's page, and ends with the context. Raises ValueError."""
    if reason := why_no_dask():
        raise ValueError(reason)
    import dask.config as config

    # Dask would change the loggers of Bokeh and Tornado as well; what matters is said once, by the sweep
    quiet = {"distributed": {"level": "CRITICAL"}}
    logs = {"version": 1, "incremental": False, "disable_existing_loggers": False, "loggers": quiet}
    config.set({"distributed.logging": logs})
    from distributed import Client

    settings = {
        "distributed.comm.timeouts.connect": CONNECT,
        "distributed.scheduler.worker-ttl": f"{WORKER_TTL_SECONDS} s",
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "distributed.nanny.pre-spawn-environ.DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical",
    }
    with config.set(settings):
        if place.scheduler is not None:
            with _client(place.scheduler) as client:
                yield client
            return
        with (
            _deaf_loop() as loop,
            _own_cluster(loop, place) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client


@contextmanager
def _own_cluster(loop: IOLoop, place: ClusterSpec) -> Iterator[LocalCluster]:
    """Yield worker processes on this machine, as a context.

    They start in a separate thread, so that an interrupt ends them only once they are complete: incomplete
    ones would complain.

    All connections require a key that this process has just made. Without one every account of this machine
    could run code in the workers.
    """
    from distributed import LocalCluster
    from distributed.security import Security

    def start() -> LocalCluster:
        return LocalCluster(
            loop=loop,
            n_workers=place.workers or os.cpu_count() or 1,
            threads_per_worker=place.threads,
            processes=True,
            host=LOOPBACK,
            security=Security.temporary(),
            dashboard_address=f"{LOOPBACK}:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=False,  # it would change the handlers of all loggers
        )

    starting = started(start, "starting workers")
    try:
        starting.result()
    except KeyboardInterrupt:
        starting.result().close()
        raise
    cluster = starting.result()
    with cluster:
        yield cluster


@contextmanager
def _deaf_loop() -> Iterator[IOLoop | None]:
    """Yield the loop of a cluster, in a thread with signals to end blocked, as in processes that it starts.

    Ctrl-C goes to all processes of a terminal: workers would die of it while a run that stops still needs
    them. They end with their cluster, or, whatever becomes of it, with the process that has started them.
    """
    from distributed.utils import LoopRunner

    ending = {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}
    runner, masks = LoopRunner(), hasattr(signal, "pthread_sigmask")  # Windows has none
    if masks:
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()  # the thread that starts it hears signals again
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    try:
        runner.start()
    finally:
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield runner.loop
    finally:
        runner.stop()


def _client(address: str) -> Client:
    """Return a client of a scheduler. Raises ValueError; a client that comes too late is closed."""
    from distributed import Client

    late = threading.Event()

    def client() -> Client:
        made = Client(address, timeout=CONNECT, set_as_default=False)
        if late.is_set():  # nobody waits for it any more
            made.close()
        return made

    try:
        return started(client).result(CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        late.set()
        reason = "nobody answers there" if isinstance(error, OSError | TimeoutError) else str(error)
        raise ValueError(
            f"there is no scheduler at {address} ({reason}): start one with `dask scheduler` and name it as "
            "tcp://host:port"
        ) from None


def started(work: Callable[[], T], name: str = "asking the scheduler") -> Future[T]:
    """Start ``work`` in a thread that nobody waits for, and return its future: a stopped scheduler accepts a
    request and never answers."""
    outcome = Future[T]()

    def do() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=do, name=name, daemon=True).start()
    return outcome
