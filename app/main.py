"""The script that ``panel serve app`` executes for every session."""

import gc
import sys

opened = "solverscope.app.page.serve" in sys.modules
from solverscope.app.page.serve import serve  # noqa: E402

if not opened:
    # A server without hooks. Imported modules stay: collecting garbage among them would delay every page by a
    # fifth of a second.
    gc.collect()
    gc.freeze()

serve()
