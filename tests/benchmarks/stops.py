"""How long a run goes on after it was told to stop."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass

from solverscope.solvers import Run


@dataclass(frozen=True)
class Stop:
    """Seconds from the interrupt to the end: on the clock, and of the run's own CPU time, which does not hang
    on what else the machine does (NaN where threads have no clock that others can read)."""

    wall: float
    cpu: float

    @property
    def seconds(self) -> float:
        """Return the CPU seconds where they are known, else those on the clock."""
        return self.wall if math.isnan(self.cpu) else self.cpu


def stop(run: Run, after: float) -> Stop:
    """Start a run in a thread and stop it so many seconds after its kernels are there."""
    ended = []

    def work() -> None:
        run.execute()
        ended.append((time.perf_counter(), time.thread_time()))

    worker = threading.Thread(target=work)
    worker.start()
    while run.trace.status in ("queued", "compiling") and worker.is_alive():
        time.sleep(0.01)
    time.sleep(after)
    assert worker.is_alive(), "it ended by itself"
    cpu = float("nan")
    if hasattr(time, "pthread_getcpuclockid"):
        cpu = time.clock_gettime(time.pthread_getcpuclockid(worker.ident))
    began = time.perf_counter()
    run.interrupt()
    worker.join(60)
    assert run.trace.status == "stopped"
    ((wall, spent),) = ended
    return Stop(wall - began, spent - cpu)
