"""Files of data sets: folders, downloads, checksums."""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .errors import DataError

Progress = Callable[[str, "float | None"], None]
SUFFIXES = (".gz", ".bz2", ".xz", ".zip")


@dataclass(frozen=True)
class DataFile:
    """A file that a data set reads.

    Attributes
    ----------
    path : str
        The path relative to a data folder, or an absolute one.
    url, sha256 : str, optional
        The URL from which to download it, and its checksum; without a URL nothing is downloaded.
    when : str
        The options that need it, such as "task=multilabel,split=given"; "" if it is always needed.
    """

    path: str
    url: str | None = None
    sha256: str | None = None
    when: str = ""


def folders() -> list[Path]:
    """Return the folders that are searched for data files: SOLVERSCOPE_DATA if set, then the
    download folder."""
    given = os.environ.get("SOLVERSCOPE_DATA")
    return ([Path(given)] if given else []) + [cache_folder()]


def cache_folder() -> Path:
    """Return the folder for downloads, `data` in the home folder."""
    return home() / "data"


def home() -> Path:
    """Return SOLVERSCOPE_HOME, or the platform's folder for user data; the folder may not exist yet."""
    given = os.environ.get("SOLVERSCOPE_HOME")
    if not given:
        import platformdirs

        given = platformdirs.user_data_dir("solverscope")
    return Path(given)


def find(path: str) -> Path | None:
    """Return the file at `path` in a data folder, or None if there is none.

    It may be compressed in another way than `path` indicates, or not at all.
    """
    stem = path
    for suffix in SUFFIXES:
        stem = stem.removesuffix(suffix)
    for folder in folders():
        for name in dict.fromkeys([path, stem, *(stem + suffix for suffix in SUFFIXES)]):
            if (folder / name).is_file():
                return folder / name
    return None


def own_path(name: str) -> Path:
    """Return the path of a user's own file, with ~ expanded. Raises DataError if it contains a
    NUL character."""
    if "\0" in name:
        raise DataError(f"{name[:80]!r} cannot be the name of a file: leave the NUL character out.")
    return Path(os.path.expanduser(name))


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file for reading.

    Raises OSError if it cannot be opened, and DataError for a pipe or a device, which may never end.
    """
    # to open a pipe without a writer would block indefinitely
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise DataError(f"{path.name} cannot be read (it is a pipe or a device): give a regular file.")
    return file


def advice(file: DataFile, source: str) -> str:
    """Return instructions on how to get a missing ``file``, which comes from ``source``."""
    place = f"put it at {folders()[0] / file.path}"
    if not os.environ.get("SOLVERSCOPE_DATA"):
        place += ", or name your data folder in SOLVERSCOPE_DATA"
    download = f"load the set to download it from {file.url}, or " if file.url else ""
    return f"{file.path} is missing: {download}{place}" + (f" (source: {source})" if source else "")


def fetch(file: DataFile, source: str, progress: Progress) -> Path:
    """Return the path of ``file``, which is downloaded if it is missing.

    Raises DataError if it has no URL or the download fails; the message says which file to put where.
    """
    found = find(file.path)
    if found:
        return found
    if not file.url:
        raise DataError(advice(file, source) + ".")
    import pooch

    pooch.get_logger().setLevel("WARNING")
    target = cache_folder() / file.path
    try:
        pooch.retrieve(
            file.url,
            known_hash=f"sha256:{file.sha256}",
            fname=target.name,
            path=target.parent,
            downloader=pooch.HTTPDownloader(progressbar=_Bar(file, progress), timeout=30),
        )
    # pooch passes on what requests and the file system raise, which is an OSError, and its checksum test
    except (OSError, ValueError) as error:
        reason = type(error).__name__ if isinstance(error, OSError) else "its SHA-256 is not the expected one"
        raise DataError(
            f"Downloading {file.url} failed ({reason}): get {Path(file.path).name} by hand and put it at "
            f"{target}."
        ) from error
    return target


class _Bar:
    """A progress bar for pooch that passes the fraction on."""

    def __init__(self, file: DataFile, progress: Progress):
        self.total, self.done = 0, 0
        self._text, self._progress = f"downloading {Path(file.path).name}", progress

    def update(self, count: int) -> None:
        self.done += count
        self._progress(self._text, min(self.done / self.total, 1.0) if self.total else None)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        self._progress(self._text, 1.0)


def entries(path: Path) -> int:
    """Estimate how many values a file contains: one per four bytes, and six times as many if it is
    compressed."""
    packed = path.suffix in (".gz", ".bz2", ".xz", ".zip", ".npz")
    return path.stat().st_size * (6 if packed else 1) // 4


def sha256(*paths: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; for several files, return that of their joined digests."""
    digests = []
    for path in paths:
        with open_regular(path) as stream:
            digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
