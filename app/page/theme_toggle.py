"""The button in the header for a light or dark theme, and the choice that a browser sends with its first
request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from solverscope.app import ui
from solverscope.app.serving.access import THEME_COOKIE
from solverscope.app.ui.component import Component


class ThemeToggle(Component):
    """The button that switches between light and dark.

    The browser stores the choice; by default it follows the system.
    """

    _esm = ui.page_script("header_buttons.js", render="themeToggle")
    _stylesheets: ClassVar[list[str]] = [ui.asset("header_buttons.css")]


def wanted(cookies: Mapping[str, str]) -> str:
    """Return Panel's name of the theme that a browser's cookies request."""
    return "dark" if cookies.get(THEME_COOKIE) == "dark" else "default"
