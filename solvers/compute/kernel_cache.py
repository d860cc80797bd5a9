"""Numba's cache of compiled kernels, with a digest of every file: damage costs a compilation, no more."""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from numba.core import caching

log = logging.getLogger(__name__)

#: Warnings given: each once a process, as dozens of kernels lie in one folder.
_told: set[str] = set()


class Damaged(Exception):
    """A file of the cache is not as it was written."""


class _CheckedFiles(caching.IndexDataCacheFile):
    """The index and the data of one kernel; each file ends with the SHA-256 of what stands before it, which
    Numba, reading only as far as it needs, does not see."""

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[IO[bytes]]:
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(content.getvalue() + hashlib.sha256(content.getvalue()).digest())

    def _load_index(self) -> dict[Any, str]:
        self._check(self._index_path)
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        self._check(self._data_path(name))
        return super()._load_data(name)

    def _check(self, path: str) -> None:
        try:
            content = Path(path).read_bytes()
        except FileNotFoundError:  # not compiled yet
            return
        if hashlib.sha256(content[:-32]).digest() != content[-32:]:
            raise Damaged

    def drop(self) -> None:
        """Delete all files of this kernel, as far as that is possible."""
        base = self._index_name.removesuffix(".nbi")
        with suppress(OSError):
            for path in Path(self._cache_path).iterdir():
                if path.name.startswith(f"{base}."):
                    path.unlink(missing_ok=True)


class CheckedCache(caching.FunctionCache):
    """The cache of one kernel: where it cannot be read or written, the kernel is compiled without it."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file = _CheckedFiles(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return self._done_without(super().load_overload, sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        self._done_without(super().save_overload, sig, data)

    def _done_without(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Damaged:
            self._cache_file.drop()
            self._tell("compiled kernels in %s are damaged: they are thrown away and compiled again")
        except OSError as error:
            self._tell(f"compiled kernels cannot be kept in %s ({error.strerror}): compiling every time")
        return None

    def _tell(self, message: str) -> None:
        if message not in _told:
            _told.add(message)
            log.warning(message, self._cache_path)


def checked_cache(py_func: Callable[..., Any]) -> caching._Cache:
    """Return the cache of a kernel; one that keeps nothing where no folder can be written."""
    try:
        return CheckedCache(py_func)
    except RuntimeError:  # so Numba says it
        return caching.NullCache()
