"""The exponential function of arrays, in SIMD instructions.

NumPy computes one entry at a time on processors without AVX-512. The loops here have no calls and no
branches, so that the compiler vectorizes them on any processor.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from .jit import kernel

#: Entries processed per call: they and the work array fit in the cache.
PIECE = 8192
#: Adding 1.5 · 2⁵² rounds a number to the nearest integer, which is then in the lowest bits.
ROUNDING_SHIFT = 1.5 * 2.0**52
LOG2_E = 1.4426950408889634
#: log 2 in two parts, the first with so few digits that its products with exponents are exact.
LOG_2 = 0.6931471803691238
LOG_2_REST = 1.9082149292705877e-10
#: Below this, results would be subnormal numbers, which are slow: they are set to 0.
MIN_EXPONENT = -708.0
NONE = ROUNDING_SHIFT - 1023.0
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (1.0 / factorial(k) for k in range(2, 14))


def exp_in_place(x: np.ndarray) -> None:
    """Replace the entries of x by their exponentials, exact to one or two ulps.

    Entries must be at most 709. Exponentials of entries below -708 are 0, and nan stays nan. Raises
    ValueError if x is not C-contiguous.
    """
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

    e^r is approximated by its Taylor polynomial of degree 13, whose remainder is below 1e-17. ``power`` is
    work space for 2^k, and ``bits`` is the same memory as integers.
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
