"""What ``panel serve app`` runs for every visitor."""

import gc
import sys

opened = "solverscope.app.page.serve" in sys.modules
from solverscope.app.page.serve import serve  # noqa: E402

if not opened:
    # A server without hooks. What is imported stays: a search for garbage in it would hold up every page for
    # a fifth of a second.
    gc.collect()
    gc.freeze()

serve()
