"""What ``panel serve app`` runs before the first visitor, after each, and after the last."""

import gc
from threading import Thread

try:
    from solverscope.app import dropped
except ModuleNotFoundError as error:
    if error.name != "solverscope":
        raise
    raise SystemExit("Solverscope is not installed: run `python -m pip install -e .` in its folder") from None
from solverscope.app.serving import endings, guard, heap
from solverscope.app.serving.serve_options import Serving

# what cannot be read ends the server before it has begun; and the server is made after this
guard.stand(Serving.from_arguments())


def on_server_loaded(server_context):
    """Keep the heap in few parts, clear up after servers that were killed, and have ready what the first
    visitor will see."""
    heap.few_arenas()
    dropped.remove_lost()
    from solverscope.app.page.serve import prepare

    gc.collect()
    gc.freeze()  # what is imported stays: a search for garbage in it would hold up every page
    Thread(target=prepare, name="prepare", daemon=True).start()


def on_session_destroyed(session_context):
    """Give back what the visitor took."""
    heap.give_back_soon(lambda: len(session_context.server_context.sessions))


def on_server_unloaded(server_context):
    """End what is at work: threads that need new ones would fail while Python ends."""
    endings.end_all()
