"""The server as a program of its own: `panel serve`, which Ctrl-C ends quietly also while it starts."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
if sys.path[0] != ROOT:
    sys.path.insert(0, ROOT)

from app.command.exit_status import INTERRUPTED  # noqa: E402


def main() -> None:
    """Do what the arguments of this process ask of Panel, and leave with its exit status."""
    try:
        from panel.command import main as panel

        panel()
    except KeyboardInterrupt:  # once its loop runs Panel ends by itself
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
