"""Limited-memory BFGS pairs, in compact form (on a working set) and in two-loop form.

Letters are those of Nocedal and Wright, Numerical Optimization, 2nd ed., section 7.2: s = w⁺ - w, y = g⁺ - g.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compute.team import no_pulse

#: A pair is kept if sᵀy > CURVATURE ‖s‖‖y‖: a test that does not depend on the scale of the problem.
CURVATURE = 1e-10
#: Pairs, and numbers in all of them, up to which their inner products are computed for an observer.
GRAM_PAIRS, GRAM_LIMIT = 100, 1_000_000
#: Length of vectors up to which products with all pairs need no pulse.
SHORT_VECTOR = 100_000
#: Entries of a vector that are changed at once.
ENTRIES_AT_ONCE = 200_000
#: Eigenvalue of the pairs' correlations, relative to the largest one, below which a direction is rounding.
SPAN_TOL = 1e-12


@dataclass
class Compact:
    """B = γI - Q Q̂ on the current rows (Zhong et al. 2014, section 2.1): Q, Q̂ᵀ (both row by row), and diag
    B."""

    gamma: float
    Q: np.ndarray  # (|A|, 2k)
    Q_hat: np.ndarray  # (|A|, 2k), row j is column j of Q̂
    diagonal: np.ndarray  # (|A|,)

    @property
    def rank(self) -> int:
        """Return the number of columns of Q: 2k for k pairs."""
        return self.Q.shape[1]


class PairMemory:
    """The last ``size`` pairs (None: all of them) on the rows of a working set.

    Inner products are stored as computed when a pair came in. So after ``carry``, B is the principal
    submatrix of the BFGS matrix of the full pairs, hence positive definite. Recomputing the products on fewer
    rows would give another matrix and could lose sᵀy > 0.
    """

    def __init__(
        self,
        size: int | None,
        pulse: Callable[[], None] = lambda: None,
        *,
        scaled: bool = True,
        h: float | None = None,
        H: float = 0.0,
    ) -> None:
        """Start without pairs.

        ``pulse`` is called between the products with two pairs. ``scaled`` is whether :meth:`inverse_product`
        scales B₀; ``h`` and ``H`` are arguments of :func:`admitted`.
        """
        self.size, self.pulse, self.scaled, self.h, self.H = size, pulse, scaled, h, H
        self.clear()

    def clear(self) -> None:
        """Drop all pairs."""
        self.S: list[np.ndarray] = []
        self.Y: list[np.ndarray] = []
        self.SS = np.zeros((0, 0))  # sᵢᵀsⱼ
        self.SY = np.zeros((0, 0))  # sᵢᵀyⱼ
        self.YY = np.zeros(0)  # yᵢᵀyᵢ

    def __len__(self) -> int:
        return len(self.S)

    def push(self, s: np.ndarray, y: np.ndarray) -> float | None:
        """Add a pair and return sᵀy; return None and add nothing if sᵀy is too small."""
        s, curvature = admitted(s, y, self.h, self.H)
        if curvature is None:
            return None
        while self.size is not None and len(self) >= self.size:
            self.drop_oldest()
        self.S.append(s)
        self.Y.append(y)
        pulse = self._pulse_for(s)
        self.SS, self.SY = _grown(self.SS), _grown(self.SY)
        for i, (older, change) in enumerate(zip(self.S, self.Y, strict=True)):
            pulse()
            self.SS[i, -1] = self.SS[-1, i] = older @ s
            self.SY[i, -1] = older @ y
            self.SY[-1, i] = s @ change
        self.YY = np.append(self.YY, y @ y)
        return curvature

    def drop_oldest(self) -> None:
        """Drop the oldest pair."""
        del self.S[0], self.Y[0]
        self.SS, self.SY, self.YY = self.SS[1:, 1:], self.SY[1:, 1:], self.YY[1:]

    def carry(self, kept: np.ndarray, known: np.ndarray) -> None:
        """Move the pairs to another set of rows.

        ``kept`` is a mask of the old rows, and ``known`` a mask of the new rows with as many entries set. The
        kept old rows become the known new rows, in order. All other new rows are zero. The inner products do
        not change.
        """
        self.S = [spread(s[kept], known) for s in self.S]
        self.Y = [spread(y[kept], known) for y in self.Y]

    def rescale(self, factors: np.ndarray) -> None:
        """Change the unit of each row: multiply s by its factor, and divide y by it.

        The parts of the inner products from rows that have been dropped keep their unit.
        """
        pulse, more, less = self._pulse_for(factors), factors**2 - 1.0, 1.0 - factors**-2
        for i, s in enumerate(self.S):
            grown = more * s
            for j, older in enumerate(self.S[: i + 1]):
                pulse()
                self.SS[i, j] += grown @ older
                self.SS[j, i] = self.SS[i, j]
        self.YY = self.YY - np.array([y @ (less * y) for y in self.Y])
        self.S = [factors * s for s in self.S]
        self.Y = [y / factors for y in self.Y]

    def scaling(self, form: str) -> float:
        """Return γ of B₀ = γI from the newest pair: ``ys/ss`` (Zhong et al.), ``yy/sy`` (Nocedal and Wright),
        or their geometric mean ‖y‖/‖s‖, ``y/s``. Return 1 if B₀ is not scaled."""
        if not self.scaled:
            return 1.0
        if form == "y/s":
            return float(np.sqrt(self.YY[-1] / self.SS[-1, -1]))
        if form == "ys/ss":
            return float(self.SY[-1, -1] / self.SS[-1, -1])
        return float(self.YY[-1] / self.SY[-1, -1])

    def compact(self, gamma: float) -> Compact:
        """Return B on the current rows; drop pairs, the oldest first, while B is numerically singular."""
        while len(self):
            Q = np.stack([gamma * s for s in self.S] + self.Y, axis=1)
            M = middle(self.SS, self.SY, gamma)
            scale = 1.0 / np.sqrt(np.concatenate([gamma * np.diag(self.SS), np.diag(self.SY)]))
            try:
                R = np.linalg.inv(M * scale[:, None] * scale) * scale[:, None] * scale
            except np.linalg.LinAlgError:
                R = np.full_like(M, np.nan)
            Q_hat = Q @ R
            diagonal = gamma - np.einsum("ij,ij->i", Q, Q_hat)
            if np.isfinite(R).all() and diagonal.min(initial=gamma) > 1e-8 * gamma:
                return Compact(gamma, Q, Q_hat, diagonal)
            self.drop_oldest()
        return Compact(gamma, np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0))

    def inverse_product(self, v: np.ndarray) -> np.ndarray:
        """Return H v by the two-loop recursion (Nocedal and Wright, Algorithm 7.4).

        H₀ is I, multiplied by sᵀy/yᵀy of the newest pair if it is scaled.
        """
        q = v.copy()
        if not self.S:
            return q
        pulse, curvatures = self._pulse_for(v), self.SY.diagonal().tolist()
        pairs = list(zip(self.S, self.Y, curvatures, strict=True))
        alpha = []
        for s, y, curvature in reversed(pairs):
            pulse()
            alpha.append((s @ q) / curvature)
            _add(q, -alpha[-1], y, pulse)
        if self.scaled:
            q *= curvatures[-1] / self.YY[-1]
        for s, y, curvature in pairs:
            pulse()
            _add(q, alpha.pop() - (y @ q) / curvature, s, pulse)
        return q

    def _pulse_for(self, v: np.ndarray) -> Callable[[], None]:
        """Return the function to call between products with ``v``: one without effect if ``v`` is short."""
        return self.pulse if v.size > SHORT_VECTOR else no_pulse

    def matrices(self) -> dict[str, np.ndarray]:
        """Return SᵀS, SᵀY and the squared norms of y, by name."""
        return {"SS": self.SS, "SY": self.SY, "YY": self.YY}

    def gram(self) -> np.ndarray | None:
        """Return [S Y]ᵀ[S Y] on the current rows, (2k, 2k); return None if it is too expensive
        (``GRAM_LIMIT``)."""
        pairs = [*self.S, *self.Y]
        if len(self) > GRAM_PAIRS or sum(v.size for v in pairs) > GRAM_LIMIT:
            return None
        columns = np.array(pairs).reshape(len(pairs), pairs[0].size if pairs else 0)
        return columns @ columns.T


def pairs_of(memory: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the pairs (s, y), oldest first, from the live reference "memory" of an iterate.

    ``memory`` is a sequence of pairs, or an object with lists ``S`` and ``Y`` as :class:`PairMemory`. Return
    an empty list for any other object. Raises ValueError if the items of a sequence are not pairs.
    """
    if not isinstance(memory, Sequence):
        return list(zip(memory.S, memory.Y, strict=True)) if hasattr(memory, "S") else []
    try:
        found = [(np.asarray(s, dtype=float), np.asarray(y, dtype=float)) for s, y, *_ in memory]
    except (TypeError, ValueError):
        found = None
    if found is None or any(s.ndim != 1 or s.shape != y.shape for s, y in found):
        raise ValueError(
            "the live reference memory is a PairMemory, or a list of pairs (s, y) of arrays with one length"
        )
    return found


