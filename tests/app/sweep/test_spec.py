"""What a text asks for, as a grid of cells; every mistake is one sentence."""

import datetime
import json
import math
import pickle
import re

import pytest

from solverscope import datasets
from solverscope.app.sweep.spec import Spec

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
    assert {cell.problem.lam_ratio for cell in spec.cells} == {0.5, 0.05, 0.005}
    assert {cell.entrant.label for cell in spec.cells} == {"prox-qn", "plain", "owl-qn"}
    assert {cell.limits.max_iter for cell in spec.cells} == {7}
    assert {cell.problem.data_text for cell in spec.cells if cell.problem.seed} == {
        "breast-cancer,seed=1",
        "digits,positive=3,seed=1",
    }


def test_hyper_parameters_make_a_grid_of_the_solvers_that_have_them():
    spec = Spec.of({**SMALL, "solvers": ["prox-qn", "prox-gd"], "set": {"memory": [3, 9]}})
    assert [(cell.entrant.label, cell.entrant.params.get("memory")) for cell in spec.cells] == [
        ("prox-qn,memory=3", 3),
        ("prox-qn,memory=9", 9),
        ("prox-gd", None),
    ]
    own = Spec.of({**SMALL, "solvers": ["a=prox-qn", "b=prox-qn"], "set": {"a": {"memory": 3}}})
    default = Spec.of(SMALL).cells[0].entrant.make().memory
    assert [cell.entrant.make().memory for cell in own.cells] == [3, default]


def test_tables_of_runs_say_what_differs_from_what_stands_beside_them():
    shared = {"solvers": ["prox-qn"], "lam": 0.1, "limits": {"tol": 1e-3, "total_seconds": 9}, "name": "some"}
    runs = [
        {"data": "breast-cancer"},
        {"data": "digits", "lam": [0.2, 0.3], "limits": {"max_iter": 5}},
        {"data": "breast-cancer"},
    ]
    spec = Spec.of({**shared, "runs": runs})
    assert (spec.name, spec.total_seconds) == ("some", 9)
    assert [(cell.problem.data, cell.problem.lam) for cell in spec.cells] == [
        ("breast-cancer", 0.1),
        ("digits", 0.2),
        ("digits", 0.3),
    ]
    limits = [(cell.limits.tol, cell.limits.max_iter) for cell in spec.cells]
    assert limits == [(1e-3, None), (1e-3, 5), (1e-3, 5)]
    own = [{"data": "digits"}, {"data": "digits", "choose": "lam"}]
    late = [{"data": "digits"}, {"data": "digits", "limits": {"total_seconds": 1}}]
    for wrong, said in (
        *(([], "no list of tables"), ("digits", "no list"), ([{"runs": []}], "of its own")),
        *((own, "choose and total_seconds are"), (late, "write them above")),
    ):
        with pytest.raises(ValueError, match=said):
            Spec.of({**shared, "runs": wrong})


def test_no_more_tables_are_laid_out_than_cells_are_allowed(monkeypatch):
    monkeypatch.setattr("solverscope.app.sweep.spec.MOST_CELLS", 5)
    asked = []
    runs = [{"data": "digits", "lam": [0.1, 0.2, 0.3], "seeds": k} for k in range(5)]
    with pytest.raises(ValueError, match="more than 5 runs"):
        Spec.of({"solvers": "prox-qn", "runs": runs}, lambda id: (asked.append(id), datasets.describe(id))[1])
    assert len(asked) == 2
    with pytest.raises(ValueError, match="more than 5 runs"):
        Spec.of({"solvers": "prox-qn", "runs": 6 * [{"data": "digits", "lam": []}]}, asked.append)
    assert len(asked) == 2


def test_a_cell_survives_the_way_to_its_worker():
    spec = Spec.of({**SMALL, "data": {"id": "digits", "positive": "3"}, "limits": {"gap": 1e-3}})
    (cell,) = spec.cells
    assert pickle.loads(pickle.dumps(cell)) == cell
    assert cell.limits.f_star == "auto", "a gap needs f*"
    assert cell.problem.loss == "logistic"


def test_key_changes_with_all_that_determines_a_run_and_nothing_else():
    base = Spec.of(SMALL).cells[0].key
    assert Spec.of({**SMALL, "name": "another"}).cells[0].key == base
    others = ({"lam": 0.1}, {"seeds": 1}, {"limits": {"tol": 0.1}}, {"average": False}, {"penalty": "l2"})
    keys = {
        Spec.of({**SMALL, "solvers": ["lbfgs" if "penalty" in o else "prox-qn"], **o}).cells[0].key
        for o in others
    }
    assert len(keys | {base}) == len(others) + 1


