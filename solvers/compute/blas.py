"""BLAS on the calling thread, for as long as anybody needs it there."""

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
    """Limit BLAS to one thread while the block runs: a clock of the calling thread would miss the others, and
    on small products they cost more than they do.

    The limit holds for the whole process and blocks overlap, so that the first to enter sets it and the last
    to leave lifts it: were each to restore what it found, the first run to end would unleash BLAS in those
    that go on. Setting and lifting takes some 10 µs, and 1 µs inside another block.
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
    """Let the calling thread, which holds the lock, set the sizes of the pools.

    From threadpoolctl 3.8 on a pool of OpenBLAS obeys the first thread that set its size, and silently no
    other as long as that one lives.
    """
    for pool in pools.lib_controllers:
        if hasattr(pool, "clear_controlling_thread"):
            pool.clear_controlling_thread(force=True)


def _blas_pools() -> ThreadpoolController:
    """Find the thread pools of this process. That takes a millisecond, so they are looked for anew only
    after an import, which alone may bring one."""
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
