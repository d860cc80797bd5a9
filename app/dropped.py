"""Folders for the files that visitors drop: each goes with its page or, where the server was killed, when the
next one starts."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from solverscope.app.owner import hold

#: What the name of such a folder begins with.
DROPPED = "solverscope-dropped-"
#: The file in it that its server holds.
HELD = "held"


class Folder:
    """A folder of this process's own. Raises OSError where there can be none."""

    def __init__(self) -> None:
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=DROPPED))
            self._held = (self.path / HELD).open("wb")
            if hold(self._held):
                return
            self._held.close()  # a server that starts has just taken it for a lost one

    def remove(self) -> None:
        """Remove it with all that is in it."""
        self._held.close()
        shutil.rmtree(self.path, ignore_errors=True)


def remove_lost() -> None:
    """Remove the folders that servers have left behind which were killed."""
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(DROPPED) and entry.is_dir(follow_symlinks=False):
                _remove_if_lost(Path(entry))


def _remove_if_lost(folder: Path) -> None:
    with suppress(OSError), (folder / HELD).open("rb+") as held:  # those of others cannot be opened
        if hold(held):
            shutil.rmtree(folder, ignore_errors=True)
