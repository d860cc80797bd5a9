"""All figures and tables of the four papers, on the data at hand: what `solverscope paper ID all` writes.

    pytest -m bench tests/benchmarks/test_papers.py -s

writes build/reports/ID/all.html for each (``-k`` takes one: ``yu``, ``zhong``, ...). All runs of a paper
take SOLVERSCOPE_BUDGET seconds together (1800 where that is not set).
"""

from __future__ import annotations

import os

import pytest

from solverscope.app.papers import IDS, papers
from solverscope.app.papers.claims import SEEN
from tests.benchmarks.report import FOLDER

pytestmark = pytest.mark.bench

BUDGET = os.environ.get("SOLVERSCOPE_BUDGET", "1800")


@pytest.mark.parametrize("id", IDS)
def test_all_of_a_paper(id, command):
    folder = FOLDER / id
    done = command("paper", id, "all", "--budget", BUDGET, "--out", str(folder), "--resume", "--json")
    assert done.status == 0, done.err
    claims = done.of_type("claim")
    for claim in claims:
        print(f"{id} {claim['exhibit']}: {claim['verdict']}: {claim['claim']}: {'; '.join(claim['numbers'])}")
    assert len(claims) >= sum(len(one.claims) for one in papers()[id].exhibits.values())
    assert any(claim["verdict"] == SEEN for claim in claims)
    assert (folder / "all.html").stat().st_size > 0
