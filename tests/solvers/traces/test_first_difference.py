"""Two runs compared down to the first quantity in which they differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.methods.iterate import Iterate
from solverscope.solvers.traces.first_difference import QUANTITIES, compare_runs
from solverscope.solvers.traces.reading import read
from solverscope.solvers.traces.trace import Trace
from tests.solvers.helpers import binary


def problem(penalty="l1", lam=0.02):
    return solvers.make_problem(binary(), loss="logistic", penalty=penalty, lam=lam)


def iterates(id, **params):
    return solvers.make_solver(id, **params).iterate(problem("l1" if id == "prox-qn" else "l2"))


@dataclass
class Seeded:
    """Iterates of L-BFGS, one of which is changed; an iterate's arrays are replaced and not written to."""

    at: int
    changes: dict[str, object] = field(default_factory=dict)
    pair: float = 1.0

    def __iter__(self) -> Iterator[Iterate]:
        for it in iterates("lbfgs"):
            if it.iteration == self.at:
                for name, change in self.changes.items():
                    setattr(it, name, change(getattr(it, name)))
                if self.pair != 1.0:
                    it.live["memory"].Y[-1] = self.pair * it.live["memory"].Y[-1]
            yield it


def first(left, right, **how):
    return compare_runs(left, right, max_iter=8, **how).difference


def test_a_run_is_the_same_as_its_replay_bit_for_bit():
    for id in ("lbfgs", "prox-qn"):
        found = compare_runs(iterates(id), iterates(id), tol=0.0, max_iter=8)
        assert found.difference is None
        assert found.iterates == 9
        assert {"w", "objective", "gradient", "s", "y", "search_direction", "step"} <= set(found.quantities)


def nudged(w):
    w = w.copy()
    w[3] += 1e-3
    return w


@pytest.mark.parametrize(
    ("name", "seeded"),
    [
        ("w", Seeded(4, {"w": nudged, "objective": lambda f: f + 1.0})),
        ("objective", Seeded(4, {"objective": lambda f: f * (1 + 1e-6), "violation": lambda v: 2 * v})),
        ("violation", Seeded(4, {"violation": lambda v: 2.0 * v})),
        ("y", Seeded(4, pair=1.5)),
        ("gamma", Seeded(4, {"gamma": lambda _: 7.0})),
        ("step", Seeded(4, {"step": lambda t: 0.5 * t, "objective": lambda f: 2 * f})),
    ],
)
def test_the_first_quantity_that_differs_is_named(name, seeded):
    left = Seeded(4, {"gamma": lambda _: 8.0}) if name == "gamma" else iterates("lbfgs")
    found = first(left, seeded)
    assert (found.iteration, found.name) == (4, name)
    assert found.difference > found.tolerance


def test_an_entry_of_weights_is_named_with_both_values():
    found = first(iterates("lbfgs"), Seeded(2, {"w": nudged}))
    assert found.entry == 3
    assert found.right - found.left == pytest.approx(1e-3)
    said = found.sentence("mine", "lbfgs")
    assert said.startswith("first difference: iteration 2, weights, entry 3: ")
    assert f"{found.left:.9g} of mine and {found.right:.9g} of lbfgs" in said


def test_a_tolerance_is_relative_to_the_size_of_what_is_compared():
    small = Seeded(3, {"objective": lambda f: f * (1 + 1e-7)})
    assert first(iterates("lbfgs"), small).name == "objective"
    assert first(iterates("lbfgs"), Seeded(3, small.changes), tol=1e-6) is None


def test_what_vanishes_is_compared_relative_to_its_largest_size():
    def run(end):
        return Trace.from_records(
            [{"iteration": k, "violation": v} for k, v in enumerate((1.0, 1e-6, end))], label="a"
        )

    assert compare_runs(run(1e-12), run(2e-12)).difference is None
    found = compare_runs(run(1e-12), run(2e-12), tol=1e-13).difference
    assert (found.iteration, found.name, found.tolerance) == (2, "violation", 1e-13)


def test_another_memory_is_named_where_it_drops_a_pair():
    found = first(iterates("lbfgs", memory=3), iterates("lbfgs", memory=10))
    assert (found.name, found.left, found.right) == ("memory_pairs", 3, 4)


def test_runs_of_other_steps_part_where_what_they_arrive_at_does():
    def run(label, step, *values):
        records = [{"iteration": k, "step": step, "objective": f} for k, f in enumerate(values)]
        return Trace.from_records(records, label=label)

    found = compare_runs(run("a", 1.0, 3.0, 2.0, 1.0, 0.5), run("b", 0.5, 3.0, 2.0, 1.5, 0.5))
    assert (found.difference.iteration, found.difference.name) == (0, "step")
    assert (found.parting.iteration, found.parting.name, found.iterates) == (2, "objective", 3)
    said = found.sentence("a", "b")
    assert said.startswith("they part at iteration 2, objective f: 1 of a and 1.5 of b (they differ by 0.5, ")
    assert "; first difference: iteration 0, accepted step t: 1 of a and 0.5 of b" in said
    same = compare_runs(run("a", 1.0, 3.0, 2.0), run("b", 0.5, 3.0, 2.0))
    assert (same.parting, same.difference.name) == (None, "step")
    assert same.sentence().startswith("the same in 2 iterates: objective f; first difference: iteration 0, ")
    first = compare_runs(run("a", 1.0, 3.0), run("b", 1.0, 2.0))
    assert first.parting == first.difference
    assert first.sentence().startswith("first difference: iteration 0, objective f")


