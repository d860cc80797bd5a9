"""A table whose headings sort it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import param

from app import theme
from app.component import Component


class SortedTable(Component):
    """Texts in lines, drawn by ``assets/sorted_table.js``: a click on a heading sorts them, by number where
    they begin with one."""

    heads = param.List(default=[], doc="texts of the headings")
    rows = param.List(default=[], doc="texts of a line each")

    _esm = theme.asset("elements.js", "sorting.js", "sorted_table.js")
    _stylesheets: ClassVar[list[str]] = [theme.asset("html.css", "sorting.css")]

    def __init__(self, **params: Any) -> None:
        styles = {"overflow-x": "auto"}
        super().__init__(sizing_mode="stretch_width", margin=0, styles=styles, **params)

    def show(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        """Show these lines; tell whether anything is new."""
        wanted = {"heads": list(heads), "rows": [list(row) for row in rows]}
        changed = {name: value for name, value in wanted.items() if getattr(self, name) != value}
        self.param.update(**changed)
        return bool(changed)
