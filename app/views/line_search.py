"""The line search that led to the iterate under the cursor."""

from __future__ import annotations

import html

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, Span

from app import theme
from app.views.probe_view import ProbeView, Seen
from solvers import LINE, Trace


class LineSearch(ProbeView):
    """φ(t) = f(w(t)) at the steps tried, numbered in their order, the accepted one filled; the dashed line is
    the most that the search's rule allows there.

    w(t) is w + t d (prox-qn), its projection on an orthant (owl-qn), a proximal step of length t (prox-gd and
    its kind), or a step in one row of W: then f is the part of it that depends on the row, and the longest
    search since the iterate before is drawn.
    """

    id = "line-search"
    title = "Line search"
    probe = LINE
    hint = "Run a solver that searches for its steps (prox-qn and owl-qn do) to see what it tries here."

    def build(self) -> None:
        self._said = theme.html()
        self._trials = ColumnDataSource({"t": [], "phi": [], "allowed": [], "n": [], "alpha": []})
        self._rule = ColumnDataSource({"t": [], "phi": []})
        self._path = ColumnDataSource({"t": [], "phi": []})
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

    def draw_seen(self, iteration: int, seen: Seen) -> None:
        f, reference = map(float, seen["start"])
        t, phi, allowed = seen["t"], seen["phi"] - f, seen["allowed"] - f
        accepted = np.arange(len(t)) == len(t) - 1
        self._trials.data = {
            "t": t,
            "phi": phi,
            "allowed": allowed,
            "n": [str(k + 1) for k in range(len(t))],
            "alpha": np.where(accepted, 1.0, 0.0),
        }
        order = np.argsort(t)
        for source, first, values in ((self._path, 0.0, phi), (self._rule, reference - f, allowed)):
            source.data = {"t": np.append(0.0, t[order]), "phi": np.append(first, values[order])}
        self._said.object = f"<p>{_sentence(self.chosen, iteration, seen)}</p>"
        if self._pane.object is None:
            self._pane.object = self.figure


def _sentence(trace: Trace, iteration: int, seen: Seen) -> str:
    """Say how the search went."""
    number, f = theme.number, float(seen["start"][0])
    t, value, allowed = (float(seen[name][-1]) for name in ("t", "phi", "allowed"))
    trials, block = len(seen["t"]), int(seen["block"])
    said = f"<b>{html.escape(trace.info['label'])}</b>, "
    if block < 0:
        said += f"the step to iteration {number(iteration)}: "
    else:
        said += f"the longest search on the way to iteration {number(iteration)}, in {_row(trace, block)}: "
    said += f"{number(trials)} {'trial' if trials == 1 else 'trials'}, "
    change = value - f
    return said + (
        f"t = {number(t)} accepted, f {'fell' if change <= 0.0 else 'rose'} by {number(abs(change))} "
        f"(allowed: a change of at most {number(allowed - f)})."
    )


def _row(trace: Trace, row: int) -> str:
    """Return a row of W by name, or the weights behind the last."""
    if row >= trace.info.get("problem", {}).get("n_features", row + 1):
        return "the transitions"
    return f"the row of {html.escape(trace.names.feature(row))}"