def as_memory(memory: Any) -> Any:
    """Return a sequence of pairs as a :class:`PairMemory`, without the pairs whose sᵀy is too small.

    Return any other object as it is.
    """
    if not isinstance(memory, Sequence):
        return memory
    made = PairMemory(None)
    for s, y in pairs_of(memory):
        made.push(s, y)
    return made


def admitted(
    s: np.ndarray, y: np.ndarray, h: float | None = None, H: float = 0.0
) -> tuple[np.ndarray, float | None]:
    """Return the s with which a pair enters B, and sᵀy, or None if sᵀy is too small to use the pair.

    Without ``h`` and ``H``, sᵀy only has to be above rounding. Yu et al. 2010, eq. (29), bounds the spectrum
    of B for losses with kinks: a pair with sᵀy/sᵀs below 1/H is rejected. A multiple of y is added to s such
    that sᵀy/yᵀy is at least h (Algorithm 1, line 14).
    """
    if H * (s @ y) < s @ s and H > 0.0:
        return s, None
    squares = float(y @ y)
    if h is not None and squares > 0.0 and (short := h - float(s @ y) / squares) > 0.0:
        s = s + short * y
    curvature = float(s @ y)
    return s, curvature if curvature > CURVATURE * np.sqrt((s @ s) * squares) else None


