"""Ordinary or larger type: the button in the header, for a projector."""

from __future__ import annotations

from typing import Any, ClassVar

import param

from app import theme
from app.component import Component

#: What an address says of it.
VIEWS = {"normal": False, "large": True}
#: How much larger: 18 pixels instead of 13, which ``page.css`` says as well.
LARGER = 18 / 13


class TypeSize(Component):
    """Chooses between the two; ``assets/page.css`` says how large."""

    large = param.Boolean(default=False, doc="whether type is of a size for a projector")

    _esm = theme.asset("type_size.js")
    _stylesheets: ClassVar[list[str]] = [theme.asset("header_button.css")]

    def __init__(self, **params: Any) -> None:
        super().__init__(margin=0, css_classes=["type-size"], **params)
