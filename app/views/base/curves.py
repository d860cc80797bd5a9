"""The curves of a figure, one per run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bokeh.models import ColumnDataSource, GlyphRenderer
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.ui import run_styles
from solverscope.app.views.base.feed import RecordFeed
from solverscope.solvers import Trace

#: Alpha of the lines of ghosts, which are runs of earlier races, relative to other lines.
GHOST_ALPHA = 0.4


def draw_lines(
    plot: figure, source: ColumnDataSource, thin: Sequence[str], width: float, color: str, dash: str
) -> list[GlyphRenderer]:
    """Draw the column "y" as a line of this width, and the columns ``thin`` as thin lines."""
    drawn = [("y", width, 1.0), *((column, 1, 0.7) for column in thin)]
    return [
        ui.curve(plot, source, column, color=color, dash=dash, width=width, alpha=alpha)
        for column, width, alpha in drawn
    ]


@dataclass
class Curve:
    """The curve of a run in a plot: its feed and its renderers."""

    feed: RecordFeed
    renderers: list[GlyphRenderer]
    faint: bool = False

    def fade(self, faint: bool) -> None:
        """Draw the curve faintly, or normally again."""
        if faint == self.faint:
            return
        self.faint, factor = faint, GHOST_ALPHA if faint else 1.0 / GHOST_ALPHA
        for renderer in self.renderers:
            for name in ("line_alpha", "fill_alpha"):
                alpha = getattr(renderer.glyph, name, None)
                if isinstance(alpha, int | float):
                    setattr(renderer.glyph, name, alpha * factor)


class Curves(dict[tuple[str, str, int], Curve]):
    """The curves of runs, by colour, dash, and index among curves with both in common.

    ``glyphs(source, color, dash)`` draws a curve from a data source with the columns "iteration" and
    ``names``. Curves of removed runs are emptied and reused for the next run with the same style. Browsers
    take much longer to add a curve than to fill one.
    """

    def __init__(
        self,
        names: Sequence[str],
        glyphs: Callable[[ColumnDataSource, str, str], list[GlyphRenderer]],
    ) -> None:
        super().__init__()
        self._names, self._glyphs = ("iteration", *names), glyphs

    def match(self, traces: Sequence[Trace], labels: Mapping[Trace, str]) -> list[tuple[RecordFeed, Trace]]:
        """Return pairs of a feed and a run, for each run that has a label; the feed is that of its curve."""
        wanted: dict[tuple[str, str, int], Trace] = {}
        for place, trace in enumerate(traces):
            if trace in labels:
                look = run_styles.color_and_dash(trace, place)
                wanted[(*look, sum(key[:2] == look for key in wanted))] = trace
        for key in [key for key in wanted if key not in self]:
            feed = RecordFeed(self._names)
            self[key] = Curve(feed, self._glyphs(feed.source, *key[:2]))
        for key, curve in self.items():
            if key not in wanted:
                curve.feed.clear()
                continue
            curve.fade(run_styles.style_of(wanted[key]).ghost)
            if curve.renderers[-1].name != (label := labels[wanted[key]]):
                for renderer in curve.renderers:
                    renderer.name = label
        return [(self[key].feed, trace) for key, trace in wanted.items()]

    @property
    def renderers(self) -> list[GlyphRenderer]:
        """Return the renderers of all curves."""
        return [renderer for curve in self.values() for renderer in curve.renderers]
