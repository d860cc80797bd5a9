"""The view of the number of trials of each line search of a run, as bars."""

from __future__ import annotations

import numpy as np
import param
from bokeh.models import ColumnDataSource, HoverTool

from solverscope.app import ui
from solverscope.app.views.base.view import View, placed

#: Most bars: with more iterations each bar covers several, and shows the longest search among them.
MOST_BARS = 400
#: Most bars with gaps between them; with more, only their upper ends are drawn.
MOST_SPACED_BARS = 100


class Trials(View):
    """Trials of every line search of the run under the cursor.

    A click on a bar moves the cursor to its search, or to the longest if iterations share a bar.
    """

    id = "trials"
    title = "Trials"
    hint = "Run a solver with a line search to see its trials here."

    height: int = param.Integer(default=280, doc="pixels")

    def build(self) -> None:
        self._bars = ColumnDataSource(bars(np.zeros(0, int), np.zeros(0, int)))
        self.figure = ui.plot(
            self.id,
            x_label="iteration  ·  click to go there",
            y_label="trials",
            height=self.height,
        )
        self.figure.y_range.start = 0
        self.figure.yaxis.ticker.min_interval = 1
        ui.integer_ticks(self.figure.xaxis)
        drawn = self.figure.vbar(
            "x",
            top="trials",
            bottom="bottom",
            width="width",
            source=self._bars,
            name="bars",
            color=ui.COLORS[0],
            fill_alpha=0.65,
            line_alpha=0.0,
        )
        tips = [("iteration", "@iteration"), ("trials", "@trials")]
        self.figure.add_tools(HoverTool(tooltips=tips, renderers=[drawn]))
        self.show_cursor(self.figure)
        self._body.append(ui.pane(self.figure))

    def has_content(self) -> bool:
        return self.chosen is not None and bool((self.chosen["ls_trials"] > 0).any())

    def draw(self) -> None:
        self.drew(self.cursor.iteration)
        rows, until, _ = self.chosen.since(None)
        if self._drawn.changed("bars", self.chosen, until):
            self._bars.data = bars(rows["iteration"], rows["ls_trials"])

    def _tapped(self, event: object) -> None:
        if not placed(event) or self.chosen is None or not len(self._bars.data["x"]):
            return
        nearest = int(np.argmin(np.abs(self._bars.data["x"] - event.x)))
        self.cursor.place(self.chosen, int(self._bars.data["iteration"][nearest]))


def bars(iteration: np.ndarray, trials: np.ndarray) -> dict[str, np.ndarray]:
    """Return the bars: positions and widths, and the iteration and trials of the longest search in each."""
    searched = trials > 0
    iteration, trials = iteration[searched], trials[searched].astype(int)
    each = -(-iteration.size // MOST_BARS) or 1
    starts = np.arange(0, iteration.size, each)
    longest = np.array([k + int(np.argmax(trials[k : k + each])) for k in starts.tolist()], dtype=int)
    ends = np.minimum(starts + each, iteration.size) - 1
    apart = starts.size <= MOST_SPACED_BARS
    return {
        "x": 0.5 * (iteration[starts] + iteration[ends]),
        "width": iteration[ends] - iteration[starts] + (0.8 if apart else 1.0),
        "iteration": iteration[longest],
        "trials": trials[longest],
        "bottom": np.where(apart, 0.0, trials[longest] - 0.5),
    }
