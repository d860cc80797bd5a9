"""The exponential of all entries of an array, several at a time.

NumPy takes one entry after the other on processors without AVX-512. These loops have no calls and no
branches: they become SIMD instructions everywhere.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from .jit import kernel

#: Entries done together: they and the work array stay in the cache.
PIECE = 8192
#: Adding 1.5 · 2⁵² rounds a number to the nearest integer, and leaves that in the lowest bits.
ROUNDING_SHIFT = 1.5 * 2.0**52
LOG2_E = 1.4426950408889634
#: log 2 in two parts, the first with so few digits that its products with exponents are exact.
LOG_2 = 0.6931471803691238
LOG_2_REST = 1.9082149292705877e-10
#: Below, results would not be normal numbers, which are slow to compute with: there they are 0.
MIN_EXPONENT = -708.0
NONE = ROUNDING_SHIFT - 1023.0
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (1.0 / factorial(k) for k in range(2, 14))


def exp_in_place(x: np.ndarray) -> None:
    """Replace entries of at most 709 by their exponentials, exact to an ulp or two; those of entries below
    -708 are 0, and nan stays. ValueError if x is not contiguous."""
    if not x.flags.c_contiguous:
        raise ValueError("exponentials are taken in place of contiguous arrays alone: copy this one first")
    x = x.reshape(-1)
    power = np.empty(min(x.size, PIECE))
    bits = power.view(np.int64)
    for lo in range(0, x.size, PIECE):
        exponentials(x[lo : lo + PIECE], power, bits)


@kernel
def exponentials(x, power, bits):
    """Replace x by e^x = 2^k e^r, with k = round(x / log 2) and |r| ≤ log(2)/2.

    e^r is approximated by its Taylor polynomial of degree 13, whose remainder is below 1e-17. ``power`` holds
    2^k, and ``bits`` is its memory as integers.
    """
    for q in range(x.size):
        v = MIN_EXPONENT if x[q] < MIN_EXPONENT else x[q]
        shifted = v * LOG2_E + ROUNDING_SHIFT
        power[q] = NONE if x[q] < MIN_EXPONENT else shifted
        k = shifted - ROUNDING_SHIFT
        r = (v - k * LOG_2) - k * LOG_2_REST
        r2 = r * r
        low = (C2 + C3 * r) + r2 * (C4 + C5 * r)
        middle = (C6 + C7 * r) + r2 * (C8 + C9 * r)
        high = (C10 + C11 * r) + r2 * (C12 + C13 * r)
        r4 = r2 * r2
        x[q] = 1.0 + (r + r2 * (low + r4 * (middle + r4 * high)))
    for q in range(x.size):  # its exponent is k + 1023
        bits[q] = (bits[q] << 52) + (1023 << 52)
    for q in range(x.size):
        x[q] *= power[q]
