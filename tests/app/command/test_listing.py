"""``solverscope list``, for people and for programs, against the contract."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from solverscope import datasets, solvers

LISTED = {"id", "name", "summary", "paper", "available", "reason", "options"}
EXTRA = {
    "datasets": {
        *("loss", "penalty", "kind", "file", "size"),
        *("lam", "lam_nonzeros", "lam_weights", "lam_metric"),
    },
    "solvers": {"needs"},
    "fields": {"kind"},
    "traits": {"offered_by", "needed_by"},
}
KINDS = ["datasets", "losses", "penalties", "solvers", "stories", "views", "rules", "fields", "traits"]


@pytest.mark.parametrize("kind", KINDS)
def test_list_gives_one_object_a_line_with_the_fields_of_the_contract(command, kind):
    answer = command("list", kind, "--json")
    assert answer.status == 0
    extra = EXTRA.get(kind, set())
    for entry in answer.records:
        assert set(entry) == LISTED | extra
        assert entry["available"] is (entry["reason"] is None)
        assert all({"name", "default", "range"} <= set(option) for option in entry["options"])
    ids = [entry["id"] for entry in answer.records]
    assert len(set(ids)) == len(ids)
    assert "Traceback" not in answer.err


def test_list_shows_every_id_to_people_too(command):
    for kind in ("datasets", "solvers"):
        shown = command("list", kind).out
        for entry in command("list", kind, "--json").records:
            assert re.search(rf"^{entry['id']}\s", shown, re.MULTILINE)


@pytest.mark.parametrize("kind", KINDS)
def test_list_is_a_table_of_one_line_each(command, kind):
    found = command("list", kind, "--json").records
    shown = command("list", kind).out.splitlines()
    assert max(map(len, shown)) <= 160
    rows = shown[1 : len(found) + 1]
    assert [row.split()[0] for row in rows] == [entry["id"] for entry in found]
    missing = [entry for entry in found if not entry["available"]]
    assert len(shown) == len(found) + 1 + (2 if missing else 0)


def test_list_says_why_on_demand(command, monkeypatch):
    monkeypatch.setattr(
        datasets.registry.DATASETS["ocr"].__class__, "available", lambda self: (False, "it is away")
    )
    assert "it is away" not in command("list", "datasets").out
    assert "\nocr: it is away\n" in command("list", "datasets", "--why").out


def test_all_about_one_entry_is_shown(command):
    (told,) = command("list", "solvers", "owl-qn", "--json").records
    assert told["needs"] == "needs a smooth loss and a penalty that is separable by weights"
    shown = command("list", "solvers", "owl-qn").out
    assert shown.startswith("owl-qn: OWL-QN\n")
    for text in (told["summary"], told["paper"], told["needs"]):
        assert text in shown
    assert told["options"]
    for option in told["options"]:
        assert f"   {option['name']}={option['default']}: {option['range']}\n" in shown
        assert option["help"] in " ".join(shown.split())
    both = command("list", "solvers", "owl-qn", "lbfgs")
    assert [line for line in both.out.splitlines() if line[:1] > " "] == ["owl-qn: OWL-QN", "lbfgs: L-BFGS"]


def test_a_list_of_views_fields_rules_and_traits_names_what_python_has(command):
    ids = {kind: {entry["id"] for entry in command("list", kind, "--json").records} for kind in KINDS}
    assert {"convergence", "line-search", "algorithm"} <= ids["views"]
    assert ids["rules"] == set(solvers.RULES)
    assert ids["fields"] == set(solvers.FIELDS)
    assert ids["traits"] == {trait.name for trait in solvers.Trait}


#: Packages that take long to import.
HEAVY = {"panel", "bokeh", "holoviews", "sklearn", "pandas", "distributed"}


def test_list_answers_without_importing_what_it_does_not_need():
    """Half a second of CPU goes into Panel, and as much into scikit-learn."""
    kinds = ["datasets", "solvers", "stories"]
    script = (
        "import sys\n"
        "from solverscope.app.command.cli import main\n"
        f"for kind in {kinds}:\n"
        "    main(['list', kind, '--json'])\n"
        f"    print('loaded', kind, sorted({{m.partition('.')[0] for m in sys.modules}} & {HEAVY}))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("loaded")] == [f"loaded {kind} []" for kind in kinds]
    assert all(json.loads(line)["id"] for line in lines if not line.startswith("loaded"))
    assert len(lines) > 2 * len(kinds)
