"""``solverscope path``: its records, its tables, its files, and what it refuses."""

from __future__ import annotations

import csv
import json
import signal

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.command import headless
from solverscope.app.settings.columns import PATH_TABLE, RUN_TABLE, SWEEP_TABLE
from solverscope.app.views.path.lam_path import PATH_COLUMNS
from solverscope.solvers.problems.metrics.multilabel import micro_f1, ranking_loss
from solverscope.solvers.runs.lam_path import TEST_MEASURES

FAST = ("--n-lams", "3", "--tol", "1e-3")
SQUARED = ("path", "digits", "--loss", "multiclass-squared-hinge", "--penalty", "l1-l2")


@pytest.fixture
def lines(command):
    """``lines("path", ...)`` are its records; it must have ended well."""

    def call(*arguments):
        answer = command(*arguments, "--json")
        assert answer.status == 0, answer.err
        return answer.records

    return call


def groups(records):
    """The records of each λ: from a ``problem`` to the next."""
    starts = [k for k, record in enumerate(records) if record["type"] == "problem"]
    assert starts[0] == 0
    return [records[a:b] for a, b in zip(starts, [*starts[1:], len(records)], strict=True)]


def test_every_lam_has_the_records_of_a_run(lines, command):
    found = groups(lines(*SQUARED, "--solver", "fista-ls", *FAST))
    assert len(found) == 3
    lam_max = found[0][0]["lam_max"]
    np.testing.assert_allclose([g[0]["lam"] for g in found], lam_max * np.array([1.0, 0.1, 0.01]))
    for group in found:
        kinds = [record["type"] for record in group]
        assert kinds == ["problem", "run", *["iterate"] * (len(kinds) - 3), "result"]
        at = ("--lam", str(group[0]["lam"]), "--solver", "fista-ls", "--tol", "1e-3", "--max-iter", "0")
        alone = command("run", *SQUARED[1:], *at, "--json").records
        assert alone[0] == group[0]
        assert group[1] == alone[1]
        assert alone[-1].keys() < group[-1].keys()
        assert group[-1]["lam"] == group[0]["lam"]
        assert (group[-1]["loss"], group[-1]["penalty"]) == (group[0]["loss"], group[0]["penalty"])


def test_solvers_and_objectives_follow_one_another(lines):
    given = ("--loss", "multiclass-squared-hinge", "--loss", "multiclass-logistic", "--penalty", "l1-l2")
    entrants = ("--solver", "fista-ls", "--solver", "slow=fista-cst", "--max-iter", "2", "--lams", "0.1,0.01")
    found = groups(lines("path", "digits", *given, *entrants, "--no-iterates"))
    assert [(g[0]["loss"], g[1]["label"], g[0]["lam"]) for g in found] == [
        (loss, label, lam)
        for loss in ("multiclass-squared-hinge", "multiclass-logistic")
        for label in ("fista-ls", "slow")
        for lam in (0.1, 0.01)
    ]
    assert {len(group) for group in found} == {3}


@pytest.mark.slow
def test_warm_starts_save_iterations(lines):
    def iterations(*lams):
        results = lines(*SQUARED, "--solver", "fista-cst", "--tol", "1e-4", "--no-iterates", "--lams", *lams)
        return [r["iterations"] for r in results if r["type"] == "result"]

    assert iterations("0.2,0.19")[1] < iterations("0.19")[0] / 2


def test_gap_asks_for_f_star_at_every_lam(lines):
    few = ("--gap", "1e-3", "--n-lams", "2", "--ratio-from", "0.3", "--ratio-to", "0.1")
    for group in groups(lines("path", "breast-cancer", "--solver", "prox-qn", *few)):
        assert group[1]["type"] == "reference"
        result = group[-1]
        assert result["status"] == "converged"
        distance = solvers.relative_gap(result["objective"], group[1]["f_star"])
        assert result["gap"] == pytest.approx(distance)
        assert result["gap"] <= 1e-3


