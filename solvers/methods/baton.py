"""What one solver hands to the next on the same problem: weights, and numbers that go on."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..problems.problem import Problem
from .iterate import NAN, Ending, Iterate

#: Shares of the instances that a start on samples takes in turn, iterations on each, and fewest instances.
SHARES, ITERATIONS, LEAST = (Fraction(1, 16), Fraction(1, 4)), 15, 30


def growing_shares(n_instances: int) -> list[Fraction]:
    """Return the shares of the instances that are samples enough to begin with, smallest first."""
    return [share for share in SHARES if share * n_instances >= LEAST]


@dataclass
class Baton:
    """The weights that the next solver starts from, the number of their iterate, and of epochs so far."""

    w: np.ndarray | None
    iteration: int = 0
    epochs: int = 0
    passed: bool = False

    def carried(
        self,
        name: str | None,
        iterates: Iterator[Iterate],
        problem: Problem,
        part: Problem,
        *,
        goes_on: bool,
    ) -> Generator[Iterate, None, Ending | None]:
        """Yield the iterates of one solver as those of the whole.

        Parameters
        ----------
        name : str or None
            Their phase; None where they keep their own.
        iterates : iterator of Iterate
            Those of a solver on ``part``, from ``self.w``.
        problem, part : Problem
            The whole, and what the solver works on: the same, or a sample. Passes count what is touched in
            the sample, in units of all of X.
        goes_on : bool
            Whether another solver follows.

        Returns
        -------
        Ending or None
            Why the solver ended; None where it was to hand over.
        """
        start, epochs = self.iteration, self.epochs
        while True:
            touched = part.design.touched
            try:
                iterate = next(iterates)
            except StopIteration as stop:
                self.passed = True
                return stop.value
            if part is not problem:
                problem.design.touched += part.design.touched - touched
                iterate = _seen(iterate)
            if goes_on:
                assert iterate.w is not None
                self.w = iterate.w.copy()  # the solver may go on in the array that it showed
            if iterate.iteration == 0 and self.passed:
                continue  # the weights where the baton passed, which the solver before has shown
            self.iteration, iterate.iteration = start + iterate.iteration, start + iterate.iteration
            if iterate.epoch >= 0:
                iterate.epoch += epochs
                self.epochs = iterate.epoch + 1
            iterate.phase = iterate.phase if name is None else name
            iterate.cpu_seconds = iterate.wall_seconds = NAN  # all work is on one clock
            yield iterate


def _seen(iterate: Iterate) -> Iterate:
    """Return what an iterate on a sample tells of the whole problem: the objective is computed afresh, and
    the search was along another function."""
    live = {name: iterate.live[name] for name in ("active", "memory") if name in iterate.live}
    unknown = dict.fromkeys(("objective", "loss", "penalty", "violation", "dual_gap"), NAN)
    return replace(iterate, live=live, nnz=-1, nnz_rows=-1, **unknown)
