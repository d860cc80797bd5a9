"""Small problems and pools for tests of the page without a browser."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import pytest

import datasets
import solvers
from app.pool import RunPool, Share
from app.session import Session
from solvers import problem as problem_module

if TYPE_CHECKING:
    from app.page import Page


@pytest.fixture(scope="session")
def small_problem() -> solvers.Problem:
    """Logistic regression with ℓ1 on breast-cancer: fractions of a second for every solver."""
    return solvers.make_problem(datasets.load("breast-cancer"), "logistic", "l1", lam_ratio=0.05)


@pytest.fixture(scope="session")
def chain_problem() -> solvers.Problem:
    """A chain CRF that takes seconds, on few strings."""
    data = datasets.load("digit-strings", n_samples=200)
    return solvers.make_problem(data, lam=2.0)


@pytest.fixture
def share() -> Generator[Share, None, None]:
    """A session's share of a pool with two slots; whatever still runs is stopped."""
    share = RunPool(2).share()
    yield share
    workers = list(share.workers)
    share.stop()
    assert all(worker.join(5) for worker in workers)


@pytest.fixture
def session() -> Generator[Session, None, None]:
    """A visitor's session on a pool with two slots."""
    session = Session(RunPool(2))
    yield session
    workers = list(session.share.workers)
    session.close()
    assert all(worker.join(5) for worker in workers)


@pytest.fixture
def wait_until() -> Callable[..., None]:
    def wait(condition: Callable[[], bool], seconds: float = 60.0) -> None:
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, "it did not happen in time"
            time.sleep(0.01)

    return wait


@pytest.fixture
def as_if_huge(monkeypatch: pytest.MonkeyPatch) -> Callable[[solvers.Problem], None]:
    """Makes a problem forget its gradient at zero, as those of very many weights do: for another penalty or λ
    it is computed anew."""

    def make(problem: solvers.Problem) -> None:
        monkeypatch.setattr(problem_module, "KEPT", 0)
        monkeypatch.setattr(problem, "_gradient_at_zero", None)

    return make


@pytest.fixture
def visit(wait_until: Callable[..., None]) -> Generator[Callable[..., Page], None, None]:
    """``visit(name=value, ...)`` makes a page and waits for its data."""
    from app.page import Page

    pages: list[Page] = []

    def make(**query: str) -> Page:
        pages.append(Page(query))
        wait_until(lambda: (pages[-1].session.tick(), pages[-1].problem.ready)[1])
        return pages[-1]

    yield make
    for page in pages:
        workers = list(page.session.share.workers)
        page.session.close()
        assert all(worker.join(5) for worker in workers)
