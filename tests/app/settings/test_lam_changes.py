"""``--lam-at``: λ changes on the way where it is told to, and else a sentence says why not."""

from __future__ import annotations

import pytest

RUN = ("run", "breast-cancer", "--lam", "0.01", "--solver", "prox-qn", "--solver", "owl-qn")


def test_every_run_goes_on_at_another_lambda_from_the_iterate_named(command):
    answer = command(*RUN, "--lam-at", "5=0.03", "--lam-at", "3=0.002", "--max-iter", "6", "--json")
    assert answer.status == 0, answer.err
    turned = [(r["iteration"], r["events"][0]) for r in answer.of_type("iterate") if r["iteration"] in (3, 5)]
    assert turned == [(3, "lam=0.002"), (5, "lam=0.03")] * 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--lam-at", "3"), "write --lam-at name=value"),
        (("--lam-at", "0=1"), "--lam-at 0 is not possible: give a whole number from 1"),
        (("--lam-at", "3=-1"), "--lam-at 3 = -1 is not possible: give a number above 0"),
        (("--lam-at", "3=1", "--gap", "1e-3"), "--gap is measured against f* of one λ"),
    ],
)
def test_what_cannot_be_turned_gets_one_sentence(command, arguments, said):
    answer = command(*RUN, *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert answer.err.count("\n") == 1


def test_a_problem_without_lambda_is_not_turned(command):
    answer = command("run", "toy-wolfe", "--solver", "bfgs", "--lam-at", "3=1")
    assert answer.status == 2
    assert "the penalty none has no λ to change" in answer.err
