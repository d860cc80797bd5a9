"""Folders for uploaded files, removed with their page or, if the server was killed, at the next start."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from solverscope.app.files.process_lock import try_lock

#: Prefix of the names of these folders.
DIR_PREFIX = "solverscope-dropped-"
#: The file in the folder that its server locks.
LOCK_NAME = "held"


class UploadDir:
    """A temporary folder of this process. Raises OSError if it cannot be created."""

    def __init__(self) -> None:
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=DIR_PREFIX))
            self._held = (self.path / LOCK_NAME).open("wb")
            if try_lock(self._held):
                return
            self._held.close()  # a server that is starting has just taken it for a lost one

    def remove(self) -> None:
        """Remove the folder and its content."""
        self._held.close()
        shutil.rmtree(self.path, ignore_errors=True)


def remove_lost() -> None:
    """Remove the folders of servers that were killed."""
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(DIR_PREFIX) and entry.is_dir(follow_symlinks=False):
                _remove_if_lost(Path(entry))


def _remove_if_lost(folder: Path) -> None:
    with suppress(OSError), (folder / LOCK_NAME).open("rb+") as held:  # those of others cannot be opened
        if try_lock(held):
            shutil.rmtree(folder, ignore_errors=True)
