"""Label losses Δ(z', z), and the base of maxima over labels that use them.

Δ(z', z) is the margin that label z' must keep from a true label z.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compute.dispatch import by_class
from ...compute.jit import kernel
from ...declare import Form, param
from ...linalg.scores import Scores
from .duals import of_rows
from .envelope import envelope
from .maxima import MaximumLoss


def _parse(value: Any) -> str:
    """Return a label loss as a string: a number, or the rows of a matrix.

    Raises ValueError if it is neither, has negative entries or no positive one, or if a matrix has a non-zero
    diagonal.
    """
    if isinstance(value, str):
        value = [row.split(",") for row in value.split(";")]
    matrix = np.atleast_2d(np.array(value, dtype=float))
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
    if not square or not (np.isfinite(matrix) & (matrix >= 0.0)).all() or matrix.max() == 0.0:
        raise ValueError
    if matrix.size > 1 and np.diagonal(matrix).any():
        raise ValueError
    return ";".join(",".join(format(x, ".17g") for x in row) for row in matrix.tolist())


def label_loss_param() -> str:
    """Declare the hyper-parameter ``label_loss``, the Δ of Yu et al. 2010, eqs. (42) and (55)."""
    form = Form(
        _parse,
        "a number above 0 for any two labels, or a matrix of numbers from 0 with zeros on its diagonal, such "
        "as 0,1,2;1,0,1;2,1,0: a row for each label given, in it one for each true label",
    )
    return param(
        "1",
        "label loss Δ: how far the score of a wrong label has to stay below",
        form=form,
        title="label loss Δ",
    )


def rescale_param() -> str:
    """Declare the hyper-parameter ``rescale``: Δ is the margin only, or also a factor of the hinge."""
    return param("margin", "what the label loss rescales", choices=("margin", "slack"), title="rescaled by Δ")


def margins(text: str, m: int, rescale: str) -> np.ndarray:
    """Return Δ and ρ of the lines Δ(z', z) + ρ(z', z)(score of z' - score of z) for ``m`` labels.

    ρ is 1, or Δ if ``rescale`` is ``slack``. The shape is (2, m, m), or (2, 1, 1) if Δ is the same for all
    pairs of labels.
    """
    matrix = np.array([[float(x) for x in row.split(",")] for row in text.split(";")])
    if matrix.shape[0] not in (1, m):
        raise ValueError(
            f"label_loss has {matrix.shape[0]} rows, and there are {m} labels: give a number, or a row and a "
            "column for each label"
        )
    return np.stack([matrix, matrix if rescale == "slack" else np.ones_like(matrix)])


@kernel
def margin(margins, other, label):
    """Return Δ and ρ of the label ``other`` for the true label ``label``."""
    if margins.shape[1] == 1:
        return margins[0, 0, 0], margins[1, 0, 0]
    return margins[0, other, label], margins[1, other, label]


@by_class
def lines(term, z, d, y, a, b):
    """Write the lines b + t a whose maximum over t >= 0 is the loss of a row with scores z + t d.

    Return the number of lines.
    """
    raise TypeError(f"{type(term).__name__} is no maximum of lines")


@kernel
def breakpoints(term, Z, D, y, s, t, jump):
    """Write the steps at which each row's maximum passes to another line, and the jumps of the slope there.

    These are the kinks of the maxima of Yu et al. 2010, eqs. (48) and (57). Return the slope of the sum at 0
    from the right, and the number of breakpoints.
    """
    most = t.size // Z.shape[0] + 1
    a, b, order = np.empty(most), np.empty(most), np.empty(most, np.int64)
    at, line = np.empty(most), np.empty(most, np.int64)
    slope, n = 0.0, 0
    for i in range(Z.shape[0]):
        segments = envelope(a, b, lines(term, Z[i], D[i], y[i], a, b), order, at, line)
        slope += s[i] * a[line[0]]
        for k in range(1, segments):
            t[n], jump[n] = at[k], s[i] * (a[line[k]] - a[line[k - 1]])
            n += 1
    return slope, n


def offsets(margins: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Return the constants of the lines whose gradients are the rows of G.

    A row is zero, or +ρ at one label and -ρ at a true one.
    """
    rows = np.arange(len(G))
    other, label = G.argmax(axis=1), G.argmin(axis=1)
    delta, rho = margins[:, 0, 0] if margins.shape[1] == 1 else margins[:, other, label]
    shares = np.divide(G[rows, other], rho, out=np.zeros(len(G)), where=np.asarray(rho) > 0.0)
    return shares * delta


@dataclass(frozen=True, eq=False)
class LabelMaximum(MaximumLoss):
    """Base of bound losses max(0, max [Δ(z', z) + ρ(z', z)(score of z' - score of z)]) per row.

    The inner maximum is over some pairs of labels. ``margins`` has Δ and ρ, which the term also holds. The
    term's class registers :func:`.score_rows.row_derivatives` and :func:`lines`.
    """

    margins: np.ndarray

    def dual_values(self, scores: Scores, residual: Scores, alpha: float) -> np.ndarray:
        """Return αΔ(z'_i, z_i) for a residual of one worst pair (z_i, z'_i) per row."""
        return alpha * of_rows(self, residual.Z, lambda G, part: offsets(self.margins, G))
