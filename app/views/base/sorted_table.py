"""A table that can be sorted by its headings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import param

from solverscope.app import ui
from solverscope.app.ui.component import Component


class SortedTable(Component):
    """A table of strings, drawn by ``assets/sorted_table.js``.

    A click on a heading sorts its rows, by leading numbers if there are any.
    """

    heads = param.List(default=[], doc="texts of the headings")
    rows = param.List(default=[], doc="texts of a line each")
    sizing_mode = "stretch_width"
    styles = param.Dict(default={"overflow-x": "auto"})

    _esm = ui.script("tables.js", render="sortedTable")
    _stylesheets: ClassVar[list[str]] = [ui.asset("html.css", "tables.css")]

    def show(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show these rows."""
        self.param.update(heads=list(heads), rows=[list(row) for row in rows])
