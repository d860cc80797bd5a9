"""The buttons in the header for normal or larger type, and for the plots alone, as on a projector."""

from __future__ import annotations

from typing import ClassVar

import param

from solverscope.app import ui
from solverscope.app.ui.component import Component

#: Values of the URL parameter: normal, in larger type, and in larger type with only plots and cursor.
NORMAL_VIEW, LARGE_VIEW, PLOTS_VIEW = PAGE_VIEWS = ("normal", "large", "plots")
#: Factor of larger type, 18 instead of 13 pixels, as in ``page.css``.
LARGER = 18 / 13


class TypeSize(Component):
    """The choice of one of :data:`PAGE_VIEWS`, with a button for each that is ``offered``.

    ``assets/page.css`` defines the font sizes.
    """

    view = param.Selector(default=NORMAL_VIEW, objects=list(PAGE_VIEWS), doc="what is shown, and how large")
    offered = param.List(default=[LARGE_VIEW, PLOTS_VIEW], doc="views that have a button")

    css_classes = param.List(default=["type-size"])

    _esm = ui.page_script("header_buttons.js", render="typeSize")
    _stylesheets: ClassVar[list[str]] = [ui.asset("header_buttons.css")]

    @property
    def larger(self) -> float:
        """Return the factor by which type is enlarged."""
        return 1.0 if self.view == NORMAL_VIEW else LARGER
