"""``solverscope paper``: its lists, one small figure from the command to its page, and what it refuses."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from solverscope.app.command.paper import bounds
from solverscope.app.papers.bounds import Interval


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_papers_and_their_figures_are_listed(command):
    papers = command("paper", "--json").records
    assert [paper["id"] for paper in papers] == ["yu2010", "zhong2014", "blondel2013", "mathur2006"]
    found = command("paper", "yu2010", "--json").records
    assert len(found) == sum(papers[0][word] for word in ("ready", "no data", "not run")) == 28
    by_id = {record["id"]: record for record in found}
    assert by_id["figure-3"]["state"] == "ready"
    assert by_id["figure-3"]["about"] == "on toy-abs"
    assert by_id["figure-12"]["state"] == "not run"
    table = command("paper", "yu2010")
    assert table.status == 0
    assert "It is a drawing of an algorithm." in " ".join(table.out.split())


def test_a_figure_is_run_and_written_beside_the_papers(command):
    pytest.importorskip("distributed")
    done = command("paper", "yu2010", "figure-3", "--budget", "1m", "--workers", "1", "--json")
    assert done.status == 0, done.err
    assert len(done.of_type("cell")) == 3
    verdicts = {record["claim"]: record["verdict"] for record in done.of_type("claim")}
    assert verdicts["subBFGS is at the optimum at its second step"] == "seen"
    assert len(verdicts) == 3
    (page,) = done.of_type("page")
    text = Path(page["file"]).read_text(encoding="utf-8")
    assert all(said in text for said in ("Figure 3", *verdicts, "bfgs-inexact", "docs_json"))
    assert "http://" not in text.partition("<body>")[2].partition("docs_json")[0]

    refused = command("paper", "yu2010", "figure-3", "--budget", "1m", "--workers", "1")
    assert refused.status == 2
    assert "has 3 results already: give --resume" in refused.err
    again = command("paper", "yu2010", "figure-3", "--budget", "1m", "--workers", "1", "--resume")
    assert again.status == 0, again.err
    assert "3 of them kept from before" in again.err
    assert "seen" in again.out
    assert Path(page["file"]).read_text(encoding="utf-8").count("<section>") == text.count("<section>")


@pytest.mark.parametrize(
    ("here", "record"),
    [
        (Interval.exact(3.0), {"here": 3.0, "at_least": 3.0, "at_most": 3.0}),
        (Interval.at_least(67.0), {"here": None, "at_least": 67.0, "at_most": math.inf}),
        (None, {"here": None, "at_least": None, "at_most": None}),
    ],
)
def test_a_number_that_is_open_says_what_it_is_at_least(here, record):
    assert bounds(here) == record


@pytest.mark.slow
def test_all_that_runs_on_functions_and_stand_ins_shares_a_budget(command, monkeypatch, tmp_path):
    """Without any files of data."""
    monkeypatch.setenv("SOLVERSCOPE_DATA", str(tmp_path))
    done = command("paper", "zhong2014", "all", "--budget", "40s", "--json", "--out", "here")
    assert done.status == 0, done.err
    kept = [json.loads(line) for line in Path("here/all.sweep/cells.jsonl").read_text().splitlines()]
    assert {record["dataset"] for record in kept} == {"digit-strings", "digits-tree"}
    claims = done.of_type("claim")
    assert {record["exhibit"] for record in claims} > {"figure-1", "figure-2", "table-2", "figure-8"}
    assert {record["verdict"] for record in claims} == {"not judged"}, "these are not the paper's data"
    assert any("on other data)" in said for record in claims for said in record["numbers"])
    sizes = done.of_type("size")
    assert {(size["data"], size["in_paper"], size["same"]) for size in sizes} == {
        (data, None, False) for data in ("digit-strings", "digits-tree")
    }
    assert Path("here/all.html").stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("zhong",), "there is no paper 'zhong' (did you mean zhong2014?): choose one of yu2010"),
        (("yu2010", "figure-99"), "yu2010 has no 'figure-99': choose one of figure-1"),
        (("yu2010", "figure-1"), "Figure 1 is not run: It is a drawing of two inequalities"),
        (("yu2010", "figure-3", "--budget", "5x"), "--budget 5x is not possible: give seconds"),
        (("yu2010", "figure-3", "--budget", "0s"), "--budget 0s is not possible"),
        (("yu2010", "figure-3", "--workers", "0"), "--workers 0 is not possible"),
        (("yu2010", "figure-3", "--scheduler", "tcp://127.0.0.1:1", "--workers", "2"), "not both"),
    ],
)
def test_bad_usage_is_one_line(command, arguments, said):
    answer = command("paper", *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert not list(Path().iterdir())
