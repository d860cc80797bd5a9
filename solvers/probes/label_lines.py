"""The lines of one sample's labels along a search, and how Algorithm 4 of Yu et al. 2010 finds their
maximum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..problems.line import Line
from ..problems.losses.envelope import TIE_TOL
from ..problems.losses.multiclass_hinge import BoundMulticlassMax

#: Maximal numbers of samples that are examined, and of lines of a sample.
MOST_SAMPLES, MOST_LABELS = 200, 60


class EnvelopeStage(NamedTuple):
    """The stack of Algorithm 4 after it has examined ``line``.

    Each line in ``active`` is the maximum from its entry in ``starts`` on. ``popped`` are the lines that left
    the stack.
    """

    line: int
    starts: tuple[float, ...]
    active: tuple[int, ...]
    popped: tuple[int, ...] = ()


@dataclass(frozen=True)
class LabelLines:
    """Lines b + t a of the labels of a sample, whose maximum is its loss at w + t d.

    Attributes
    ----------
    sample, label : int
        The index of the sample, and its true label, whose line is 0.
    a, b : array, (labels,)
        Slopes and offsets.
    stages : list of EnvelopeStage
        The stack after each line that Algorithm 4 examines; other lines cannot be the maximum for t > 0.
    """

    sample: int
    label: int
    a: np.ndarray
    b: np.ndarray
    stages: list[EnvelopeStage]

    @property
    def kinks(self) -> np.ndarray:
        """Return the steps t > 0 at which the maximum passes to another line."""
        return np.array(self.stages[-1].starts[1:])


def stages(a: np.ndarray, b: np.ndarray) -> list[EnvelopeStage]:
    """Return the stacks of Algorithm 4 for the lines b + t a, t >= 0.

    It examines lines by decreasing b, and the stacks are in this order.
    """
    top = float(b.max())
    tied = top - b <= TIE_TOL * (1.0 + abs(top))
    first = int(np.argmax(np.where(tied, a, -np.inf)))
    steeper = np.flatnonzero(a > a[first])
    stack = [(0.0, first)]
    found = [EnvelopeStage(first, (0.0,), (first,))]
    for new in steeper[np.lexsort((-a[steeper], -b[steeper]))].tolist():
        popped = []
        while a[new] > a[stack[-1][1]]:
            last = stack[-1][1]
            height = top if len(stack) == 1 else b[last]
            crossing = float((height - b[new]) / (a[new] - a[last]))
            if len(stack) == 1 or crossing > stack[-1][0]:
                stack.append((crossing, new))
                break
            popped.append(stack.pop()[1])
        starts, active = zip(*stack, strict=True)
        found.append(EnvelopeStage(new, starts, active, tuple(popped)))
    return found


def label_lines(line: Line, reach: float) -> LabelLines | None:
    """Return the lines of the sample whose loss has the most segments for 0 <= t <= ``reach``.

    Only the first samples are examined. Return None if the loss is not a multiclass hinge, or has very many
    labels.
    """
    loss = getattr(line.problem.loss, "inner", line.problem.loss)
    if not isinstance(loss, BoundMulticlassMax) or loss.n_outputs > MOST_LABELS:
        return None
    best, most = None, -1
    for i in range(min(loss.y.size, MOST_SAMPLES)):
        z, d, label = line.point.scores.Z[i], line.delta.Z[i], int(loss.y[i])
        delta, rho = (np.broadcast_to(part, (z.size, z.size))[:, label] for part in loss.margins)
        a, b = rho * (d - d[label]), delta + rho * (z - z[label])
        a[label] = b[label] = 0.0
        found = LabelLines(i, label, a, b, stages(a, b))
        within = int(np.count_nonzero(found.kinks <= reach))
        if within > most:
            best, most = found, within
    return best
