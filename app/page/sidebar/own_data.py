"""A visitor's own file: dropped on the page, checked off its thread, seen by this visitor alone, gone with
the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import param

import datasets
from app import theme
from app.component import Component
from app.dropped import Folder
from app.page.session import Session
from app.runs import library
from app.runs.pool import PoolFull, Worker
from app.settings.recipe import Recipe
from datasets.limits import DROPPED as LIMITS
from datasets.readers.recognise import check
from solvers.runs.atomic_files import why_not_written

#: Bytes that come at a time; the next ones are asked for when they are written.
CHUNK = 1 << 20
MOST_LETTERS = 80
#: Files that a page keeps, and bytes of all of them, at most.
MOST_FILES, QUOTA = 20, 4 * LIMITS.size


class OwnData(Component):
    """A place for a file, in the sidebar. It comes in pieces (``assets/own_data.js``), goes into a folder of
    this visitor, and is loaded as any data set is; ``take(id, options)`` gets the id of a file that is good,
    and what it turned out to be. Nothing that is there is lost to a file that is not. A watcher of the
    session."""

    busy = param.Boolean(default=False, doc="whether a file is coming or being read")
    notice = param.String(default="", doc="what is done with the file")
    error = param.String(default="", doc="what is wrong with it, in a sentence")
    limits = param.Dict(
        default={"chunk": CHUNK, "size": LIMITS.size}, constant=True, doc="bytes of a piece, and of a file"
    )
    label = param.String(default="Drop your own file, or choose one", constant=True)
    tip = param.String(
        default="Rows of label index:value …, or tagged sentences, a token a line; also as gz, bz2, xz or "
        "zip. Only this page sees it, as long as it is open.",
        constant=True,
    )

    _esm = theme.asset("elements.js", "own_data.js")
    _stylesheets: ClassVar[list[str]] = [theme.asset("component.css", "own_data.css")]

    def __init__(self, session: Session, take: Callable[..., None], **params: Any) -> None:
        super().__init__(sizing_mode="stretch_width", margin=(0, 10), **params)
        self._session, self._take = session, take
        self._folder: Folder | None = None
        self._count = self._kept = 0
        self._path: Path | None = None
        self._file: BinaryIO | None = None
        self._size = self._came = 0
        self._reading: Worker | None = None
        self._said = ""
        self._ids: list[str] = []

    def receive(self, data: Any) -> None:
        match data:
            case {"action": "begin", "name": str(name), "size": int(size)}:
                self._begin(name, size)
            case {"action": "piece", "data": bytes() | memoryview() | bytearray() as piece}:
                self._receive(bytes(piece))
            case {"action": "stop"}:
                self._give_up("")

    # the file comes

    def _begin(self, name: str, size: int) -> None:
        self._give_up("")
        name, most = _clean(name), self.limits["size"]
        if not 0 < size <= most:
            what = "is empty" if size <= 0 else f"has more than {most:,} bytes"
            self.error = f"{name} {what}: give a file of at most {most >> 20} MiB."
            return
        if len(self._ids) >= MOST_FILES or self._kept + size > QUOTA:
            self.error = (
                f"{name} exceeds what a page keeps, {MOST_FILES} files of {QUOTA >> 20} MiB in all: "
                "open another page for it."
            )
            return
        self._size, self._came = size, 0
        try:
            if self._folder is None:
                self._folder = Folder()
            self._count += 1
            self._path = self._folder.path / str(self._count) / name
            self._path.parent.mkdir()
            self._file = self._path.open("wb")
        except OSError as error:
            self._cannot_keep(name, error)
            return
        self.param.update(busy=True, error="", notice=f"receiving {name} …")
        self.answer({"from": 0})

    def _cannot_keep(self, name: str, error: OSError) -> None:
        reason, advice = why_not_written(error)
        self._give_up(f"{name} cannot be kept on the server, for {reason}: {advice}.")

    def _receive(self, piece: bytes) -> None:
        if self._file is None:
            return
        self._came += len(piece)
        if not piece or self._came > self._size:
            self._give_up(f"{self._path.name} did not arrive whole: drop it again.")
            return
        try:
            self._file.write(piece)
            self._file.flush()
        except OSError as error:
            self._cannot_keep(self._path.name, error)
            return
        if self._came < self._size:
            self.notice = f"receiving {self._path.name}: {100 * self._came // self._size} %"
            self.answer({"from": self._came})
            return
        self._file.close()
        self._file = None
        self._read(self._path)

    # it is read

    def _read(self, path: Path) -> None:
        def work(worker: Worker) -> Any:
            def progress(text: str, share: float | None) -> None:
                worker.pulse()
                self._said = text if share is None else f"{text}: {100 * share:.0f} %"

            return self._load(path, progress)

        try:
            self._reading = self._session.task(work, self._done, awaited=True)
        except PoolFull as error:
            self._give_up(str(error))

    def _load(self, path: Path, progress: Callable[[str, float | None], None]) -> Any:
        """Read a file, off the page's thread. Raises ValueError, one sentence."""
        check(path, LIMITS, progress)
        id = datasets.own_id(str(path))
        return id, library.load(Recipe(id), progress)

    def _loaded(self, found: tuple[str, datasets.Dataset]) -> None:
        """Take what was read."""
        (id, data), self._path = found, None
        self._ids.append(id)
        self._kept += self._size
        self.param.update(busy=False, notice="", error="")
        known = {option.name for option in datasets.describe(id).options}
        self._take(id, {"kind": data.kind} if "kind" in known else {})

    def _done(self, worker: Worker) -> None:
        if worker is not self._reading:
            return
        self._reading = None
        if worker.error is not None:
            self._give_up(str(worker.error) or f"{self._path.name} needs more memory than there is.")
        elif worker.result is not None:
            self._loaded(worker.result)
        else:
            self._give_up(f"Reading {self._path.name} was stopped.")

    def update(self) -> None:
        """Show how far the file has been read."""
        if self._reading is not None:
            self.notice = self._said

    def _give_up(self, error: str) -> None:
        """Stop what is under way, and forget that file."""
        if self._reading is not None:
            self._reading.stop()
            self._reading = None
        if self._file is not None:
            with suppress(OSError):  # the disk is full: what was not written is not wanted any more
                self._file.close()
            self._file = None
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            self._path = None
        self.param.update(busy=False, notice="", error=error)

    def close(self) -> None:
        """Forget all files: the page is gone."""
        self._give_up("")
        for id in self._ids:
            library.shelf.drop(id)
        if self._folder is not None:
            self._folder.remove()
            self._folder = None


def _clean(name: str) -> str:
    """Return the name of a file without what a path, or a terminal, would read otherwise."""
    cleaned = re.sub(r"[^\w.+ -]", "_", re.split(r"[/\\]", name)[-1]).strip(" .")
    return cleaned[-MOST_LETTERS:] or "file"
