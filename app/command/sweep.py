"""The command ``sweep``: a grid of runs on Dask, with a table at the end and results in a folder."""

from __future__ import annotations

import math
import time
from concurrent.futures import wait

from solverscope.solvers.runs.endings import BROKEN

from ..sweep.cell_progress import CellProgress
from ..sweep.cluster import started
from ..sweep.driver import SchedulerGone, SweepDriver, counts
from .exit_status import FAILED, FINISHED, INTERRUPTED
from .headless import Emit, Interrupts
from .progress_bar import ProgressBar

#: Seconds between two checks of the main thread for signals.
SIGNAL_POLL_SECONDS = 0.1
#: Seconds to wait for workers after a signal; then they are abandoned, and finished cells are kept.
SHUTDOWN_SECONDS = 1.0


def execute(sweep: SweepDriver, emit: Emit, progress: ProgressBar) -> int:
    """Run a sweep and return the exit status.

    ``emit`` receives a record of the sweep, and then one for each cell that ends.
    """
    name, total = sweep.spec.name, len(sweep.cells)
    kept = [watched for watched in sweep.cells.values() if not watched.alive]
    folder = str(sweep.store.folder)
    emit({"type": "sweep", "name": name, "cells": total, "kept": len(kept), "folder": folder})
    for watched in kept:
        emit(watched.record)
    earlier = f", {len(kept)} of them kept from before" if kept else ""
    progress.say(f"{name}: {total} runs on {sweep.place.name}{earlier}; results in {folder}")

    def ended(watched: CellProgress) -> None:
        emit(watched.record)
        done = sum(not other.alive for other in sweep.cells.values())
        progress.say(f"{done} of {total}  {_sentence(watched)}")

    interrupts = Interrupts()
    with interrupts.listening(), progress.working("starting workers") as show:
        outcome = started(lambda: sweep.run(ended), "sweep")
        until = math.inf
        while not wait([outcome], SIGNAL_POLL_SECONDS).done:
            if interrupts.wanted:
                sweep.stop("interrupted")
                until = min(until, time.monotonic() + SHUTDOWN_SECONDS)
                if time.monotonic() > until:
                    progress.say(f"{name}: interrupted; go on with --resume")
                    return INTERRUPTED
            show(_standing(sweep), None)
    if (error := outcome.exception()) is not None and not isinstance(error, SchedulerGone):
        raise error
    for choice in sweep.choices():
        emit(choice)
    if sweep.spec.choose and not sweep.choices():
        progress.say("no λ is chosen: no λ has a metric on held-out data of each of its runs; see --folds")
    if sweep.message:
        progress.say(f"{name}: {sweep.message}; go on with --resume")
    if interrupts.wanted:
        return INTERRUPTED
    return FAILED if error else exit_status(sweep)


def exit_status(sweep: SweepDriver) -> int:
    """Return the exit status of a sweep that was not interrupted."""
    return FAILED if any(watched.status in BROKEN for watched in sweep.cells.values()) else FINISHED


def _sentence(watched: CellProgress) -> str:
    record, message = watched.record, f" ({watched.message})" if watched.message else ""
    lam = f", λ = {record['lam']:.4g}" if record["lam"] else ""
    run = f"{watched.cell.problem.data_text}{lam}, {watched.cell.entrant.label}"
    if watched.state == "failed":
        return f"{run}: failed{message}"
    return (
        f"{run}: {watched.word} after {record['iterations'] or 0} iterations and "
        f"{record['cpu_seconds'] or 0.0:.3g} CPU s{message}"
    )


def _standing(sweep: SweepDriver) -> str:
    if sweep.silent:
        return f"{sweep.place.name} does not answer: wait for it, or give it up with Ctrl-C"
    if sweep.workers is None and sweep.place.scheduler is not None:
        return f"asking {sweep.place.name}"
    if sweep.workers == 0:
        return f"{sweep.place.name} has no workers yet: start some with `dask worker`"
    said = ", ".join(f"{n} {state}" for state, n in counts(sweep.cells).items())
    return said if sweep.workers is None else f"{said}; {sweep.workers} workers"