def test_each_cell_runs_once_for_each_part_that_is_held_out():
    given = {"data": ["breast-cancer", "digits,positive=3"], "lam": [1.0, 0.1], "solvers": ["prox-qn"]}
    spec = Spec.of({**given, "choose": "lam", "folds": 3})
    assert spec.choose == "lam"
    assert [cell.problem.options["cv"] for cell in spec.cells] == ["1/3", "2/3", "3/3"] * 4
    assert len({cell.key for cell in spec.cells}) == 12
    assert Spec.of({**given, "choose": "lam"}).digest == Spec.of(given).digest, "the same runs"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"choose": "memory"}, "choose 'memory' is not possible: choose lam"),
        ({"folds": 5}, "folds 5 choose nothing: give choose lam as well"),
        ({"choose": "lam", "folds": 1}, "folds 1 is not possible: give a whole number from 2 to 100"),
        (
            {"choose": "lam", "folds": 3, "data": "breast-cancer,cv=1/3"},
            "folds hold out parts of breast-cancer: leave cv out",
        ),
        (
            {"choose": "lam", "folds": 3, "data": "toy", "solvers": ["lbfgs"]},
            "folds hold out parts of toy: leave folds out",
        ),
        ({"choose": "lam", "penalty": "none", "solvers": ["lbfgs"]}, "has no λ: leave choose out"),
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
        ({"lam": [-1.0]}, "a number above 0"),
        ({"lam_ratio": {"from": 1.0, "to": 0.1}}, "{from = 1, to = 0.01, n = 5}"),
        ({"seeds": [0.5]}, "a whole number"),
        ({"set": {"memry": 3}}, "none of the solvers has such a parameter"),
        ({"set": {"b": {"memory": 3}}}, "no solver is labelled 'b'"),
        ({"limits": {"iterations": 3}}, "has no 'iterations'"),
        ({"limits": {"max_iter": 1.5}}, "a whole number"),
        ({"limits": {"f_star": 0.3}}, 'write f_star = "auto"'),
        ({"limits": 3}, "limits is no table"),
        ({"average": "yes"}, "write true or false"),
        ({"penalty_factors": 3}, 'write "adaptive"'),
        ({"penalty_factors": "sex"}, "penalty factors 'sex': write adaptive"),
        ({"intercept": 3}, "intercept = 3 is not possible: write true or false"),
        (
            {"intercept": True, "solvers": "dual-cd", "penalty": "l2"},
            "and an intercept or penalty factors: leave it out",
        ),
        (
            {"data": "digits,class_weight=balanced,positive=3", "solvers": "bcd-ls"},
            "and sample weights",
        ),
        ({"seeds": list(range(20_000))}, "more than 10,000 runs"),
        ({"lam": {"from": 1.0, "to": 0.1, "n": 60_000_000}}, "more than 10,000 runs"),
        ({"lam_ratio": {"from": 1.0, "to": 0.1, "n": 10**18}}, "more than 10,000 runs"),
        (
            {"lam": {"from": 1.0, "to": 0.1, "n": math.inf}},
            "lam.n = inf is not possible: give a whole number",
        ),
        ({"lam": 10**400}, "lam has a number of more than 19 digits: write a smaller one"),
        ({"lam": math.nan}, "lam = nan is not possible: give a number above 0"),
        ({"seeds": 10**400}, "seeds has a number of more than 19 digits: write a smaller one"),
        ({"seeds": 1e308}, "seeds = 1e+308 is not possible: give a whole number from 0 to 999999999"),
        ({"solvers": ["sgd-l1,seed=1e308"]}, "seed must be a whole number from 0 to 999999999"),
        ({"set": {"seed": 10**10}, "solvers": ["sgd-l1"]}, "seed must be a whole number from 0 to 999999999"),
        ({"limits": {"tol": -(10**400)}}, "tol has a number of more than 19 digits"),
        ({"loss": [["a"]]}, """loss = [['a']] is not possible: write loss = "ID" or ["ID", ...]"""),
        ({"loss": {"id": "logistic"}}, "loss = {'id': 'logistic'} is not possible"),
        ({"penalty": [{"l1": 1}]}, "penalty = [{'l1': 1}] is not possible"),
        ({"solvers": [["prox-qn"]]}, "solvers is a list of texts"),
        ({"data": [["digits"]]}, "data = ['digits'] names no data set"),
        ({"data": {"id": "digits", "positive": [1]}}, "positive of data digits is a list or a table"),
        ({"set": {"memory": [[[3]]]}}, "memory is nested too deep: write lists of numbers and texts"),
        ({"seeds": datetime.date(2020, 1, 1)}, "seeds = datetime.date(2020, 1, 1) is not possible"),
        ({"name": "\x1b[2J"}, r"name = '\x1b[2J' holds a control character: leave that out"),
        ({"set": {"\x1b[2J": 3}}, r"a name = '\x1b[2J' holds a control character"),
        ({"solvers": ["\x9b2J=prox-qn"]}, r"solvers = '\x9b2J=prox-qn' holds a control character"),
    ],
)
def test_a_mistake_is_one_sentence(given, said):
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        Spec.of({**SMALL, **given})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 30_000, "it is nested too deep: write lists of numbers and texts, not of lists"),
        ('{"data": ' + "[" * 30_000, "it is nested too deep"),
        ('{"seeds": ' + "9" * 5000 + "}", "it has a number of thousands of digits: write a smaller one"),
        (" " * (2 << 20), "it has more than 1 MiB"),
    ],
)
@pytest.mark.parametrize("json_text", [True, False])
def test_a_text_beyond_all_bounds_is_one_sentence(text, said, json_text):
    if not json_text:
        text = text.replace('{"data": ', "data = ").replace('{"seeds": ', "seeds = ").replace("}", "")
        text = text if text.startswith(("data", "seeds", " ")) else f"data = {text}"
    with pytest.raises(ValueError, match=f"^{said}"):
        Spec.parse(text, json_text=json_text)


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
