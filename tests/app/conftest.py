"""Small problems and pools for tests of the page without a browser."""

from __future__ import annotations

import contextlib
import http.client
import logging
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from solverscope import datasets, solvers
from solverscope.app.page.session import Session
from solverscope.app.runs.pool import PoolShare, RunPool
from solverscope.solvers.problems import problem as problem_module
from tests import waiting
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from solverscope.app.page.page import Page

ROOT = Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser_name" in item.fixturenames and Path(__file__).parent in item.path.parents:
            # a fixture called ``page`` is Playwright's, whose event loop is then at work beside later tests
            raise pytest.UsageError(f"{item.nodeid} asks for a browser: name its fixture otherwise")


@pytest.fixture(autouse=True)
def no_failure_is_passed_over(caplog: pytest.LogCaptureFixture) -> Generator[None, None, None]:
    """A page goes on where a part of it fails, and logs it: a test that wants that clears the log."""
    yield
    records = [*caplog.get_records("setup"), *caplog.get_records("call")]
    failures = [r for r in records if r.levelno >= logging.ERROR and r.name.startswith("solverscope.app.")]
    assert failures == [], "\n".join(map(caplog.handler.format, failures))


@pytest.fixture(scope="session")
def small_problem() -> solvers.Problem:
    """Logistic regression with ℓ1 on breast-cancer: fractions of a second for every solver."""
    return solvers.make_problem(datasets.load("breast-cancer"), loss="logistic", penalty="l1", lam_ratio=0.05)


@pytest.fixture(scope="session")
def chain_problem() -> solvers.Problem:
    """A chain CRF that takes seconds, on few strings."""
    data = datasets.load("digit-strings", n_samples=200)
    return solvers.make_problem(data, lam=2.0)


@pytest.fixture
def share() -> Generator[PoolShare, None, None]:
    """A session's share of a pool with two slots; whatever still runs is stopped."""
    share = RunPool(2).share()
    yield share
    workers = list(share.workers)
    share.stop()
    assert all(worker.join(PATIENCE) for worker in workers)


@pytest.fixture
def session() -> Generator[Session, None, None]:
    """A visitor's session on a pool with two slots."""
    session = Session(RunPool(2))
    yield session
    workers = list(session.share.workers)
    session.close()
    assert all(worker.join(PATIENCE) for worker in workers)


@pytest.fixture
def wait_until() -> Callable[..., None]:
    """``wait_until(condition)`` returns once it holds."""
    return waiting.wait_until


@pytest.fixture
def as_if_huge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems made from here on forget their gradient at zero, as those of very many weights do: for another
    penalty or λ it is computed anew."""
    monkeypatch.setattr(problem_module, "KEPT_WEIGHTS", 0)


@pytest.fixture
def visit(wait_until: Callable[..., None]) -> Generator[Callable[..., Page], None, None]:
    """``visit(name=value, ...)`` makes a page and waits for its data, which are not in memory before."""
    from solverscope.app.page.page import Page
    from solverscope.app.runs import problem_cache

    problem_cache.cache.clear()
    pages: list[Page] = []

    def make(**query: str) -> Page:
        pages.append(Page(query))
        wait_until(lambda: (pages[-1].session.tick(), pages[-1].problem.ready)[1])
        return pages[-1]

    yield make
    for page in pages:
        workers = list(page.session.share.workers)
        page.session.close()
        assert all(worker.join(PATIENCE) for worker in workers)


class Served:
    """``panel serve app`` on a port of its own; ``program`` is what Python runs as ``panel``."""

    def __init__(self, log: Path, *arguments: str, program: Sequence[str] = ("-m", "panel")) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = log
        command = [sys.executable, *program, "serve", "app", "--port", str(self.port), *arguments]
        with log.open("w") as file:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT)
        waiting.wait_until(self.answers, period=0.1)

    def answers(self) -> bool:
        """Tell whether it takes connections."""
        assert self.process.poll() is None, self.log.read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def get(self, path: str, method: str = "GET", **headers: str | None) -> tuple[int, dict[str, str], str]:
        """Status, headers and text of an answer, by a raw socket. Of ``headers``, None leaves one out, and an
        underscore stands for a dash."""
        wanted = {"Host": f"localhost:{self.port}", "Connection": "close"}
        wanted |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in wanted.items() if v is not None)]
        with socket.create_connection(("127.0.0.1", self.port), 30) as connection:
            connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status, dict(answer.getheaders()), answer.read().decode(errors="replace")

    def memory(self) -> float:
        """Resident MiB."""
        return psutil.Process(self.process.pid).memory_info().rss / 2**20

    def stop(self) -> str:
        """End it; returns what it has said."""
        self.process.terminate()
        self.process.wait(PATIENCE)
        return self.log.read_text()


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served, None, None]:
    """A server as README starts it."""
    server = Served(tmp_path_factory.mktemp("served") / "log")
    yield server
    log = server.stop()
    assert "Traceback" not in log, log
