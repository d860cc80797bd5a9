"""The multiclass hinge loss with any label loss: Yu et al. 2010, sections 6.1 to 6.3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...compute.jit import kernel
from ...declare import Trait
from ...linalg.scores import Scores
from .envelope import ties
from .label_loss import LabelMaximum, breakpoints, label_loss_param, lines, margin, margins, rescale_param
from .loss import Loss
from .maxima import MaximumKernels
from .score_rows import row_derivatives


class MulticlassMaxTerm(NamedTuple):
    """The term of the multiclass hinge loss, with Δ and ρ of its lines."""

    margins: np.ndarray


@dataclass(frozen=True)
class MulticlassHinge(Loss):
    """The multiclass hinge loss Σ_i max_z [Δ(z, y_i) + z_iz - z_i,y_i], where the entry of z = y_i is 0.

    With ``rescale="slack"`` entries are Δ(z, y_i)(1 + z_iz - z_i,y_i) (Tsochantaridis et al. 2005).
    """

    id = "multiclass-hinge"
    name = "Multiclass hinge"
    summary = "the worst class that comes too near the true one (Crammer and Singer)"
    paper = "Yu et al. 2010, eq. (42)"
    kinds = ("multiclass",)
    traits = Trait.DIRECTIONAL_DERIVATIVE | Trait.INSTANCE_KERNELS | Trait.CONJUGATE | Trait.DUAL_COORDINATES
    average = True

    label_loss: str = label_loss_param()
    rescale: str = rescale_param()

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundMulticlassMax:
        y = np.ascontiguousarray(part.y, dtype=np.int64)
        return BoundMulticlassMax(self, n_classes, y, margins(self.label_loss, n_classes, self.rescale))


@dataclass(frozen=True, eq=False)
class BoundMulticlassMax(LabelMaximum):
    """The multiclass hinge loss for labels ``y`` from 0 to m - 1, with Δ and ρ of their lines."""

    @property
    def label_costs(self) -> np.ndarray:
        """Return Δ, (m, m): rows are true labels, columns the other labels."""
        m = self.n_outputs
        return np.ascontiguousarray(np.broadcast_to(self.margins[0], (m, m)).T * (1.0 - np.eye(m)))

    @property
    def most_breakpoints(self) -> int:
        return self.n_outputs

    @property
    def term(self) -> MulticlassMaxTerm:
        return MulticlassMaxTerm(self.margins)

    @property
    def kernels(self) -> MaximumKernels:
        return MaximumKernels(steepest, drawn, breakpoints, settle)

    def chunk_values(self, Z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        losses(Z, y, self.margins, out)

    def chunk_residual(self, Z: np.ndarray, y: np.ndarray, G: np.ndarray) -> None:
        gradients(Z, y, self.margins, G)

    def predict(self, scores: Scores) -> np.ndarray:
        return scores.Z.argmax(axis=1)


@kernel
def line_at(z, y, c, margins):
    """Return the value of the line of label c, and its ρ."""
    if c == y:
        return 0.0, 0.0
    delta, rho = margin(margins, c, y)
    return delta + rho * (z[c] - z[y]), rho


@kernel
def worst(z, y, margins):
    """Return the loss of a row, and the first label that attains it: the true label if the loss is 0."""
    top, label = 0.0, y
    for c in range(z.size):
        height, _ = line_at(z, y, c, margins)
        if height > top:
            top, label = height, c
    return top, label


@kernel
def write(g, y, c, margins):
    """Write the gradient of the line of label c to g."""
    g[:] = 0.0
    if c != y:
        _, rho = margin(margins, c, y)
        g[c], g[y] = rho, -rho


@row_derivatives.register(MulticlassMaxTerm)
def row_subgradient(term, z, y, g, h):
    """Return the loss of a row of scores, and write one subgradient to g."""
    loss, c = worst(z, y[0], term.margins)
    write(g, y[0], c, term.margins)
    return loss


@kernel
def losses(Z, y, margins, out):
    """Write the loss of each row to ``out``."""
    for i in range(y.size):
        out[i] = worst(Z[i], y[i], margins)[0]


@kernel
def gradients(Z, y, margins, G):
    """Write one subgradient of each row to G."""
    for i in range(y.size):
        write(G[i], y[i], worst(Z[i], y[i], margins)[1], margins)


@kernel
def steepest(term, Z, D, y, G):
    """Write the subgradient with the largest slope along D: the oracle of section 6.2.

    It is the gradient of the label that rises fastest along D among those that attain the maximum.
    """
    margins = term.margins
    for i in range(y.size):
        z, d, label = Z[i], D[i], y[i]
        top, _ = worst(z, label, margins)
        best, fastest = label, -np.inf
        for c in range(z.size):
            height, rho = line_at(z, label, c, margins)
            rise = rho * (d[c] - d[label])
            if ties(top - height, top) and rise > fastest:
                best, fastest = c, rise
        write(G[i], label, best, margins)


@kernel
def drawn(term, Z, u, y, G):
    """Write the gradient of one of the lines that attain the maximum, selected by u in [0, 1)."""
    margins = term.margins
    for i in range(y.size):
        z, label = Z[i], y[i]
        top, best = worst(z, label, margins)
        tied = 0
        for c in range(z.size):
            tied += ties(top - line_at(z, label, c, margins)[0], top)
        chosen = int(u[i] * tied)
        for c in range(z.size):
            if ties(top - line_at(z, label, c, margins)[0], top):
                if chosen == 0:
                    best = c
                chosen -= 1
        write(G[i], label, best, margins)


@lines.register(MulticlassMaxTerm)
def lines_of_labels(term, z, d, y, a, b):
    for c in range(z.size):
        b[c], rho = line_at(z, y, c, term.margins)
        a[c] = rho * (d[c] - d[y])
    return z.size


@kernel
def settle(term, Z, y):
    """Change the scores of labels that tie with the maximum so that their lines are equal to it.

    The lines are set to 0 if the true label ties as well. Return the largest change of a score.
    """
    margins, most = term.margins, 0.0
    for i in range(y.size):
        z, label = Z[i], y[i]
        top, _ = worst(z, label, margins)
        level = 0.0 if ties(top, top) else top
        for c in range(z.size):
            height, rho = line_at(z, label, c, margins)
            if rho > 0.0 and height != level and ties(top - height, top):
                most = max(most, abs(level - height) / rho)
                z[c] += (level - height) / rho
    return most
