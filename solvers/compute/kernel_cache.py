"""A change of Numba: its cache of compiled kernels with a digest per file, so that damage only costs a
compilation.

Numba numbers its files and keeps an index of them. Two processes that compile different signatures at the
same time use the same number, and one then runs the other's code. (A similar report is
https://github.com/numba/numba/issues/4807). A damaged file crashes the program or is run as it is
(https://github.com/numba/numba/issues/10434).

The change is made only if Numba's cache has the code that the change was written for. Otherwise a line is
logged, and Numba's own cache is used. ``kernel_cache.md`` is a report for Numba's issue tracker.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numba
from numba.core import caching, dispatcher, options

log = logging.getLogger(__name__)

#: Versions of Numba that this module supports, the same as in pyproject.toml.
NUMBA_VERSIONS = ">=0.68,<0.69"
#: Digests of the source code that is replaced or relied on, one per version of it.
DIGESTS = ("ca60864cad4ae704",)

#: Warnings already logged: each once per process, as one folder has dozens of kernels.
_told: set[str] = set()


class Damaged(Exception):
    """Raised if a file of the cache has been changed since it was written."""


#: The classes extended here; empty if this version of Numba lacks one of them.
_IndexDataCacheFile: Any = getattr(caching, "IndexDataCacheFile", object)
_FunctionCache: Any = getattr(caching, "FunctionCache", object)


class CheckedFiles(_IndexDataCacheFile):
    """The compiled signatures of one kernel, one file each, named after the signature, without an index.

    A file ends with the SHA-256 of its content. Numba does not read it: it stops at the end of the content.
    """

    def save(self, key: Any, data: Any) -> None:
        self._save_data(self._name(key), (self._held(key), data))

    def load(self, key: Any) -> Any:
        """Return the object saved under ``key``; return None if there is none, or if the source has changed.

        Raises :class:`Damaged` if the file does not match its digest.
        """
        name = self._name(key)
        try:
            content = Path(self._data_path(name)).read_bytes()
        except FileNotFoundError:  # not compiled yet
            return None
        if hashlib.sha256(content[:-32]).digest() != content[-32:]:
            raise Damaged
        held, data = self._load_data(name)
        return data if held == self._held(key) else None

    def flush(self) -> None:
        self.drop()

    def drop(self) -> None:
        """Delete all files of this kernel, ignoring errors."""
        with suppress(OSError):
            for path in Path(self._cache_path).iterdir():
                if path.name.startswith(f"{self._base}."):
                    path.unlink(missing_ok=True)

    def _held(self, key: Any) -> tuple[Any, ...]:
        return self._version, self._source_stamp, key

    def _name(self, key: Any) -> str:
        return f"{self._base}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"

    @property
    def _base(self) -> str:
        return self._index_name.removesuffix(".nbi")

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[IO[bytes]]:
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(content.getvalue() + hashlib.sha256(content.getvalue()).digest())


class CheckedCache(_FunctionCache):
    """The cache of one kernel. If it cannot be read or written, the kernel is compiled without a cache."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file = CheckedFiles(
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


def found() -> str:
    """Return the digest of the installed code of Numba's cache; return "" if some of it is missing."""
    try:
        parts = (caching.IndexDataCacheFile, caching.FunctionCache, caching._Cache, caching.Cache)
        source = "".join(map(inspect.getsource, parts))
    except (AttributeError, OSError, TypeError):
        return ""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def lean() -> dict[str, bool]:
    """Return the compiler options that omit the wrapper for calls from C, if this Numba has them.

    The wrapper takes a third of the compilation time.
    """
    name = "no_cfunc_wrapper"
    return {name: True} if hasattr(options.DefaultOptions, name) else {}


def apply() -> None:
    """Use the checked cache for all kernels compiled from here on in this process."""
    if found() in DIGESTS:
        # it is imported there, which Numba does not count as a part of that module
        dispatcher.FunctionCache = checked_cache  # pyright: ignore[reportAttributeAccessIssue]
    else:
        left_out = "left out kernel_cache: numba %s is not what it was written for (%s). %s"
        log.warning(left_out, numba.__version__, NUMBA_VERSIONS, "Damaged kernels are not noticed.")


def checked_cache(py_func: Callable[..., Any]) -> caching._Cache:
    """Return the cache of a kernel; return a cache that stores nothing if no folder is writable."""
    try:
        return CheckedCache(py_func)
    except RuntimeError:  # so Numba says it
        return caching.NullCache()
