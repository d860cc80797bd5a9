"""Runs ``panel`` as if newer libraries were installed, in which nothing is as it was."""

import bokeh
import numba
import panel
from numba.core import caching
from panel.command import main

from solverscope.app.compat.change import Change

for library in (bokeh, numba, panel):
    library.__version__ = "99.0"
caching.IndexDataCacheFile = type("Newer", (caching.IndexDataCacheFile,), {})
Change.found = lambda change: "another"
main()
