"""Files of runs are read as they were written, and refused in a sentence where they are something else."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from solverscope.solvers.methods.iterate import FIELDS
from solverscope.solvers.traces.reading import read
from solverscope.solvers.traces.trace import Trace, lines, save

PROBLEM = {"type": "problem", "key": "k", "dataset": "digits", "loss": "logistic", "penalty": "l1"}
REFERENCE = {"type": "reference", "f_star": 0.25, "violation": None, "solver": "owl-qn", "cached": True}


def made(label, n, seed=0):
    rng = np.random.default_rng(seed)
    info = {"label": label, "solver": "prox-qn", "params": {"memory": 5}, "problem": PROBLEM}
    if label == "b":  # a branch
        info["from"] = {"run": "a", "iteration": 2}
    trace = Trace({**info, "reference": REFERENCE, "f_star": 0.25})
    for k in range(n):
        trace.append(
            {
                "iteration": k,
                "objective": rng.random(),
                "step": float("inf") if k == 1 else rng.random(),
                "phase": "fine" if k % 2 else None,
                "events": ("kink", "backtracked") if k == 2 else (),
            }
        )
    trace.w = np.where(rng.random(7) < 0.5, 0.0, rng.random(7))
    trace.result = {"type": "result", "label": label, "status": "max-iter", "message": "enough", "nnz": 3}
    trace.finish("max-iter", "enough")
    return trace


@pytest.mark.parametrize("ending", ["jsonl", "npz"])
def test_runs_that_were_saved_are_read_as_they_were(tmp_path, ending):
    traces = [made("a", 5), made("b", 3, seed=1)]
    save(traces, tmp_path / f"runs.{ending}")
    back = read(tmp_path / f"runs.{ending}")
    assert [t.info.label for t in back] == ["a", "b"]
    assert list(lines(back)) == list(lines(traces))
    for new, old in zip(back, traces, strict=True):
        assert (new.status, new.message, new.info.f_star) == ("max-iter", "enough", 0.25)
        for name in FIELDS:
            column = old.column(name)
            if ending == "jsonl" and name == "step":
                column = np.where(np.isinf(column), np.nan, column)  # JSON has no infinity
            assert new.column(name).dtype == column.dtype
            np.testing.assert_array_equal(new.column(name), column)
        if ending == "npz":
            np.testing.assert_array_equal(new.w, old.w)


@pytest.mark.parametrize("ending", ["jsonl", "npz"])
def test_runs_of_several_problems_and_of_one_label_are_read_as_they_were(tmp_path, ending):
    """As the page has them where a run has a penalty of its own, or comes from the history."""
    traces = [made("a", 4), made("a", 3, seed=1), made("c", 2, seed=2)]
    other = {**PROBLEM, "key": "other", "penalty": "l2"}
    traces[1].tell(problem=other, f_star=0.5, reference=None)
    save(traces, tmp_path / f"runs.{ending}")
    back = read(tmp_path / f"runs.{ending}")
    assert [t.info.label for t in back] == ["a", "a", "c"]
    assert [t.info.problem["penalty"] for t in back] == ["l1", "l2", "l1"]
    assert [t.info.f_star for t in back] == [0.25, 0.5, 0.25]
    for new, old in zip(back, traces, strict=True):
        np.testing.assert_array_equal(new.objective, old.objective)


def test_a_run_that_goes_on_is_saved_as_it_was_at_one_moment(tmp_path, monkeypatch):
    trace, column = made("a", 3), Trace.column

    def going_on(self, name):
        self.append({"iteration": len(self), "objective": 0.0})
        return column(self, name)

    monkeypatch.setattr(Trace, "column", going_on)
    save([trace], tmp_path / "runs.npz")
    monkeypatch.undo()
    (back,) = read(tmp_path / "runs.npz")
    np.testing.assert_array_equal(back.iteration, [0, 1, 2])


def test_a_file_that_ends_in_the_middle_of_a_run_has_it_as_interrupted(tmp_path):
    path = tmp_path / "run.jsonl"
    written = [json.dumps(line) for line in lines([made("a", 6)])]
    path.write_text("\n".join(written[:5]) + "\n")
    (trace,) = read(path)
    assert (trace.status, len(trace), trace.result) == ("interrupted", 2, {})


def write(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


RUN = {"type": "run", "label": "a", "solver": "x", "params": {}}
ORIGIN = {
    **{"label": "b", "solver": "x", "params": {}, "iteration": 1},
    **{"objective": 0.5, "cpu_seconds": 0.1, "wall_seconds": 0.1},
}


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        ([], "there is no run in it"),
        ([PROBLEM], "there is no run in it"),
        ([3], "line 1 is no record"),
        ([{**PROBLEM, "key": 3}], "line 1 has 3 for key, not a text"),
        ([{k: v for k, v in PROBLEM.items() if k != "key"}], "line 1 has no key"),
        ([{**PROBLEM, "lam": {"a": [1]}}], r"line 1 has {'a': \[1\]} for lam, not a number or null"),
        ([{**PROBLEM, "lam": math.inf}], "line 1 has inf for lam, not a number or null"),
        ([{**PROBLEM, "options": {"n": [1]}}], r"line 1 has {'n': \[1\]} for options, not a table"),
        ([{**PROBLEM, "n_samples": "many"}], "line 1 has 'many' for n_samples, not a whole number from 0"),
        ([{**PROBLEM, "more": []}], r"line 1 has \[\] for more, not a text, a number"),
        ([PROBLEM, {**REFERENCE, "f_star": "low"}], "line 2 has 'low' for f_star, not a number or null"),
        ([PROBLEM, {"type": "run"}], "line 2 has no label"),
        (
            [PROBLEM, {**RUN, "label": "\x1b[2J"}],
            r"line 2 has '\\x1b\[2J' for label, not a text that is not empty",
        ),
        ([PROBLEM, {**RUN, "params": 3}], "line 2 has 3 for params, not a table"),
        ([PROBLEM, {**RUN, "from": {"label": 3}}], "line 2 has 3 for label, not a text .* in from"),
        (
            [PROBLEM, {**RUN, "from": {**ORIGIN, "from": {**ORIGIN, "lam": "x"}}}],
            "line 2 has 'x' for lam, not a",
        ),
        ([PROBLEM, {**RUN, "lams": 3}], "line 2 has 3 for lams, not a list of records"),
        ([PROBLEM, {**RUN, "lams": [3]}], "line 2 is no record in lams"),
        ([PROBLEM, RUN, {"type": "iterate", "iteration": "x"}], "line 3 has 'x' for iteration"),
        ([PROBLEM, RUN, {"type": "iterate", "objective": 1.0}], "line 3 has no iteration"),
        ([PROBLEM, RUN, {"type": "iterate", "iteration": 10**30}], "line 3 has 1000000.* for iteration"),
        ([PROBLEM, RUN, {"type": "iterate", "iteration": 0, "nnz": True}], "line 3 has True for nnz"),
        ([PROBLEM, RUN, {"type": "iterate", "iteration": 0, "step": 10**400}], "line 3 has 1000.* for step"),
        ([PROBLEM, RUN, {"type": "iterate", "iteration": 0, "events": [3]}], r"line 3 has \[3\] for events"),
        (
            [PROBLEM, RUN, *2 * [{"type": "iterate", "iteration": 1}]],
            "the iterations of a do not come one after",
        ),
        ([PROBLEM, RUN, {"type": "result", "status": 3}], "line 3 has 3 for status, not a text"),
        ([PROBLEM, RUN, {"type": "result", "nnz": 1.5}], "line 3 has 1.5 for nnz, not a whole number"),
    ],
)
def test_what_is_no_file_of_runs_is_refused_in_a_sentence(tmp_path, records, sentence):
    write(tmp_path / "x.jsonl", *records)
    with pytest.raises(ValueError, match=f"^cannot read .*x.jsonl: {sentence}"):
        read(tmp_path / "x.jsonl")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("x.jsonl", b'{"type": "pro', "line 1 is not JSON: the file may have been cut"),
        ("x.jsonl", b"[" * 100_000, "line 1 is not JSON"),
        ("x.jsonl", b'{"iteration": ' + b"9" * 5000 + b"}", "line 1 is not JSON"),
        ("x.jsonl", b"\xff\xfe", "it is not text in UTF-8"),
        ("x.npz", b"PK", "it does not hold runs"),
        ("x.csv", b"", "a .csv holds no settings, save the run as .jsonl"),
        ("x.txt", b"", "the name must end in .jsonl or .npz"),
        ("none.jsonl", None, "there is no such file"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(tmp_path, name, content, sentence):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        read(tmp_path / name)


INFO = {"label": "a", "solver": "x", "params": {}, "result": {"status": "converged"}}


def arrays(problem=PROBLEM, info=INFO, **columns):
    texts = {"problem": np.array(json.dumps(problem)), "a/info": np.array(json.dumps(info))}
    return texts | {f"a/{name}": np.asarray(column) for name, column in columns.items()}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (arrays(info={}), "it does not hold runs"),
        (arrays(info=[3]), "it does not hold runs"),
        (arrays(info="result"), "it does not hold runs"),
        (arrays(problem=3), "a record of it is no record"),
        (arrays(problem={**PROBLEM, "lam": [1]}), r"a record of it has \[1\] for lam, not a number or null"),
        (arrays(info={**INFO, "params": 3}), "a record of it has 3 for params, not a table"),
        (arrays(info={**INFO, "setting": {}}), "a record of it has {} for setting, not a text"),
        (arrays(info={**INFO, "problem": 3}), "a record of it is no record in problem"),
        (arrays(info={**INFO, "result": 3}), "a record of it is no record"),
        (arrays(iteration=[0.5]), "a record of it has float64 for iteration"),
        (arrays(iteration=[-1]), "a record of it has iterations below 0"),
        (arrays(iteration=[1, 0]), "the iterations of a do not come one after the other"),
        (arrays(iteration=[0], objective=["low"]), "a record of it has <U3 for objective"),
        (arrays(iteration=[0], objective=[1j]), "a record of it has complex128 for objective"),
        (arrays(iteration=[0], phase=[3]), "a record of it has int64 for phase"),
        (arrays(iteration=[0], w_size=3, w_indices=[7], w_values=[1.0]), "it does not hold runs"),
        (
            arrays(iteration=[0], w_size=2**60, w_indices=[0], w_values=[1.0]),
            "a has 1152921504606846976 weights",
        ),
    ],
)
def test_arrays_that_are_something_else_are_refused(tmp_path, content, sentence):
    np.savez(tmp_path / "x.npz", **content)
    with pytest.raises(ValueError, match=f"cannot read .*x.npz: {sentence}"):
        read(tmp_path / "x.npz")


@pytest.mark.parametrize("ending", ["jsonl", "npz"])
def test_texts_are_read_without_what_a_terminal_takes_for_a_command(tmp_path, ending):
    trace = made("\x1b]0;owned\x07\x1b[31mred\x1b[0m\x9b2J\r\nλ", 2)
    trace.tell(params={"form": "\x1b[2Jx"})
    trace.result["message"] = "\x1b[1mwell\x08\tdone"
    save([trace], tmp_path / f"runs.{ending}")
    (back,) = read(tmp_path / f"runs.{ending}")
    assert back.info.label == "red2J  λ"
    assert back.info.params == {"form": "x"}
    assert back.message == "well done"


def test_half_a_character_is_read_as_an_unknown_one(tmp_path):
    write(tmp_path / "x.jsonl", PROBLEM, {**RUN, "label": "a\ud800"})
    assert read(tmp_path / "x.jsonl")[0].info.label == "a\ufffd"


def test_texts_and_reserved_names_of_a_file_are_no_fields_of_its_run(tmp_path):
    odd = {"prev": 1.0, "9lives": 1.0, "mood": "good", "radius": 0.5, "x" * 41: 1.0, "on": True}
    write(tmp_path / "a.jsonl", PROBLEM, RUN, {"type": "iterate", "iteration": 0, **odd})
    (trace,) = read(tmp_path / "a.jsonl")
    assert trace.fields.keys() - FIELDS.keys() == {"radius"}
