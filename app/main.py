"""What ``panel serve app`` runs for every visitor."""

import gc
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[1])
if sys.path[0] != ROOT:
    sys.path.insert(0, ROOT)

opened = "app.page.serve" in sys.modules
from app.page.serve import serve  # noqa: E402

if not opened:
    # A server without hooks. What is imported stays: a search for garbage in it would hold up every page for
    # a fifth of a second.
    gc.collect()
    gc.freeze()

serve()
