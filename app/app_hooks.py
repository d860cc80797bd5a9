"""What ``panel serve app`` runs once, before the first visitor."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[1])
if sys.path[0] != ROOT:
    sys.path.insert(0, ROOT)

from app import guard  # noqa: E402
from app.serving import Serving  # noqa: E402

serving = Serving.from_arguments()  # what cannot be read ends the server before it has begun


def on_server_loaded(server_context):
    """Stand before every answer."""
    guard.install(server_context.application_context, serving)
