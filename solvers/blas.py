"""BLAS on the calling thread, for as long as anybody needs it there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import scipy.linalg.cython_blas  # noqa: F401  what np.dot is in kernels: only libraries that are loaded are limited
from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_users = 0
_limits: threadpool_limits | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while the block runs: a clock of the calling thread would miss the others.

    The limit holds for the whole process and blocks overlap, so that the first to enter sets it and the last
    to leave lifts it: were each to restore what it found, the first run to end would unleash BLAS in those
    that go on.
    """
    global _users, _limits
    with _lock:
        if _users == 0:
            _limits = threadpool_limits(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limits.restore_original_limits()