def test_values_of_lam_are_taken_as_given(lines):
    def values(*arguments):
        records = lines(*SQUARED, "--solver", "fista-ls", "--max-iter", "1", "--no-iterates", *arguments)
        return [record["lam"] for record in records if record["type"] == "problem"]

    assert values("--lams", "0.1,1,0.5") == [0.1, 1.0, 0.5]
    np.testing.assert_allclose(
        values("--lam-from", "1e-2", "--lam-to", "1", "--n-lams", "3"), [0.01, 0.1, 1.0]
    )
    assert len(values()) == 10


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--lams 1,x", "--lams x is not possible: give a number above 0"),
        ("--lams 1,0", "--lams 0 is not possible: give a number above 0"),
        ("--lams 1 --n-lams 3", "leave --n-lams out"),
        ("--lams 1 --lam-to 3", "leave --lam-to out"),
        ("--lam-from 1", "give --lam-from with --lam-to, or ratios"),
        ("--lam-from 1 --lam-to 2 --ratio-to 0.1", "do not name a range"),
        ("--lam-from 1 --ratio-to 0.1", "do not name a range"),
        ("--ratio-to 0", "give a number above 0"),
        ("--n-lams 0", "give a whole number from 1"),
        ("--n-lams 10001", "--n-lams 10001 is not possible: give a whole number from 1 to 10"),
        ("--lams " + "1," * 10_000 + "1", "--lams names 10,001 values of λ: give at most 10,000"),
        ("--lam 1", "No such option"),
        ("--f-star 3", "write --f-star auto"),
        ("--penalty none", "penalty none has no λ: choose another penalty"),
        ("--penalty l2", "penalty l2 has no λ_max: give the λ themselves"),
        ("--loss chain-crf", "choose one of multiclass-logistic"),
        (
            "--loss multiclass-logistic --loss multiclass-squared-hinge --solver sgd-l1 --penalty l1-l2",
            "sgd-l1",
        ),
        ("--folds 3", "folds 3 choose nothing: give choose lam as well"),
        ("--choose lam --folds 1", "give a whole number from 2 to 100"),
        ("--choose lam --folds 3 --option cv=1/2", "folds hold out parts of digits: leave cv out"),
        ("--out a.xls", "must end in .jsonl, .csv, .npz"),
    ],
)
def test_bad_usage_gets_one_sentence_and_status_2(command, arguments, said):
    answer = command("path", "digits", "--solver", "fista-ls", *arguments.split())
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert said in answer.err


def test_people_get_a_table_for_each_objective(command):
    both = ("--loss", "multiclass-squared-hinge", "--loss", "multitask-squared-hinge", "--penalty", "l1-l2")
    answer = command("path", "digits", *both, "--solver", "fista-ls", *FAST)
    assert answer.status == 0
    titles = [line.strip() for line in answer.out.splitlines() if " with " in line]
    assert titles == ["multiclass-squared-hinge with l1-l2", "multitask-squared-hinge with l1-l2"]
    for heading in ("λ", "objective", "gap", "violation", "non-zeros", "rows", "CPU s", "test accuracy"):
        assert answer.out.count(heading) == 2
    assert "micro-F1" not in answer.out
    assert sum(line.startswith("fista-ls") for line in answer.out.splitlines()) == 6


def test_sets_of_labels_get_ranking_loss_and_micro_f1(command, tmp_path):
    out, given = tmp_path / "path.npz", ("--penalty", "l1-l2", "--solver", "fista-ls", "--n-lams", "2")
    answer = command("path", "synthetic-multilabel", *given, "--max-iter", "30", "--out", str(out))
    assert answer.status == 0
    assert "ranking loss" in answer.out
    assert "micro-F1" in answer.out
    problem = solvers.make_problem(datasets.load("synthetic-multilabel"), penalty="l1-l2")
    with np.load(out, allow_pickle=False) as arrays:
        w = np.zeros(problem.size)
        w[arrays["w_indices"]] = arrays["w_values"]  # at λ_max there are none
        loss, scores = problem.test_scores(w)
        assert arrays["test_ranking_loss"][1] == pytest.approx(ranking_loss(scores.Z, loss.y))
        assert arrays["test_micro_f1"][1] == pytest.approx(micro_f1(scores.Z, loss.y))
        assert arrays["test_micro_f1"][1] > 0.5


def test_all_measures_on_the_test_part_are_columns_of_the_tables():
    page = [field for _, field, _ in PATH_COLUMNS]
    for table in (PATH_TABLE, RUN_TABLE, SWEEP_TABLE, page):
        assert set(TEST_MEASURES) <= set(table)


def test_a_run_has_the_measures_of_a_path(command, lines):
    at = (
        "synthetic-regression",
        "--loss",
        "squared",
        "--penalty",
        "l1",
        "--solver",
        "newton-cd",
        "--tol",
        "1e-4",
    )
    on_path = lines("path", *at, "--ratio-from", "0.1", "--ratio-to", "0.1", "--n-lams", "1")[-1]
    alone = lines("run", *at, "--lam", str(on_path["lam"]))[-1]
    assert 0.0 < alone["test_mse"] == pytest.approx(on_path["test_mse"])
    assert alone["test_mae"] == pytest.approx(on_path["test_mae"])
    assert "test_micro_f1" not in alone
    said = command("run", *at, "--lam", str(on_path["lam"])).out
    assert "MSE" in said
    assert "MAE" in said


def test_jsonl_file_holds_what_standard_output_had(command, tmp_path):
    out = tmp_path / "path.jsonl"
    answer = command(*SQUARED, "--solver", "fista-ls", *FAST, "--json", "--out", str(out))
    assert [json.loads(line) for line in out.read_text().splitlines()] == answer.records


def test_csv_file_has_a_row_for_each_lam(command, tmp_path):
    out = tmp_path / "path.csv"
    answer = command(*SQUARED, "--solver", "fista-ls", *FAST, "--json", "--out", str(out))
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    results = answer.of_type("result")
    assert [float(row["lam"]) for row in rows] == [result["lam"] for result in results]
    assert [row["nnz_rows"] for row in rows] == [str(result["nnz_rows"]) for result in results]
    assert rows[0]["test_micro_f1"] == ""


