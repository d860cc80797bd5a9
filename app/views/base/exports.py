"""Tables as text for other programs: CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import param

from solverscope.app import ui
from solverscope.app.ui.component import Component
from solverscope.solvers.traces.records import for_spreadsheet

#: A value of a table: a text, a number, or None where it is not known.
Value = str | float | int | None
Rows = Sequence[Sequence[Value]]


class ShownTable(NamedTuple):
    """A table in a view; ``note`` is shown below it, or instead of it if it is empty."""

    title: str
    heads: Sequence[str]
    rows: Rows
    note: str = ""


#: Replacements for characters that are special in LaTeX.
LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def as_csv(heads: Sequence[str], rows: Rows) -> str:
    """Return comma-separated values with all digits; unknown values are empty.

    Strings that a spreadsheet would evaluate are escaped.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in (heads, *rows):
        writer.writerow(["" if value is None else for_spreadsheet(value) for value in line])
    return out.getvalue()


def as_markdown(heads: Sequence[str], rows: Rows) -> str:
    """Return a table in Markdown, with numeric columns aligned to the right."""
    lines = [[text.replace("|", "\\|") for text in line] for line in [list(heads), *_texts(rows, _plain)]]
    ruler = ["---:" if numeric else "---" for numeric in _numeric(rows, len(heads))]
    return "".join(f"| {' | '.join(line)} |\n" for line in [lines[0], ruler, *lines[1:]])


def as_latex(heads: Sequence[str], rows: Rows) -> str:
    """Return a LaTeX ``tabular``, with numeric columns aligned to the right."""
    columns = "".join("r" if numeric else "l" for numeric in _numeric(rows, len(heads)))
    lines = [[_escaped(head) for head in heads], *_texts(rows, _latex)]
    head, *body = (f"{' & '.join(line)} \\\\\n" for line in lines)
    return (
        f"\\begin{{tabular}}{{{columns}}}\n\\hline\n{head}\\hline\n{''.join(body)}\\hline\n\\end{{tabular}}\n"
    )


FORMS: dict[str, Callable[[Sequence[str], Rows], str]] = {
    "CSV": as_csv,
    "Markdown": as_markdown,
    "LaTeX": as_latex,
}


def _texts(rows: Rows, text: Callable[[Value], str]) -> list[list[str]]:
    return [[text(value) for value in row] for row in rows]


def _numeric(rows: Rows, width: int) -> list[bool]:
    """Return, for each column, whether it contains no strings."""
    return [not any(isinstance(row[k], str) for row in rows) for k in range(width)]


def _plain(value: Value) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _latex(value: Value) -> str:
    if value is None:
        return "--"
    if not isinstance(value, float):
        return _escaped(str(value))
    mantissa, e, exponent = f"{value:.6g}".partition("e")
    return f"${mantissa} \\cdot 10^{{{int(exponent)}}}$" if e else f"${mantissa}$"


def _escaped(text: str) -> str:
    return "".join(LATEX.get(sign, sign) for sign in text)


class CopyButtons(Component):
    """Buttons, one per format, that copy a table to the browser's clipboard."""

    texts = param.Dict(default={}, doc="what each button copies, by its name")
    margin = (4, 4)

    _esm = ui.script("copy.js", render="copyButtons")
    _stylesheets: ClassVar[list[str]] = [ui.asset("component.css", "fields.css")]

    def show(self, heads: Sequence[str], rows: Rows) -> None:
        """Set the table that the buttons copy."""
        self.texts = {name: form(heads, rows) for name, form in FORMS.items()}
