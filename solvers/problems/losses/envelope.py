"""The pointwise maximum of lines b + t a over t >= 0, and its ties: Algorithm 4 of Yu et al. 2010."""

import numpy as np

from ...compute.jit import kernel

#: Share of 1 + |maximum| within which a linear function counts as one that attains the maximum: exact steps
#: lead to where two of them are equal, and rounding must not tell them apart.
TIE_TOL = 1e-10
#: Lines that are sorted by plain insertion.
INSERTION_SORT_LINES = 32


@kernel
def ties(gap, top):
    """Return whether a linear function that is ``gap`` below the maximum ``top`` counts as equal to it."""
    return gap <= TIE_TOL * (1.0 + abs(top))


@kernel
def envelope(a, b, r, order, t, line):
    """Write the segments of the maximum of the lines b[i] + t a[i], i < r, over t >= 0; return their number.

    Segment k belongs to the line ``line[k]`` and begins at t[k]; t[0] = 0. This takes about r log r
    comparisons. Lines that tie with the maximum at 0 count as equal to it there. ``order`` is work space.
    """
    first, top = 0, b[0]
    for i in range(1, r):
        top = max(top, b[i])
    tied = -np.inf
    for i in range(r):
        if a[i] > tied and ties(top - b[i], top):
            first, tied = i, a[i]
    steeper = 0
    for i in range(r):
        if a[i] > tied:  # none of the others can become active
            order[steeper] = i
            steeper += 1
    sort(a, b, order, steeper)
    n = 1
    t[0], line[0] = 0.0, first
    for q in range(steeper):
        new, crossing = order[q], 0.0
        height = b[new]
        while a[new] > a[line[n - 1]]:
            last = line[n - 1]
            crossing = ((top if n == 1 else b[last]) - height) / (a[new] - a[last])
            if n == 1 or crossing > t[n - 1]:
                t[n], line[n] = crossing, new
                n += 1
                break
            n -= 1
    return n


@kernel
def sort(a, b, order, n):
    """Sort ``order`` in place: lines by decreasing b, and for equal b by decreasing a.

    This is Shell's sort (1959), an insertion sort that compares lines far apart first.
    """
    gap = 1
    while n > INSERTION_SORT_LINES and 3 * gap < n:
        gap = 3 * gap + 1
    while gap > 0:
        for q in range(gap, n):
            line, k = order[q], q
            while k >= gap and later(a, b, order[k - gap], line):
                order[k] = order[k - gap]
                k -= gap
            order[k] = line
        gap //= 3


@kernel
def later(a, b, i, j):
    """Return whether line i is sorted after line j."""
    return b[i] < b[j] or (b[i] == b[j] and a[i] < a[j])
