"""Curves of benchopt's Lasso benchmark, rescaled for comparison with our own runs on the same problem."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from solverscope.app.ui import run_styles
from solverscope.solvers import Trace

#: Names of the objective in benchopt/benchmark_lasso.
LASSO_NAME = re.compile(r"Lasso Regression\[(?P<params>[^\]]*)\]")
#: Relative difference up to which two λ, or two objectives at w = 0, are equal.
EQUAL_PROBLEMS = 1e-6


class Lasso(NamedTuple):
    """The objective ½‖y - Xw - b‖² + λ‖w‖₁ with λ = ``reg`` · λ_max, and b = 0 unless ``fit_intercept``."""

    reg: float
    fit_intercept: bool

    @classmethod
    def of(cls, objective: str) -> Lasso | None:
        """Parse benchopt's name of an objective; return None if it is not a Lasso."""
        named = LASSO_NAME.fullmatch(objective)
        params = dict(pair.partition("=")[::2] for pair in named["params"].split(",")) if named else {}
        try:
            return cls(float(params["reg"]), params["fit_intercept"] == "True")
        except (KeyError, ValueError):
            return None


def in_our_units(curves: Sequence[Trace], run: Trace, first_style: int = 0) -> list[Trace]:
    """Return benchopt's curves of one data set and objective, rescaled to the problem of one of our runs.

    The result is empty unless both are the Lasso at the same λ/λ_max, without intercept, sample weights or
    penalty factors. As the file does not contain the data, the objective at w = 0, ½‖y‖², must be equal, too.
    If the run's loss is a mean, objectives are divided by the number of instances. The styles of the curves
    are numbered from ``first_style``.
    """
    about = run.info.problem
    lasso = Lasso.of(str(curves[0].info.problem.get("loss"))) if curves else None
    own = about.get("loss"), about.get("penalty"), about.get("intercept")
    if lasso is None or own != ("squared", "l1", lasso.fit_intercept) or lasso.fit_intercept:
        return []
    if about.get("weighted") or about.get("penalty_factors"):
        return []
    if not len(run) or run["iteration"][0] != 0 or run["nnz"][0] != 0 or not about.get("lam_max"):
        return []
    n = about["n_samples"] if about["average"] else 1
    at_zero = max(float(curve["objective"][0]) for curve in curves)
    pairs = (lasso.reg, about["lam"] / about["lam_max"]), (at_zero, n * run["objective"][0])
    if not all(math.isclose(*pair, rel_tol=EQUAL_PROBLEMS) for pair in pairs):
        return []
    made = [_scaled(curve, 1.0 / n, about) for curve in curves]
    for curve, one in zip(curves, made, strict=True):
        run_styles.set_style(one, first_style + run_styles.style_of(curve).number)
    return made


def _scaled(curve: Trace, factor: float, about: dict[str, object]) -> Trace:
    columns = {name: curve[name] for name in ("iteration", "wall_seconds", "nnz")}
    columns |= {name: factor * curve[name] for name in ("objective", "violation", "dual_gap")}
    names = {"label": f"benchopt: {curve.info.label}", "solver": f"benchopt: {curve.info.solver}"}
    made = Trace.from_columns(columns, {**names, "problem": about})
    made.result = dict(curve.result)
    made.finish(curve.status)
    return made


def groups(curves: Sequence[Trace]) -> dict[str, list[Trace]]:
    """Group curves by data set and objective; the keys are "data set · objective"."""
    found: dict[str, list[Trace]] = {}
    for curve in curves:
        about = curve.info.problem
        found.setdefault(f"{about['dataset']} · {about['loss']}", []).append(curve)
    return found
