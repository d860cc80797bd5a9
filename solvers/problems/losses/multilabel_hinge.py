"""The multilabel hinge loss with any label loss: Yu et al. 2010, section 6.4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...compute.jit import kernel
from ...declare import Trait
from .envelope import envelope, ties
from .label_loss import LabelMaximum, breakpoints, label_loss_param, lines, margin, margins, rescale_param
from .loss import Loss
from .maxima import MaximumKernels
from .row_loss import Ranking
from .score_rows import row_derivatives
from .squared_hinge import indicators


class MultilabelMaxTerm(NamedTuple):
    """The term of the multilabel hinge loss, with Δ and ρ of its lines."""

    margins: np.ndarray


@dataclass(frozen=True)
class MultilabelHinge(Loss):
    """The multilabel hinge loss Σ_i max(0, max [Δ(z', z) + z_iz' - z_iz]), over labels z in Y_i and z' not in
    Y_i.

    With ``rescale="slack"`` entries are Δ(z', z)(1 + z_iz' - z_iz) (Tsochantaridis et al. 2005).
    """

    id = "multilabel-hinge"
    name = "Multilabel hinge"
    summary = "the worst pair of a label of a sample and another one"
    paper = "Yu et al. 2010, eq. (55)"
    kinds = ("multilabel",)
    traits = Trait.DIRECTIONAL_DERIVATIVE | Trait.INSTANCE_KERNELS | Trait.CONJUGATE | Trait.DUAL_COORDINATES
    average = True
    metric_name = "pairs ranked right"

    label_loss: str = label_loss_param()
    rescale: str = rescale_param()

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundMultilabelMax:
        y = indicators(part.y, n_classes)
        return BoundMultilabelMax(self, n_classes, y, margins(self.label_loss, n_classes, self.rescale))


@dataclass(frozen=True, eq=False)
class BoundMultilabelMax(Ranking, LabelMaximum):
    """The multilabel hinge loss for labels ``y`` of 0 and 1, (n, m), with Δ and ρ of their pairs.

    With a uniform Δ the worst pair consists of the lowest label of the sample and the highest other label,
    which are found separately. Any other Δ requires all pairs. Then ties of pairs are not settled, as no
    scores may make all of them equal.
    """

    @property
    def most_breakpoints(self) -> int:
        m, uniform = self.n_outputs, self.margins.shape[1] == 1
        return 1 + (m if uniform else max(m, (m // 2) * (m - m // 2)))

    @property
    def term(self) -> MultilabelMaxTerm:
        return MultilabelMaxTerm(self.margins)

    @property
    def kernels(self) -> MaximumKernels:
        return MaximumKernels(steepest, drawn, breakpoints, settle)

    def chunk_values(self, Z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        losses(Z, y, self.margins, out)

    def chunk_residual(self, Z: np.ndarray, y: np.ndarray, G: np.ndarray) -> None:
        gradients(Z, y, self.margins, G)


@kernel
def ends(z, y):
    """Return the other label with the highest score, and the sample's label with the lowest; -1 if there is
    none."""
    high, low = -1, -1
    for c in range(z.size):
        if y[c]:
            if low < 0 or z[c] < z[low]:
                low = c
        elif high < 0 or z[c] > z[high]:
            high = c
    return high, low


@kernel
def line_of(v, q, r, margins):
    """Return Δ + ρ(v_q - v_r) of the pair of another label q and a label r of the sample, and ρ."""
    delta, rho = margin(margins, q, r)
    return delta + rho * (v[q] - v[r]), rho


@kernel
def worst(z, y, margins):
    """Return the loss of a row and the pair (other label, label) that attains it; both are -1 if the loss is
    0."""
    top, other, label = 0.0, -1, -1
    if margins.shape[1] == 1:
        high, low = ends(z, y)
        if high >= 0 and low >= 0:
            height, _ = line_of(z, high, low, margins)
            if height > 0.0:
                top, other, label = height, high, low
        return top, other, label
    for r in range(z.size):
        if y[r]:
            for q in range(z.size):
                if not y[q]:
                    height, _ = line_of(z, q, r, margins)
                    if height > top:
                        top, other, label = height, q, r
    return top, other, label


@kernel
def write(g, other, label, margins):
    """Write the gradient of the line of a pair to g; it is zero if ``other`` is -1."""
    g[:] = 0.0
    if other >= 0:
        _, rho = margin(margins, other, label)
        g[other], g[label] = rho, -rho


@row_derivatives.register(MultilabelMaxTerm)
def row_subgradient(term, z, y, g, h):
    """Return the loss of a row of scores, and write one subgradient to g."""
    loss, other, label = worst(z, y, term.margins)
    write(g, other, label, term.margins)
    return loss


@kernel
def losses(Z, Y, margins, out):
    """Write the loss of each row to ``out``."""
    for i in range(out.size):
        out[i] = worst(Z[i], Y[i], margins)[0]


@kernel
def gradients(Z, Y, margins, G):
    """Write one subgradient of each row to G."""
    for i in range(Z.shape[0]):
        _, other, label = worst(Z[i], Y[i], margins)
        write(G[i], other, label, margins)


@lines.register(MultilabelMaxTerm)
def lines_of_pairs(term, z, d, y, a, b):
    """Write the constant line 0, then the lines of all pairs; return their number.

    With a uniform Δ only the pairs that are worst for some t >= 0 are written, and one or two more. They are
    found by merging the envelopes of the sample's labels and of the other labels.
    """
    margins = term.margins
    a[0], b[0] = 0.0, 0.0
    m, n = z.size, 1
    if margins.shape[1] > 1:
        for r in range(m):
            if y[r]:
                for q in range(m):
                    if not y[q]:
                        b[n], rho = line_of(z, q, r, margins)
                        a[n] = rho * (d[q] - d[r])
                        n += 1
        return n
    rise, height = np.empty((2, m)), np.empty((2, m))
    order, at, line = np.empty(m, np.int64), np.empty((2, m)), np.empty((2, m), np.int64)
    count, segments = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for c in range(m):
        side, sign = (1, -margins[1, 0, 0]) if y[c] else (0, margins[1, 0, 0])
        k = count[side]
        rise[side, k], height[side, k] = sign * d[c], sign * z[c]
        count[side] += 1
    if count[0] == 0 or count[1] == 0:
        return n
    for side in range(2):
        segments[side] = envelope(rise[side], height[side], count[side], order, at[side], line[side])
    i, j = 0, 0
    while True:
        p, q = line[0, i], line[1, j]
        a[n], b[n] = rise[0, p] + rise[1, q], margins[0, 0, 0] + (height[0, p] + height[1, q])
        n += 1
        left, right = i + 1 < segments[0], j + 1 < segments[1]
        if not (left or right):
            return n
        if left and (not right or at[0, i + 1] <= at[1, j + 1]):
            i += 1
        else:
            j += 1


@kernel
def steepest(term, Z, D, Y, G):
    """Write the subgradient with the largest slope along D.

    It belongs to a pair that attains the maximum, or to the constant 0.
    """
    margins, m = term.margins, Z.shape[1]
    for i in range(Z.shape[0]):
        z, d, y = Z[i], D[i], Y[i]
        top, _, _ = worst(z, y, margins)
        other, label, fastest = -1, -1, -np.inf
        if ties(top, top):
            fastest = 0.0
        high, _ = ends(z, y)
        for q in range(m):
            # with a uniform Δ the pairs of q can only tie if it does with the highest
            if y[q] or (margins.shape[1] == 1 and not ties(margins[1, 0, 0] * (z[high] - z[q]), top)):
                continue
            for r in range(m):
                if y[r]:
                    height, rho = line_of(z, q, r, margins)
                    rise = rho * (d[q] - d[r])
                    if rise > fastest and ties(top - height, top):
                        other, label, fastest = q, r, rise
        write(G[i], other, label, margins)


@kernel
def drawn(term, Z, u, Y, G):
    """Write the gradient of one of the lines that attain the maximum, selected by u in [0, 1)."""
    margins, m = term.margins, Z.shape[1]
    for i in range(Z.shape[0]):
        z, y = Z[i], Y[i]
        top, other, label = worst(z, y, margins)
        chosen = -1
        for attempt in range(2):
            tied = 0
            if ties(top, top):
                if tied == chosen:
                    other, label = -1, -1
                tied += 1
            for r in range(m):
                if y[r]:
                    for q in range(m):
                        if not y[q] and ties(top - line_of(z, q, r, margins)[0], top):
                            if tied == chosen:
                                other, label = q, r
                            tied += 1
            if attempt == 0:
                chosen = int(u[i] * tied)
        write(G[i], other, label, margins)


@kernel
def settle(term, Z, Y):
    """Make tied scores equal, if Δ is uniform; return the largest change of a score.

    Other labels that tie with their highest score are set to it, and labels of the sample that tie with their
    lowest likewise. If the loss ties with 0, the latter are moved so that it is 0.
    """
    margins, most = term.margins, 0.0
    if margins.shape[1] > 1:
        return most
    for i in range(Z.shape[0]):
        z, y = Z[i], Y[i]
        high, low = ends(z, y)
        if high < 0 or low < 0:
            continue
        highest, lowest = z[high], z[low]
        loss, rho = line_of(z, high, low, margins)
        level, top = lowest, max(loss, 0.0)
        if ties(abs(loss), 0.0):
            level = highest + margins[0, 0, 0] / rho
        for c in range(z.size):
            if y[c]:
                if ties(rho * (z[c] - lowest), top):
                    most = max(most, abs(level - z[c]))
                    z[c] = level
            elif ties(rho * (highest - z[c]), top):
                most = max(most, highest - z[c])
                z[c] = highest
    return most
