"""What ``panel serve app`` runs before the first visitor, after each, and after the last."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[1])
if sys.path[0] != ROOT:
    sys.path.insert(0, ROOT)

from app.page.theme_toggle import wanted  # noqa: E402
from app.serving import early_head, endings, guard, heap  # noqa: E402
from app.serving.options import Serving  # noqa: E402

serving = Serving.from_arguments()  # what cannot be read ends the server before it has begun


def on_server_loaded(server_context):
    """Stand before every answer, send heads early, and keep the heap in few parts."""
    guard.install(server_context.application_context, serving)
    early_head.install(server_context.application_context, wanted)
    heap.few_arenas()


def on_session_destroyed(session_context):
    """Give back what the visitor took."""
    heap.give_back_soon(lambda: len(session_context.server_context.sessions))


def on_server_unloaded(server_context):
    """End what is at work: threads that need new ones would fail while Python ends."""
    endings.end_all()
