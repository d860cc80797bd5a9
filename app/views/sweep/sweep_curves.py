"""Lines of a sweep's figures, one a solver, and what is said in their place while none is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from bokeh.models import HoverTool

from app import theme
from app.views.base.view import View

#: For each solver values along both axes, nan where they are not known.
Curves = Mapping[str, tuple[np.ndarray, np.ndarray]]


class SolverCurves(View):
    """One figure: lines with a point for each run, a part of a sweep's view.

    ``name`` is its id and that of the figure, ``missing`` says why there is nothing yet, and ``axes`` are
    those of :func:`app.theme.plot`. Without anything
    to draw there are no axes: a logarithmic one has nothing to begin at.
    """

    def __init__(
        self,
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
        self._curves: Curves = {}
        self._marked: Curves = {}
        super().__init__(part=True)

    def build(self) -> None:
        self.figure = theme.plot(self.id, **self._axes)
        self._lines = theme.source("xs", "ys", "color", "dash")
        self.points = theme.source("x", "y", "color", "label")
        looks = {"line_color": "color", "line_dash": "dash", "line_width": 1 if self._thin else 2}
        self.figure.multi_line("xs", "ys", source=self._lines, **looks)
        drawn = self.figure.scatter("x", "y", source=self.points, color="color", size=7 if self._thin else 5)
        x, y = self._axes["x_label"].partition(",")[0], self._axes["y_label"]
        printf = {"tooltips": [("run", "@label"), (x, "@x{%.4g}"), (y, "@y{%.4g}")]}
        printf["formatters"] = {"@x": "printf", "@y": "printf"}
        self.figure.add_tools(HoverTool(renderers=[drawn], limit=1, **printf))
        self.rings = theme.source("x", "y", "color")
        if self._ringed:
            self.figure.scatter("x", "y", source=self.rings, line_color="color", fill_color=None, size=14)
        self._body.append(self.late_pane(self.figure))

    def put(self, curves: Curves, marked: Curves | None = None) -> None:
        """Show these curves, in the colours of their places; those without a known value stay out. Points
        that are ``marked`` have a ring, in a figure that is ``ringed``."""
        self._curves = {name: _known(*curve) for name, curve in curves.items()}
        self._marked = marked or {}
        self.update()

    def has_content(self) -> bool:
        return any(x.size for x, _ in self._curves.values())

    def draw(self) -> None:
        lines, dots, rings = [], [], []
        for k, (name, (x, y)) in enumerate(self._curves.items()):
            color = theme.COLORS[k % len(theme.COLORS)]
            corners = _stairs(x, y) if self._steps else (x, y)
            lines.append((*corners, color, theme.dash(k)))
            if not self._steps:
                dots += [(*point, color, name) for point in zip(x.tolist(), y.tolist(), strict=True)]
            rings += [(*point, color) for point in zip(*self._marked.get(name, ((), ())), strict=True)]
        for source, rows in ((self._lines, lines), (self.points, dots), (self.rings, rings)):
            source.data = theme.columns(source, rows)


def _known(x: Sequence[float], y: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    known = np.isfinite(x) & np.isfinite(y)
    return x[known], y[known]


def _stairs(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a curve that is constant between its points, each value from its point on."""
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
