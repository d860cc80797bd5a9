"""Handover from one solver to the next on the same problem: weights, and numbers of iterations and epochs."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..problems.problem import Problem
from .iterate import NAN, Ending, Iterate

#: A start on samples: successive fractions of the instances, iterations on each, and the smallest sample.
SAMPLE_SHARES, SAMPLE_ITERATIONS, SMALLEST_SAMPLE = (Fraction(1, 16), Fraction(1, 4)), 15, 30


def growing_shares(n_instances: int) -> list[Fraction]:
    """Return the fractions of the instances that make large enough samples, smallest first."""
    return [share for share in SAMPLE_SHARES if share * n_instances >= SMALLEST_SAMPLE]


@dataclass
class Handover:
    """The weights that the next solver starts from, and the numbers of iterations and epochs so far."""

    w: np.ndarray | None
    iteration: int = 0
    epochs: int = 0
    started: bool = False

    def iterates(
        self,
        name: str | None,
        iterates: Iterator[Iterate],
        problem: Problem,
        part: Problem,
        *,
        followed: bool,
    ) -> Generator[Iterate, None, Ending | None]:
        """Yield the iterates of one solver, numbered as iterates of the whole run.

        Parameters
        ----------
        name : str or None
            The phase to record for these iterates; None keeps the solver's own phases.
        iterates : iterator of Iterate
            The iterates of a solver on ``part``, started from ``self.w``.
        problem, part : Problem
            The full problem, and the problem that the solver works on, which may be a sample. Passes count
            the entries touched in the sample, relative to all of X.
        followed : bool
            Whether another solver follows.

        Returns
        -------
        Ending or None
            Why the solver ended; None if it handed over.
        """
        start, epochs = self.iteration, self.epochs
        while True:
            touched = part.design.touched
            try:
                iterate = next(iterates)
            except StopIteration as stop:
                self.started = True
                return stop.value
            if part is not problem:
                problem.design.touched += part.design.touched - touched
                iterate = _without_sample_values(iterate)
            if followed:
                assert iterate.w is not None
                self.w = iterate.w.copy()  # the solver may still change the array that it yielded
            if iterate.iteration == 0 and self.started:
                continue  # the weights handed over, which the solver before has yielded
            self.iteration, iterate.iteration = start + iterate.iteration, start + iterate.iteration
            if iterate.epoch >= 0:
                iterate.epoch += epochs
                self.epochs = iterate.epoch + 1
            iterate.phase = iterate.phase if name is None else name
            iterate.cpu_seconds = iterate.wall_seconds = NAN  # the clock of the whole run counts all work
            yield iterate


def _without_sample_values(iterate: Iterate) -> Iterate:
    """Return an iterate on a sample without the values that are valid only for the sample.

    These are the objective and its parts, the violation, the gap and the line search.
    """
    live = {name: iterate.live[name] for name in ("active", "memory") if name in iterate.live}
    unknown = dict.fromkeys(("objective", "loss", "penalty", "violation", "dual_gap"), NAN)
    return replace(iterate, live=live, nnz=-1, nnz_rows=-1, **unknown)
