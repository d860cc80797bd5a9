"""``solverscope check``: findings for people, programs and graders, and the commands that show them."""

from __future__ import annotations

import shlex
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest

from solverscope import solvers
from solverscope.app.settings.experiment import Experiment
from solverscope.solvers.checks.bank import cases_for
from tests.solvers.checks.bugs import BUGS, STUDENTS

pytestmark = pytest.mark.usefixtures("registries")


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A plug-in with a bug, in the folder where the command runs."""
    (bug,) = [bug for bug in BUGS if bug.title == "violation in another norm"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(bug.text(), encoding="utf-8")
    return "mine.py"


@pytest.fixture
def one_case(monkeypatch):
    """Solvers are tried on one case alone."""
    whole = solvers.check_solver

    def check(solver, **how):
        return whole(solver, cases=cases_for(solver)[:1], **how)

    monkeypatch.setattr(solvers, "check_solver", check)


@pytest.mark.usefixtures("one_case")
def test_a_finding_is_printed_with_the_commands_that_show_it(command, plugin, tmp_path):
    answer = command("check", plugin, "--json", "--junit", "result.xml")
    assert answer.status == 1, answer.err
    (finding,), (checked,) = answer.of_type("finding"), answer.of_type("checked")
    assert (finding["tested"], finding["quantity"]) == ("student-lbfgs", "violation")
    assert checked["findings"] == 1
    words = shlex.split(finding["command"])
    assert words[0] == "solverscope"
    told = (tmp_path / "mine.check" / f"{finding['check']}.finding").read_text(encoding="utf-8")
    assert finding["sentence"] in told
    assert finding["address"].endswith(f"&finding={finding['check']}")
    run = command(*words[1:], "--json")
    assert run.status == 0, run.err
    last = run.of_type("iterate")[-1]
    assert f"violation is told as {last['violation']:.6g}" in finding["sentence"]
    assert last["iteration"] == finding["iteration"]
    suite = ElementTree.parse(tmp_path / "result.xml").getroot()[0]
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed == [finding["check"]]
    assert suite.get("tests") == str(len(suite))
    skipped = {
        case.get("name"): mark.get("message") for case in suite if (mark := case.find("skipped")) is not None
    }
    assert skipped == checked["inapplicable"]
    assert skipped["epochs_count_from_zero"] == "no iterate tells epoch"


@pytest.mark.slow
@pytest.mark.usefixtures("one_case")
def test_the_address_opens_the_problem_and_pauses_at_the_iterate(command, plugin):
    from solverscope import datasets

    answer = command("check", plugin, "--solver", "student-lbfgs", "--json")
    (finding,) = answer.of_type("finding")
    query = {name: values[0] for name, values in parse_qs(urlsplit(finding["address"]).query).items()}
    offered = shlex.split(finding["serve"])
    datasets.offer(offered[offered.index("--data") + 1])
    base = Experiment.from_arguments("breast-cancer", ["lbfgs"])
    found, wrong = Experiment.from_address(query, base)
    assert wrong == []
    assert query["break"] == f"iteration >= {finding['iteration']}"
    problem = found.problem.make(found.problem.load())
    assert (problem.loss.n_instances, problem.size) == (
        finding["problem"]["n_samples"],
        finding["problem"]["n_features"],
    )
    assert [entrant.id for entrant in found.entrants] == ["student-lbfgs"]


@pytest.mark.slow
@pytest.mark.usefixtures("one_case")
def test_a_sound_plug_in_has_status_0_and_a_twin_that_differs_is_told(command, plugin, tmp_path):
    sound = str(STUDENTS / "lbfgs.py")
    answer = command("check", sound)
    assert (answer.status, answer.out.splitlines()[0].split(",")[0]) == (0, "student-lbfgs: 0 findings")
    assert " checks passed, " in answer.out.splitlines()[0]
    assert "   epochs_count_from_zero: no iterate tells epoch\n" in answer.out
    assert not list(tmp_path.glob("*.check"))
    answer = command("check", sound, "--solver", "student-lbfgs,memory=3", "--twin", "student-lbfgs")
    assert answer.status == 1
    assert "L-BFGS pairs held at iteration 4: 3 of" in answer.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("check", "none.py"), "there is no plugin"),
        (("check", "mine.py", "--solver", "nothing"), "there is no solver 'nothing'"),
        (("check", "mine.py", "--junit", "a.txt"), "name a file that ends in .xml"),
        (("check", "empty.py"), "registers nothing"),
        (("check", "mine.py", "--twin", "dual-cd"), "choose another twin"),
    ],
)
def test_bad_usage_is_one_sentence(command, plugin, tmp_path, arguments, sentence):
    (tmp_path / "empty.py").write_text("")
    answer = command(*arguments)
    assert answer.status == 2
    assert sentence in answer.err
    assert answer.err.count("\n") == 1
