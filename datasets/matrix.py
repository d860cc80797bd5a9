"""Features with products of pairs, computed block by block and never stored as a whole.

A solver uses ``shape``, ``nnz``, ``binary`` and ``csc_rows(lo, hi)``, which returns rows lo to hi in CSC
form: indptr (d + 1,) int64, indices int32 relative to lo and sorted within each column, and values float64,
or None if all values are one.
"""

from __future__ import annotations

import numba
import numpy as np
import scipy.sparse

from .errors import DataError
from .limits import MAX_FEATURES


def check_sparse(X: scipy.sparse.spmatrix) -> None:
    """Raise ValueError if the arrays of a sparse matrix do not fit its shape.

    Compiled code would read out of bounds.
    """
    if X.format == "coo":
        type(X)((X.data, X.coords), shape=X.shape)
    elif X.format in ("csr", "csc", "bsr"):
        made = type(X)((X.data, X.indices, X.indptr), shape=X.shape)  # it shares them
        if (np.diff(made.indptr) < 0).any():
            raise ValueError("indptr must be a non-decreasing sequence")
        made.check_format(full_check=True)


class Products:
    """Features, the products of all pairs of them, and a constant.

    Columns are the d0 features, the pairs (i, j), i < j, in lexicographic order, and finally the constant 1.
    A binary matrix stores no values. Otherwise a product of two nonzeros is stored even if it underflows to
    0.

    Parameters
    ----------
    base : array or sparse matrix, shape (n, d0)
        The features.
    degree : int, default 2
        The degree of the products; 1 omits them.
    bias : bool, default True
        Whether to add the constant.

    Raises
    ------
    DataError
        If there are more than 20,000,000 columns.

    Examples
    --------
    >>> import numpy as np
    >>> from solverscope import datasets
    >>> X = datasets.Products(np.array([[1.0, 2.0, 3.0]]))
    >>> X.shape, X.nnz
    ((1, 7), 7)
    """

    def __init__(self, base: np.ndarray | scipy.sparse.spmatrix, degree: int = 2, bias: bool = True):
        rows = scipy.sparse.csr_matrix(base)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        d0, bias = rows.shape[1], bool(bias)
        d = d0 + (d0 * (d0 - 1) // 2 if degree == 2 else 0) + bias
        if d > MAX_FEATURES:
            raise DataError(
                f"Products of {d0:,} features make {d:,} columns, more than the {MAX_FEATURES:,} "
                "possible: use degree=1."
            )
        self._indptr, self._indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
        self.binary = bool(np.all(rows.data == 1))
        self._values = np.empty(0) if self.binary else rows.data.astype(np.float64)
        self.n_base, self.degree, self.bias = d0, degree, bias
        self.shape = (rows.shape[0], d)
        k = np.diff(self._indptr)
        self.nnz = int(np.sum(k * (k + 1) // 2 if degree == 2 else k)) + self.shape[0] * bias

    def __repr__(self) -> str:
        return (
            f"Products({self.shape[0]:,} x {self.shape[1]:,}, {self.nnz:,} non-zeros, degree {self.degree})"
        )

    def take(self, rows: np.ndarray) -> Products:
        """Return the matrix of the rows with these indices, in this order."""
        return Products(self.base(rows), self.degree, self.bias)

    def with_constant(self) -> Products:
        """Return the matrix with the constant 1 as its last column; it is added if it is missing."""
        return self if self.bias else Products(self.base(), self.degree)

    def base(self, rows: np.ndarray | slice = slice(None)) -> scipy.sparse.csr_matrix:
        """Return rows of the features, without products and constant, as a CSR matrix."""
        data = np.ones(len(self._indices), np.int8) if self.binary else self._values
        whole = scipy.sparse.csr_matrix((data, self._indices, self._indptr), (self.shape[0], self.n_base))
        return whole[rows]

    def csc_rows(self, lo: int, hi: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return rows lo to hi in CSC form, as described in the module's docstring; releases the GIL."""
        rows = self._indptr, self._indices, self.n_base, self.degree, self.bias, lo, hi
        indptr = np.zeros(self.shape[1] + 1, np.int64)
        _count(*rows, indptr)
        np.cumsum(indptr, out=indptr)
        indices = np.empty(indptr[-1], np.int32)
        values = np.empty(0 if self.binary else indptr[-1])
        _fill(*rows, self._values, indptr[:-1].copy(), indices, values)
        return indptr, indices, None if self.binary else values


@numba.njit(nogil=True, cache=True)
def _count(indptr, indices, d0, degree, bias, lo, hi, counts):
    """Count the nonzeros of each column c in rows lo to hi, into counts[c + 1]."""
    for i in range(lo, hi):
        begin, end = indptr[i], indptr[i + 1]
        for p in range(begin, end):
            j = np.int64(indices[p])
            counts[j + 1] += 1
            if degree == 2:
                # pair (j, l) is column d0 + j d0 - j (j + 1) / 2 + (l - j - 1)
                first = d0 + j * d0 - j * (j + 1) // 2 - j
                for q in range(p + 1, end):
                    counts[first + indices[q]] += 1
    if bias:
        counts[-1] += hi - lo


@numba.njit(nogil=True, cache=True)
def _fill(indptr, indices, d0, degree, bias, lo, hi, values, ends, out, out_values):
    """Write row indices, relative to lo, and values into ``out`` and ``out_values``.

    ``ends[c]`` is the start of column c before the call, and its end afterwards.
    """
    valued = len(values) > 0
    for i in range(lo, hi):
        row = np.int32(i - lo)
        begin, end = indptr[i], indptr[i + 1]
        for p in range(begin, end):
            j = np.int64(indices[p])
            out[ends[j]] = row
            if valued:
                out_values[ends[j]] = values[p]
            ends[j] += 1
            if degree == 2:
                first = d0 + j * d0 - j * (j + 1) // 2 - j - 1
                for q in range(p + 1, end):
                    column = first + indices[q]
                    out[ends[column]] = row
                    if valued:
                        out_values[ends[column]] = values[p] * values[q]
                    ends[column] += 1
        if bias:
            column = len(ends) - 1
            out[ends[column]] = row
            if valued:
                out_values[ends[column]] = 1.0
            ends[column] += 1
