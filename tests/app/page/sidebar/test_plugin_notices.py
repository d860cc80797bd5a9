"""A plug-in that is saved while its page is open."""

from __future__ import annotations

import os

import pytest

from solverscope import solvers
from solverscope.app import plugins
from solverscope.app.page.sidebar import plugin_notices
from tests.app.test_plugins import SOLVER, save

OPEN = {"data": "breast-cancer", "solvers": "steps;prox-gd", "max_seconds": "0.05"}


@pytest.fixture
def plugin(registries, tmp_path, monkeypatch):
    monkeypatch.setattr(plugin_notices, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(plugin_notices, "_due", 0.0)  # another page may have looked less than a second ago
    path = tmp_path / "mine.py"
    path.write_text(SOLVER)
    plugins.load_file(path)
    return path


def raced(page, wait_until):
    page.controls.go()
    wait_until(lambda: not page.session.alive)
    wait_until(lambda: all(run.id is not None for run in page.session.runs))
    page.session.tick()


def notices(page):
    return [alert.objects[0].object for alert in page.notices]


def test_run_uses_the_new_code_and_runs_of_the_old_stay_as_ghosts(plugin, visit, wait_until):
    page = visit(**OPEN)
    raced(page, wait_until)
    old = page.session.runs[0]
    save(
        plugin,
        SOLVER.replace("param(1.0", "param(0.5").replace(
            "step:", "pace: float = solvers.param(1.0, 'x')\n    step:"
        ),
    )
    page.session.tick()
    (said,) = notices(page)
    assert said.startswith("mine.py was saved: the next Run uses its new code (")
    assert {field["name"] for field in page.solvers.entries[0]["fields"]} == {"step", "pace"}
    raced(page, wait_until)
    new, gd, ghost = page.session.runs
    assert (ghost is old, ghost.ghost, gd.ghost) == (True, True, False)
    assert (new.solver.step, type(new.solver)) == (0.5, solvers.SOLVERS["steps"])
    assert f"code {old.trace.info.code}" in page.legend.rows[2]["note"]
    assert new.trace.info.code in said
    assert new.trace.info.code != old.trace.info.code


def test_a_file_that_no_longer_loads_is_said_once_in_place_of_what_was_said(plugin, visit, wait_until):
    page = visit(**OPEN)
    save(plugin, SOLVER + "\n# a comment\n")
    page.session.tick()
    before = solvers.SOLVERS["steps"]
    save(plugin, SOLVER + "\nnothing\n")
    os.utime(plugin, ns=(10**18, 10**18))
    for _ in range(2):
        page.session.tick()
    (said,) = notices(page)
    assert said.startswith("mine.py, line ")
    assert "NameError" in said
    assert said.endswith("and its code of before stays in use.")
    assert solvers.SOLVERS["steps"] is before
