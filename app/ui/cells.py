"""Plots in notebook cells without network access; their scripts come from the installed packages.

``pn.extension()`` refers to scripts on other hosts, and with ``inline=True`` writes 8 to 11 MB of scripts
into every cell. Here they are packed into one output of 1.6 MB, and cells contain only their plots.
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
    """Compress and encode a script in the form that :file:`assets/offline.js` unpacks."""
    return b64encode(gzip.compress(script.encode(), mtime=0)).decode()


@cache
def scripts() -> str:
    """Return the script that contains all others."""
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
    """Change the models of a cell, before Panel shows them, such that they need nothing from other hosts."""
    document = root.document
    if document is None or document.session_context is None:
        models = root if changed is shown else models_of(changed, root)
        inline_styles(models.select({"type": Model}))


def publish(*args: object, **kwargs: object) -> None:
    """Write scripts and styles into the output of the current cell, in place of Panel's ``load_notebook``."""
    # there in a notebook
    from IPython.display import publish_display_data  # pyright: ignore[reportMissingImports]

    css = (Path(pn.__file__).parent / "_templates" / "jupyter.css").read_text(encoding="utf-8")
    publish_display_data({"text/html": f"<style>{css}</style>"})
    publish_display_data({"application/javascript": scripts()})
    talk = "\n".join([PYVIZ_PROXY, JupyterCommManager.js_manager, nb_mime_js])
    publish_display_data({"application/javascript": talk, LOAD_MIME: talk})


def extension() -> None:
    """Load the scripts for plots in later cells into the output of this cell, from the installed packages.

    This function replaces ``pn.extension()``, which needs a network, and does nothing outside of a notebook.
    """
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
    """Base class of displays in a notebook cell that work offline; a message appears while scripts are
    missing.

    Changes are sent by :class:`.frames.Frames`, at the latest at the end of each cell.
    """

    #: Notebook outputs that show this display, and characters sent to them with the last drawing.
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
        """Send the changes made in the block to the notebook outputs that show this display."""
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
        """Send all changes to the notebook outputs that show this display; return the number of characters
        sent."""
        return sum(output.send() for output in self._shown_at)

    def finish_cell(self) -> None:
        """Send the remaining changes at the end of a cell."""
        self.send_changes()
