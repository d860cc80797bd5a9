"""A table whose headings sort it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import param

from solverscope.app import ui
from solverscope.app.ui.component import Component


class SortedTable(Component):
    """Texts in lines, drawn by ``assets/sorted_table.js``; a click on a heading sorts them, by leading
    numbers if they have some."""

    heads = param.List(default=[], doc="texts of the headings")
    rows = param.List(default=[], doc="texts of a line each")
    sizing_mode = "stretch_width"
    styles = param.Dict(default={"overflow-x": "auto"})

    _esm = ui.script("tables.js", render="sortedTable")
    _stylesheets: ClassVar[list[str]] = [ui.asset("html.css", "tables.css")]

    def show(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show these lines."""
        self.param.update(heads=list(heads), rows=[list(row) for row in rows])
