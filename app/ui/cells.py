"""Plots in the cells of a notebook that has no network: their scripts come from the installed packages.

``pn.extension()`` names scripts on other hosts, and with ``inline=True`` writes them into every cell, 8 to 11
MB each. Here they are packed into one output of 1.6 MB, and cells hold their plots alone.
"""

from __future__ import annotations

import gzip
import json
import sys
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import bokeh
import panel as pn
from bokeh.model import Model
from bokeh.models import ImportedStyleSheet, InlineStyleSheet, UIElement
from bokeh.resources import Resources
from panel.io import notebook as panel_notebook
from panel.io.notebook import EXEC_MIME, LOAD_MIME
from panel.io.resources import CDN_DIST
from panel.viewable import Viewable, Viewer
from pyviz_comms import PYVIZ_PROXY, JupyterCommManager, nb_mime_js

from solverscope.app.compat.panel_cells import before_shown, loaded, models_of
from solverscope.app.ui.material_ui import MATERIAL, pmui

from .assets import asset

DIST = Path(pn.__file__).parent / "dist"


def packed(script: str) -> str:
    """Return a script as :file:`assets/offline.js` unpacks it."""
    return b64encode(gzip.compress(script.encode(), mtime=0)).decode()


@cache
def scripts() -> str:
    """Return the one script that loads all others."""
    library = Resources(mode="inline", components=["bokeh", "bokeh-widgets", "bokeh-tables"], minified=True)
    (shim,) = DIST.glob("bundled/reactiveesm/es-module-shims*/dist/es-module-shims.min.js")
    panel = [path.read_text(encoding="utf-8") for path in (shim, DIST / "panel.min.js")]
    material = Path(pmui.__file__).parent / "dist" / "panel-material-ui.bundle.js"
    parts = {
        "SCRIPTS": [packed(script) for script in (*library.js_raw, *panel)],
        "MODULES": {str(MATERIAL): packed(material.read_text(encoding="utf-8"))},
        "VERSION": bokeh.__version__,
    }
    named = "".join(f"const {name} = {json.dumps(part)};\n" for name, part in parts.items())
    return f"{{\n{named}{asset('offline.js')}}}\n"


@cache
def style(address: str) -> str | None:
    """Return the text of a style sheet of Panel's, None for any other's."""
    path = DIST / address.removeprefix(CDN_DIST).split("?")[0]
    return path.read_text(encoding="utf-8") if address.startswith(CDN_DIST) and path.is_file() else None


def inline_styles(models: Sequence[Model], root: Model) -> None:
    """Write style sheets of other hosts into the models that use them, once per plot."""
    made: dict[str, InlineStyleSheet] = {}

    def inlined(sheet: object) -> object:
        if not isinstance(sheet, ImportedStyleSheet) or (css := style(sheet.url)) is None:
            return sheet
        return made.setdefault(sheet.url, InlineStyleSheet(css=css))

    for model in models:
        if isinstance(model, UIElement):
            sheets = [inlined(sheet) for sheet in model.stylesheets]
            if sheets != model.stylesheets:
                model.stylesheets = sheets
        if getattr(model, "css_bundle", None):
            model.css_bundle = None


def without_network(shown: Viewable, root: Model, changed: Viewable, old: Sequence[Model] | None) -> None:
    """Change the models of a cell so that they ask no other host: Panel calls it before it shows them."""
    document = root.document
    if document is None or document.session_context is None:
        models = root if changed is shown else models_of(changed, root)
        inline_styles(list(models.select({"type": Model})), root)


def publish(*args: object, **kwargs: object) -> None:
    """Put scripts and styles into the output of this cell, as Panel's ``load_notebook`` does."""
    # there in a notebook
    from IPython.display import publish_display_data  # pyright: ignore[reportMissingImports]

    css = (Path(pn.__file__).parent / "_templates" / "jupyter.css").read_text(encoding="utf-8")
    publish_display_data({"text/html": f"<style>{css}</style>"})
    publish_display_data({"application/javascript": scripts()})
    talk = "\n".join([PYVIZ_PROXY, JupyterCommManager.js_manager, nb_mime_js])
    publish_display_data({"application/javascript": talk, LOAD_MIME: talk})


def extension() -> None:
    """Load the scripts for the plots of later cells from the installed packages into the output of this cell.
    It replaces ``pn.extension()``, which needs a network, and does nothing outside a notebook."""
    before_shown(without_network)
    modules = [panel_notebook, sys.modules.get("holoviews.plotting.renderer")]
    loaders = [(module, module.load_notebook) for module in modules if module is not None]
    published: list[bool] = []

    def once(*args: object, **kwargs: object) -> None:
        if not published:
            published.append(True)
            publish()

    try:
        for module, _ in loaders:
            module.load_notebook = once
        pn.extension(comms="default")  # those of VS Code load their scripts from another host
    finally:
        for module, load in loaders:
            module.load_notebook = load


class Cell(Viewer):
    """Base of displays of a notebook cell that work offline; a message shows what is missing until then."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Any:
        if not loaded():
            extension()
        bundle = super()._repr_mimebundle_(include, exclude)
        if not isinstance(bundle, tuple) or "text/html" not in bundle[0]:
            return bundle
        data, about = bundle
        id = about.get(EXEC_MIME, {}).get("id", "")
        said = asset("cell.html").replace("{id}", id).replace("{plot}", data["text/html"])
        return {**data, "text/html": said}, about
