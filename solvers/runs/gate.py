"""The gate of a run, which may pause or interrupt it, and the pulse that asks it."""

from __future__ import annotations

import time
from typing import Protocol, TypeVar

from ..methods.iterate import Iterate

#: The argument of a gate: a :class:`.run.Run`.
RunType = TypeVar("RunType", contravariant=True)


class Interrupted(Exception):
    """Raised by the pulse inside a long computation when the run is to end now."""


class Gate(Protocol[RunType]):
    """Pauses or interrupts a run: both methods may block, or raise :class:`Interrupted`. Neither touches the
    run's clock."""

    def pulse(self) -> None:
        """Wait or raise; called every 50 ms or so from inside long computations."""

    def step(self, run: RunType, iterate: Iterate) -> None:
        """Wait or raise; called after each recorded iterate, whose record includes the fields that the run
        fills in."""


class RunPulse:
    """Callback of a run's problem inside long computations: waits at the ``gate``, and ends them once the run
    is ``interrupted``. It holds no reference to the run, whose data are freed with their last user."""

    def __init__(self, gate: Gate | None) -> None:
        self._gate = gate
        #: Whether the run is to end, and the seconds that the gate has taken.
        self.interrupted, self.waited = False, 0.0

    def __call__(self) -> None:
        if self._gate is not None and not self.interrupted:
            began = time.perf_counter()
            self._gate.pulse()
            self.waited += time.perf_counter() - began
        if self.interrupted:
            raise Interrupted
