"""Panel's style sheets, inlined into the models that use them, so that notebook plots need no other host."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import panel as pn
from bokeh.model import Model
from bokeh.models import ImportedStyleSheet, InlineStyleSheet, UIElement
from panel.io.resources import CDN_DIST

DIST = Path(pn.__file__).parent / "dist"


@cache
def style(address: str) -> str | None:
    """Return the content of a style sheet of Panel; return None for all other URLs."""
    path = DIST / address.removeprefix(CDN_DIST).split("?")[0]
    return path.read_text(encoding="utf-8") if address.startswith(CDN_DIST) and path.is_file() else None


def inline_styles(models: Iterable[Model]) -> None:
    """Inline style sheets of other hosts into the models that use them, once per plot."""
    models = list(models)
    made = {model.css: model for model in models if isinstance(model, InlineStyleSheet)}

    def inlined(sheet: object) -> object:
        if not isinstance(sheet, ImportedStyleSheet) or (css := style(sheet.url)) is None:
            return sheet
        return made.setdefault(css, InlineStyleSheet(css=css))

    for model in models:
        if isinstance(model, UIElement):
            sheets = [inlined(sheet) for sheet in model.stylesheets]
            if sheets != model.stylesheets:
                model.stylesheets = sheets
        if getattr(model, "css_bundle", None):
            model.css_bundle = None
