"""Presets hold what the papers print, and what is given besides wins over them."""

from dataclasses import asdict

import pytest

from solverscope import solvers

#: Blondel et al. 2013: algorithms 1 to 3 (all blocks), 4.4.1 (cyclic blocks, 𝓛_j from h_j itself), 4.5 and
#: equation (9), appendix A; Zhong et al. 2014: γ = 1 and M̂ = ∞ in line 1 of Algorithm 2; Tsuruoka et al.
#: 2009: η0 α^(k/N), penalty after use;
#: Sokolovska et al. 2010: damped steps, all blocks. Yu et al. 2010: footnotes 1 and 6, sections 2.1 and 8.
#: Mathur and Chakrabarti 2006: sections II-A.5, III-D and III-E. Yuan, Ho and Lin 2012: permuted cycles,
#: ε_in, outer and inner shrinking, σ and β, with the limit of cycles that their program liblinear has.
#: Bertrand and Massias 2021: M = 5, all rows. Themelis, Ahookhosh and Patrinos 2019: all weights.
PRINTED = {
    "bcd-ls": {
        "order": "cyclic",
        "lengthen": 1.0,
        "revisit": 0.0,
        "moves": 0,
        "rule": "paper",
        "shrinking": False,
        "omega": 0.5,
        "sigma": 0.01,
    },
    "anderson-bcd": {"rule": "none", "memory": 5},
    "bcd-cst": {"constant": "paper", "revisit": 0.0, "rule": "paper", "shrinking": False},
    "fista-cst": {"constant": "paper", "restart": False},
    "prox-qn": {
        **{"gamma0": 1.0, "shrink_first": "off", "max_inner": 10, "memory": 10, "gamma": "ys/ss"},
        **{"balance": "size", "diagonal": "off", "order": "cyclic", "shrinking": True},
    },
    "sgd-l1": {"schedule": "exponential", "stale": True},
    "newton-cd": {
        **{
            "rule": "liblinear",
            "inner": 0.0,
            "order": "random",
            "max_inner": 1000,
            "sigma": 0.01,
            "beta": 0.5,
        },
    },
    "fis": {"difference": "once"},
    "crf-bcd": {"damping": True, "shrinking": False},
    "dual-cd": {"slack": 1.0, "shrinking": True},
    "bfgs": {"line_search": "ils", "c1": 1e-3, "c2": 0.8, "scaled": False},
    "lbfgs": {"line_search": "ils", "c1": 1e-3, "c2": 0.8, "first_step": "unit", "memory": 15},
    "subgd": {"subgradient": "random", "line_search": "exact", "epsilon": 1e-5},
    "subbfgs": {"subgradient": "random", "line_search": "exact", "epsilon": 1e-5, "h": 1e-8},
    "clustered-lbfgs": {
        **{"rounds": 2, "fine_iterations": 100, "cluster_factor": 20, "clustering": "chunks", "memory": 5},
        **{"aggregate": "false", "window": 5, "delta": 1e-4, "keep_memory": False, "split_signs": False},
        **{"scaled": False, "coarse_iterations": 0},
    },
    "clustered-bfgs": {
        **{"rounds": 1, "fine_iterations": 5, "cluster_factor": 15, "clustering": "kmeans", "scale": "none"},
        **{"aggregate": "false", "delta": 0.0, "scaled": False},
    },
    "owl-qn-star": {"stagnation": 5e-5, "epsilon": 1e-5},
    "sublbfgs": {"subgradient": "random", "line_search": "exact", "epsilon": 1e-5, "h": 1e-8, "memory": 15},
}


@pytest.mark.parametrize("id", PRINTED)
def test_the_preset_of_a_paper_is_what_it_prints_and_differs_from_the_defaults(id):
    solver, default = solvers.make_solver(id, preset="paper"), solvers.make_solver(id)
    values = asdict(solver)
    assert PRINTED[id].items() <= values.items()
    assert solver != default
    changed = {name for name, value in asdict(default).items() if value != values[name]}
    assert changed == set(type(solver).presets["paper"])


def test_solvers_without_a_preset_are_those_whose_defaults_are_printed():
    with_one = {id for id, cls in solvers.SOLVERS.items() if "paper" in cls.presets}
    assert with_one == set(PRINTED)
    with pytest.raises(
        ValueError, match="solver owl-qn has no preset 'paper': it has none, its defaults are"
    ):
        solvers.make_solver("owl-qn", preset="paper")
    with pytest.raises(ValueError, match="solver bcd-ls has no preset 'book': it has paper"):
        solvers.make_solver("bcd-ls", preset="book")


def test_what_is_given_besides_a_preset_wins():
    solver = solvers.make_solver("bcd-ls", preset="paper", order="random", seed=3)
    assert (solver.order, solver.seed, solver.lengthen) == ("random", 3, 1.0)
