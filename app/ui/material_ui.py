"""Material UI for Panel, defined so that no page names the folder that the server runs in.

Bokeh writes the defaults of all kinds of components into each document, also of those that it has none of.
One of them is a selector of files, whose default is the working directory at the time when it is defined.
"""

from __future__ import annotations

import os
from contextlib import chdir

with chdir(os.sep):
    import panel_material_ui as pmui  # noqa: TID251
    from panel_material_ui.base import CDN_DIST as MATERIAL  # noqa: TID251

__all__ = ["MATERIAL", "pmui"]
