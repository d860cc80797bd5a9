"""Menus whose choices may change while a visitor opens them."""

from __future__ import annotations

from typing import Any

from solverscope.app import ui
from solverscope.app.ui.material_ui import pmui


class Menu(pmui.Select):
    """A Material menu that ignores choices that no longer exist.

    A click may arrive after the page has replaced the choices, which makes Panel's menu fail. A choice that
    has arrived but is not handled yet takes precedence over values that the page sets meanwhile. Those result
    from earlier clicks.
    """

    def _update_model(self, events: Any, msg: dict[str, Any], *place: Any) -> None:
        if "value" in self._events:
            msg = {name: value for name, value in msg.items() if name != "value"}
        super()._update_model(events, msg, *place)

    def _process_property_change(self, props: dict[str, Any]) -> dict[str, Any]:
        known = ("", *self.labels, *self.unicode_values)
        if self.values and props.get("value", "") not in known:
            props = {name: value for name, value in props.items() if name != "value"}
        return super()._process_property_change(props)


class LineMenu(Menu):
    """A menu within a line of text, with its label on the left; ``width`` is in pixels at the normal font
    size."""

    def __init__(self, *, width: int = 130, **params: Any) -> None:
        styles = {"--choice": f"{width / ui.REM:.3g}rem"}
        super().__init__(size="small", styles=styles, stylesheets=[ui.asset("menu.css")], **params)
