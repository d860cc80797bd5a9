"""The page's own components are JavaScript as browsers read it, and are not compiled in the browser."""

from __future__ import annotations

import hashlib
from typing import Any

from bokeh.document import Document
from panel.custom import JSComponent

from solverscope.app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="panel",
    upstream="Panel has the browser translate every script from TypeScript, which takes longer than running "
    "it, but for those in files that `panel compile` has made (no issue found).",
    without="The browser translates the scripts of all components: on a first visit 0.2 s more of its main "
    "thread, which has 1.1 s of work, until Run can be pressed.",
    knows=(
        "panel.custom:ReactiveESM._get_properties",
        "dist/lib/models/reactive_esm.js:ReactiveESM.compile",
    ),
    digest="b88218701d6827fd",
)


class PlainScript(JSComponent):
    """A component whose script the browser takes as it is."""

    __abstract = True

    def _get_properties(self, doc: Document | None) -> dict[str, Any]:
        properties = super()._get_properties(doc)
        if CHANGE.fits():
            properties["bundle"] = hashlib.sha256(properties["esm"].encode()).hexdigest()
        return properties
