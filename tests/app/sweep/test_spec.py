"""What a text asks for, as a grid of cells; every mistake is one sentence."""

import json
import re

import pytest

from app.sweep.spec import Cell, Spec

SMALL = {"data": "breast-cancer", "solvers": ["prox-qn"]}


def test_grid_has_every_combination_once():
    spec = Spec.parse(
        """
        data = ["breast-cancer", "digits,positive=3"]
        lam_ratio = {from = 0.5, to = 0.005, n = 3}
        solvers = ["prox-qn", "plain=prox-qn,shrinking=false", "owl-qn"]
        seeds = [0, 1]
        [limits]
        max_iter = 7
        """
    )
    assert len(spec.cells) == len({cell.key for cell in spec.cells}) == 2 * 3 * 3 * 2
    assert {cell.lam_ratio for cell in spec.cells} == {0.5, 0.05, 0.005}
    assert {cell.label for cell in spec.cells} == {"prox-qn", "plain", "owl-qn"}
    assert {cell.limits["max_iter"] for cell in spec.cells} == {7}
    assert {cell.data_text for cell in spec.cells if cell.seed} == {
        "breast-cancer,seed=1",
        "digits,positive=3,seed=1",
    }


def test_hyper_parameters_make_a_grid_of_the_solvers_that_have_them():
    spec = Spec.of({**SMALL, "solvers": ["prox-qn", "prox-gd"], "set": {"memory": [3, 9]}})
    assert [(cell.label, cell.params.get("memory")) for cell in spec.cells] == [
        ("prox-qn,memory=3", 3),
        ("prox-qn,memory=9", 9),
        ("prox-gd", None),
    ]
    own = Spec.of({**SMALL, "solvers": ["a=prox-qn", "b=prox-qn"], "set": {"a": {"memory": 3}}})
    default = Spec.of(SMALL).cells[0].params["memory"]
    assert [cell.params["memory"] for cell in own.cells] == [3, default]


def test_a_cell_survives_the_way_to_its_worker():
    spec = Spec.of({**SMALL, "data": {"id": "digits", "positive": "3"}, "limits": {"gap": 1e-3}})
    (cell,) = spec.cells
    assert Cell.of(json.loads(json.dumps(cell.plain()))) == cell
    assert cell.reference, "a gap needs f*"
    assert cell.loss == "logistic"


def test_key_changes_with_all_that_determines_a_run_and_nothing_else():
    base = Spec.of(SMALL).cells[0].key
    assert Spec.of({**SMALL, "name": "another"}).cells[0].key == base
    others = ({"lam": 0.1}, {"seeds": 1}, {"limits": {"tol": 0.1}}, {"average": False}, {"penalty": "l2"})
    keys = {
        Spec.of({**SMALL, "solvers": ["lbfgs" if "penalty" in o else "prox-qn"], **o}).cells[0].key
        for o in others
    }
    assert len(keys | {base}) == len(others) + 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"data": []}, "names no data"),
        ({"solvers": []}, "names no solvers"),
        ({"lams": [1]}, "has no 'lams'"),
        ({"data": "nonsense"}, "no data set 'nonsense'"),
        ({"data": "digits,degree=7"}, "degree"),
        ({"solvers": ["nonsense"]}, "no solver 'nonsense'"),
        ({"solvers": ["prox-qn", "prox-qn,memory=0"]}, "memory"),
        ({"solvers": ["ocas"]}, "solver ocas needs"),
        ({"loss": "chain-crf"}, "needs sequences labels"),
        ({"penalty": "l0"}, "no penalty 'l0'"),
        ({"penalty": "none", "solvers": ["lbfgs"], "lam": 1.0}, "has no λ"),
        ({"lam": [1.0], "lam_ratio": [0.1]}, "both lam and lam_ratio"),
        ({"lam": [-1.0]}, "numbers above 0"),
        ({"lam_ratio": {"from": 1.0, "to": 0.1}}, "{from = 1, to = 0.01, n = 5}"),
        ({"seeds": [0.5]}, "whole numbers"),
        ({"set": {"memry": 3}}, "none of the solvers has such a parameter"),
        ({"set": {"b": {"memory": 3}}}, "no solver is labelled 'b'"),
        ({"limits": {"iterations": 3}}, "has no 'iterations'"),
        ({"limits": {"max_iter": 1.5}}, "whole numbers"),
        ({"limits": {"f_star": 0.3}}, 'write f_star = "auto"'),
        ({"limits": 3}, "limits is no table"),
        ({"average": "yes"}, "write true or false"),
        ({"seeds": list(range(20_000))}, "more than 10,000 runs"),
    ],
)
def test_a_mistake_is_one_sentence(given, said):
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        Spec.of({**SMALL, **given})
    assert "\n" not in str(error.value)


def test_files_are_read_by_their_ending(tmp_path):
    toml, other, text = (tmp_path / name for name in ("grid.toml", "grid.json", "grid.txt"))
    toml.write_text('data = "breast-cancer"\nsolvers = "prox-qn"\n')
    other.write_text(json.dumps(SMALL))
    assert Spec.read(toml).cells == Spec.read(other).cells
    assert Spec.read(toml).name == "grid"
    for path, said in ((text, "must end in .toml or .json"), (tmp_path / "no.toml", "no such file")):
        with pytest.raises(ValueError, match=said):
            Spec.read(path)
    toml.write_text("data = [")
    with pytest.raises(ValueError, match=r"grid\.toml: it is no TOML"):
        Spec.read(toml)
