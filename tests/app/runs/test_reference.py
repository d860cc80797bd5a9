"""Reference optima: how good they are, when they are taken from disk and when not."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.runs import reference as module
from solverscope.app.runs.reference import (
    MAX_ATTEMPTS,
    TARGET_TOL,
    Reference,
    cached,
    candidates,
    keep,
    reference,
)
from solverscope.datasets.store import home
from solverscope.solvers.problems import problem as problem_module
from tests.solvers.convex import Program
from tests.solvers.helpers import binary, multiclass, multilabel


@pytest.fixture
def fresh_home(monkeypatch, tmp_path):
    monkeypatch.setenv("SOLVERSCOPE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def make(dataset="digits", **keywords):
    return solvers.make_problem(datasets.load(dataset), **keywords)


@pytest.mark.quick("breast", "chain")
@pytest.mark.parametrize(
    ("dataset", "penalty", "strength"),
    [
        ("digits", "l1", {"lam_ratio": 0.05}),
        ("digits", "l2", {}),
        ("breast-cancer", "elastic-net", {}),
        ("synthetic-chain", "l1", {"lam_ratio": 0.05}),
    ],
)
@pytest.mark.usefixtures("fresh_home")
def test_reference_reaches_its_target_and_no_solver_gets_below(dataset, penalty, strength):
    problem = make(dataset, penalty=penalty, **strength)
    found = reference(problem)
    assert found.violation <= TARGET_TOL * problem.violation_at_zero()
    # where no weight violates its condition by more than ε λ, scaling the dual point by 1 / (1 + ε) makes it
    # feasible, and proves f - f* ≤ ε (L + 2 λ R) / (1 + ε)
    assert 0.0 <= found.gap <= 2.0 * found.violation / problem.lam * found.f_star
    trace = solvers.solve(problem, solvers.make_solver("owl-qn"), tol=1e-8, max_seconds=20)
    assert trace.result["objective"] >= found.f_star * (1 - 1e-13)


@pytest.mark.usefixtures("fresh_home")
def test_no_solver_takes_longer_than_it_may(monkeypatch):
    given, solve = [], solvers.solve

    def cut(problem, solver, **limits):
        given.append(limits["max_seconds"])
        return solve(problem, solver, **limits, max_iter=2)

    monkeypatch.setattr(solvers, "solve", cut)
    problem = make("breast-cancer")
    found = reference(problem, most=3.0)
    assert given == [3.0] * MAX_ATTEMPTS
    assert found.violation > TARGET_TOL
    assert cached(problem) is None, "who has more time finds a better one"


def test_second_call_reads_the_cache_and_another_problem_does_not(fresh_home):
    problem = make("breast-cancer")
    assert cached(problem) is None
    first = reference(problem)
    assert (first.cached, cached(problem)) == (False, replace(first, cached=True))
    assert reference(make("breast-cancer")) == replace(first, cached=True)
    assert cached(problem.at_lam(0.5 * problem.lam)) is None
    assert home() == fresh_home
    assert [path.name for path in (fresh_home / "reference").iterdir()] == [f"{problem.key}.json"]


#: What may stand in the place of a kept reference.
NESTED, HUGE = "[" * 100_000, '{"f_star": ' + "1" * 200_000 + "}"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"f_star": 1}', "null", "\x00\x01", NESTED, HUGE], ids=[*"abcdefgh"]
)
@pytest.mark.usefixtures("fresh_home")
def test_broken_cache_file_is_solved_again_and_replaced(text, caplog):
    problem = make("breast-cancer")
    first = reference(problem)
    path = home() / "reference" / f"{problem.key}.json"
    path.write_text(text)
    again = reference(problem)
    assert not again.cached
    assert [record.message.count("is deleted") for record in caplog.records] == [1]
    assert again.f_star == first.f_star
    assert json.loads(path.read_text())["f_star"] == first.f_star


@pytest.fixture
def kept():
    """A kept reference as (problem, path, entry)."""
    problem = make("breast-cancer")
    reference(problem)
    path = home() / "reference" / f"{problem.key}.json"
    return problem, path, json.loads(path.read_text())


@pytest.mark.usefixtures("fresh_home")
@pytest.mark.parametrize("f_star", [float("nan"), -5, 1e9, None, "x", float("inf")], ids=str)
def test_value_put_into_a_kept_reference_is_not_believed(kept, f_star):
    problem, path, entry = kept
    path.write_text(json.dumps({**entry, "f_star": f_star}))
    assert cached(problem) is None
    assert not path.exists()


@pytest.mark.usefixtures("fresh_home")
@pytest.mark.parametrize(
    ("field", "value"),
    [("f_star", float("nan")), ("f_star", 1e9), ("violation", -1.0), ("violation", None), ("gap", -1.0)],
)
def test_impossible_numbers_are_not_believed_with_a_digest_either(kept, field, value):
    problem, path, entry = kept
    right = Reference(entry["f_star"], entry["violation"], None, "prox-qn", cached=False)
    keep(problem, replace(right, **{field: value}))
    assert json.loads(path.read_text()).keys() == entry.keys()
    assert cached(problem) is None


@pytest.mark.usefixtures("fresh_home")
def test_a_reference_cut_anywhere_or_with_bytes_changed_is_not_believed(kept):
    problem, path, entry = kept
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for end in rng.choice(len(whole), 20, replace=False):
        path.write_bytes(whole[:end])
        assert cached(problem) is None
    for place in rng.choice(len(whole), 200, replace=False):
        damaged = bytearray(whole)
        damaged[place] ^= rng.integers(1, 256)
        path.write_bytes(damaged)
        found = cached(problem)
        assert found is None or found.f_star == entry["f_star"]  # a blank changed, for instance


@pytest.mark.usefixtures("fresh_home")
def test_edited_loss_or_penalty_is_not_taken_from_the_cache(monkeypatch):
    reference(make("breast-cancer"))
    assert cached(make("breast-cancer")) is not None
    monkeypatch.setattr(problem_module, "source_digest", lambda cls: f"{cls.__name__}, edited")
    assert cached(make("breast-cancer")) is None


def test_what_has_no_source_is_not_kept(monkeypatch, fresh_home):
    monkeypatch.setattr(problem_module, "source_digest", lambda cls: None)
    assert reference(make("breast-cancer")).f_star > 0.0
    assert not (fresh_home / "reference").exists()


def test_full_home_is_done_without_and_left_clean(monkeypatch, fresh_home, caplog):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert not reference(make("breast-cancer")).cached
    assert os.listdir(fresh_home / "reference") == []
    assert "the disk is full" in caplog.text


def test_home_that_cannot_be_written_is_done_without(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("SOLVERSCOPE_HOME", str(tmp_path / "file"))
    assert np.isfinite(reference(make("breast-cancer")).f_star)


@pytest.mark.usefixtures("fresh_home")
def test_gate_can_interrupt_and_nothing_is_cached():
    problem = make()

    def pulse():
        raise solvers.Interrupted

    with pytest.raises(solvers.Interrupted):
        reference(problem, SimpleNamespace(pulse=pulse))
    assert cached(problem) is None


@pytest.mark.usefixtures("fresh_home")
def test_where_the_first_solver_gives_up_another_goes_on_and_the_better_counts(monkeypatch):
    @dataclass(frozen=True)
    class GivesUp(solvers.Solver):
        id, name, summary = "gives-up", "Gives up", ""

        def iterate(self, problem, w0=None):
            yield solvers.Iterate.at(problem.at(w0), 0)

    problem = make("breast-cancer")
    ordered = [GivesUp(), solvers.make_solver("owl-qn")]
    monkeypatch.setattr(module, "candidates", lambda problem: iter(ordered))
    found = reference(problem)
    assert found.solver == "owl-qn"
    assert found.f_star < problem.at().objective

    monkeypatch.setattr(module, "candidates", lambda problem: iter(ordered[:1]))
    alone = reference(problem.at_lam(0.5 * problem.lam))
    assert alone.violation > TARGET_TOL * problem.violation_at_zero()  # and says so


@pytest.mark.usefixtures("fresh_home")
def test_problem_that_no_solver_takes_gets_one_sentence(monkeypatch):
    monkeypatch.setattr(module, "candidates", lambda problem: iter(()))
    with pytest.raises(ValueError, match="no solver here finds f\\* of this problem"):
        reference(make("breast-cancer"))


@pytest.mark.parametrize(
    ("loss", "penalty", "first"),
    [
        ("multiclass-squared-hinge", "l1-l2", "bcd-ls"),
        ("multiclass-squared-hinge", "l1-linf", "bcd-ls"),
        ("multiclass-logistic", "sparse-group", "bcd-ls"),
        ("multiclass-squared-hinge", "l1", "prox-qn"),
        ("multiclass-logistic", "l2", "prox-qn"),
    ],
)
def test_the_structure_of_the_problem_says_who_is_asked_first(loss, penalty, first):
    problem = solvers.make_problem(datasets.load("digits"), loss=loss, penalty=penalty, lam=1e-2)
    assert next(iter(candidates(problem))).id == first


def test_norms_of_rows_of_a_chain_are_left_to_steps_of_the_whole_gradient():
    problem = solvers.make_problem(datasets.load("digit-strings"), penalty="l1-l2", lam_ratio=0.1)
    assert [solver.id for solver in candidates(problem)][:2] == ["sparsa", "fista-ls"]


@pytest.mark.slow
def test_the_minimum_with_norms_of_rows_is_found_by_block_descent(fresh_home):
    """Of prox-gd it takes 20 times as long."""
    data = datasets.load("digits")
    problem = solvers.make_problem(data, loss="multiclass-squared-hinge", penalty="l1-l2", lam=1e-2)
    found = reference(problem)
    assert found.solver == "bcd-ls"
    assert found.violation <= TARGET_TOL * problem.violation_at_zero()


@pytest.mark.slow
@pytest.mark.usefixtures("fresh_home")
@pytest.mark.parametrize(
    ("of", "loss"),
    [(binary, "binary-hinge"), (multiclass, "multiclass-hinge"), (multilabel, "multilabel-hinge")],
)
def test_losses_with_kinks_have_a_reference_that_is_proved_instead(of, loss):
    data = of(60)
    problem = solvers.make_problem(data, loss=loss, penalty="l2", lam=0.05)
    found = reference(problem)
    least = Program(data, loss, "l2", 0.05, True).least()
    assert (found.solver, found.violation) == ("dual-cd", None)
    assert found.gap <= 1e-8 * found.f_star
    assert -1e-8 * least <= found.f_star - least <= found.gap + 1e-8 * least
    again = reference(problem)
    assert again.cached
    assert (again.f_star, again.gap, again.violation) == (found.f_star, found.gap, None)


def test_of_a_function_with_kinks_and_no_ridge_it_says_what_is_missing():
    problem = solvers.make_problem(datasets.load("toy-hull"))
    with pytest.raises(ValueError, match="cannot be certified for a non-smooth f"):
        reference(problem)
