"""The cells of a heat map as a grid that is read out, and gone through by keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import param

from app import theme
from app.component import Component
from app.serving.batch import batch


class HeatCells(Component):
    """A grid beside a heat map, which is a picture: nobody sees it, Tab stops at it once, arrows move in it,
    and ``on_open(key)`` is called with the cell on which Enter is pressed. ``assets/sweep_cells.js`` draws a
    ring in the map around the cell that has the focus."""

    figure = param.String(default="", doc="id of the heat map")
    rows = param.List(default=[], doc="what the rows are called, from the top down")
    columns = param.List(default=[], doc="what the columns are called")
    cells = param.List(default=[], doc="for each row a cell for each column: key and text, or None")

    _esm = theme.asset("elements.js", "sweep_cells.js")
    _stylesheets: ClassVar[list[str]] = [theme.asset("sweep_cells.css")]

    def __init__(self, on_open: Callable[[str], None], **params: Any) -> None:
        super().__init__(height=0, **params)
        self._on_open = on_open

    @batch()
    def receive(self, data: Any) -> None:
        known = {cell[0] for row in self.cells for cell in row if cell is not None}
        if isinstance(data, dict) and data.get("key") in known:
            self._on_open(data["key"])
