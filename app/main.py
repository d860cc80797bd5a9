"""What ``panel serve app`` runs for every visitor."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[1])
if sys.path[0] != ROOT:
    sys.path.insert(0, ROOT)

from app.page import serve  # noqa: E402

serve()
