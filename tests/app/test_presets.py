"""One word chooses what the paper prints: on the command line, in an address, and in the form."""

import pytest

from solverscope import solvers
from solverscope.app.page.sidebar.solver_panel import SolverPanel
from solverscope.app.settings import arguments
from solverscope.app.settings.recipe import Entrant, Recipe

PAPER = {"shrinking": False, "order": "cyclic", "lengthen": 1.0, "revisit": 0.0, "rule": "paper", "moves": 0}
PROBLEM = Recipe("digits", loss="multiclass-squared-hinge", penalty="l1-l2")


def made(texts, settings=()):
    return dict(arguments.make_solvers(arguments.choices(texts), settings, seed=5))


def test_the_command_line_takes_a_preset_among_the_settings_of_a_solver():
    found = made(["bcd-ls,preset=paper", "mine=bcd-ls,preset=paper,order=random"])
    assert found["bcd-ls"] == solvers.make_solver("bcd-ls", preset="paper", seed=5)
    assert found["mine"].order == "random"
    assert found["mine"].lengthen == 1.0


def test_a_preset_for_all_goes_to_those_that_have_one():
    found = made(["bcd-ls", "sparsa", "bcd-cst,revisit=0.5"], ["preset=paper"])
    assert found["bcd-ls"].order == "cyclic"
    assert found["sparsa"] == solvers.make_solver("sparsa")
    assert (found["bcd-cst"].constant, found["bcd-cst"].revisit) == ("paper", 0.5)
    with pytest.raises(ValueError, match="none of the solvers has a parameter 'preset'"):
        made(["sparsa"], ["preset=paper"])


def test_an_address_keeps_the_values_a_preset_stands_for():
    (setting,) = Entrant.parse_all(["old=bcd-ls,preset=paper,omega=0.25"])
    assert setting.params == PAPER | {"omega": 0.25}
    assert Entrant.parse_all([str(setting)]) == (setting,)
    assert setting.make() == solvers.make_solver("bcd-ls", preset="paper", omega=0.25)


def test_the_form_offers_it_where_there_is_one_and_shows_its_values():
    panel = SolverPanel(lambda: None)
    panel.set(PROBLEM, [Entrant("bcd-ls", "bcd-ls"), Entrant("sparsa", "sparsa")])
    bcd, sparsa = panel.entries[:2]
    assert (bcd["presets"], sparsa["presets"]) == (["paper"], [])
    panel.receive({"action": "preset", "key": bcd["key"], "value": "paper"})
    panel.receive({"action": "preset", "key": sparsa["key"], "value": "paper"})
    assert [solver.params for solver in panel.chosen] == [PAPER, {}]
    shown = {field["name"]: field["value"] for field in panel.entries[0]["fields"] if field["changed"]}
    assert shown == {
        "shrinking": False,
        "order": "cyclic",
        "lengthen": "1",
        "revisit": "0",
        "moves": "0",
        "rule": "paper",
    }
    panel.receive({"action": "reset", "key": bcd["key"]})
    assert panel.chosen[0].params == {}