def test_fields_of_their_own_are_compared_where_both_have_them():
    def run(*radii, **more):
        records = [{"iteration": k, "objective": 1.0, "radius": r} | more for k, r in enumerate(radii)]
        return Trace.from_records(records, label="a")

    found = compare_runs(run(1.0, 0.5), run(1.0, 0.25, accepted=1.0))
    assert (found.difference.iteration, found.difference.name) == (1, "radius")
    assert found.quantities == ("objective", "radius")
    same = compare_runs(run(1.0, 0.5), run(1.0, 0.5))
    assert same.sentence("a", "b") == "a and b are the same in 2 iterates: objective f, radius"


def test_a_field_of_its_own_may_have_the_name_of_a_step():
    left, right = ([Iterate(k, own={"t": t * k}) for k in range(3)] for t in (0.1, 0.2))
    assert first(left, right).sentence().startswith("first difference: iteration 1, t: 0.1 of ")
    with_trace = (Trace.from_records([{"iteration": 0, "t": t}], label="a") for t in (1.0, 2.0))
    assert compare_runs(*with_trace).difference.name == "t"


def test_another_working_set_comes_before_the_step_that_it_led_to():
    found = first(iterates("prox-qn"), iterates("prox-qn", shrinking=False))
    assert found.name == "working_set"


def test_members_of_a_set_and_their_entries_have_the_numbers_of_weights():
    few, others = (problem().design.working_set(np.array(members)) for members in ([1, 4], [1, 5]))

    def run(active, gradient):
        return [Iterate(0, live={"active": active, "gradient": np.array(gradient)})]

    found = compare_runs(run(few, [1.0, 2.0]), run(others, [1.0, 2.0])).difference
    assert (found.name, found.entry, found.left, found.right) == ("active", 4, "in the set", "not in it")
    found = compare_runs(run(few, [1.0, 2.0]), run(few, [1.0, 2.5])).difference
    assert (found.name, found.entry, found.right) == ("gradient", 4, 2.5)


def test_files_are_compared_by_the_columns_that_they_have(tmp_path):
    runs = [solvers.solve(problem("l2"), solvers.make_solver("lbfgs", memory=m), max_iter=8) for m in (10, 3)]
    for run, name in zip(runs, ("a.npz", "b.jsonl"), strict=True):
        run.save(tmp_path / name)
    (left,), (right,) = read(tmp_path / "a.npz"), read(tmp_path / "b.jsonl")
    found = compare_runs(left, right).difference
    assert found.name == "memory_pairs"
    assert compare_runs(left, runs[0], tol=0.0).difference is None
    assert compare_runs(right, iterates("lbfgs", memory=3)).difference.name == "end"


def test_the_last_weights_of_two_finished_runs_are_compared():
    records = [{"iteration": 0, "objective": 1.0}]
    runs = [Trace.from_records(records, label="a") for _ in range(2)]
    runs[0].w, runs[1].w = np.array([1.0, 2.0]), np.array([1.0, 2.5])
    found = compare_runs(*runs).difference
    assert (found.name, found.entry, found.left, found.right) == ("w", 1, 2.0, 2.5)
    runs[1].w = np.ones(3)
    assert compare_runs(*runs).difference.sentence("A", "B") == (
        "first difference: iteration 0, weights: 2 weights of A and 3 weights of B"
    )


def test_a_run_that_ends_before_the_other_differs_there():
    def run(n):
        return Trace.from_records([{"iteration": k, "objective": 1.0} for k in range(n)], label="a")

    found = compare_runs(run(3), run(5)).difference
    assert (found.iteration, found.name, found.left, found.right) == (3, "end", "none", "an iterate")
    assert compare_runs(run(5), run(3)).difference.right == "none"
    assert compare_runs(run(3), run(5), max_iter=2).difference is None


def test_iterates_that_only_one_run_has_kept_are_passed_over():
    every = Trace.from_records([{"iteration": k, "objective": float(k)} for k in range(9)], label="a")
    fourth = Trace.from_records([{"iteration": k, "objective": float(k)} for k in (0, 4, 8)], label="b")
    found = compare_runs(every, fourth)
    assert (found.iterates, found.difference) == (3, None)
    assert found.sentence("a", "b") == "a and b are the same in 3 iterates: objective f"


def test_runs_without_a_common_iterate_are_refused():
    runs = [Trace.from_records([{"iteration": k, "objective": 1.0}], label="a") for k in (1, 2)]
    with pytest.raises(ValueError, match="no iterate in common"):
        compare_runs(*runs)


def test_a_value_that_is_not_finite_in_one_run_alone_differs():
    def run(f):
        return [Iterate(0, objective=f)]

    assert compare_runs(run(1.0), run(np.inf)).difference.difference == np.inf
    assert compare_runs(run(np.inf), run(np.inf)).difference is None


def test_no_quantity_is_listed_twice():
    names = [quantity.name for quantity in QUANTITIES]
    assert len(names) == len(set(names))
