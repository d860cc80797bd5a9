"""The tile *Solverscope* of a Jupyter launcher, which jupyter-server-proxy makes and serves."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Any

from solverscope.app.serving.serve_options import KEY, KEY_HEADER

ICON = Path(__file__).resolve().parents[2] / "assets" / "favicon.svg"
#: Seconds that a start may take: on a slow disk imports alone take half a minute.
TIMEOUT = 120.0


def server() -> dict[str, Any]:
    """Return how jupyter-server-proxy starts the server, reaches it and shows it.

    Any user and any browser of the machine can reach the port, and the Host that a visitor calls the proxy by
    is not known in advance, so the server answers only requests with a key that jupyter-server adds to those
    it has authenticated; the process gets it by its environment, which other users cannot read.
    """
    key = secrets.token_urlsafe(32)
    return {
        "command": [sys.executable, "-m", "solverscope", "serve", "--port", "{port}"],
        "environment": {KEY: key},
        "request_headers_override": {KEY_HEADER: key},
        "timeout": TIMEOUT,
        "new_browser_tab": True,  # the page lets nobody frame it
        "launcher_entry": {
            "title": "Solverscope",
            "path_info": "solverscope/app",
            "icon_path": str(ICON),
        },
    }
