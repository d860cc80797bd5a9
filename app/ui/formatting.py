"""Formatting of numbers, times and values of records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from solverscope.solvers.methods.iterate_record import Field

#: Range in which numbers other than integers are written without an exponent.
LEAST_PLAIN, MOST_PLAIN = 1e-3, 1e7
#: Significant digits of the smallest number of a column.
ALIGNED = 6


def number(value: float | int | None, digits: int = 4) -> str:
    """Format a number with at most ``digits`` significant digits, and with an exponent only if needed.

    Thin non-breaking spaces separate thousands. Integers keep all their digits. None and infinite values are
    "–".
    """
    if value is None or not (isinstance(value, Integral) or math.isfinite(value)):
        return "–"
    size = abs(value)
    if isinstance(value, Integral) or (value.is_integer() and size < MOST_PLAIN):
        return _written(f"{int(value):,}")
    if not LEAST_PLAIN <= size < MOST_PLAIN:
        return _written(f"{value:.{digits - 1}e}", short=True)
    decimals = max(digits - 1 - math.floor(math.log10(size)), 0)
    return _written(f"{value:,.{decimals}f}", short=True)


def counted(n: int, one: str, many: str = "") -> str:
    """Format a count with its noun: "1 trial", "3 trials". ``many`` is the plural if it is irregular."""
    return f"{number(n)} {one if n == 1 else many or f'{one}s'}"


def aligned(values: Sequence[float | None]) -> list[str]:
    """Format the numbers of a right-aligned column such that their decimal points are aligned.

    All have as many decimals as give six significant digits to the smallest. If one needs an exponent, or the
    largest would be long, each has six significant digits, and only those that need it have an exponent.
    """
    sizes = [abs(v) for v in values if v is not None and math.isfinite(v) and v != 0]
    if not sizes:
        return [number(v) for v in values]
    decimals, whole = _decimals(min(sizes)), math.floor(math.log10(max(sizes))) + 1
    alike = min(sizes) >= LEAST_PLAIN and max(sizes) < MOST_PLAIN and max(whole, 1) + decimals <= ALIGNED + 4
    return [_aligned(v, decimals if alike else None) for v in values]


def _decimals(size: float) -> int:
    """Return the number of decimals that shows a number of this size with six significant digits."""
    return max(ALIGNED - 1 - math.floor(math.log10(size)), 0)


def _aligned(value: float | None, decimals: int | None) -> str:
    """Format a number with this many decimals; None stands for six significant digits."""
    if value is None or not math.isfinite(value):
        return "–"
    if decimals is None and value == 0:
        return "0"
    if decimals is None and not LEAST_PLAIN <= abs(value) < MOST_PLAIN:
        return _written(f"{value:.{ALIGNED - 1}e}")
    return _written(f"{value:,.{_decimals(abs(value)) if decimals is None else decimals}f}")


def _written(text: str, *, short: bool = False) -> str:
    """Replace the characters of a formatted number by typographic ones; ``short`` drops trailing zeros."""
    mantissa, e, exponent = text.partition("e")
    if short and "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return (mantissa + (f"e{int(exponent)}" if e else "")).replace(",", "\u202f").replace("-", "−")


def seconds(value: float | None) -> str:
    """Format a time with its unit."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.2f} s" if value < 100 else f"{value:,.0f} s".replace(",", "\u202f")


def cell(field: Field, value: Any, digits: int = 4) -> str:
    """Format a value of a record for a table, with its unit; a dash if it is unknown."""
    if not field.is_known(value):
        return "–"
    if field.unit == "s":
        return seconds(float(value))
    return number(int(value)) if field.type is int else number(float(value), digits)


def capital(text: str) -> str:
    """Return a string with its first letter capitalized."""
    return text[:1].upper() + text[1:]
