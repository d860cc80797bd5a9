"""Functions of two variables on which solvers for smooth problems fail."""

from __future__ import annotations

from typing import Any

from ..entry import DataSetInfo
from ..options import Option
from ..size import Size
from .papers import YU

OWN = "a formula"
FREE = "free to use"


def _toy(id: str, name: str, summary: str, description: str, start: str, *own: Option) -> DataSetInfo:
    function = id.replace("-", "_")
    return DataSetInfo(
        id=id,
        name=name,
        summary=summary,
        kind="function",
        loader=f"loaders.toys:{function}",
        paper=YU,
        size="2 variables",
        description=description,
        source=OWN,
        terms=FREE,
        own=(*own, Option("start", start, "where solvers start: x,y", title="start x, y")),
        penalty="none",
        measure=_measure,
    )


def _measure(options: dict[str, Any]) -> Size:
    return Size(2, 2, 1, 4)


SETS = (
    _toy(
        "toy-abs",
        "Toy: 10|x| + |y|",
        "10|x| + |y|: an exact step lands on the hinge x = 0",
        "Equation (8) of the paper. After an exact step BFGS stands on the hinge x = 0 and finds no descent "
        "direction there.",
        "1,1",
    ),
    _toy(
        "toy-wolfe",
        "Toy: Wolfe's function",
        "5√(9x² + 16y²) where x ≥ |y|, else 9x + 16|y|: steepest descent stops at 0",
        "Equation (112) of the paper, due to Wolfe (1975): unbounded below, but steepest descent with exact "
        "steps converges to (0, 0).",
        "2,1",
    ),
    _toy(
        "toy-hull",
        "Toy: five planes",
        "max{-100, ±2x + 3y, ±5x + 2y}: steepest subgradient descent stops at 0",
        "Equation (113) of the paper, due to Hiriart-Urruty and Lemaréchal (1993): steepest subgradient "
        "descent with exact steps zigzags towards (0, 0), where f is 100 above the minimum.",
        "3,9",
    ),
    _toy(
        "toy-lewis-overton",
        "Toy: Lewis and Overton's function",
        "max{2|x| + y, 3y}: BFGS stops on the hinge x = 0",
        "Equation (114) of the paper, due to Lewis and Overton (2008): unbounded below, but BFGS with exact "
        "steps stops at a point where it finds no descent direction.",
        "10,1",
    ),
    _toy(
        "toy",
        "Toy: your own function",
        "the maximum of pieces of your own in x and y",
        "The maximum of linear or convex quadratic pieces, written as polynomials in x and y and apart by "
        "semicolons.",
        "1,1",
        Option(
            "pieces",
            "2x+y; -2x+y; 0.5x^2+y^2-2",
            "pieces in x and y, apart by semicolons",
            title="pieces of f",
        ),
    ),
)
