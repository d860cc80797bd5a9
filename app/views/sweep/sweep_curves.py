"""Line plots of a sweep, with one line per solver, and the text shown while they are empty."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from bokeh.models import HoverTool

from solverscope.app import ui
from solverscope.app.views.base.view import View
from solverscope.app.views.sweep.sweep_figures import Chosen

#: The points of each solver; coordinates are None or NaN if unknown.
Curves = Mapping[str, Iterable[tuple[float | None, float | None]]]


class SolverCurves(View):
    """A line plot of a sweep, with a line per solver and a point per run.

    ``name`` is the id of the view and the figure, and ``missing`` the text while it is empty. ``axes`` are
    arguments of :func:`solverscope.app.ui.plot`. An empty figure has no axes, since logarithmic ones have no
    range.
    """

    def __init__(
        self,
        whole: View,
        name: str,
        *,
        missing: str,
        steps: bool = False,
        thin: bool = False,
        **axes: Any,
    ) -> None:
        self.id, self.hint, self._axes = name, missing, axes
        self._steps, self._thin = steps, thin
        self._curves: Mapping[str, list[tuple[float, float]]] = {}
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
        self._body.append(self.late_pane(self.figure))

    def put(self, curves: Curves) -> None:
        """Show these curves, coloured by their index, without unknown points."""
        self._curves = {
            name: [(x, y) for x, y in points if x is not None and y is not None and math.isfinite(x + y)]
            for name, points in curves.items()
        }
        self.update()

    def has_content(self) -> bool:
        return any(self._curves.values())

    def draw(self) -> None:
        lines, dots = [], []
        for k, (name, points) in enumerate(self._curves.items()):
            color, line = ui.COLORS[k % len(ui.COLORS)], np.array(points).reshape(-1, 2).T
            lines.append((*(_stairs(*line) if self._steps else line), color, ui.dash(k)))
            if not self._steps:
                dots += [(*point, color, name) for point in points]
        for source, rows in ((self._lines, lines), (self.points, dots)):
            source.data = ui.columns(source, rows)


class ChoiceCurves(SolverCurves):
    """The metric on held-out data over λ, with standard errors, and marks at the selected λ.

    A ring marks the best λ, and a square that of the one-standard-error rule.
    """

    def build(self) -> None:
        super().build()
        self._chosen: Mapping[str, Chosen] = {}
        self.bars = ui.source("x", "low", "high", "color")
        self.rings, self.squares = (ui.source("x", "y", "color") for _ in range(2))
        self.figure.segment("x", "low", "x", "high", source=self.bars, color="color", line_alpha=0.6)
        open_mark = {"line_color": "color", "fill_color": None, "size": 14}
        self.figure.scatter("x", "y", source=self.rings, **open_mark)
        self.figure.scatter("x", "y", source=self.squares, marker="square", **open_mark)

    def put_choices(self, names: Sequence[str], chosen: Mapping[str, Chosen]) -> None:
        """Show the selection for each solver, coloured by its index in ``names``."""
        self._chosen = chosen
        over = {name: chosen[name].over if name in chosen else () for name in names}
        self.put({name: [(lam, mean) for lam, mean, _ in entries] for name, entries in over.items()})

    def draw(self) -> None:
        super().draw()
        bars, rings, squares = [], [], []
        for k, name in enumerate(self._curves):
            if name not in self._chosen:
                continue
            one, color = self._chosen[name], ui.COLORS[k % len(ui.COLORS)]
            bars += [
                (lam, mean - error, mean + error, color) for lam, mean, error in one.over if error is not None
            ]
            rings.append((one.lam, one.metric, color))
            if one.lam_1se is not None:
                squares.append((one.lam_1se, one.metric_1se, color))
        for source, rows in ((self.bars, bars), (self.rings, rings), (self.squares, squares)):
            source.data = ui.columns(source, rows)


def _stairs(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a piecewise constant curve that has each value from its point on."""
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
