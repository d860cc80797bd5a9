"""The reporter of a cell on its worker: it sends blocks of the trace, and receives commands to pause and
stop."""

from __future__ import annotations

import json
import secrets
import threading
import time
from typing import Any, Literal

from distributed import Variable, Worker, get_client

from solverscope.app.runs.packing import pack_rows
from solverscope.app.runs.watchdog import Heartbeat
from solverscope.solvers import Interrupted, Iterate, Run, Trace

#: Seconds between two reports: a command takes effect, and iterates become visible, within two of them.
REPORT_SECONDS = 0.2
#: Seconds to wait for an answer of the scheduler.
PATIENCE = 10.0

Command = Literal["go", "pause", "stop"]


class CellReporter:
    """The gate of one attempt at a cell, in the process that runs it.

    A thread sends new rows of the trace as events of a Dask topic. It also reads a Dask variable, which the
    sweep's driver sets to "go", "pause" or "stop". The run itself never waits for the scheduler. A cell whose
    driver has gone is stopped as well. Each attempt has a unique name, by which the driver distinguishes it
    from earlier ones.
    """

    def __init__(self, worker: Worker, sweep: str, cell: str) -> None:
        self.attempt = secrets.token_hex(6)
        self._worker, self._sweep, self._cell = worker, sweep, cell
        self._task = worker.get_current_task()
        self._wanted: Any = Variable(sweep, client=get_client())
        self._changed = threading.Condition()
        self._command: Command = "go"
        self._command = self._read()
        self._held = False  # the run waits: nothing more comes
        self._last = time.monotonic()  # sign of life of the run
        self._over = threading.Event()
        self._trace: Trace | None = None
        self._cursor: tuple[int, int] | None = None
        self._said: tuple[Any, ...] = ()
        self._thread = threading.Thread(target=self._work, name=f"reporter of {cell}", daemon=True)

    def __enter__(self) -> CellReporter:
        self._send()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(PATIENCE)

    def follow(self, trace: Trace) -> None:
        """Send the rows of this trace from now on."""
        self._trace = trace

    # the gate of the run

    def heartbeat(self) -> Heartbeat:
        """Return the time of the last sign of life, and whether the run should stop. A paused run counts as
        alive."""
        return Heartbeat(time.monotonic() if self._held else self._last, self._command == "stop")

    def pulse(self) -> None:
        self._last = time.monotonic()
        if self._command == "go":
            return
        with self._changed:
            if self._command == "pause":
                self._held = True
                self._send()
                self._changed.wait_for(lambda: self._command != "pause")
                self._held = False
                self._send()
        if self._command == "stop":
            raise Interrupted

    def step(self, run: Run, iterate: Iterate) -> None:
        self.pulse()

    # its own thread

    def _work(self) -> None:
        while not self._over.wait(REPORT_SECONDS):
            command = self._read()
            with self._changed:
                self._command = command
                self._changed.notify_all()
                self._send()

    def _read(self) -> Command:
        task = self._worker.state.tasks.get(self._task)
        if task is None or task.state == "cancelled":
            return "stop"
        try:
            return self._wanted.get(timeout=PATIENCE)
        except Exception as error:  # a client that is being closed raises anything
            if self._worker.status.name != "running":
                return "stop"
            if not isinstance(error, (OSError, TimeoutError)):
                raise
            return self._command  # a busy scheduler is asked again

    def _send(self) -> None:
        """Send new rows of the trace; only one thread sends at a time."""
        trace = self._trace
        message: dict[str, Any] = {"cell": self._cell, "attempt": self.attempt}
        state = "loading" if trace is None else "paused" if self._held else trace.status
        message |= {"state": state, "worker": self._worker.address}
        if trace is not None:
            rows, self._cursor, replaced = trace.since(self._cursor)
            if replaced:
                message["about"] = json.dumps(trace.info.record(), default=str)
            if new := len(rows["iteration"]):
                message |= {"first": self._cursor[1] - new, "rows": pack_rows(rows)}
        if len(message) > 4 or self._said != (state,):
            self._said = (state,)
            self._worker.log_event(self._sweep, message)
