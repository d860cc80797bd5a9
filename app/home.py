"""The folder for what outlives a run: downloads and reference optima."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """``SOLVERSCOPE_HOME``, by default the platform's folder for user data; it need not exist yet."""
    return Path(os.environ.get("SOLVERSCOPE_HOME") or platformdirs.user_data_dir("solverscope"))
