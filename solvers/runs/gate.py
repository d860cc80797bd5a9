"""What may pause or interrupt a run."""

from __future__ import annotations

import time
from typing import Protocol, TypeVar

from ..methods.iterate import Iterate

#: What a gate is told about: a :class:`.run.Run`.
Told = TypeVar("Told", contravariant=True)


class Interrupted(Exception):
    """Raised by the pulse inside a long computation when the run is to end now."""


class Gate(Protocol[Told]):
    """Pauses or interrupts a run: both methods may block, or raise :class:`Interrupted`. Neither touches the
    run's clock."""

    def pulse(self) -> None:
        """Called every 50 ms or so from inside long computations."""

    def step(self, run: Told, iterate: Iterate) -> None:
        """Called after each recorded iterate, whose record has the fields that the run has filled in as
        well."""


class Pulse:
    """What a run's problem calls inside long computations: waits at the ``gate``, and ends them once the run
    is ``interrupted``. It does not know the run, whose data are freed with the last who uses them."""

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
