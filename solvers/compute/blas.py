"""Limits that keep BLAS on the calling thread, while any run needs it there."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_users = 0
#: the pools that were limited, with the threads they had
_limited: list[tuple[Any, int]] = []
_pools: list[Any] | None = None
_modules = 0


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the block.

    A run measures the CPU time of the calling thread, which would not include other BLAS threads. On small
    products these cost more than they save.

    The limit holds for the whole process, and blocks of several threads overlap. So the first block entered
    sets the limit and the last one left lifts it. If each restored the previous limit, the first run to end
    would lift it for all others. Setting and lifting takes some 5 µs, and 1 µs inside another block or if
    there is one thread anyway.
    """
    global _users, _limited
    with _lock:
        if _users == 0:
            _limited = _wide_blas_pools()
            _resize((pool, 1) for pool, _ in _limited)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _resize(_limited)


def _resize(pools: Iterable[tuple[Any, int]]) -> None:
    """Set the number of threads of each pool; the caller must hold the lock."""
    for pool, threads in pools:
        take_control(pool)
        pool.set_num_threads(threads)


def take_control(pool: Any) -> None:
    """Make the calling thread the one that sets the size of a pool.

    From threadpoolctl 3.8 on, a pool of OpenBLAS obeys the first thread that set its size. While that thread
    lives, the pool silently ignores all others.
    """
    if hasattr(pool, "clear_controlling_thread"):
        pool.clear_controlling_thread(force=True)


def _wide_blas_pools() -> list[tuple[Any, int]]:
    """Return the BLAS thread pools that have several threads, each with its number of threads."""
    sizes = [(pool, pool.get_num_threads()) for pool in _blas_pools()]
    return [(pool, threads) for pool, threads in sizes if threads is not None and threads > 1]


def _blas_pools() -> list[Any]:
    """Return the BLAS thread pools of this process.

    A search takes a millisecond, so it is repeated only after an import: only imports can add a pool.
    """
    global _pools, _modules
    # np.dot of kernels, which is loaded to be limited; here, since it is slow to import
    import scipy.linalg.cython_blas  # noqa: F401

    if _pools is None or len(sys.modules) != _modules:
        found = ThreadpoolController().lib_controllers
        _pools, _modules = [pool for pool in found if pool.user_api == "blas"], len(sys.modules)
    return _pools


def advanced_on_one_thread(
    iterate: Callable[..., Generator[Any, None, Any]],
) -> Callable[..., Generator[Any, None, Any]]:
    """Wrap ``iterate`` so that BLAS uses one thread while its generator runs, and is unlimited in between.

    So no limit remains if a caller drops the generator, or advances it from another thread.
    """

    @functools.wraps(iterate)
    def limited(*args: Any, **options: Any) -> Generator[Any, None, Any]:
        made = iterate(*args, **options)
        if not isinstance(made, Generator):
            kind = type(made).__name__
            raise TypeError(
                f"{iterate.__qualname__} returns {kind}, and is no generator: let it yield "
                "solvers.Iterate.at(point, n, ...)"
            )
        with closing(made) as iterates:
            while True:
                with one_blas_thread():
                    try:
                        found = next(iterates)
                    except StopIteration as stop:
                        return stop.value
                yield found

    return limited
