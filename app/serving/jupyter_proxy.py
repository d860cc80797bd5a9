"""The tile *Solverscope* of a Jupyter launcher, which jupyter-server-proxy displays and serves."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Any

from solverscope.app.serving.serve_options import PROXY_KEY_HEADER, PROXY_KEY_VARIABLE

ICON = Path(__file__).resolve().parents[2] / "assets" / "favicon.svg"
#: Seconds that the start may take: on a slow disk the imports alone take half a minute.
TIMEOUT = 120.0


def server() -> dict[str, Any]:
    """Return the settings by which jupyter-server-proxy starts, reaches and displays the server.

    Any user and any browser of the machine can reach the port, and the visitor's Host is not known in
    advance. Therefore the server only answers requests with a key, which jupyter-server adds to requests that
    it has authenticated. The key is passed in the process environment, which other users cannot read.
    """
    key = secrets.token_urlsafe(32)
    return {
        "command": [sys.executable, "-m", "solverscope", "serve", "--port", "{port}"],
        "environment": {PROXY_KEY_VARIABLE: key},
        "request_headers_override": {PROXY_KEY_HEADER: key},
        "timeout": TIMEOUT,
        "new_browser_tab": True,  # the page lets nobody frame it
        "launcher_entry": {
            "title": "Solverscope",
            "path_info": "solverscope/app",
            "icon_path": str(ICON),
        },
    }
