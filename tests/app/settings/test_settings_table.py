"""Each setting is declared once: commands, addresses, tables and the page have what the table says."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace

import pytest
import typer

from solverscope.app.command import cli
from solverscope.app.page.page import Page
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import Entrant, Recipe, RunLimits
from solverscope.app.settings.settings_table import IN_ADDRESS, IN_RUN_FORM, SETTINGS, TOL, in_help, of_part
from solverscope.solvers import Condition
from solverscope.solvers.runs.stopping import USUAL_TOL

COMMANDS = typer.main.get_command(cli.app).commands
#: The options of two commands as they have always stood in their help.
HELP = {
    "run": (
        "--solver --loss --penalty --lam --lam-ratio --lam-at --f-star --break --from --shards --scheduler "
        "--repeat --json --out --plugin --average --set --loss-set --penalty-set --option --tol --gap "
        "--max-iter --max-seconds --seed --threads"
    ),
    "path": (
        "--solver --loss --penalty --lams --lam-from --lam-to --ratio-from --ratio-to --n-lams --f-star "
        "--json --iterates --choose --out --plugin --average --set --loss-set --penalty-set --option --tol "
        "--gap --max-iter --max-seconds --seed --threads"
    ),
}
FULL = Experiment(
    Recipe(
        "digits",
        {"positive": "3", "split": "random"},
        7,
        "logistic",
        "elastic-net",
        {"rho": 0.25},
        0.1 + 0.2,
        average=True,
        threads=2,
    ),
    (Entrant("prox-qn", "few", {"memory": 3}), Entrant("owl-qn", "owl-qn")),
    RunLimits(1e-5, max_iter=30, max_seconds=7.5, breaks=(Condition.parse("nnz > 100"),)),
    lams=((3, 0.5), (7, 0.1)),
)


@pytest.mark.parametrize("name", ["problem", "limits"])
def test_each_attribute_of_a_part_is_a_setting(name):
    part = {"problem": Recipe, "limits": RunLimits}[name]
    assert {one.name for one in fields(part)} == {one.name for one in of_part(name)}


@pytest.mark.parametrize("command", HELP)
def test_help_lists_each_setting_as_it_is_declared_and_in_the_usual_order(command):
    options = {flag: one for one in COMMANDS[command].params for flag in one.opts}
    order, usual = [one for one in options if one.startswith("-")], HELP[command].split()
    assert [flag for flag in order if flag in usual] == usual
    for setting in in_help(command):
        option = options[setting.flag.partition("/")[0]]
        assert (option.name, option.help) == (setting.name, setting.help)
        assert (option.metavar or "") == setting.metavar
        assert option.multiple == setting.codec.repeated


def test_the_words_of_a_command_line_stand_in_the_order_of_the_table():
    assert " ".join(FULL.arguments()) == (
        "run digits --option positive=3 --option split=random --penalty-set rho=0.25 --seed 7 "
        "--loss logistic --penalty elastic-net --lam 0.30000000000000004 --threads 2 --tol 1e-05 "
        "--max-iter 30 --max-seconds 7.5 --average --break nnz > 100 --lam-at 3=0.5 --lam-at 7=0.1 "
        "--solver few=prox-qn,memory=3,seed=0 --solver owl-qn,seed=0"
    )
    gap = replace(FULL, limits=RunLimits(gap=0.001, f_star="auto"), lams=())
    gap = replace(gap, problem=Recipe("digits", lam_ratio=0.1, average=False))
    assert " ".join(gap.arguments()[:-4]) == (
        "run digits --seed 0 --lam-ratio 0.1 --gap 0.001 --f-star auto --sum"
    )


def test_an_address_has_its_parameters_in_the_order_of_the_table():
    assert list(FULL.address().items()) == [
        ("data", "digits"),
        ("options", "positive=3,split=random"),
        ("seed", "7"),
        ("loss", "logistic"),
        ("penalty", "elastic-net,rho=0.25"),
        ("lam", "0.30000000000000004"),
        ("threads", "2"),
        ("solvers", "few=prox-qn,memory=3;owl-qn"),
        ("tol", "1e-05"),
        ("max_seconds", "7.5"),
        ("intercept", ""),
        ("penalty_factors", ""),
    ]


def test_a_table_is_written_as_before():
    assert FULL.table() == {
        "problem": {
            "data": "digits",
            "options": {"positive": "3", "split": "random"},
            "seed": 7,
            "loss": "logistic",
            "penalty": "elastic-net",
            "penalty_params": {"rho": 0.25},
            "lam": 0.30000000000000004,
            "average": True,
            "threads": 2,
        },
        "entrants": [
            {"id": "prox-qn", "label": "few", "params": {"memory": 3}},
            {"id": "owl-qn", "label": "owl-qn"},
        ],
        "limits": {"tol": 1e-05, "max_iter": 30, "max_seconds": 7.5, "breaks": ["nnz > 100"]},
        "lams": [[3, 0.5], [7, 0.1]],
    }


@pytest.mark.parametrize("setting", [one for one in IN_RUN_FORM if one.part], ids=lambda one: one.name)
def test_each_field_of_the_run_form_reaches_the_experiment_and_the_address(setting):
    value = setting.field.parse(setting.field.high)
    assert value != setting.field.default
    page = Page()
    try:
        page.limits.enter(setting.name, str(value))
        assert setting.of(page.setting) == value
        assert page.address()[setting.in_address] == setting.print_address(value)
        again = Page(page.query())
        assert again.setting == page.setting
        again.close()
    finally:
        page.close()


def test_names_and_url_parameters_are_not_used_twice():
    for names in ([one.name for one in SETTINGS], [one.in_address for one in IN_ADDRESS]):
        assert len(set(names)) == len(names)


def test_the_page_ends_runs_at_the_usual_tolerance():
    assert TOL.field.default == USUAL_TOL


def test_commands_are_declared_without_loading_the_solvers():
    code = "import sys, solverscope.app.command.cli; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
