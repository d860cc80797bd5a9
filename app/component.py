"""The page's own components."""

from __future__ import annotations

import hashlib
from typing import Any

from bokeh.document import Document
from panel.custom import JSComponent


class Component(JSComponent):
    """A component whose script is JavaScript as browsers read it. Panel has the browser translate scripts
    from TypeScript, which takes longer than running them, but for those that are said to be bundles."""

    __abstract = True

    def _get_properties(self, doc: Document | None) -> dict[str, Any]:
        properties = super()._get_properties(doc)
        return properties | {"bundle": hashlib.sha256(properties["esm"].encode()).hexdigest()}
