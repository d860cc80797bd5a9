"""A small Dask cluster for all tests of sweeps, and solvers that take their time."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="Dask is not installed")
from distributed import LocalCluster

from solverscope.app import plugins
from solverscope.app.sweep.cell_store import Store
from solverscope.app.sweep.cluster import LOOPBACK, ClusterSpec
from solverscope.app.sweep.driver import SweepDriver
from solverscope.app.sweep.spec import Spec


@pytest.fixture(scope="module")
def cluster(own_home: Path) -> Generator[LocalCluster, None, None]:
    """Two worker processes that are started again when they die."""
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host=LOOPBACK,
        dashboard_address=f"{LOOPBACK}:0",
        scheduler_kwargs={"dashboard": False},
        silence_logs=False,
    ) as cluster:
        yield cluster


@pytest.fixture
def place(cluster: LocalCluster) -> ClusterSpec:
    return ClusterSpec(cluster.scheduler_address)


@pytest.fixture(scope="module")
def slow_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plug-in, at a place that stays: a worker registers its solver once."""
    return Path(shutil.copy(Path(__file__).with_name("slow_plugin.py"), tmp_path_factory.mktemp("slow")))


@pytest.fixture
def slow(slow_file: Path, registries: None) -> Path:
    """A plug-in with the solver ``slow``; "begun" beside it gets the number of each run that begins."""
    slow_file.with_name("begun").unlink(missing_ok=True)
    plugins.load_file(slow_file)
    return slow_file


@pytest.fixture
def begun(slow: Path) -> Callable[[], list[int]]:
    """``begun()`` gives the numbers of the runs that have begun, in order."""
    path = slow.with_name("begun")
    return lambda: sorted(map(int, path.read_text().split())) if path.exists() else []


@pytest.fixture
def start(place: ClusterSpec, tmp_path: Path) -> Generator[Callable[..., Going], None, None]:
    """``start(spec, ...)`` runs a sweep in a thread; what is left of it at the end is stopped."""
    going: list[Going] = []

    def begin(given: dict[str, Any], at: ClusterSpec = place, **more: Any) -> Going:
        store = Store(tmp_path / "results")
        sweep = SweepDriver(Spec.of(given), at, store, **more)
        going.append(Going(sweep))
        return going[-1]

    yield begin
    for one in going:
        one.sweep.stop()
        one.thread.join(60)
        assert not one.thread.is_alive()


class Going:
    """A sweep at work in a thread."""

    def __init__(self, sweep: SweepDriver) -> None:
        self.sweep, self.ended = sweep, []
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self) -> None:
        try:
            self.sweep.run(self.ended.append)
        except BaseException as error:
            self.error = error

    def join(self, seconds: float = 120.0) -> SweepDriver:
        """Wait for its end; raise what it raised."""
        self.thread.join(seconds)
        assert not self.thread.is_alive(), "the sweep did not end in time"
        if self.error is not None:
            raise self.error
        return self.sweep
