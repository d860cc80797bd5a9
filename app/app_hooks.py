"""Hooks that ``panel serve app`` calls at startup, after each session, and at shutdown."""

import gc
from threading import Thread

try:
    from solverscope.app.files import upload_dirs
except ModuleNotFoundError as error:
    if error.name != "solverscope":
        raise
    raise SystemExit("Solverscope is not installed: run `python -m pip install -e .` in its folder") from None
from solverscope.app.loops.client import LOOP_PATH
from solverscope.app.loops.server import LoopHandler
from solverscope.app.serving import guard, process_memory, shutdown
from solverscope.app.serving.serve_options import Serving

# arguments that cannot be read end the server before it starts, and it is made after this
guard.stand(Serving.from_arguments(), {LOOP_PATH: LoopHandler})


def on_server_loaded(server_context):
    """Limit the allocator, remove files of killed servers, and import what the first visitor needs."""
    process_memory.limit_arenas()
    upload_dirs.remove_lost()
    from solverscope.app.page.serve import prepare

    gc.collect()
    gc.freeze()  # what is imported stays: a search for garbage in it would hold up every page
    Thread(target=prepare, name="prepare", daemon=True).start()


def on_session_destroyed(session_context):
    """Release the memory that the session used."""
    process_memory.release_soon(lambda: len(session_context.server_context.sessions))


def on_server_unloaded(server_context):
    """End all work, as threads could not start others while Python shuts down."""
    shutdown.shut_down()
