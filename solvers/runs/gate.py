"""What may pause or interrupt a run."""

from __future__ import annotations

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
