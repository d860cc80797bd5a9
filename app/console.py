"""The console script ``solverscope``."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Run the command line and leave with its exit status."""
    # another installed package may be called `datasets`: ours must be found first
    sys.path.insert(0, str(ROOT))
    from app.cli import main as command_line

    sys.exit(command_line())
