"""Why a run ended, from what its solver returned or raised."""

from __future__ import annotations

from ..methods.iterate import Ending
from ..problems.shards.crew import ShardLost
from .branch import Diverged


def returned(value: object) -> Ending:
    """Return the ending for what a solver's generator has returned."""
    if isinstance(value, Ending):
        return value
    return Ending("stalled", str(value) if value else "the solver ended by itself")


def failure(error: Exception) -> Ending:
    """Return the ending of a run in which this was raised."""
    if isinstance(error, Diverged | ShardLost):
        return Ending("failed", str(error))
    if isinstance(error, MemoryError):
        return Ending("failed", "out of memory: take a smaller problem or fewer pairs")
    return Ending("failed", described(error))


def described(error: Exception) -> str:
    """Describe an error with the file and line that it came from, for the author of a solver."""
    said, frame = f"{type(error).__name__}: {error}", error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None:
        return said
    name = frame.tb_frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{said} ({name}, line {frame.tb_lineno})"
