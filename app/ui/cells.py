"""Plots in the cells of a notebook that has no network: their scripts come from the installed packages.

``pn.extension()`` names scripts on other hosts, and with ``inline=True`` writes them into every cell, 8 to 11
MB each. Here they are packed into one output of 1.6 MB, and cells hold their plots alone.
"""

from __future__ import annotations

import gzip
import json
import sys
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import bokeh
import panel as pn
from bokeh.model import Model
from bokeh.resources import Resources
from panel.io import notebook as panel_notebook
from panel.io.notebook import EXEC_MIME, LOAD_MIME
from panel.viewable import Viewable, Viewer
from pyviz_comms import PYVIZ_PROXY, JupyterCommManager, nb_mime_js

from solverscope.app.compat.panel_cells import before_shown, loaded, models_of, without_sending
from solverscope.app.ui.material_ui import MATERIAL, pmui

from .assets import asset
from .frames import ONE_AT_A_TIME, Frames, kernel_cells
from .inline_styles import DIST, inline_styles

#: Outputs of one display that follow it, at most: the newest.
MOST_OUTPUTS = 8


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


def without_network(shown: Viewable, root: Model, changed: Viewable, old: Sequence[Model] | None) -> None:
    """Change the models of a cell so that they ask no other host: Panel calls it before it shows them."""
    document = root.document
    if document is None or document.session_context is None:
        models = root if changed is shown else models_of(changed, root)
        inline_styles(models.select({"type": Model}))


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
    """Base of displays of a notebook cell that work offline; a message shows what is missing until then.

    What changes is sent by :class:`.frames.Frames`, at the latest at the end of each cell.
    """

    #: Where it is shown in a notebook, and characters sent there with the last drawing.
    _shown_at: Sequence[Frames] = ()
    _sent_size: int = 0

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Any:
        if not loaded():
            extension()
        self.finish_cell()
        bundle = super()._repr_mimebundle_(include, exclude)
        if not isinstance(bundle, tuple) or "text/html" not in bundle[0]:
            return bundle
        data, about = bundle
        id = about.get(EXEC_MIME, {}).get("id", "")
        if id and (cells := kernel_cells()) is not None:
            self._shown_at = [*self._shown_at[1 - MOST_OUTPUTS :], Frames(id)]
            cells.after_each.add(self)
        said = asset("cell.html").replace("{id}", id).replace("{plot}", data["text/html"])
        return {**data, "text/html": said}, about

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Send what the block draws to where it is shown in a notebook."""
        if not self._shown_at:
            yield
            return
        with ONE_AT_A_TIME:
            with without_sending(), ExitStack() as block:
                for output in self._shown_at:
                    block.enter_context(output.as_one())
                yield
            self._sent_size = self.send_changes()

    def send_changes(self) -> int:
        """Send what has changed to where it is shown in a notebook; return the characters that were sent."""
        return sum(output.send() for output in self._shown_at)

    def finish_cell(self) -> None:
        """Do what is left at the end of a cell."""
        self.send_changes()