def _add(q: np.ndarray, a: float, v: np.ndarray, pulse: Callable[[], None]) -> None:
    """Add a v to q, a piece at a time."""
    for lo in range(0, q.size, ENTRIES_AT_ONCE):
        part = slice(lo, lo + ENTRIES_AT_ONCE)
        q[part] += a * v[part]
        pulse()


def spread(v: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return a vector with the entries of v where the mask ``known`` is set, and zeros elsewhere."""
    if known.all():
        return v
    out = np.zeros(known.size)
    out[known] = v
    return out


def _grown(products: np.ndarray) -> np.ndarray:
    """Return the matrix with a row and a column of zeros appended."""
    k = len(products)
    out = np.zeros((k + 1, k + 1))
    out[:k, :k] = products
    return out


def middle(SS: np.ndarray, SY: np.ndarray, gamma: float) -> np.ndarray:
    """Return [γSᵀS, L; Lᵀ, -D], (2k, 2k), the inverse of R.

    L is the part of SᵀY below the diagonal, D its diagonal.
    """
    L = np.tril(SY, -1)
    return np.block([[gamma * SS, L], [L.T, -np.diag(np.diag(SY))]])


def spectrum(SS: np.ndarray, SY: np.ndarray, gram: np.ndarray, gamma: float) -> np.ndarray:
    """Return the eigenvalues of B = γI - Q R Qᵀ on the span of the k pairs, ascending; elsewhere B is γI.

    With U = [S Y], Q = U C for C = diag(γI, I), and B U = U(γI - C R C UᵀU). ``gram`` is UᵀU on the rows of
    B. Directions in which the pairs are linearly dependent up to rounding are left out.
    """
    k = len(SS)
    C = np.concatenate([np.full(k, gamma), np.ones(k)])
    lengths = np.sqrt(np.diag(gram))
    lengths[lengths == 0.0] = 1.0
    values, vectors = np.linalg.eigh(gram / np.outer(lengths, lengths))
    kept = values > SPAN_TOL * values.max(initial=0.0)
    # orthonormal basis of the span: U T
    T = vectors[:, kept] / np.sqrt(values[kept]) / lengths[:, None]
    P = C[:, None] * (gram @ T)
    M = middle(SS, SY, gamma)
    scale = 1.0 / np.sqrt(np.concatenate([gamma * np.diag(SS), np.diag(SY)]))
    R_P = scale[:, None] * np.linalg.solve(M * scale[:, None] * scale, scale[:, None] * P)
    return np.linalg.eigvalsh(gamma * np.eye(T.shape[1]) - P.T @ R_P)
