"""What ``panel serve app`` runs before the first visitor, after each, and after the last."""

import gc
import sys
from pathlib import Path
from threading import Thread

ROOT = str(Path(__file__).resolve().parents[1])
if sys.path[0] != ROOT:
    sys.path.insert(0, ROOT)

from app import dropped  # noqa: E402
from app.serving import endings, guard, heap  # noqa: E402
from app.serving.serve_options import Serving  # noqa: E402

# what cannot be read ends the server before it has begun; and the server is made after this
guard.stand(Serving.from_arguments())


def on_server_loaded(server_context):
    """Keep the heap in few parts, clear up after servers that were killed, and have ready what the first
    visitor will see."""
    heap.few_arenas()
    dropped.remove_lost()
    from app.page.serve import prepare

    gc.collect()
    gc.freeze()  # what is imported stays: a search for garbage in it would hold up every page
    Thread(target=prepare, name="prepare", daemon=True).start()


def on_session_destroyed(session_context):
    """Give back what the visitor took."""
    heap.give_back_soon(lambda: len(session_context.server_context.sessions))


def on_server_unloaded(server_context):
    """End what is at work: threads that need new ones would fail while Python ends."""
    endings.end_all()
