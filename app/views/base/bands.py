"""Repeated runs: their median, with a band of quantiles around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from bokeh.models import ColumnDataSource, GlyphRenderer, VArea
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.ui import run_styles
from solverscope.app.views.base.curves import Curves, draw_lines
from solverscope.solvers import Trace

#: Label of a repeated run: the common label, a number, and what the page appends to an earlier run.
REPEATED_LABEL = re.compile(r"(?P<label>.+) \(\d+\)(?P<earlier> #\d+| before)?")
#: The lower and the upper end of the band.
QUANTILES = 0.1, 0.9
#: Maximal number of points of a median.
MAX_MEDIAN_PLACES = 300

#: Columns of a curve: "x", "y", "iteration".
Columns = Mapping[str, np.ndarray]


class Family(NamedTuple):
    """Runs that repeat each other, and their common label."""

    label: str
    runs: list[Trace]


def families(traces: Sequence[Trace]) -> list[Family]:
    """Group runs that repeat each other: those of one solver on one problem, labelled "mine (1)",
    "mine (2)"."""
    found: dict[tuple[object, ...], list[Trace]] = {}
    for place, trace in enumerate(traces):
        if said := REPEATED_LABEL.fullmatch(trace.info.label):
            about = trace.info.problem
            problem = [about.get(name) for name in ("dataset", "loss", "penalty", "lam", "key")]
            ghost = run_styles.style_of(trace, place).ghost
            key = (said["label"], bool(said["earlier"]), ghost, trace.info.solver, *map(str, problem))
            found.setdefault(key, []).append(trace)
    return [Family(key[0], family) for key, family in found.items() if len(family) > 1]


def band(
    curves: Sequence[Columns],
    going: Sequence[bool] = (),
    *,
    log_x: bool = False,
    log_y: bool = False,
) -> dict[str, np.ndarray]:
    """Return the pointwise median of curves, with the ends of a band of quantiles.

    Curves are interpolated linearly, as they are drawn, and those of ended runs are extended by their last
    value. The median starts where the last of the curves does, and ends where half of the runs have ended.

    Parameters
    ----------
    curves : sequence of mapping
        Columns "x", "y" and "iteration" of each curve; points that are not finite are ignored.
    going : sequence of bool
        Whether each of the runs is still active; by default none is.
    log_x, log_y : bool
        Whether the axes are logarithmic.

    Returns
    -------
    dict
        Columns "x", "iteration", "y" (the median), "low" and "high"; all are empty if there is no curve.
    """
    known, reached = [], []
    for place, columns in enumerate(curves):
        x, y, n = (np.asarray(columns[name], dtype=float) for name in ("x", "y", "iteration"))
        with np.errstate(divide="ignore", invalid="ignore"):
            x, y = np.log(x) if log_x else x, np.log(y) if log_y else y
        finite = np.isfinite(x) & np.isfinite(y)
        if finite.any():
            order = np.flatnonzero(finite)[np.argsort(x[finite], kind="stable")]
            known.append((x[order], y[order], n[order]))
            reached += [x[order][-1]] if place < len(going) and going[place] else []
    if not known:
        return {name: np.empty(0) for name in ("x", "iteration", "y", "low", "high")}
    first = max(x[0] for x, _, _ in known)
    half = sorted(x[-1] for x, _, _ in known)[len(known) // 2]
    last = max(min([half, *reached]), first)
    places = np.unique(np.concatenate([x for x, _, _ in known]))
    places = places[(places >= first) & (places <= last)]
    if len(places) > MAX_MEDIAN_PLACES:
        places = places[np.linspace(0, len(places) - 1, MAX_MEDIAN_PLACES).round().astype(int)]
    low, middle, high = np.quantile(
        [np.interp(places, x, y) for x, y, _ in known], (QUANTILES[0], 0.5, QUANTILES[1]), axis=0
    )
    iteration = np.median([np.interp(places, x, n) for x, _, n in known], axis=0).round()
    ends = {"y": middle, "low": low, "high": high}
    drawn = {name: np.exp(values) if log_y else values for name, values in ends.items()}
    return {"x": np.exp(places) if log_x else places, "iteration": iteration, **drawn}


class Bands(Curves):
    """The medians and bands of a plot, each in the colour and dash of the first run of its family.

    Of the column ``thin``, if there is one, only the median is drawn, as a thin line.
    """

    def __init__(self, plot: figure, thin: Sequence[str] = ()) -> None:
        super().__init__(("x", "y", "low", "high", *thin), self._drawn)
        self._plot, self._thin = plot, thin

    def _drawn(self, source: ColumnDataSource, color: str, dash: str) -> list[GlyphRenderer]:
        area = VArea(x="x", y1="low", y2="high", fill_color=color, fill_alpha=0.18)
        band = ui.draw(self._plot, area, source, level="underlay")
        return [band, *draw_lines(self._plot, source, self._thin, 2.5, color, dash)]

    def show(
        self,
        traces: Sequence[Trace],
        wanted: Sequence[Family],
        columns: Callable[[Trace], Columns],
        shown: Callable[[Trace], object],
        **logarithmic: bool,
    ) -> None:
        """Draw these families of ``traces``.

        ``columns(trace)`` returns the curve of a run. It depends only on the run's rows and on the result of
        ``shown(trace)``, so that curves are recomputed only if one of these changes.
        """
        first = {runs[0]: runs for _, runs in wanted}
        labels = {runs[0]: f"{label}, median of {len(runs)}" for label, runs in wanted}
        for feed, trace in self.match(traces, labels):
            family = first[trace]
            going = [not one.result for one in family]
            key = (*((one.since(None)[1], shown(one)) for one in family), *going)
            feed.replace(partial(self._band, family, going, columns, **logarithmic), key)

    def _band(
        self,
        family: Sequence[Trace],
        going: Sequence[bool],
        columns: Callable[[Trace], Columns],
        **logarithmic: bool,
    ) -> dict[str, np.ndarray]:
        curves = [*map(columns, family)]
        drawn = band(curves, going, **logarithmic)
        for name in self._thin:
            other = band([{**curve, "y": curve[name]} for curve in curves], going, **logarithmic)
            drawn[name] = np.full(len(drawn["x"]), np.nan)
            if len(other["x"]):
                drawn[name] = np.interp(drawn["x"], other["x"], other["y"], left=np.nan, right=np.nan)
        return drawn
