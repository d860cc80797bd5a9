"""BLAS on the calling thread alone, while any run needs it there."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_users = 0
_limits: Any = None
_pools: ThreadpoolController | None = None
_modules = 0


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the block.

    The clock of the calling thread would miss the time of other threads, which cost more on small products
    than they save.

    The limit holds for the whole process, and blocks of several threads overlap. So the first block entered
    sets the limit and the last one left lifts it. If each restored the previous limit, the first run to end
    would lift it for all others. Setting and lifting takes some 10 µs, and 1 µs inside another block.
    """
    global _users, _limits
    with _lock:
        if _users == 0:
            pools = _blas_pools()
            take_control(pools)
            _limits = pools.limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                assert _pools is not None  # found when the limit was set
                take_control(_pools)
                _limits.restore_original_limits()


def take_control(pools: ThreadpoolController) -> None:
    """Make the calling thread, which holds the lock, set the sizes of the pools.

    From threadpoolctl 3.8 on, a pool of OpenBLAS obeys the first thread that set its size. While that thread
    lives, the pool silently ignores all others.
    """
    for pool in pools.lib_controllers:
        if hasattr(pool, "clear_controlling_thread"):
            pool.clear_controlling_thread(force=True)


def _blas_pools() -> ThreadpoolController:
    """Find the BLAS thread pools of this process.

    A search takes a millisecond, so it is repeated only after an import: only imports can add a pool.
    """
    global _pools, _modules
    # np.dot of kernels, which is loaded to be limited; here, since it is slow to import
    import scipy.linalg.cython_blas  # noqa: F401

    if _pools is None or len(sys.modules) != _modules:
        _pools, _modules = ThreadpoolController(), len(sys.modules)
    return _pools


def advanced_on_one_thread(
    iterate: Callable[..., Generator[Any, None, Any]],
) -> Callable[..., Generator[Any, None, Any]]:
    """Wrap ``iterate`` so that BLAS stays on the calling thread at every advance, and is unlimited in
    between: no limit is left behind by code that drops the generator, or advances it from another thread."""

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
