"""The gate of a run, which may pause or interrupt it, and the pulse that calls the gate."""

from __future__ import annotations

import time
from typing import Protocol, TypeVar

from ..methods.iterate import Iterate

#: The argument of a gate: a :class:`.run.Run`.
RunType = TypeVar("RunType", contravariant=True)


class Interrupted(Exception):
    """Raised by the pulse inside a long computation if the run is to end now."""


class Gate(Protocol[RunType]):
    """An object that pauses or interrupts a run.

    Both methods may block, or raise :class:`Interrupted`. This does not affect the run's clock.
    """

    def pulse(self) -> None:
        """Wait or raise; called about every 50 ms from inside long computations."""

    def step(self, run: RunType, iterate: Iterate) -> None:
        """Wait or raise; called after each recorded iterate, once its record is complete."""


class RunPulse:
    """The pulse of a run's problem, called inside long computations.

    It waits at the ``gate``, and raises :class:`Interrupted` once the run is ``interrupted``. It has no
    reference to the run, so that the run's data are freed with their last user.
    """

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
