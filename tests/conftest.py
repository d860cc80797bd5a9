"""What all tests share: a home folder of their own, the command line as a function, registries put back."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

from solverscope import datasets
from tests.clock import Clock
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[1]
BROWSER_TESTS = Path(__file__).parent / "browser"
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

#: Set to 1 where a browser is known to be there: a browser test that is skipped then fails.
REQUIRE_BROWSER = os.environ.get("SOLVERSCOPE_REQUIRE_BROWSER") == "1"


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path, None, None]:
    """A fresh SOLVERSCOPE_HOME: no test reads or writes the cache of whoever runs it."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOLVERSCOPE_HOME", str(home))
        yield home


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Clocks that stand still until ``clock.work(seconds)`` or ``clock.idle(seconds)``."""
    return Clock(monkeypatch)


@dataclass(frozen=True)
class Answer:
    """What a command gave: exit status, standard output and standard error."""

    status: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    def of_type(self, type: str) -> list[dict[str, Any]]:
        return [record for record in self.records if record["type"] == type]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """``command("run", "digits", ...)`` calls the command line in this process."""
    from solverscope.app.command.cli import main

    def call(*arguments: str) -> Answer:
        capsys.readouterr()
        status = main(arguments)
        return Answer(status, *capsys.readouterr())

    return call


@lru_cache(maxsize=8)
def _load_once(id: str, **options: Any) -> datasets.Dataset:
    return datasets.load(id, **options)


@pytest.fixture
def load_real() -> Callable[..., datasets.Dataset]:
    """datasets.load of a set whose files are in SOLVERSCOPE_DATA; the test is skipped where they are not."""

    def load(id: str, **options: Any) -> datasets.Dataset:
        asked = {name: value for name, value in options.items() if name != "seed"}
        available, reason = datasets.describe(id).available(**asked)
        if not available:
            pytest.skip(reason)
        return _load_once(id, **options)

    return load


@pytest.fixture
def registries() -> Generator[None, None, None]:
    """Whatever a test registers is gone after it."""
    from solverscope import solvers

    tables = (solvers.SOLVERS, solvers.LOSSES, solvers.PENALTIES, solvers.RULES, datasets.DATASETS)
    before = [dict(table) for table in tables]
    yield
    for table, entries in zip(tables, before, strict=True):
        table.clear()
        table.update(entries)
    for name in [name for name in sys.modules if name.startswith("solverscope_plugin_")]:
        del sys.modules[name]


class ByHand(NamedTuple):
    """A scheduler's address, its process, and that of its worker."""

    address: str
    scheduler: subprocess.Popen
    worker: subprocess.Popen


@pytest.fixture
def by_hand() -> Generator[ByHand, None, None]:
    """A scheduler that answers and one worker, as ``dask scheduler`` and ``dask worker`` start them."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    dask = [sys.executable, "-m", "dask"]
    where = ["--host", "127.0.0.1", "--no-dashboard"]
    processes = [
        subprocess.Popen([*dask, "scheduler", "--port", str(port), *where], cwd=ROOT, **quiet),
        subprocess.Popen([*dask, "worker", address, "--nthreads", "1", *where], cwd=ROOT, **quiet),
    ]
    try:
        wait_until(lambda: _answers(port), "the scheduler to answer")
        yield ByHand(address, *processes)
    finally:
        for process in processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _must_run(item, (yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _must_run(collector, (yield))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Make cases slow ones that are not among the ``quick`` ones of their test, or that run a program in a
    process of its own, as those do that take every solver of the registry: such a process takes seconds to
    start."""
    cases = [item for item in items if hasattr(item, "callspec")]
    if not cases:
        return
    from tests.solvers.helpers import ELSEWHERE

    for case in cases:
        values = case.callspec.params.values()
        parts = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
        quick = case.get_closest_marker("quick")
        if any(isinstance(part, str) and part in ELSEWHERE for part in parts) or (
            quick is not None and not any(id in f"[{case.callspec.id}]" for id in quick.args)
        ):
            case.add_marker(pytest.mark.slow)


def pytest_collection_finish(session: pytest.Session) -> None:
    if REQUIRE_BROWSER and not any(_in_browser(item) for item in session.items):
        raise pytest.UsageError("SOLVERSCOPE_REQUIRE_BROWSER=1, but no browser test was collected")


def _must_run(node: pytest.Item | pytest.Collector, report: Report) -> Report:
    if REQUIRE_BROWSER and report.skipped and _in_browser(node):
        report.outcome = "failed"
        report.longrepr = f"skipped although SOLVERSCOPE_REQUIRE_BROWSER=1: {report.longrepr}"
    return report


def _in_browser(node: pytest.Item | pytest.Collector) -> bool:
    return BROWSER_TESTS in node.path.parents
