"""Reports of benchmarks: tables on the console, in one HTML file that opens offline, and in README.md.

With ``SOLVERSCOPE_FIGURES=1`` a report also replaces its tables in the README of this folder, between
the comments ``<!-- figures: NAME -->`` and ``<!-- end of figures -->``.
"""

from __future__ import annotations

import html
import os
import platform
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.embed import components
from bokeh.models import LinearColorMapper
from bokeh.palettes import RdBu11
from bokeh.plotting import figure
from bokeh.resources import INLINE
from rich.console import Console
from rich.table import Table

#: Where reports are written unless told otherwise (not tracked).
FOLDER = Path(__file__).resolve().parents[2] / "build" / "reports"
#: Where the figures of all reports stand.
README = Path(__file__).with_name("README.md")
#: Okabe and Ito's palette, which the colour-blind can tell apart, and dashes besides.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("solid", "dashed", "dotdash", "dotted", "dashdot", "solid", "dashed")

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2rem auto; color: #222 }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; font-variant-numeric: tabular-nums }
td, th { padding: .25rem .8rem; text-align: right; border-bottom: 1px solid #ddd }
th { border-bottom: 2px solid #888 }
td:first-child, th:first-child { text-align: left }
p.note { color: #555 }
figure { margin: 0; display: flex; flex-wrap: wrap }
"""
#: A curve: x and y.
Curve = tuple[Sequence[float], Sequence[float]]


class Report:
    """Collects tables, notes and plots under one title; ``write`` makes the file."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.console = Console(width=140)
        self.parts: list[str] = []
        self.tables: list[str] = []
        self.plots: list[figure] = []
        self.console.rule(title)

    def note(self, text: str) -> None:
        """A paragraph."""
        self.console.print(text, highlight=False)
        self.parts.append(f'<p class="note">{html.escape(text)}</p>')

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """A table; numbers are shown with four significant digits, None as a dash."""
        shown = [[text(cell) for cell in row] for row in rows]
        table = Table(*columns, title=title, title_justify="left")
        for row in shown:
            table.add_row(*row)
        self.console.print(table)
        self.tables.append(markdown(columns, shown))
        head = "".join(f"<th>{html.escape(c)}</th>" for c in columns)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in shown)
        self.parts.append(f"<h2>{html.escape(title)}</h2><table><tr>{head}</tr>{body}</table>")

    def curves(
        self,
        title: str,
        x: str,
        y: str,
        runs: dict[str, tuple[Sequence[float], Sequence[float]]],
        *,
        log: bool = True,
        log_x: bool = False,
    ) -> None:
        """One line a run: name -> (x, y)."""
        plot = figure(
            title=title,
            width=900,
            height=380,
            x_axis_label=x,
            y_axis_label=y,
            y_axis_type="log" if log else "linear",
            x_axis_type="log" if log_x else "linear",
        )
        for k, (name, (xs, ys)) in enumerate(runs.items()):
            # beyond the last colour the dashes are shifted by one, so that no look comes twice
            dash = DASHES[(k + k // len(COLOURS)) % len(DASHES)]
            plot.line(
                xs, ys, line_width=2, legend_label=name, color=COLOURS[k % len(COLOURS)], line_dash=dash
            )
        if runs:
            plot.add_layout(plot.legend[0], "right")
        self._figure(plot)

    def patterns(self, matrices: Mapping[str, np.ndarray]) -> None:
        """Matrices as pictures side by side: what is zero is white, red and blue are the signs."""
        plots = []
        for title, W in matrices.items():
            plot = figure(title=title, width=160, height=420, y_range=(len(W), 0), toolbar_location=None)
            # roots, so that small entries show
            shown = np.where(W == 0.0, np.nan, np.sign(W) * np.sqrt(np.abs(W)))
            top = float(np.sqrt(np.abs(W).max(initial=0.0))) or 1.0
            palette = [*RdBu11[:5], "#d9d9d9", *RdBu11[6:]]
            colours = LinearColorMapper(palette, low=-top, high=top, nan_color="white")
            plot.image([shown], x=0, y=0, dw=W.shape[1], dh=len(W), color_mapper=colours)
            plots.append(plot)
        self._figure(*plots)

    def _figure(self, *plots: figure) -> None:
        places = "".join(f"PLOT{len(self.plots) + k};" for k in range(len(plots)))
        self.parts.append(f"<figure>{places}</figure>")
        self.plots += plots

    def write(self, name: str) -> Path:
        """Write ``name`` (.html) and say where."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        script, divs = components(tuple(self.plots)) if self.plots else ("", ())
        body = "".join(self.parts)
        for k, div in enumerate(divs):
            body = body.replace(f"PLOT{k};", div)
        made = f"{time.strftime('%Y-%m-%d %H:%M')}, Python {platform.python_version()}, {platform.machine()}"
        path = FOLDER / name
        path.write_text(
            f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{html.escape(self.title)}</title>"
            f"<style>{STYLE}</style>{INLINE.render() if self.plots else ''}"
            f"<body><h1>{html.escape(self.title)}</h1><p class='note'>{made}</p>{body}{script}</body></html>",
            encoding="utf-8",
        )
        self.console.print(f"report: {path}")
        if os.environ.get("SOLVERSCOPE_FIGURES"):
            content = "\n\n".join([f"*{circumstances()}*", *self.tables])
            readme = README.read_text(encoding="utf-8")
            README.write_text(with_figures(readme, Path(name).stem, content), encoding="utf-8")
        return path


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    head, *body = (f"| {' | '.join(line)} |" for line in (columns, *rows))
    return "\n".join([head, f"|{'---|' * len(columns)}", *body])


def circumstances() -> str:
    """Return date, machine, load and command of this benchmark, in a line."""
    options = [word for word in sys.argv[1:] if not word.startswith("--")]
    load = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load unknown"
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    return f"{time.strftime('%Y-%m-%d')}, {machine}, {load} · `pytest {' '.join(options)}`"


def with_figures(readme: str, name: str, content: str) -> str:
    """Return the README with ``content`` as the figures ``name``; KeyError if it has none."""
    begin, end = f"<!-- figures: {name} -->", "\n<!-- end of figures -->"
    if begin not in readme:
        raise KeyError(f"{README.name} has no {begin}: put it where the figures belong")
    before, _, rest = readme.partition(begin)
    return f"{before}{begin}\n{content}\n{end}{rest.partition(end)[2]}"


def text(cell: Any) -> str:
    """A cell as it is shown."""
    if cell is None:
        return "–"
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return str(cell)
    return f"{cell:,}".replace(",", " ") if isinstance(cell, int) else f"{cell:.4g}"
