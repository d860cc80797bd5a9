"""The command line against its contract: what is refused and how, what is written where."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import solverscope
from solverscope import datasets, solvers
from solverscope.app import plugins

ROOT = Path(__file__).resolve().parents[3]

PROBLEM = {
    *("type", "version", "dataset", "options", "loss", "penalty", "lam", "lam_max", "average", "intercept"),
    "penalty_factors",
    *("n_samples", "n_features", "n_outputs", "n_params", "seed", "key", "source"),
}
REFERENCE = {"type", "f_star", "violation", "solver", "cached"}
ITERATE = {
    *("type", "label", "solver", "iteration", "epoch", "phase", "cpu_seconds", "wall_seconds", "passes"),
    *("objective", "loss", "penalty", "violation", "nnz", "nnz_rows", "working_set", "returned", "step"),
    *("ls_trials", "ls_kind", "memory_pairs", "gamma", "curvature", "inner_iterations", "qp_iterations"),
    *("clusters", "crossovers", "dual_gap", "events"),
}
RESULT = {
    *(
        "type",
        "label",
        "solver",
        "status",
        "message",
        "objective",
        "violation",
        "dual_gap",
        "nnz",
        "nnz_rows",
    ),
    *("iterations", "epochs", "passes", "cpu_seconds", "wall_seconds", "setup_seconds", "compile_seconds"),
    *("train_metric", "test_metric", "metric_name"),
}


def assert_refused(answer, *said):
    """Exit status 2, nothing on standard output, and one line on standard error that says all of ``said``."""
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1, answer.err
    assert answer.err.endswith("\n")
    assert "Traceback" not in answer.err
    for text in said:
        assert text in answer.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "Missing command"),
        ("frobnicate", "No such command 'frobnicate'"),
        ("list", "Missing argument"),
        ("list colours", "stories, views, rules, fields, traits"),
        ("run", "Missing argument 'DATASET'"),
        ("run digits", "Missing option '--solver'"),
        ("run digits --solver prox-qn --colour red", "No such option: --colour"),
        ("run digits --solver prox-qn --tol", "requires an argument"),
        ("list solvers prox-gn", "there is no solver 'prox-gn' (did you mean prox-qn?): choose one of"),
        ("list stories shrinkin", "there is no story 'shrinkin' (did you mean shrinking?)"),
        ("run digitz --solver prox-qn", "(did you mean digits?): choose one of digits"),
        ("run digits --solver prox-q", "(did you mean prox-qn?): choose one of prox-qn"),
        ("run digits --solver prox-qn --loss lgistic", "(did you mean logistic?): choose one of logistic"),
        ("run digits --solver prox-qn --penalty elastik-net", "(did you mean elastic-net?)"),
        ("run digits --solver prox-qn --penalty l3", "choose one of none"),
        ("run digits --solver prox-qn --loss chain-crf", "choose one of multiclass-logistic"),
        ("run digits --solver prox-qn --lam 0", "--lam 0 is not possible: give a number above 0"),
        ("run digits --solver prox-qn --lam -1", "give a number above 0"),
        ("run digits --solver prox-qn --lam nan", "give a number above 0"),
        ("run digits --solver prox-qn --lam inf", "give a number above 0"),
        ("run digits --solver prox-qn --lam much", "give a number above 0"),
        ("run digits --solver prox-qn --lam-ratio 0", "give a number above 0"),
        ("run digits --solver prox-qn --lam 1 --lam-ratio 0.1", "give one of them"),
        ("run digits --solver prox-qn --penalty none --lam 1", "has no λ"),
        ("run digits --solver prox-qn --penalty l2 --lam-ratio 0.1", "give lam instead"),
        ("run digits --solver prox-qn --tol -1", "give a number from 0"),
        ("run digits --solver prox-qn --gap x --f-star 1", "give a number from 0"),
        ("run digits --solver prox-qn --f-star best", "give a number"),
        ("run digits --solver prox-qn --max-iter 1.5", "give a whole number from 0"),
        ("run digits --solver prox-qn --max-seconds nan", "give a number from 0"),
        ("run digits --solver prox-qn --seed -1", "give a whole number from 0"),
        ("run digits --solver prox-qn --break nnz**2>1", "is no condition to break at"),
        ("run digits --solver prox-qn --threads 0", "give a whole number from 1"),
        ("run digits --solver prox-qn,memory=0", "memory must be a whole number from 1"),
        ("run digits --solver prox-qn,memory=many", "memory must be"),
        ("run digits --solver prox-qn,colour=red", "has no parameter 'colour'"),
        ("run digits --solver prox-qn,memory", "write --solver prox-qn: name=value"),
        ("run digits --solver =prox-qn", "write --solver [LABEL=]ID"),
        ("run digits --solver a=prox-qn --solver a=owl-qn", "give each a label of its own"),
        ("run digits --solver prox-qn --set memory", "write --set name=value"),
        ("run digits --solver prox-qn --set growth=2", "none of the solvers has a parameter 'growth'"),
        ("run digits --solver prox-qn --set b.memory=2", "no run is labelled 'b'"),
        ("run digits --solver prox-qn --penalty-set rho=1", "penalty l1 has no parameter 'rho'"),
        ("run digits --solver prox-qn --loss-set a=1", "has no parameter 'a'"),
        ("run digits --solver prox-qn --option colour=red", "it takes split"),
        ("run digits --solver prox-qn --option seed=1", "no option 'seed'"),
        ("run digits --solver prox-qn --option degree=7", "a whole number from 1 to 2"),
        ("run digits --solver prox-qn --option positive=ten", "choose one of 0, 1"),
        ("run digits --solver prox-qn --out trace.xls", "must end in .jsonl, .csv, .npz"),
        ("run --from a.npz@3 --repeat 2", "--from goes on from one run: leave --repeat out"),
        ("run digits --solver prox-qn --out no/such/folder/a.csv", "there is no folder"),
        ("run digits --solver prox-qn --plugin missing.py", "name a Python file"),
        ("run svmlight: --solver prox-qn", "names no file"),
    ],
)
def test_bad_usage_gets_one_sentence_and_status_2(command, arguments, said):
    assert_refused(command(*arguments.split()), said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "There is no file"),
        (b"", "empty"),
        (b"+1 1:0.5\n-1 1:nan\n", "NaN or infinite"),
        (b"+1 1:0.5\n-1 2:inf\n", "NaN or infinite"),
        (b"1 1:0.5\n1 2:1\n", "at least two classes are needed"),
        (b"+1 one:0.5\n", "line 1"),
        (b"\x1f\x8b\x08 this is no gzip\n", ""),
    ],
)
def test_unusable_file_gets_one_sentence_and_status_2(command, tmp_path, content, said):
    path = tmp_path / "own.svm"
    if content is not None:
        path.write_bytes(content)
    assert_refused(command("run", f"svmlight:{path}", "--solver", "prox-qn"), said, "own.svm")


def test_tables_of_ones_own_are_run_as_rows_are(command, tmp_path):
    rows = "".join(f"{i % 5},{'xyz'[i % 3]},{i % 5 // 2}\n" for i in range(30))
    (tmp_path / "a.csv").write_text("size,colour,kind\n" + rows)
    np.savez(tmp_path / "a.npz", X=np.random.default_rng(0).normal(size=(30, 2)), y=np.arange(30) % 2)
    ways = (f"csv:{tmp_path / 'a.csv'}", "--option", "label=kind"), (f"npz:{tmp_path / 'a.npz'}",)
    for way in ways:
        answer = command("run", *way, "--solver", "prox-gd", "--max-iter", "3", "--json")
        assert answer.status == 0, answer.err
        assert '"iteration": 3' in answer.out
    assert_refused(
        command("run", ways[0][0], "--option", "label=sort", "--solver", "prox-gd"), "no column called"
    )


def test_folder_in_place_of_a_file_gets_one_sentence(command, tmp_path):
    assert_refused(command("run", f"svmlight:{tmp_path}", "--solver", "prox-qn"), tmp_path.name)


def test_label_unseen_in_training_gets_one_sentence(command, tmp_path):
    (tmp_path / "train").write_text("+1 1:1\n-1 2:1\n")
    (tmp_path / "test").write_text("+1 1:1\n3 2:1\n")
    option = f"test={tmp_path / 'test'}"
    answer = command("run", f"svmlight:{tmp_path / 'train'}", "--option", option, "--solver", "prox-qn")
    assert_refused(answer, "label 3")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "digi\0ts", "--solver", "prox-qn"),
        ("run", "digits", "--solver", "a\nb=prox-qn"),
        ("run", "digits", "--solver", "prox-qn", "--option", "positive=\0"),
        ("run", "digits", "--solver", "prox-qn", "--out", "a\0.csv"),
        ("list", "datasets", "--plugin", "\0.py"),
    ],
)
def test_control_character_gets_one_sentence(command, arguments):
    assert_refused(command(*arguments), "holds a control character: leave that out")


def test_memory_that_runs_out_is_told_in_our_words(command, monkeypatch):
    def load(*arguments, **options):
        raise MemoryError("Unable to allocate 671. GiB for an array")

    monkeypatch.setattr(datasets, "load", load)
    answer = command("run", "digits", "--solver", "prox-qn")
    assert_refused(answer, "out of memory: take a smaller problem")


@pytest.mark.usefixtures("registries")
def test_sequence_of_length_0_gets_one_sentence(command):
    def load(request):
        X, y = np.eye(2), np.array([0, 1], np.int32)
        part = datasets.Part(X, y, np.array([0, 1, 1, 2]))
        return datasets.Content(part, ("a", "b"), ("x1", "x2"), "digest")

    datasets.register(datasets.DataSetInfo("gappy", "Gappy", "", "sequences", load))
    assert_refused(command("run", "gappy", "--solver", "prox-qn"), "sequence 2", "length 0")


@pytest.mark.usefixtures("registries")
def test_solver_that_does_not_fit_is_refused_with_those_that_do(command):
    @solvers.register
    @dataclass(frozen=True)
    class Kinked(solvers.Penalty):
        id, name, summary, sparse = "kinked", "Kinked", "", True
        traits = solvers.Trait.PROX

    answer = command("run", "digits", "--penalty", "kinked", "--lam", "1", "--solver", "prox-qn")
    assert_refused(answer, "needs a penalty that is separable by weights", "choose one of prox-gd")


@pytest.mark.usefixtures("registries")
def test_solver_that_refuses_the_size_says_so(command):
    @solvers.register
    @dataclass(frozen=True)
    class Huge(solvers.Solver):
        id, name, summary = "huge", "Huge", ""

        def refuses(self, problem):
            return f"its matrix of {problem.size} x {problem.size} weights would take too much memory"

    assert_refused(command("run", "digits", "--solver", "huge"), "640 x 640", "too much memory")


def test_json_lines_have_the_fields_of_the_contract_in_order(command):
    answer = command(
        *("run", "digits", "--solver", "fast=prox-qn,memory=5", "--solver", "prox-gd", "--max-iter", "6"),
        *("--f-star", "auto", "--json", "--lam-ratio", "0.2"),
    )
    assert answer.status == 0
    types = "".join(record["type"][:3] + " " for record in answer.records)
    assert re.fullmatch(r"pro ref (run (ite )+res ){2}", types)
    assert all(set(record) == PROBLEM for record in answer.of_type("problem"))
    assert all(set(record) == REFERENCE for record in answer.of_type("reference"))
    assert all(set(record) == ITERATE for record in answer.of_type("iterate"))
    assert all(set(record) == RESULT for record in answer.of_type("result"))
    fast, slow = answer.of_type("run")
    assert (fast["label"], fast["solver"], fast["params"]["memory"]) == ("fast", "prox-qn", 5)
    assert (slow["label"], slow["solver"]) == ("prox-gd", "prox-gd")
    labels = [record["label"] for record in answer.of_type("iterate")]
    assert labels == sorted(labels)  # runs never interleave
    assert [r["status"] for r in answer.of_type("result")] == ["max-iter", "max-iter"]
    problem = answer.records[0]
    assert problem["lam"] == pytest.approx(0.2 * problem["lam_max"])


def test_iterates_start_at_zero_and_time_never_runs_back(command):
    answer = command("run", "breast-cancer", "--solver", "prox-qn", "--json")
    iterates = answer.of_type("iterate")
    assert [r["iteration"] for r in iterates][:3] == [0, 1, 2]
    assert iterates[0]["nnz"] == 0
    seconds = [r["cpu_seconds"] for r in iterates]
    assert seconds == sorted(seconds)
    result = answer.of_type("result")[0]
    assert result["status"] == "converged"
    # the result is that of scores made afresh
    assert result["objective"] == pytest.approx(iterates[-1]["objective"], rel=1e-12)


def test_numbers_that_are_not_finite_are_null(command):
    answer = command("run", "digits", "--solver", "prox-gd", "--max-iter", "1", "--json")
    assert not re.search(r"\b(NaN|Infinity)\b", answer.out)
    assert answer.of_type("iterate")[0]["step"] is None


def test_same_seed_gives_the_same_iterates_and_another_one_does_not(command):
    def objectives(seed):
        answer = command(
            *("run", "synthetic-chain", "--option", "n_samples=20", "--seed", seed, "--max-iter", "8"),
            *("--solver", "prox-qn,order=random", "--json"),
        )
        assert answer.of_type("run")[0]["params"]["seed"] == int(seed)
        return [record["objective"] for record in answer.of_type("iterate")]

    assert objectives("3") == objectives("3") != objectives("4")


def test_break_ends_each_run_at_the_first_iterate_where_the_condition_holds(command):
    arguments = ("--solver", "prox-qn", "--solver", "prox-gd", "--max-iter", "50", "--json")
    answer = command(
        "run", "digits", *arguments, "--break", "nnz > 100 and iteration > 2", "--break", "step < 0"
    )
    assert answer.status == 0
    for label, result in zip(("prox-qn", "prox-gd"), answer.of_type("result"), strict=True):
        iterates = [record for record in answer.of_type("iterate") if record["label"] == label]
        held = [record["nnz"] > 100 and record["iteration"] > 2 for record in iterates]
        assert held == [False] * (len(held) - 1) + [True]
        assert result["status"] == "stopped"
        assert result["message"].startswith("nnz > 100 and iteration > 2 at iteration")


def test_gap_means_f_star_auto_and_the_second_time_it_is_looked_up(command):
    arguments = ("run", "digits", "--option", "positive=3", "--gap", "1e-5", "--solver", "prox-qn", "--json")
    first, second = command(*arguments), command(*arguments)
    assert [a.of_type("reference")[0]["cached"] for a in (first, second)] == [False, True]
    assert first.of_type("reference")[0]["f_star"] == second.of_type("reference")[0]["f_star"]
    for answer in (first, second):
        result, f_star = answer.of_type("result")[0], answer.of_type("reference")[0]["f_star"]
        assert result["status"] == "converged"
        assert 0 <= (result["objective"] - f_star) / f_star <= 1e-5


def test_f_star_may_be_given_as_a_number(command):
    answer = command("run", "digits", "--f-star", "0.5", "--gap", "1", "--solver", "prox-gd", "--json")
    assert answer.of_type("reference")[0]["f_star"] == 0.5
    result = answer.of_type("result")[0]
    assert (result["status"], result["objective"] <= 1.0) == ("converged", True)


def test_f_star_that_an_iterate_is_below_ends_nothing_and_is_told(command):
    both = ("--solver", "prox-gd", "--solver", "prox-qn", "--max-iter", "30")
    answer = command("run", "digits", "--f-star", "2.0", "--gap", "1e-2", *both, "--json")
    first, second = answer.of_type("result")
    assert (first["status"], second["status"]) == ("max-iter", "max-iter")
    assert first["objective"] < 1.9
    assert "f is below f* = 2" in first["message"]
    assert answer.err.count("that is not the minimum") == 1
    assert "Traceback" not in answer.err


def test_kept_f_star_that_an_iterate_is_below_is_solved_for_again(command, monkeypatch, tmp_path):
    from solverscope.app.runs import reference

    monkeypatch.setenv("SOLVERSCOPE_HOME", str(tmp_path))
    problem = solvers.make_problem(datasets.load("breast-cancer"))
    true = reference.reference(problem)
    reference.keep(problem, reference.Reference(1.5 * true.f_star, 0.0, None, "prox-qn", cached=False))
    both = ("--solver", "prox-gd", "--solver", "prox-qn", "--gap", "1e-3", "--max-iter", "500")
    answer = command("run", "breast-cancer", *both, "--json")
    wrong, right = answer.of_type("reference")
    assert (wrong["cached"], right["cached"]) == (True, False)
    assert right["f_star"] == true.f_star
    assert answer.err.count("that is not the minimum") == 1
    assert answer.of_type("result")[1]["status"] == "converged"


def test_without_json_a_table_goes_to_standard_output_and_progress_elsewhere(command):
    answer = command(
        "run", "digits", "--solver", "prox-qn", "--solver", "prox-qn,memory=2", "--max-iter", "3"
    )
    rows = answer.out.splitlines()
    assert rows[0].split()[:2] == ["run", "status"]
    assert [row.split("max-iter")[0].strip() for row in rows[1:]] == ["prox-qn", "prox-qn memory=2"]
    assert "1,438 instances" in answer.err


def test_sum_is_average_times_the_number_of_instances(command):
    both = [
        command("run", "digits", flag, "--lam", "1", "--max-iter", "0", "--solver", "prox-gd", "--json")
        for flag in ("--sum", "--average")
    ]
    f = [answer.of_type("result")[0]["objective"] for answer in both]
    assert f[0] == pytest.approx(both[0].records[0]["n_samples"] * f[1])
    assert [answer.records[0]["average"] for answer in both] == [False, True]


def test_assets_that_are_missing_are_named(command, monkeypatch, tmp_path):
    assets = importlib.import_module("solverscope.app.ui.assets")
    monkeypatch.setattr(assets, "ASSETS", tmp_path)
    assets.asset.cache_clear()
    with pytest.raises(
        ValueError, match=r"there is no .*drawn_updates\.js.*: the installation is damaged, so install"
    ):
        assets.asset("drawn_updates.js")


def test_commands_that_draw_nothing_do_without_panel():
    names = ["headless", "path", "sweep", "runs", "paper"]
    script = (
        "import importlib, sys\n"
        f"for name in {names}:\n"
        "    importlib.import_module(f'solverscope.app.command.{name}')\n"
        "    print(name, sorted({'panel', 'bokeh'} & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "".join(f"{name} []\n" for name in names)


def test_the_version_is_that_of_the_package(command):
    assert command("--version").out == f"solverscope {solverscope.__version__}\n"
    assert importlib.metadata.version("solverscope") == solverscope.__version__
    called = [sys.executable, "-m", "solverscope", "--version"]
    assert subprocess.check_output(called, text=True) == command("--version").out


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("swe", ["sweep"]),
        ("run breast", ["breast-cancer"]),
        ("path digits --loss multiclass-l", ["multiclass-logistic"]),
        ("run digits --penalty l1-", ["l1-l2", "l1-linf"]),
        ("run digits --solver mine=owl", ["mine=owl-qn", "mine=owl-qn-star"]),
        ("benchopt export mine brea", ["breast-cancer"]),
        ("run digits --tol 1", []),
    ],
)
def test_a_shell_completes_commands_and_ids(command, monkeypatch, words, found):
    monkeypatch.setenv("_SOLVERSCOPE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"solverscope {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    answer = command()
    assert (answer.status, answer.out.split(), answer.err) == (0, found, "")


@pytest.fixture
def asked(monkeypatch):
    """What Panel is asked for by those who serve in the test; it ends with a status of its own."""
    import panel.command

    calls = []

    def panel_command():
        calls.append(sys.argv[1:])
        sys.exit(3)

    monkeypatch.setattr(panel.command, "main", panel_command)
    monkeypatch.setattr(sys, "argv", [])
    return calls


def test_serve_binds_to_this_machine_and_passes_the_rest_on(asked, tmp_path):
    from solverscope.app.command import cli

    plugin = tmp_path / "own.py"
    plugin.write_text("")
    assert cli.main(["serve", "--plugin", str(plugin), "--port", "5010", "--show"]) == 3
    assert asked == [["serve", str(ROOT / "app"), "--address", "localhost", "--port", "5010", "--show"]]
    assert plugins.loaded()[-1] == str(plugin)


@pytest.mark.parametrize("given", [["--public"], ["--args", "--public"]])
def test_a_server_for_the_public_listens_at_all_addresses(asked, given):
    from solverscope.app.command import cli

    cli.main(["serve", "--port", "5010", "--host", "desk.lan", *given])
    assert asked[0][2:] == ["--port", "5010", "--args", "--host", "desk.lan", "--public"]


@pytest.mark.parametrize(("given", "marker"), [(["--port", "5010"], ["--args"]), (["--args"], [])])
def test_serve_tells_the_page_names_and_memory(asked, given, marker):
    from solverscope.app.command import cli

    cli.main(["serve", "--memory", "2G", "--host", "desk.lan", *given])
    assert asked[0][4:] == [*given, *marker, "--host", "desk.lan", "--memory", str(2 << 30)]


def test_serve_tells_the_page_of_a_trusted_proxy(asked):
    from solverscope.app.command import cli

    cli.main(["serve", "--trusted-proxy", "Hub.example", "--host", "Desk.lan.", "--port", "5010"])
    told = ["--args", "--host", "desk.lan", "--trusted-proxy", "hub.example"]
    assert asked == [["serve", str(ROOT / "app"), "--address", "localhost", "--port", "5010", *told]]


@pytest.mark.parametrize("flag", ["--host", "--trusted-proxy"])
def test_serve_refuses_a_name_with_more_than_a_name(flag, asked, capsys):
    from solverscope.app.command import cli

    assert cli.main(["serve", flag, "https://hub.example/user/me"]) == 2
    assert (
        f"{flag} 'https://hub.example/user/me' is not possible: give a name alone" in capsys.readouterr().err
    )
    assert asked == []


def test_serve_refuses_a_size_of_memory_that_makes_no_sense(capsys):
    from solverscope.app.command import cli

    assert cli.main(["serve", "--memory", "much"]) == 2
    assert "give a size from 64M on, such as 8G" in capsys.readouterr().err


@pytest.mark.usefixtures("registries")
def test_serve_reads_own_files_first_and_offers_them_with_the_kind_of_their_labels(asked, tmp_path, capsys):
    from solverscope.app.command import cli

    rows, tokens, table = tmp_path / "rows.svm", tmp_path / "tokens", tmp_path / "table.csv"
    table.write_text("a,b,label\n1,x,0\n2,y,1\n3,y,2\n")
    np.savez(tmp_path / "a.npz", X=np.eye(2), y=[0, 1])
    rows.write_text("1 1:1\n2 1:2\n")
    tokens.write_text("He PRP B\nsaid VBD O\n\n")
    given = [str(rows), f"columns:{tokens}", str(rows), str(table), str(tmp_path / "a.npz")]
    cli.main(["serve", *(word for path in given for word in ("--data", path))])
    assert asked == [["serve", str(ROOT / "app"), "--address", "localhost"]]
    assert datasets.DATASETS[f"svmlight:{rows}"].kind == "binary"
    assert datasets.load(f"svmlight:{rows}").kind == "binary"
    assert datasets.DATASETS[f"columns:{tokens}"].kind == "sequences"
    assert datasets.DATASETS[f"csv:{table}"].kind == "multiclass"
    assert datasets.DATASETS[f"npz:{tmp_path / 'a.npz'}"].kind == "binary"
    capsys.readouterr()
    wrong = tmp_path / "wrong.svm"
    wrong.write_text("1 1:1\n2 1:x\n")
    assert cli.main(["serve", "--data", str(wrong)]) == 2
    assert "wrong.svm, line 2: a value is not a number" in capsys.readouterr().err
    assert cli.main(["serve", "--data", str(tmp_path / "nothing")]) == 2
    assert "There is no file" in capsys.readouterr().err
    assert len(asked) == 1
