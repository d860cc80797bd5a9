"""Kernels that take apart lines of text; codes of errors are told in words by the readers."""

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


_POWERS = 10.0 ** np.arange(23)


@numba.njit(nogil=True, cache=True)
def _blank(c):
    return c == 32 or c == 9 or c == 13 or c == 11 or c == 12


@numba.njit(nogil=True, cache=True)
def _number(raw, p, end):
    """The number at p: value, first byte after it, status.

    Status: 0 exact, 1 to be rounded elsewhere, 2 no number, 3 not finite.
    """
    negative = False
    if p < end and (raw[p] == 43 or raw[p] == 45):
        negative = raw[p] == 45
        p += 1
    if p < end and (raw[p] | 32 == 110 or raw[p] | 32 == 105):
        while p < end and 97 <= raw[p] | 32 <= 122:
            p += 1
        return 0.0, p, 3
    mantissa = np.uint64(0)
    digits, seen, exponent = 0, 0, 0
    dot = False
    while p < end:
        c = raw[p]
        if 48 <= c <= 57:
            seen += 1
            if digits > 0 or c > 48:
                digits += 1
            if digits < 19:
                mantissa = mantissa * np.uint64(10) + np.uint64(c - 48)
            if dot:
                exponent -= 1
        elif c == 46 and not dot:
            dot = True
        else:
            break
        p += 1
    if seen == 0:
        return 0.0, p, 2
    if p < end and raw[p] | 32 == 101:
        p += 1
        minus = False
        if p < end and (raw[p] == 43 or raw[p] == 45):
            minus = raw[p] == 45
            p += 1
        if p == end or not 48 <= raw[p] <= 57:
            return 0.0, p, 2
        power = 0
        while p < end and 48 <= raw[p] <= 57:
            power = min(power * 10 + np.int64(raw[p]) - 48, 100000)
            p += 1
        exponent += -power if minus else power
    if digits >= 19 or mantissa > np.uint64(9007199254740992) or exponent < -22 or exponent > 22:
        return 0.0, p, 1
    value = np.float64(mantissa)
    value = value * _POWERS[exponent] if exponent >= 0 else value / _POWERS[-exponent]
    return -value if negative else value, p, 0


@numba.njit(nogil=True, cache=True)
def parse_rows(raw, line, max_index, lines, label_counts, labels, counts, indices, values, slow):
    """Fill the arrays from whole lines of label[,label...] index:value ....

    Returns the numbers of rows, labels, values and values to be rounded, the line after the last (or that of
    the error) and the code of the error or 0.
    """
    rows = n_labels = n_values = n_slow = 0
    p, n = 0, len(raw)
    while p < n:
        end = p
        while end < n and raw[end] != 10:
            end += 1
        after = end + 1
        stop = p
        while stop < end and raw[stop] != 35:
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
        while q < stop and not _blank(raw[q]) and raw[q] != 58 and raw[q] != 44:
            q += 1
        if q == stop or raw[q] != 58:
            while True:
                value, p, status = _number(raw, p, stop)
                if status > 0:
                    return rows, n_labels, n_values, n_slow, line, 7 if status == 3 else 1
                labels[n_labels] = value
                n_labels += 1
                q = p
                while q < stop and _blank(raw[q]):
                    q += 1
                if q < stop and raw[q] == 44:
                    p = q + 1
                    while p < stop and _blank(raw[p]):
                        p += 1
                elif p < stop and not _blank(raw[p]):
                    return rows, n_labels, n_values, n_slow, line, 1
                else:
                    p = q
                    break
        while p < stop:
            if (
                p + 4 <= stop
                and raw[p] == 113
                and raw[p + 1] == 105
                and raw[p + 2] == 100
                and raw[p + 3] == 58
            ):
                while p < stop and not _blank(raw[p]):
                    p += 1
            else:
                index = np.int64(0)
                begin = p
                while p < stop and 48 <= raw[p] <= 57:
                    index = min(index * 10 + np.int64(raw[p]) - 48, max_index + 1)
                    p += 1
                if p == begin:
                    return rows, n_labels, n_values, n_slow, line, 2
                if p == stop or raw[p] != 58:
                    return rows, n_labels, n_values, n_slow, line, 4 if p == stop or _blank(raw[p]) else 2
                if index > max_index:
                    return rows, n_labels, n_values, n_slow, line, 3
                begin = p + 1
                value, p, status = _number(raw, begin, stop)
                if status == 3:
                    return rows, n_labels, n_values, n_slow, line, 6
                if status == 2 or (p < stop and not _blank(raw[p])):
                    return rows, n_labels, n_values, n_slow, line, 5
                if status == 1:
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
    return rows, n_labels, n_values, n_slow, line, 0


@numba.njit(nogil=True, cache=True)
def parse_table(raw, line, delimiter, width, text_column, values, texts, slow):
    """Numbers between delimiters, the same `width` in every line, but for one field of text.

    raw  whole lines; values (lines, width) with 0 in the text column; texts (lines, 3): line, begin and
         end of the text
    slow  (.., 3): place, begin and end of numbers that are to be rounded elsewhere
    Blank lines and those that start with % are skipped. Returns rows, numbers to be rounded, line after
    the last (or
    the line of the error) and the code of the error or 0.
    """
    rows = n_slow = 0
    p, n = 0, len(raw)
    while p < n:
        end = p
        while end < n and raw[end] != 10:
            end += 1
        after = end + 1
        while end > p and _blank(raw[end - 1]):
            end -= 1
        while p < end and _blank(raw[p]):
            p += 1
        if p == end or raw[p] == 37:
            p = after
            line += 1
            continue
        for column in range(width):
            while p < end and raw[p] != delimiter and _blank(raw[p]):
                p += 1
            begin = p
            if column == text_column:
                # a text that comes last may hold delimiters
                while p < end and (raw[p] != delimiter or column == width - 1):
                    p += 1
                texts[rows, 0], texts[rows, 1], texts[rows, 2] = line, begin, p
                values[rows, column] = 0.0
            else:
                value, p, status = _number(raw, p, end)
                if status == 3:
                    return rows, n_slow, line, 6
                if status == 2 or (p < end and raw[p] != delimiter and not _blank(raw[p])):
                    return rows, n_slow, line, 5 if begin < end else 8
                if status == 1:
                    slow[n_slow, 0], slow[n_slow, 1], slow[n_slow, 2] = rows * width + column, begin, p
                    n_slow += 1
                values[rows, column] = value
                while p < end and raw[p] != delimiter and _blank(raw[p]):
                    p += 1
            if column < width - 1:
                if p == end or raw[p] != delimiter:
                    return rows, n_slow, line, 8 if p == end else 5
                p += 1
        if p < end:
            return rows, n_slow, line, 9
        rows += 1
        p = after
        line += 1
    return rows, n_slow, line, 0
