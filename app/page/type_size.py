"""Ordinary or larger type, and the plots alone: the buttons in the header, for a projector."""

from __future__ import annotations

from typing import ClassVar

import param

from solverscope.app import theme
from solverscope.app.component import Component

#: What an address says of it: ordinary, in larger type, and that with the plots and the cursor alone.
NORMAL, LARGE, PLOTS = VIEWS = ("normal", "large", "plots")
#: How much larger: 18 pixels instead of 13, which ``page.css`` says as well.
LARGER = 18 / 13


class TypeSize(Component):
    """Chooses one of :data:`VIEWS`, with a button for each that is ``offered``; ``assets/page.css`` says how
    large type is."""

    view = param.Selector(default=NORMAL, objects=list(VIEWS), doc="what is shown, and how large")
    offered = param.List(default=[LARGE, PLOTS], doc="views that have a button")

    css_classes = param.List(default=["type-size"])

    _esm = theme.asset("elements.js", "type_size.js")
    _stylesheets: ClassVar[list[str]] = [theme.asset("header_button.css")]

    @property
    def larger(self) -> float:
        """Return how much larger type is than ordinary."""
        return 1.0 if self.view == NORMAL else LARGER
