"""Material UI for Panel, changed so that no page contains the working directory of the server.

Bokeh writes the defaults of all component classes into each document, used or not. One of them is a file
selector, whose default is the working directory at the time of its definition.
"""

import os
from contextlib import chdir

with chdir(os.sep):
    import panel_material_ui as pmui  # noqa: TID251
    from panel_material_ui.base import CDN_DIST as MATERIAL  # noqa: TID251

__all__ = ["MATERIAL", "pmui"]
