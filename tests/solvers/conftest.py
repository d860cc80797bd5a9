from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread() -> Iterator[None]:
    """Solvers advanced by hand run as they do in a Run: with BLAS on their own thread."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield
