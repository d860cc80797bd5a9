"""The line search that led to the iterate under the cursor."""

from __future__ import annotations

import html
from weakref import ref

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, Span

from app import theme
from app.views.base import View


class LineSearch(View):
    """φ(t) = f(w + t d) at the steps tried, numbered in their order, the accepted one filled; the dashed line
    is what Armijo's rule asks for. Drawn from the ``line`` probe."""

    id = "line-search"
    title = "Line search"
    hint = "Run a solver that searches along a line (prox-qn does) to see φ(t) here."

    def build(self) -> None:
        self._said = theme.html()
        self._trials = ColumnDataSource({"t": [], "phi": [], "n": [], "alpha": []})
        self._rule = ColumnDataSource({"t": [], "phi": []})
        self._path = ColumnDataSource({"t": [], "phi": []})
        self._drawn: object = None
        self.figure = theme.plot(self.id, x_label="step t", y_label="φ(t) − φ(0)", height=260)
        self.figure.x_range.range_padding = self.figure.y_range.range_padding = 0.12
        self.figure.line("t", "phi", source=self._path, color=theme.COLORS[0], line_width=1.5, line_alpha=0.6)
        self.figure.line("t", "phi", source=self._rule, color=theme.GREY, line_dash="dashed", line_width=1.5)
        self.figure.scatter(
            "t", "phi", source=self._trials, size=10, color=theme.COLORS[0], fill_alpha="alpha", line_width=2
        )
        self.figure.text(
            "t",
            "phi",
            text="n",
            source=self._trials,
            x_offset=8,
            y_offset=-6,
            text_font_size="12px",
            text_color=theme.GREY,
        )
        self.figure.add_layout(Span(location=0, dimension="width", line_color=theme.GREY, line_alpha=0.4))
        self._pane = pn.pane.Bokeh(sizing_mode="stretch_width", margin=0)
        self._body.extend([self._said, self._pane])

    def _probed(self) -> tuple[int, dict[str, np.ndarray]] | None:
        trace = self.cursor.run
        if trace is None or trace.probes is None or not any(t is trace for t in self.traces):
            return None
        return trace.probes.at("line", self.cursor.iteration)

    def has_content(self) -> bool:
        return self._probed() is not None

    def draw(self) -> None:
        found = self._probed()
        mark = (ref(self.cursor.run), found[0]) if found else None
        if found is None or mark == self._drawn:
            return
        self._drawn = mark
        iteration, seen = found
        f, slope = seen["start"]
        t, phi = seen["t"], seen["phi"] - f
        accepted = np.arange(len(t)) == len(t) - 1
        self._trials.data = {
            "t": t,
            "phi": phi,
            "n": [str(k + 1) for k in range(len(t))],
            "alpha": np.where(accepted, 1.0, 0.0),
        }
        order = np.argsort(np.append(0.0, t))
        self._path.data = {"t": np.append(0.0, t)[order], "phi": np.append(0.0, phi)[order]}
        sigma = self.cursor.run.info["params"].get("sigma")
        reach = float(t.max(initial=1.0))
        promised = sigma is not None and np.isfinite(slope)
        self._rule.data = (
            {"t": [0.0, reach], "phi": [0.0, sigma * slope * reach]} if promised else {"t": [], "phi": []}
        )
        self._said.object = (
            f"<p><b>{html.escape(self.cursor.run.info['label'])}</b>, "
            f"the step to iteration {theme.number(iteration)}: "
            f"{len(t)} {'trial' if len(t) == 1 else 'trials'}, t = {theme.number(float(t[-1]), 4)} accepted, "
            f"f changed by {theme.number(float(phi[-1]), 4)}"
            + (f" (promised per unit step: {theme.number(float(slope), 4)})" if promised else "")
            + ".</p>"
        )
        if self._pane.object is None:
            self._pane.object = self.figure
