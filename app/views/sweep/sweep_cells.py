"""The cells of a heat map as a grid for screen readers and keyboards."""

from __future__ import annotations

from typing import ClassVar

import param

from solverscope.app import ui
from solverscope.app.ui.component import Component


class HeatCells(Component):
    """An invisible grid over the heat map that makes it accessible by keyboard and screen reader."""

    figure = param.String(default="", doc="id of the heat map")
    rows = param.List(default=[], doc="what the rows are called, from the top down")
    columns = param.List(default=[], doc="what the columns are called")
    cells = param.List(default=[], doc="for each row a cell for each column: key and text, or None")

    _esm = ui.script("sweep_cells.js")
    _stylesheets: ClassVar[list[str]] = [ui.asset("sweep_cells.css")]
