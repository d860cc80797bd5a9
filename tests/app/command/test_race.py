"""``solverscope race``: a table and a page of all that race, and a sentence for what is not possible."""

from __future__ import annotations

import re

import pytest

from solverscope import datasets, solvers
from solverscope.app.command import race
from solverscope.app.command.race import RACES
from tests.solvers.helpers import HERE, HOUSE


@pytest.mark.slow
def test_ours_and_others_here_race_are_printed_and_drawn(command, tmp_path):
    page = tmp_path / "race.html"
    assert "sklearn-saga" in RACES["breast-cancer"].theirs
    answer = command("race", "breast-cancer", "--max-seconds", "1", "--out", str(page))
    assert answer.status == 0, answer.err
    one = RACES["breast-cancer"]
    racing = [*one.ours, *one.theirs]
    assert set(one.theirs) <= set(HERE) - set(HOUSE)
    for id in racing:
        (line,) = [line for line in answer.out.splitlines() if line.startswith(f"{id} ")]
        assert ("ours" in line) == (id in HOUSE)
    ours = next(line.split() for line in answer.out.splitlines() if line.startswith(one.ours[0]))
    assert 0.0 < float(ours[2]) <= float(ours[3])
    written = page.read_text(encoding="utf-8")
    assert all(f"<td>{id}</td>" in written for id in racing)
    assert "https://" not in re.sub(r"<script>.*?</script>", "", written, flags=re.DOTALL)


def test_seconds_to_a_gap_are_those_of_the_first_iterate_within_it():
    objectives = enumerate((3.0, 2.01, 2.0001, 2.0))
    rows = [{"iteration": k, "objective": f, "cpu_seconds": 0.5 * k} for k, f in objectives]
    trace = solvers.Trace.from_records(rows, label="mine", solver="prox-qn", f_star=2.0)
    assert [race.seconds_to(trace, gap) for gap in race.SHORT_GAPS] == [0.5, 1.0]


def test_a_race_in_which_all_failed_is_drawn_with_how_they_ended():
    problem = solvers.make_problem(datasets.load("breast-cancer"), lam=0.1).describe()
    about = {"label": "mine", "solver": "prox-qn", "f_star": 2.0, "status": "failed"}
    trace = solvers.Trace.from_records([], problem=problem, **about)
    assert "<td>failed</td>" in race.page({"digits": [trace]})


def test_what_is_not_possible_is_one_sentence(command, tmp_path):
    for given, said in (
        (
            ["breast-cancr"],
            "there is no race 'breast-cancr' (did you mean breast-cancer?): choose one of ocr, conll, mnist",
        ),
        (["breast-cancer", "--out", str(tmp_path / "race.png")], "name a file that ends in .html"),
    ):
        answer = command("race", *given)
        assert (answer.status, len(answer.err.strip().splitlines())) == (2, 1)
        assert said in answer.err
