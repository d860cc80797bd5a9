"""Files that are replaced completely or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

_REASONS = {
    errno.ENOSPC: ("the disk is full", "make room on it"),
    errno.EDQUOT: ("the disk quota is used up", "make room"),
    errno.EFBIG: ("it would be larger than files may be here", "raise that limit"),
    errno.EROFS: ("the disk is read-only", "choose another place"),
}


class NotWritten(OSError):
    """Raised if a file could not be written; the message has the reason and the consequence."""


def why_not_written(error: OSError) -> tuple[str, str]:
    """Return the reason why a file could not be written, and a remedy."""
    error = error.__cause__ if isinstance(error.__cause__, OSError) else error
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    return _REASONS.get(error.errno or 0, (reason, "choose another place"))


@contextmanager
def replacing(path: Path, mode: str = "w", **options: Any) -> Iterator[IO]:
    """Open a temporary file that replaces ``path`` when the block ends.

    ``mode`` is "w" or "wb", and ``options`` are those of :func:`open`. The file is next to ``path``, and
    replaces it once it is entirely on the disk. After an error ``path`` is unchanged, and the temporary file
    is deleted. Errors of the disk are raised as :class:`NotWritten`. A symbolic link is followed.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with beside.open(mode.replace("w", "x"), **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink()
        if not isinstance(error, OSError) or isinstance(error, (NotWritten, BrokenPipeError)):
            raise
        reason, advice = why_not_written(error)
        left = "what was there before is kept" if target.exists() else "nothing is left of it"
        raise NotWritten(f"{path} was not written, for {reason}: {left}; {advice}") from error
