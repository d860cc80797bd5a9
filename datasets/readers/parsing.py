"""Kernels that take apart lines of text; the readers put codes of errors into words."""

from __future__ import annotations

import numba
import numpy as np


def slow_numbers(raw: np.ndarray) -> np.ndarray:
    """Room for the places of all numbers of a text that need more than 53 bits or a large power of ten."""
    exponents = np.count_nonzero(raw == ord("e")) + np.count_nonzero(raw == ord("E"))
    return np.empty((exponents + len(raw) // 16 + 1, 3), np.int64)


def round_slowly(text: bytes, slow: np.ndarray, values: np.ndarray) -> None:
    """Fill in the numbers that the kernels left out: Python rounds them correctly."""
    for place, begin, end in slow.tolist():
        values[place] = float(text[begin:end])


NEWLINE, HASH, PLUS, COMMA, MINUS, DOT, COLON, ZERO, NINE = b"\n#+,-.:09"
LOWER = 32  # raw | LOWER is the small letter
A, D, E, F, LETTER_I, N, Q, Z = b"adefinqz"
_POWERS = 10.0 ** np.arange(23)

EXACT, LONG, NO_NUMBER, NOT_FINITE = 0, 1, 2, 3
"""Status of a number; a LONG one is to be rounded by `round_slowly`."""

(
    OK,
    BAD_LABEL,
    BAD_INDEX,
    LARGE_INDEX,
    NO_VALUE,
    BAD_VALUE,
    INFINITE,
    INFINITE_LABEL,
) = range(8)
"""Codes of errors."""


@numba.njit(nogil=True, cache=True)
def _blank(c):
    return c == 32 or (9 <= c <= 13 and c != NEWLINE)


@numba.njit(nogil=True, cache=True)
def _is_qid(raw, p, stop):
    """Tell whether `qid:` stands at p."""
    return (
        p + 4 <= stop and raw[p] == Q and raw[p + 1] == LETTER_I and raw[p + 2] == D and raw[p + 3] == COLON
    )


@numba.njit(nogil=True, cache=True)
def _not_finite(raw, p, length):
    """Tell whether the word at p is nan, inf or infinity."""
    if length != 3 and length != 8:
        return False
    first, second, third = raw[p] | LOWER, raw[p + 1] | LOWER, raw[p + 2] | LOWER
    if first == N:
        return length == 3 and second == A and third == N
    return first == LETTER_I and second == N and third == F


@numba.njit(nogil=True, cache=True)
def _number(raw, p, end):
    """The number at p: value, first byte after it, status.

    Status: EXACT, LONG (left to `round_slowly`), NO_NUMBER or NOT_FINITE.
    """
    negative = False
    if p < end and (raw[p] == PLUS or raw[p] == MINUS):
        negative = raw[p] == MINUS
        p += 1
    begin = p
    while p < end and A <= raw[p] | LOWER <= Z:
        p += 1
    if p > begin:
        return 0.0, p, NOT_FINITE if _not_finite(raw, begin, p - begin) else NO_NUMBER
    mantissa = np.uint64(0)
    digits, seen, exponent = 0, 0, 0
    dot = False
    while p < end:
        c = raw[p]
        if ZERO <= c <= NINE:
            seen += 1
            if digits > 0 or c > ZERO:
                digits += 1
            if digits < 19:
                mantissa = mantissa * np.uint64(10) + np.uint64(c - ZERO)
            if dot:
                exponent -= 1
        elif c == DOT and not dot:
            dot = True
        else:
            break
        p += 1
    if seen == 0:
        return 0.0, p, NO_NUMBER
    if p < end and raw[p] | LOWER == E:
        p += 1
        minus = False
        if p < end and (raw[p] == PLUS or raw[p] == MINUS):
            minus = raw[p] == MINUS
            p += 1
        if p == end or not ZERO <= raw[p] <= NINE:
            return 0.0, p, NO_NUMBER
        power = 0
        while p < end and ZERO <= raw[p] <= NINE:
            power = min(power * 10 + np.int64(raw[p]) - ZERO, 100000)
            p += 1
        exponent += -power if minus else power
    if digits >= 19 or mantissa > np.uint64(9007199254740992) or exponent < -22 or exponent > 22:
        return 0.0, p, LONG
    value = np.float64(mantissa)
    value = value * _POWERS[exponent] if exponent >= 0 else value / _POWERS[-exponent]
    return -value if negative else value, p, EXACT


@numba.njit(nogil=True, cache=True)
def parse_rows(raw, line, max_index, lines, label_counts, labels, counts, indices, values, slow, filled):
    """Fill the arrays from whole lines of label[,label...] index:value ....

    Returns the line after the last (or that of the error) and the code of the error or 0; without one,
    ``filled`` gets the numbers of rows, labels, values and values to be rounded.
    """
    rows = n_labels = n_values = n_slow = 0
    p, n = 0, len(raw)
    while p < n:
        end = p
        while end < n and raw[end] != NEWLINE:
            end += 1
        after = end + 1
        stop = p
        while stop < end and raw[stop] != HASH:
            stop += 1
        while p < stop and _blank(raw[p]):
            p += 1
        if p == stop:
            p = after
            line += 1
            continue
        first_label, first_value = n_labels, n_values
        # a first token with a colon is a feature: the row has no label
        q = p
        while q < stop and not _blank(raw[q]) and raw[q] != COLON and raw[q] != COMMA:
            q += 1
        if q == stop or raw[q] != COLON:
            while True:
                value, p, status = _number(raw, p, stop)
                if status != EXACT:
                    return line, INFINITE_LABEL if status == NOT_FINITE else BAD_LABEL
                labels[n_labels] = value
                n_labels += 1
                q = p
                while q < stop and _blank(raw[q]):
                    q += 1
                if q < stop and raw[q] == COMMA:
                    p = q + 1
                    while p < stop and _blank(raw[p]):
                        p += 1
                elif p < stop and not _blank(raw[p]):
                    return line, BAD_LABEL
                else:
                    p = q
                    break
        while p < stop:
            if _is_qid(raw, p, stop):
                while p < stop and not _blank(raw[p]):
                    p += 1
            else:
                index = np.int64(0)
                begin = p
                while p < stop and ZERO <= raw[p] <= NINE:
                    index = min(index * 10 + np.int64(raw[p]) - ZERO, max_index + 1)
                    p += 1
                if p == begin:
                    return line, BAD_INDEX
                if p == stop or raw[p] != COLON:
                    return line, NO_VALUE if p == stop or _blank(raw[p]) else BAD_INDEX
                if index > max_index:
                    return line, LARGE_INDEX
                begin = p + 1
                value, p, status = _number(raw, begin, stop)
                if status == NOT_FINITE:
                    return line, INFINITE
                if status == NO_NUMBER or (p < stop and not _blank(raw[p])):
                    return line, BAD_VALUE
                if status == LONG:
                    slow[n_slow, 0], slow[n_slow, 1], slow[n_slow, 2] = n_values, begin, p
                    n_slow += 1
                indices[n_values] = index
                values[n_values] = value
                n_values += 1
            while p < stop and _blank(raw[p]):
                p += 1
        lines[rows] = line
        label_counts[rows] = n_labels - first_label
        counts[rows] = n_values - first_value
        rows += 1
        p = after
        line += 1
    filled[0], filled[1], filled[2], filled[3] = rows, n_labels, n_values, n_slow
    return line, OK
