"""An image of the weights of cutting planes: which of them determine the minimum of the model, over
iterations."""

from __future__ import annotations

import numpy as np

from solverscope.app import ui
from solverscope.app.views.base.probe_view import ProbeView, Seen
from solverscope.solvers import CUTS

#: Lines and columns of the picture, at most.
MAX_IMAGE_LINES, MAX_IMAGE_COLUMNS = 200, 320
#: Smaller weights are considered zero.
MIN_WEIGHT = 1e-9
WEIGHT_SHADES = 256
COLOR = ui.COLORS[0]
#: Colour of a cut with zero weight.
WITHOUT = f"{ui.GREY}30"


class CutWeights(ProbeView):
    """An image of the weights α of the cuts, with one row per cut and one column per iteration.

    The first cut is at the bottom. The larger α, the more opaque is the pixel. The row of a cut begins at the
    iteration that added the cut and ends at the one that dropped it. A diamond marks a cut that combines
    others. A click moves the cursor to the iteration.
    """

    id = "cut-weights"
    title = "Weights α of the cuts"
    probe = CUTS
    hint = "Run a bundle method (bmrm, ls-bmrm or ocas) to see the weights of its cuts here."

    def build(self) -> None:
        self._image = ui.source(*ui.IMAGE)
        self._combined = ui.source("iteration", "cut")
        self._head.append(ui.html(f"<h2>{self.title}</h2>"))
        self.figure = ui.plot(
            self.id,
            x_label="iteration  ·  click to go there",
            y_label="cut  ·  newest on top",
            height=280,
        )
        # of very many cuts each has little, and is to be seen
        alphas = np.rint(40 + 215 * np.cbrt(np.linspace(0.0, 1.0, WEIGHT_SHADES))).astype(int)
        palette = [f"{COLOR}{alpha:02x}" for alpha in alphas]
        tips = [("cut", "$y{0}"), ("iteration", "$x{0}"), ("α", "@image{0.[0000]}")]
        beyond = {"low_color": WITHOUT, "nan_color": "#00000000"}
        drawn = ui.image(self.figure, self._image, palette, (MIN_WEIGHT, 1.0), tips, **beyond)
        looks = {"fill_color": ui.COLORS[1], "line_color": ui.GREY}
        ui.diamonds(self.figure, self._combined, "iteration", "cut", **looks)
        for reach in (self.figure.x_range, self.figure.y_range):
            reach.renderers, reach.range_padding = [drawn], 0.0
        self.show_cursor(self.figure)
        self._legend = ui.html()
        pane = ui.pane(self.figure)
        self._body.extend([pane, self._legend])

    def draw(self) -> None:
        iterations = self.iterations()
        self.drew(self.cursor.iteration)
        if self._drawn.changed("image", self.chosen, iterations[-1]):
            self._show(self.chosen.probes.entries(CUTS.name))

    def _show(self, entries: list[tuple[int, Seen]]) -> None:
        image, width, each = picture(entries)
        lines, columns = image.shape
        self._image.data = ui.picture(image, -0.5, -0.5, width * columns, each * lines)
        self._combined.data = first_seen(entries)
        marks = [
            ("■", COLOR, "weight α"),
            ("■", ui.GREY, "inactive, α = 0"),
        ]
        if len(self._combined.data["cut"]):
            marks.append(("◆", ui.COLORS[1], "aggregate of dropped cuts"))
        self._legend.object = ui.mark_legend(marks)


def picture(entries: list[tuple[int, Seen]]) -> tuple[np.ndarray, int, int]:
    """Return an image of the weights, the number of iterations per column, and the number of cuts per row.

    Missing cuts are NaN. A column of several iterations shows the last, and a row of several cuts the largest
    weight.
    """
    last, made = entries[-1][0], 1 + max(int(seen["numbers"].max()) for _, seen in entries)
    width, each = -(-(last + 1) // MAX_IMAGE_COLUMNS), -(-made // MAX_IMAGE_LINES)
    image = np.full((-(-made // each), -(-(last + 1) // width)), np.nan, dtype=np.float32)
    at = np.array([k for k, _ in entries])
    for column in range(int(at[0]) // width, image.shape[1]):
        _, seen = entries[int(np.searchsorted(at, min((column + 1) * width - 1, last), side="right")) - 1]
        np.fmax.at(image[:, column], seen["numbers"] // each, seen["alpha"].astype(np.float32))
    return image, width, each


def first_seen(entries: list[tuple[int, Seen]]) -> dict[str, np.ndarray]:
    """Return the first iteration of each cut that combines others."""
    found: dict[int, int] = {}
    for k, seen in entries:
        for number in seen["numbers"][seen["combined"]].tolist():
            found.setdefault(number, k)
    return {"iteration": np.array(list(found.values())), "cut": np.array(list(found))}