def test_csv_file_has_no_label_that_a_spreadsheet_computes(command, tmp_path):
    out = tmp_path / "path.csv"
    command(*SQUARED, "--solver", "@x=fista-ls", *FAST, "--out", str(out))
    with out.open(newline="") as file:
        assert {row["label"] for row in csv.DictReader(file)} == {"'@x"}


def test_npz_file_holds_columns_and_weights(command, tmp_path):
    out = tmp_path / "path.npz"
    answer = command(*SQUARED, "--solver", "fista-ls", *FAST, "--json", "--out", str(out))
    results = answer.of_type("result")
    data = datasets.load("digits")
    with np.load(out, allow_pickle=False) as arrays:
        assert arrays["label"].tolist() == ["fista-ls"] * 3
        assert arrays["lam"].tolist() == [result["lam"] for result in results]
        assert np.isnan(arrays["test_micro_f1"]).all()
        for k, result in enumerate(results):
            w = np.zeros(arrays["w_size"][k])
            part = slice(*arrays["w_starts"][k : k + 2])
            w[arrays["w_indices"][part]] = arrays["w_values"][part]
            problem = solvers.make_problem(
                data, loss=result["loss"], penalty=result["penalty"], lam=result["lam"]
            )
            assert problem.at(w).objective == pytest.approx(result["objective"], rel=1e-12)


def test_ctrl_c_ends_the_whole_path_and_keeps_what_there_is(command, monkeypatch, tmp_path):
    # a test run in the background starts with the signal ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print_json = headless.print_json

    def printing(record):
        print_json(record)
        if record["type"] == "result":
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(headless, "print_json", printing)
    out = tmp_path / "path.csv"
    answer = command(*SQUARED, "--solver", "fista-ls", *FAST, "--json", "--out", str(out))
    assert answer.status == 130
    assert len(answer.of_type("result")) == 1
    assert len(out.read_text().splitlines()) == 2


def test_the_lam_with_the_best_metric_on_the_test_part_is_named(command, lines):
    given = ("path", "breast-cancer", "--solver", "prox-qn", *FAST, "--choose", "lam")
    records = lines(*given)
    results = [record for record in records if record["type"] == "result"]
    choice = records[-1]
    assert (choice["type"], choice["held_out"]) == ("choice", "test part")
    assert choice["metric"] == max(result["test_metric"] for result in results)
    assert choice["lam"] in {r["lam"] for r in results if r["test_metric"] == choice["metric"]}
    assert "λ chosen on held-out data" in command(*given).out
    refused = command(*given, "--option", "split=none")
    assert refused.status == 2
    assert "no λ can be chosen: these data have no test part" in refused.err


def test_folds_choose_the_lam_of_a_cross_validation_with_its_standard_error(command, lines):
    lams, folds = (0.2, 0.05, 0.01, 0.001), 3
    given = (
        "path",
        "breast-cancer",
        "--solver",
        "prox-qn",
        "--tol",
        "1e-6",
        "--choose",
        "lam",
        "--no-iterates",
    )
    at = ("--lams", ",".join(map(str, lams)))
    records = lines(*given, *at, "--folds", str(folds))
    assert [record["type"] for record in records] == [*["problem", "run", "result"] * len(lams), "choice"]
    metrics = np.empty((folds, len(lams)))
    for k in range(folds):
        problem = solvers.make_problem(datasets.load("breast-cancer", cv=f"{k + 1}/{folds}"), penalty="l1")
        for j, trace in enumerate(
            solvers.solve_path(problem, solvers.make_solver("prox-qn"), lams, tol=1e-6)
        ):
            metrics[k, j] = trace.result["test_metric"]
    means, errors = metrics.mean(axis=0), metrics.std(axis=0, ddof=1) / np.sqrt(folds)
    best = means.argmax()
    rule = np.flatnonzero(means >= means[best] - errors[best])[0]
    choice = records[-1]
    assert (choice["lam"], choice["lam_1se"]) == (lams[best], lams[rule])
    assert (choice["metric"], choice["standard_error"]) == pytest.approx((means[best], errors[best]))
    assert (choice["held_out"], choice["runs"]) == ("3 parts", folds)
    np.testing.assert_allclose([one[1] for one in choice["over"]], means)
    n = problem.loss.n_instances / (1 - 1 / folds)
    sums = ("--lams", ",".join(str(round(n) * lam) for lam in lams), "--sum")
    summed = lines(*given, *sums, "--folds", str(folds))[-1]
    assert summed["lam"] == pytest.approx(round(n) * choice["lam"]), (
        "λ weighs as much on a part as on the whole"
    )
    assert summed["metric"] == pytest.approx(choice["metric"], abs=0.01)
    table = command(*given, *at, "--folds", str(folds)).out
    assert "s.e." in table
    assert "λ, 1 s.e." in table
