"""Functions of two variables for nonsmooth solvers, as maxima of simple pieces, with starting points."""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

import numpy as np

from ..dataset import Content, Part
from ..entry import Request
from ..errors import DataError

#: Largest coefficient of a piece, and largest coordinate of a start.
MAX_COEFFICIENT = 1e9
#: Largest number of pieces.
MOST_PIECES = 50
#: The monomials of a piece, in the order of its coefficients, and a term of one in a text.
MONOMIALS = ("", "x", "y", "x^2", "xy", "y^2")
TERM = re.compile(r"([+-])(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)?\*?(x\^2|y\^2|xy|x|y)?")


class Piece(NamedTuple):
    """The function c + gᵀw + ½ wᵀHw or, if ``cone`` is 1, sqrt(wᵀHw) in the cone x >= |y|."""

    cone: float
    constant: float
    g_x: float
    g_y: float
    h_xx: float
    h_xy: float
    h_yy: float


def toy(request: Request, text: str | None = None, cones: tuple[Piece, ...] = ()) -> Content:
    """Return the maximum of pieces and cones, with a starting point.

    The pieces are parsed from ``text``, or from the option ``pieces`` if that is None.
    """
    pieces = parse_pieces(request.options["pieces"] if text is None else text)
    function = Part(np.eye(2), np.array([*pieces, *cones]))
    return Content(function, ("f",), ("x", "y"), start=parse_start(request.options["start"]))


#: 5 sqrt(9x² + 16y²) in the cone x >= |y|, the upper part of eq. (112) of Yu et al. 2010.
WOLFE = Piece(1.0, 0.0, 0.0, 0.0, 225.0, 0.0, 400.0)

#: 10|x| + |y|, eq. (8).
toy_abs = partial(toy, text="10x+y; 10x-y; -10x+y; -10x-y")
#: 5 sqrt(9x² + 16y²) where x >= |y|, else 9x + 16|y|, eq. (112): in the cone the root is the larger.
toy_wolfe = partial(toy, text="9x+16y; 9x-16y", cones=(WOLFE,))
#: max{-100, ±2x + 3y, ±5x + 2y}, eq. (113).
toy_hull = partial(toy, text="-100; 2x+3y; -2x+3y; 5x+2y; -5x+2y")
#: max{2|x| + y, 3y}, eq. (114).
toy_lewis_overton = partial(toy, text="2x+y; -2x+y; 3y")


def parse_start(text: str) -> tuple[float, float]:
    """Parse a starting point "x,y". Raises DataError if it is not two numbers."""
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError:
        x = y = np.nan
    if not (abs(x) <= MAX_COEFFICIENT and abs(y) <= MAX_COEFFICIENT):
        raise DataError(f"Option start={text!r} is not possible: it takes two numbers, such as 1,-0.5.")
    return x, y


def parse_pieces(text: str) -> list[Piece]:
    """Parse pieces such as "2x+y; -2x+y; x^2+0.5y^2-1".

    Raises DataError if one is not a convex polynomial of degree at most two.
    """
    parts = [part for part in (part.replace(" ", "") for part in text.split(";")) if part]
    if not 1 <= len(parts) <= MOST_PIECES:
        raise DataError(f"Option pieces={text!r} is not possible: give 1 to {MOST_PIECES} pieces.")
    return [_piece(part) for part in parts]


def _piece(text: str) -> Piece:
    sums: dict[str, float] = {monomial: 0.0 for monomial in MONOMIALS}
    signed, end = text if text[0] in "+-" else f"+{text}", 0
    for term in TERM.finditer(signed):
        sign, number, monomial = term.groups()
        if term.start() != end or (number is None and monomial is None):
            break
        end = term.end()
        sums[monomial or ""] += float(f"{sign}{number or 1}")
    if end != len(signed) or not all(abs(value) <= MAX_COEFFICIENT for value in sums.values()):
        raise DataError(
            f"Piece {text!r} is not possible: write terms in x, y, x^2, xy and y^2 with numbers, such as "
            "2x-0.5y+1 or x^2+y^2, and pieces apart by semicolons."
        )
    constant, g_x, g_y, xx, xy, yy = sums.values()
    piece = Piece(0.0, constant, g_x, g_y, 2.0 * xx, xy, 2.0 * yy)
    if np.linalg.eigvalsh([[piece.h_xx, xy], [xy, piece.h_yy]])[0] < -1e-12 * (1.0 + abs(xx) + abs(yy)):
        raise DataError(f"Piece {text!r} is not possible: it is not convex, and all pieces must be.")
    return piece
