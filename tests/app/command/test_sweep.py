"""``solverscope sweep``: its table, its records, its folder, and what it says where it cannot run."""

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from solverscope.app.command import sweep as sweeps
from solverscope.app.sweep.cell_store import Store

SPEC = """
data = "breast-cancer"
lam_ratio = [0.2, 0.02]
solvers = ["prox-qn", "short=owl-qn,memory=3"]
[limits]
max_iter = 5
"""


@pytest.fixture
def spec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "grid.toml"
    path.write_text(SPEC)
    return str(path)


def test_sweep_on_this_machine_leaves_results_that_are_not_computed_again(command, spec, tmp_path):
    pytest.importorskip("distributed")
    done = command("sweep", spec, "--workers", "1", "--json")
    assert done.status == 0, done.err
    head, *cells = done.records
    assert (head["type"], head["cells"], head["folder"]) == ("sweep", 4, "grid.sweep")
    assert {(cell["label"], cell["lam_ratio"]) for cell in cells} == {
        (label, ratio) for label in ("prox-qn", "short") for ratio in (0.2, 0.02)
    }
    assert {cell["status"] for cell in cells} == {"max-iter"}
    alone = command(
        "run", "breast-cancer", "--lam-ratio", "0.02", "--solver", "prox-qn", "--max-iter", "5", "--json"
    )
    (result,) = alone.of_type("result")
    (same,) = [cell for cell in cells if (cell["label"], cell["lam_ratio"]) == ("prox-qn", 0.02)]
    assert same["objective"] == result["objective"]
    kept = tmp_path / "grid.sweep" / f"{same['cell']}.jsonl"
    recorded = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [r["objective"] for r in recorded if r["type"] == "iterate"] == [
        r["objective"] for r in alone.of_type("iterate")
    ]

    refused = command("sweep", spec)
    assert refused.status == 2
    assert "has 4 results already: give --resume" in refused.err
    again = command("sweep", spec, "--resume")
    assert again.status == 0
    assert "4 of them kept from before" in again.err
    table = again.out.splitlines()
    assert len(table) == 5
    assert table[0].split()[:4] == ["data", "seed", "λ", "run"]


@pytest.mark.slow
def test_the_best_lam_on_held_out_data_is_named(command, spec, tmp_path):
    pytest.importorskip("distributed")
    options = ("--workers", "1", "--choose", "lam", "--folds", "2")
    done = command("sweep", spec, *options, "--json")
    assert done.status == 0, done.err
    chosen = done.of_type("choice")
    assert [(one["label"], one["runs"], one["held_out"]) for one in chosen] == [
        ("prox-qn", 2, "2 parts"),
        ("short", 2, "2 parts"),
    ]
    for one in chosen:
        mine = [cell for cell in done.of_type("cell") if cell["label"] == one["label"]]
        means = {
            ratio: sum(cell["test_metric"] for cell in mine if cell["lam_ratio"] == ratio) / 2
            for ratio in (0.2, 0.02)
        }
        assert one["metric"] == max(means.values()) == means[one["lam_ratio"]]
        assert one["lam_ratio_1se"] >= one["lam_ratio"]
    kept = (tmp_path / "grid.sweep" / "choices.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in kept] == chosen
    again = command("sweep", spec, *options, "--resume")
    assert "λ chosen on held-out data" in again.out
    assert "λ/λmax, 1 s.e." in again.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sweep", "grid.toml", "--choose", "memory"), "choose 'memory' is not possible: choose lam"),
        (("sweep", "grid.toml", "--folds", "3"), "folds 3 choose nothing"),
        (("sweep", "none.toml"), "cannot read none.toml: no such file"),
        (("sweep", "grid.txt"), "must end in .toml or .json"),
        (("sweep", "grid.toml", "--scheduler", "tcp://127.0.0.1:1", "--workers", "2"), "not both"),
        (("sweep", "grid.toml", "--workers", "0"), "--workers 0 is not possible"),
    ],
)
def test_bad_usage_is_one_line(command, spec, arguments, said):
    answer = command(*arguments)
    assert answer.status == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("data = " + "[" * 30_000, "grid.toml: it is nested too deep"),
        ('loss = [["a"]]\n' + SPEC, "loss = [['a']] is not possible"),
        (
            SPEC.replace("[limits]", f"seeds = {'9' * 400}\n[limits]"),
            "seeds has a number of more than 19 digits",
        ),
        (SPEC.replace("[0.2, 0.02]", "{from = 1, to = 0.1, n = 60000000}"), "more than 10,000 runs"),
        (SPEC.replace("short", "\\u001b[2Jx"), "holds a control character: leave that out"),
    ],
)
def test_a_sweep_beyond_all_bounds_is_one_line(command, spec, text, said):
    Path(spec).write_text(text)
    answer = command("sweep", spec)
    assert answer.status == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert "\x1b" not in answer.err
    assert not Path("grid.sweep").exists()


def test_a_folder_in_use_is_one_line(command, spec):
    pytest.importorskip("distributed")
    other = Store(Path("shared"))
    other.open(resume=False)
    answer = command("sweep", spec, "--out", "shared")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        "solverscope: another sweep is at work in shared: wait until it has ended, or give --out to name "
        "another folder\n"
    )


def test_without_dask_it_says_what_to_install(command, spec, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "distributed" else found(name)
    )
    answer = command("sweep", spec)
    assert answer.status == 2
    assert 'python -m pip install "solverscope[cluster]"' in answer.err


@pytest.mark.parametrize(("word", "status"), [("converged", 0), ("failed", 3), ("disputed", 3)])
def test_a_sweep_with_a_run_that_failed_or_is_disputed_gives_3(word, status):
    cells = {key: SimpleNamespace(status=one) for key, one in enumerate(("max-iter", word))}
    assert sweeps.exit_status(SimpleNamespace(cells=cells)) == status
