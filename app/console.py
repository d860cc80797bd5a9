"""The console script ``solverscope``."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Run the command line and leave with its exit status."""
    # another installed package may be called `datasets`: ours must be found first
    sys.path.insert(0, str(ROOT))
    from app.command import exit_status, streams

    streams.open_closed()
    try:
        from app.command.cli import main as command_line

        status = command_line()
    except KeyboardInterrupt:  # while it was being imported
        status = exit_status.INTERRUPTED
    sys.exit(status)
