"""The pointwise maximum of lines b + t a over t >= 0, and what counts as a tie: Algorithm 4 of Yu et al.
2010."""

from __future__ import annotations

import numpy as np

from ...compute.jit import kernel

#: Share of 1 + |maximum| within which a linear function counts as one that attains the maximum: exact steps
#: lead to where two of them are equal, and rounding must not tell them apart.
TIE = 1e-10
#: Lines that are sorted by insertion.
FEW = 32


@kernel
def ties(gap, top):
    """Tell whether a linear function that is ``gap`` below the maximum ``top`` counts as equal to it."""
    return gap <= TIE * (1.0 + abs(top))


@kernel
def envelope(a, b, r, order, t, line):
    """Segment the maximum of the lines b[i] + t a[i], i < r, in O(r log r): line[k] is active from t[k] on,
    t[0] = 0, up to the next of them. Return their number.

    Lines that tie with the maximum at 0 count as equal to it there. ``order`` is work space.
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
    """Sort lines by falling b, and by falling a where b is equal, in place (heapsort; insertion is
    faster for a few)."""
    if n <= FEW:
        for q in range(1, n):
            line, k = order[q], q
            while k > 0 and later(a, b, order[k - 1], line):
                order[k] = order[k - 1]
                k -= 1
            order[k] = line
        return
    for root in range(n // 2 - 1, -1, -1):
        sift(a, b, order, root, n)
    for end in range(n - 1, 0, -1):
        order[0], order[end] = order[end], order[0]
        sift(a, b, order, 0, end)


@kernel
def sift(a, b, order, root, n):
    """Move the line at ``root`` down a heap that has the lowest line on top."""
    child = 2 * root + 1
    while child < n:
        if child + 1 < n and later(a, b, order[child + 1], order[child]):
            child += 1
        if not later(a, b, order[child], order[root]):
            return
        order[root], order[child] = order[child], order[root]
        root, child = child, 2 * child + 1


@kernel
def later(a, b, i, j):
    """Tell whether line i comes after line j."""
    return b[i] < b[j] or (b[i] == b[j] and a[i] < a[j])
