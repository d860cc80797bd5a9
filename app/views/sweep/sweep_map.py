"""The view of a sweep: time to a gap over problems and solvers, with further figures."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import panel as pn
from bokeh.events import Tap
from bokeh.models import CategoricalTickFormatter, FactorRange, HoverTool
from bokeh.palettes import Viridis256

from solverscope.app import ui
from solverscope.app.ui.menu import Menu
from solverscope.app.views.base.view import View, placed
from solverscope.app.views.sweep.sweep_cells import HeatCells
from solverscope.app.views.sweep.sweep_curves import ChoiceCurves, SolverCurves
from solverscope.app.views.sweep.sweep_figures import (
    CellOutcome,
    Chosen,
    labels_of,
    over_lam,
    problems_of,
    profiles,
)

#: Gaps (f - f*)/|f*| whose times can be shown.
CELL_GAPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)
#: Rows of the heat map, at most; pixels of one, of what stands above them, and of the room for buttons below.
MAX_CELL_ROWS, ROW_HEIGHT, TOP_HEIGHT, BOTTOM_HEIGHT = 60, 24, 60, 24
#: Fraction of the colour range above which cells are dark enough for white text.
DARK = 0.55
#: Colours of a cell without a time, and of its text.
NO_TIME_COLORS = "rgba(136, 136, 136, 0.18)", ui.GREY


class Sweep(View):
    """Heat map of the time to a gap over problems and solvers, with further figures of a sweep.

    These are performance profiles, time against λ, and accuracy against nonzeros. ``outcomes(gap)`` returns
    the known results of the cells, and ``choices()`` the selected λ. ``on_open(key)`` is called with the cell
    that a visitor clicks.
    """

    id = "sweep"
    title = "Sweep"
    hint = "Run a sweep to see how solvers compare over λ and data sets here."
    followed = False

    def __init__(
        self,
        *shown: Any,
        outcomes: Callable[[float], list[CellOutcome]] = lambda gap: [],
        on_open: Callable[[str], None] = lambda key: None,
        choices: Callable[[], list[Chosen]] = lambda: [],
        **params: object,
    ) -> None:
        self._outcomes, self._on_open, self._choices = outcomes, on_open, choices
        self.shown: list[CellOutcome] = []
        super().__init__(*shown, **params)

    def build(self) -> None:
        small = {"size": "small", "margin": (4, 4)}
        self.gap = Menu(label="Time to a gap of", options=list(CELL_GAPS), value=1e-3, width=130, **small)
        self.data = Menu(label="Plots below: data", width=190, visible=False, **small)
        for menu in (self.gap, self.data):
            menu.param.watch(lambda event: self.update(), "value")
        self._legend = ui.html(sizing_mode="stretch_width")
        self._build_heat_map()
        self.grid = HeatCells(height=0, figure=self._heat_figure.id)
        self.grid.on_message = self._open
        self.profile = SolverCurves(
            self,
            "sweep-profile",
            missing="Profiles appear once all solvers have finished a problem.",
            x_label="time relative to the fastest, τ",
            y_label="share of problems",
            x_axis_type="log",
            steps=True,
        )
        self.times = SolverCurves(
            self,
            "sweep-times",
            missing="No run on these data has reached the gap yet: choose a larger one above, or wait.",
            x_label=ui.LAM_AXIS,
            y_label="CPU time to the gap (s)",
            x_axis_type="log",
            log_y=True,
        )
        self.times.figure.x_range.flipped = True
        self.worth = SolverCurves(
            self,
            "sweep-accuracy",
            missing="No run on these data has a held-out metric yet.",
            x_label="non-zero weights",
            y_label="on held-out data",
            thin=True,
        )
        self.held_out = ChoiceCurves(
            self,
            "sweep-held-out",
            missing="The λ is chosen once all runs have ended.",
            x_label=ui.LAM_AXIS,
            y_label="on held-out data",
            x_axis_type="log",
        )
        self.held_out.figure.x_range.flipped = True
        self.held_out.visible = False
        choices = pn.FlexBox(self.gap, self.data, align_items="center", margin=0)
        self._named = ui.html(margin=(0, 10), visible=False)
        heat = ui.column(self.late_pane(self._heat_figure), kind="plots heat")
        plots = ui.column(*self.parts, kind="plots tall")
        self._body.extend([choices, self._named, self.grid, heat, self._legend, plots])

    def _build_heat_map(self) -> None:
        self._cells = ui.source("x", "y", "text", "key", "state", "color", "ink")
        names = {"x_range": FactorRange(), "y_range": FactorRange(), "y_axis_type": "auto"}
        none = {"x_label": "", "y_label": "", "tools": "", "active_drag": None}
        places = {"x_axis_location": "above", "min_border_bottom": BOTTOM_HEIGHT}
        fig = self._heat_figure = ui.plot("sweep-heat-map", **names, **none, **places)
        for axis in fig.axis:
            axis.formatter = CategoricalTickFormatter()
        fig.grid.visible = False
        fig.axis.major_tick_line_color = None
        cells = fig.rect("x", "y", 0.97, 0.94, source=self._cells, fill_color="color", line_color=None)
        fig.text(
            *("x", "y", "text"),
            source=self._cells,
            text_color="ink",
            text_align="center",
            text_baseline="middle",
            text_font_size="0.92em",
        )
        tips = [
            ("run", "@x"),
            ("on", "@y"),
            ("time to the gap", "@text"),
            ("", "@state"),
            ("", "click to open"),
        ]
        fig.add_tools(HoverTool(renderers=[cells], tooltips=tips))
        fig.on_event(Tap, self._tapped_cell)

    def has_content(self) -> bool:
        return bool(self._outcomes(self.gap.value))

    def draw(self) -> None:
        outcomes, best = self._outcomes(self.gap.value), self._choices()
        data = list(dict.fromkeys(outcome.data for outcome in outcomes))
        if data != self.data.options:
            chosen = self.data.value if self.data.value in data else data[0]
            self.data.param.update(options=data, value=chosen, visible=len(data) > 1)
        if not self._drawn.changed("outcomes", outcomes, self.data.value, best):
            return
        self.shown = outcomes
        names = labels_of(outcomes)
        self._legend.object = ui.mark_legend(
            ("━", ui.COLORS[k % len(ui.COLORS)], html.escape(name)) for k, name in enumerate(names)
        )
        self._draw_heat_map(outcomes, names)
        self.profile.put({name: zip(*curve, strict=True) for name, curve in profiles(outcomes).items()})
        runs = over_lam(outcomes, self.data.value)
        self.times.put({name: [(o.lam, o.clock) for o in its] for name, its in runs.items()})
        self.worth.put({name: [(o.nnz, o.metric) for o in its] for name, its in runs.items()})
        measures = (o.metric_name for o in outcomes if o.data == self.data.value and o.metric_name)
        self.worth.figure.yaxis.axis_label = f"{next(measures, 'accuracy')} on the test part"
        self._draw_choices(best, names, {o.pool for o in outcomes if o.data == self.data.value})

    def _draw_choices(self, chosen: Sequence[Chosen], names: Sequence[str], pools: set[str]) -> None:
        """Show the selected λ, and the metric over λ on the selected data."""
        self._named.param.update(
            object="<br>".join(html.escape(one.text) for one in chosen), visible=bool(chosen)
        )
        here = {one.label: one for one in chosen if one.data in pools}
        self.held_out.visible = bool(chosen)
        for one in here.values():
            self.held_out.figure.xaxis.axis_label = (
                ui.LAM_AXIS.replace("λ", "λ/λmax") if one.relative else ui.LAM_AXIS
            )
            self.held_out.figure.yaxis.axis_label = f"{one.metric_name}, held out"
        self.held_out.put_choices(names, here)

    def _draw_heat_map(self, outcomes: Sequence[CellOutcome], names: list[str]) -> None:
        problems = problems_of(outcomes)[:MAX_CELL_ROWS]
        shown = [outcome for outcome in outcomes if outcome.problem in set(problems)]
        known = [np.log10(outcome.clock) for outcome in shown if outcome.clock is not None]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        rows = []
        for outcome in shown:
            color, ink = NO_TIME_COLORS
            if outcome.clock is not None:
                share = (np.log10(outcome.clock) - low) / max(high - low, 1e-9)
                color = Viridis256[int(255 * (1.0 - share))]  # fast is light
                ink = "#FFFFFF" if share > 1.0 - DARK else "#111111"
            rows.append(
                (outcome.label, outcome.problem, _cell(outcome), outcome.key, outcome.state, color, ink)
            )
        self._heat_figure.x_range.factors, self._heat_figure.y_range.factors = names, problems[::-1]
        height = TOP_HEIGHT + ROW_HEIGHT * len(problems) + BOTTOM_HEIGHT
        styles = {**ui.least(220), "min-height": f"max(var(--least, 220px), {height}px)"}
        self._heat_figure.styles = styles
        self._cells.data = ui.columns(self._cells, rows)
        found = {(o.problem, o.label): [o.key, _read_out(o)] for o in shown}
        cells = [[found.get((problem, name)) for name in names] for problem in problems]
        self.grid.param.update(rows=problems, columns=names, cells=cells)

    def _open(self, data: dict[str, Any]) -> None:
        if data.get("key") in [outcome.key for outcome in self.shown]:
            self._on_open(data["key"])

    def _tapped_cell(self, event: Tap) -> None:
        """Open the cell that was clicked; the k-th factor of an axis spans k to k + 1."""
        if not placed(event):
            return
        x, y = int(np.floor(event.x)), int(np.floor(event.y))
        inside = 0 <= x < len(self.grid.columns) and 0 <= y < len(self.grid.rows)
        if inside and (cell := self.grid.cells[-1 - y][x]):
            self._on_open(cell[0])


def _read_out(outcome: CellOutcome) -> str:
    text = _cell(outcome)
    return text if text == outcome.state else f"{text}, {outcome.state}"


def _cell(outcome: CellOutcome) -> str:
    """Return the text of a cell: the time, or why there is none."""
    if outcome.seconds is None:
        return outcome.state if not outcome.over or outcome.state in ("failed", "stopped") else "not reached"
    return ui.seconds(outcome.seconds) if outcome.seconds >= 0.1 else f"{1e3 * outcome.seconds:.0f} ms"
