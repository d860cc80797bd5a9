"""A visitor's own file, dropped on the page: only this visitor can use it, and it is deleted with
the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import param

from solverscope import datasets
from solverscope.app import ui
from solverscope.app.files.upload_dirs import UploadDir
from solverscope.app.page.session import Session
from solverscope.app.runs import problem_cache
from solverscope.app.runs.pool import PoolWorker
from solverscope.app.settings.recipe import Recipe
from solverscope.app.ui.component import Component
from solverscope.datasets.limits import DROPPED as LIMITS
from solverscope.datasets.readers.recognise import check
from solverscope.solvers.compute.atomic_files import why_not_written

#: Bytes per chunk of an upload; the next chunk is requested when the last one has been written.
UPLOAD_CHUNK_BYTES = 1 << 20
MOST_LETTERS = 80
#: Files that a page keeps, and bytes of all of them, at most.
MOST_FILES, QUOTA = 20, 4 * LIMITS.size


class OwnData(Component):
    """The drop area for files in the sidebar, updated at each tick of the session.

    A file arrives in chunks (``assets/own_data.js``), is stored in a folder of this visitor, and is loaded
    like any data set. ``take(id, options)`` receives the id of a valid file and the options found. An invalid
    file changes nothing.
    """

    busy = param.Boolean(default=False, doc="whether a file is coming or being read")
    notice = param.String(default="", doc="what is done with the file")
    error = param.String(default="", doc="what is wrong with it, in a sentence")
    limits = param.Dict(
        default={"chunk": UPLOAD_CHUNK_BYTES, "size": LIMITS.size},
        constant=True,
        doc="bytes of a piece, and of a file",
    )
    label = param.String(default="Drop your own file, or choose one", constant=True)
    tip = param.String(default="own_data.choose", constant=True, doc="id of the tooltip")

    _esm = ui.page_script("own_data.js")
    _stylesheets: ClassVar[list[str]] = [ui.asset("component.css", "own_data.css")]

    def __init__(self, session: Session, take: Callable[..., None], **params: Any) -> None:
        super().__init__(sizing_mode="stretch_width", margin=(0, 10), **params)
        self._session, self._take = session, take
        self._folder: UploadDir | None = None
        #: The pending work on the file being uploaded or loaded, its path, and its size in bytes.
        self._steps: Generator[None, Any, Any] | None = None
        self._path: Path | None = None
        self._size = 0
        self._reading: PoolWorker | None = None
        self._said = ""
        self._count = 0
        self._kept: dict[str, int] = {}  # the bytes of each file that is good, by its id

    def receive(self, data: Any) -> None:
        match data:
            case {"action": "begin", "name": str(name), "size": int(size)}:
                self._give_up("")
                self._steps = self._take_in(_clean(name), size)
                self._go_on(None)
            case {"action": "piece", "data": bytes() | memoryview() | bytearray() as piece}:
                if self._reading is None:
                    self._go_on(bytes(piece))
            case {"action": "stop"}:
                self._give_up("")

    def _go_on(self, given: bytes | PoolWorker | None) -> None:
        """Continue with the pending file, if there is one."""
        if self._steps is None:
            return
        try:
            self._steps.send(given)
        except ValueError as error:
            self._give_up(str(error))
        except StopIteration as end:
            self._steps = None
            self._take_result(end.value)

    def _take_in(self, name: str, size: int) -> Generator[None, Any, Any]:
        """Receive all chunks of a file, and return its content once it has been loaded."""
        self._size, most = size, self.limits["size"]
        if not 0 < size <= most:
            what = "is empty" if size <= 0 else f"has more than {most:,} bytes"
            raise ValueError(f"{name} {what}: give a file of at most {most >> 20} MiB.")
        if len(self._kept) >= MOST_FILES or sum(self._kept.values()) + size > QUOTA:
            raise ValueError(
                f"{name} exceeds what a page keeps, {MOST_FILES} files of {QUOTA >> 20} MiB in all: "
                "open another page for it."
            )
        try:
            if self._folder is None:
                self._folder = UploadDir()
            self._count += 1
            path = self._path = self._folder.path / str(self._count) / name
            path.parent.mkdir()
            with path.open("wb") as file:
                while (came := file.tell()) < size:
                    share = f": {100 * came // size} %" if came else " …"
                    self.param.update(busy=True, error="", notice=f"receiving {name}{share}")
                    self.answer({"from": came})
                    piece = yield
                    if not piece or came + len(piece) > size:
                        raise ValueError(f"{name} did not arrive whole: drop it again.")
                    file.write(piece)
                    file.flush()
        except OSError as error:
            reason, advice = why_not_written(error)
            raise ValueError(f"{name} cannot be kept on the server, for {reason}: {advice}.") from None

        def progress(worker: PoolWorker, text: str, share: float | None) -> None:
            worker.pulse()
            self._said = text if share is None else f"{text}: {100 * share:.0f} %"

        self._reading = self._session.task(
            lambda worker: self._load(path, partial(progress, worker)), self._done, awaited=True
        )
        worker = yield
        self._reading = None
        if worker.error is not None:
            # a data set calls itself by its path
            said = str(worker.error).replace(str(path), name)
            raise ValueError(said or f"{name} needs more memory than there is.")
        if worker.result is None:
            raise ValueError(f"Reading {name} was stopped.")
        return worker.result

    def _done(self, worker: PoolWorker) -> None:
        if worker is self._reading:
            self._go_on(worker)

    def _load(self, path: Path, progress: Callable[[str, float | None], None]) -> Any:
        """Load a file outside of the page's thread. Raises ValueError if it is invalid."""
        check(path, LIMITS, progress)
        id = datasets.own_id(str(path))
        return id, problem_cache.load(Recipe(id), progress)

    def _take_result(self, found: tuple[str, datasets.Dataset]) -> None:
        """Accept the data set that was loaded from the file."""
        id, data = found
        self._kept[id], self._path = self._size, None
        self.param.update(busy=False, notice="", error="")
        known = {option.name for option in datasets.describe(id).options}
        self._take(id, {"kind": data.kind} if "kind" in known else {})

    def update(self) -> None:
        """Show the progress of loading the file."""
        if self._reading is not None:
            self.notice = self._said

    def _give_up(self, error: str) -> None:
        """Drop the pending file, and show the reason."""
        self._forget()
        self.param.update(busy=False, notice="", error=error)

    def _forget(self) -> None:
        """Cancel pending work, and delete the pending file."""
        if self._steps is not None:
            with suppress(ValueError):  # the disk is full: what was not written is not wanted any more
                self._steps.close()
            self._steps = None
        if self._reading is not None:
            self._reading.stop()
            self._reading = None
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            self._path = None

    def close(self) -> None:
        """Delete all files after the page was closed."""
        self._forget()
        for id in self._kept:
            problem_cache.cache.drop(id)
        if self._folder is not None:
            self._folder.remove()
            self._folder = None


def _clean(name: str) -> str:
    """Return a file name without characters that are special in a path or a terminal."""
    cleaned = re.sub(r"[^\w.+ -]", "_", re.split(r"[/\\]", name)[-1]).strip(" .")
    return cleaned[-MOST_LETTERS:] or "file"
