"""Lines of a sweep's figures, one per solver, and the text in their place while there are none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from bokeh.models import HoverTool

from solverscope.app import ui
from solverscope.app.views.base.view import View

#: For each solver its points along both axes; None, or nan, is not known.
Curves = Mapping[str, Iterable[tuple[float | None, float | None]]]


class SolverCurves(View):
    """One figure: lines with a point for each run, a part of a sweep's view.

    ``name`` is its id and that of the figure, ``missing`` says why there is nothing yet, and ``axes`` are
    those of :func:`solverscope.app.ui.plot`. Without anything
    to draw there are no axes: a logarithmic one has nothing to begin at.
    """

    def __init__(
        self,
        whole: View,
        name: str,
        *,
        missing: str,
        steps: bool = False,
        thin: bool = False,
        ringed: bool = False,
        **axes: Any,
    ) -> None:
        self.id, self.hint, self._axes = name, missing, axes
        self._steps, self._thin, self._ringed = steps, thin, ringed
        self._curves: Mapping[str, list[tuple[float, float]]] = {}
        self._marked: Mapping[str, tuple[float, float]] = {}
        super().__init__(whole=whole)

    def build(self) -> None:
        self.figure = ui.plot(self.id, **self._axes)
        self._lines = ui.source("xs", "ys", "color", "dash")
        self.points = ui.source("x", "y", "color", "label")
        looks = {"line_color": "color", "line_dash": "dash", "line_width": 1 if self._thin else 2}
        self.figure.multi_line("xs", "ys", source=self._lines, **looks)
        drawn = self.figure.scatter("x", "y", source=self.points, color="color", size=7 if self._thin else 5)
        x, y = self._axes["x_label"].partition(",")[0], self._axes["y_label"]
        printf = {"tooltips": [("run", "@label"), (x, "@x{%.4g}"), (y, "@y{%.4g}")]}
        printf["formatters"] = {"@x": "printf", "@y": "printf"}
        self.figure.add_tools(HoverTool(renderers=[drawn], limit=1, **printf))
        self.rings = ui.source("x", "y", "color")
        if self._ringed:
            self.figure.scatter("x", "y", source=self.rings, line_color="color", fill_color=None, size=14)
        self._body.append(self.late_pane(self.figure))

    def put(self, curves: Curves, marked: Mapping[str, tuple[float, float]] = MappingProxyType({})) -> None:
        """Show these curves, in the colours of their places; points that are not known stay out. One that
        is ``marked`` has a ring, in a figure that is ``ringed``."""
        self._curves = {name: list(filter(_known, points)) for name, points in curves.items()}
        self._marked = marked
        self.update()

    def has_content(self) -> bool:
        return any(self._curves.values())

    def draw(self) -> None:
        lines, dots, rings = [], [], []
        for k, (name, points) in enumerate(self._curves.items()):
            color, line = ui.COLORS[k % len(ui.COLORS)], np.array(points).reshape(-1, 2).T
            lines.append((*(_stairs(*line) if self._steps else line), color, ui.dash(k)))
            if not self._steps:
                dots += [(*point, color, name) for point in points]
            if name in self._marked:
                rings.append((*self._marked[name], color))
        for source, rows in ((self._lines, lines), (self.points, dots), (self.rings, rings)):
            source.data = ui.columns(source, rows)


def _known(point: tuple[float | None, float | None]) -> bool:
    return all(value is not None and math.isfinite(value) for value in point)


def _stairs(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a curve that is constant between its points, each value from its point on."""
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
