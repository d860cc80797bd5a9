"""The bars say where the time of a run went: by phase, or by epoch."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from solverscope import datasets, solvers
from solverscope.app.views import Cursor, PhaseTimes
from solverscope.app.views.convergence.phase_times import (
    MAX_BAR_PARTS,
    MAX_TABLE_COLUMNS,
    TURNS,
    parts,
    sums,
    table,
)
from solverscope.solvers import FIELDS, Trace
from tests.app.helpers import drawn, text

#: Phase, round and CPU seconds of the iterates of a run in two rounds.
ROUNDS = [
    (None, -1, 0.1),
    ("fine", 0, 0.2),
    ("fine", 0, 0.3),
    ("clustering", 0, 0.05),
    ("coarse", 0, 0.01),
    ("coarse", 0, 0.02),
    ("fine", 1, 0.4),
    ("coarse", 1, 0.03),
    ("patch-up", 2, 0.6),
]


def made(rows, label="run") -> Trace:
    """A trace whose iterates took so long each."""
    blank = {name: field.unknown for name, field in FIELDS.items()}
    trace, total = Trace({"label": label, "params": {}}), 0.0
    for k, (phase, epoch, seconds) in enumerate(rows):
        total += seconds
        trace.append(blank | {"iteration": k, "phase": phase, "epoch": epoch, "cpu_seconds": total})
    return trace


def of(trace: Trace) -> list[tuple[str, float, int]]:
    found = parts(trace.since(None)[0])
    return list(zip(found["part"], found["seconds"].round(9), found["iterations"], strict=True))


def test_phases_follow_each_other_with_the_time_since_the_iterate_before():
    assert of(made(ROUNDS)) == [
        ("other", 0.1, 0),
        ("fine", 0.5, 2),
        ("clustering", 0.05, 1),
        ("coarse", 0.03, 2),
        ("fine", 0.4, 1),
        ("coarse", 0.03, 1),
        ("patch-up", 0.6, 1),
    ]


def test_a_run_in_one_phase_is_divided_by_epochs_and_one_without_stays_whole():
    shrinking = [("shrink", k // 2, 0.5) for k in range(5)]
    assert of(made(shrinking)) == [("epoch 0", 1.0, 1), ("epoch 1", 1.0, 2), ("epoch 2", 0.5, 1)]
    assert of(made([(None, -1, 0.5)] * 3)) == [("iterations", 1.5, 2)]
    assert of(made([("cuts", -1, 0.5)] * 3)) == [("cuts", 1.5, 2)]


def test_the_bars_have_the_length_of_the_runs_as_their_records_tell(traces):
    view = PhaseTimes(traces)
    for order in ("time", "sum"):
        view.order = order
        data = drawn(view.figure, "part").data
        for line, trace in enumerate(traces):
            own = data["y"] == line
            np.testing.assert_allclose(data["left"][own][1:], data["right"][own][:-1])
            assert data["left"][own][0] == pytest.approx(0.0, abs=1e-12)
            assert data["right"][own][-1] == pytest.approx(trace.cpu_seconds[-1])
            assert data["share"][own].sum() == pytest.approx(1.0)
            assert data["iterations"][own].sum() == trace.iteration[-1]
        assert view.figure.yaxis.major_label_overrides == dict(
            enumerate(trace.info.label for trace in traces)
        )
    epochs = len(set(traces[0].epoch.tolist()))
    assert epochs > 1
    assert (data["y"] == 0).sum() == epochs
    assert {*data["color"][:2]} == set(TURNS)


def test_the_phases_of_a_clustered_solver_are_all_of_its_time():
    problem = solvers.make_problem(
        datasets.load("breast-cancer"), loss="logistic", penalty="l2", lam=1e-3, average=False
    )
    trace = solvers.solve(problem, solvers.make_solver("clustered-lbfgs"), tol=1e-8, max_seconds=20.0)
    added = sums(parts(trace.since(None)[0])).set_index("part")["seconds"].to_dict()
    assert {"fine", "cluster", "coarse", "patch-up"} <= set(added)
    assert sum(added.values()) == pytest.approx(trace.cpu_seconds[-1])
    assert min(added.values()) >= 0.0


def test_added_up_each_phase_has_one_part_of_one_colour():
    view = PhaseTimes([made(ROUNDS, "one"), made(ROUNDS[:5], "two")], Cursor())
    assert (drawn(view.figure, "part").data["y"] == 0).sum() == 7
    view.order = "sum"
    data = drawn(view.figure, "part").data
    own = {
        name: seconds
        for name, seconds, y in zip(data["part"], data["seconds"], data["y"], strict=True)
        if y == 0
    }
    expected = {"other": 0.1, "fine": 0.9, "clustering": 0.05, "coarse": 0.06, "patch-up": 0.6}
    assert own == pytest.approx(expected)
    colors = {(part, color) for part, color in zip(data["part"], data["color"], strict=True)}
    assert len(colors) == 5 == len({color for _, color in colors})
    for word in ("fine", "clustering", "coarse", "patch-up"):
        assert f"</b> {word}<" in text(view)


def test_the_table_has_the_sums_and_their_shares():
    run = {"one": parts(made(ROUNDS).since(None)[0])}
    text = table(run)
    assert "<th>fine</th><th>clustering</th><th>coarse</th><th>patch-up</th>" in text
    assert "<td>0.9 s · 53 %</td>" in text
    assert text.endswith("<td>1.71 s</td></tr></tbody></table>")


def test_of_many_epochs_the_first_have_a_column_each_and_the_rest_one():
    many = pd.DataFrame({"part": [f"epoch {k}" for k in range(20)], "seconds": 1.0, "iterations": 1})
    text = table({"run": many})
    assert f"<th>epoch {MAX_TABLE_COLUMNS - 1}</th><th>12 more</th>" in text
    assert "<td>12 s · 60 %</td>" in text


def test_a_bar_of_very_many_parts_has_them_added_up():
    rows = [(("fine", "coarse")[k % 2], k // 2, 0.5) for k in range(2 * MAX_BAR_PARTS)]
    view = PhaseTimes([made(rows)])
    assert drawn(view.figure, "part").data["part"].tolist() == ["fine", "coarse"]
    assert sums(parts(made(rows).since(None)[0]))["seconds"][0] == pytest.approx(MAX_BAR_PARTS * 0.5)
