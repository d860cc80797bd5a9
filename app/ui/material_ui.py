"""Panel's Material UI, changed such that pages do not contain the working directory of the server.

Bokeh writes the defaults of all component classes into each document, even of unused ones. A file selector
has the working directory at the time of its definition as a default.
"""

import os
from contextlib import chdir

with chdir(os.sep):
    import panel_material_ui as pmui  # noqa: TID251
    from panel_material_ui.base import CDN_DIST as MATERIAL  # noqa: TID251

__all__ = ["MATERIAL", "pmui"]
