"""Hinge losses with ridge: dual coordinate descent and bundle methods against liblinear and scikit-learn.

    pytest -m bench tests/benchmarks/test_hinges.py -s

All times are CPU seconds of one thread, medians of runs that take turns: nine of Dual CD and liblinear, three
of the others. liblinear's is that of its fastest setting of the tolerance (-e) which comes within the gap,
reading and converting data not counted; f* is that of Dual CD, proved to 1e-8.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from solverscope import datasets, solvers
from tests.benchmarks.report import Report
from tests.solvers.convex import Program

pytestmark = pytest.mark.bench

TOLERANCES = (1.0, 0.3, 0.1, 0.05, 0.03, 0.01, 0.003)
TURNS = 9
#: Data sets of the race: name, options, λ.
RACE = {"a9a": ("a9a", {}, 1e-4), "text": ("synthetic-text", {"preset": "binary"}, 1e-4)}
#: Data sets of the paper: name, loss, λ, and the solvers that must agree there.
AGREE = {
    "a9a": ("binary-hinge", 1e-4, ("dual-cd", "ocas", "ls-bmrm", "bmrm")),
    "leukemia": ("binary-hinge", 1e-2, ("dual-cd", "ocas", "ls-bmrm", "bmrm")),
    "digits": ("multiclass-hinge", 1e-3, ("dual-cd", "ls-bmrm", "bmrm")),
    "letter": ("multiclass-hinge", 1e-4, ("dual-cd", "ls-bmrm", "bmrm")),
    "scene": ("multilabel-hinge", 1e-1, ("ls-bmrm", "bmrm")),
    "yeast": ("multilabel-hinge", 1e-1, ("ls-bmrm", "bmrm")),
}
#: Raw features: data set, factor on all of them, most passes of liblinear, and whether cvxpy can tell f*.
RAW = {
    "breast-cancer": ("breast-cancer", 1.0, 50_000, True),
    "digits": ("digits", 1.0, 20_000, True),
    "digits-255": ("digits", 255.0 / 16.0, 20_000, True),
    "letter": ("letter", 1.0, 500, False),
}
#: CPU seconds and iterations of one run on raw features, at most.
BUDGET = float(os.environ.get("SOLVERSCOPE_BUDGET", "20"))
PASSES = 5_000


def loaded(name: str, options: dict[str, str]):
    available, reason = datasets.DATASETS[name].available(**options)
    if not available:
        pytest.skip(reason)
    return datasets.load(name, **options)


def csr(data) -> tuple[sp.csr_matrix, np.ndarray]:
    return sp.csr_matrix(data.train.X), np.asarray(data.train.y, dtype=float)


class Liblinear:
    """liblinear's dual solver (-s 3) at each tolerance: CPU seconds of each round, and the objective."""

    def __init__(self, X: sp.csr_matrix, y: np.ndarray, lam: float) -> None:
        self.library = pytest.importorskip("liblinear.liblinearutil")
        self.X, self.y, self.lam = X, y, lam
        self.problem = self.library.problem(y, X)
        self.seconds: dict[float, list[float]] = {eps: [] for eps in TOLERANCES}
        self.objective: dict[float, float] = {}

    def run(self) -> None:
        """Train once at each tolerance."""
        for eps in TOLERANCES:
            setting = self.library.parameter(f"-s 3 -c {1 / (self.lam * self.y.size)} -e {eps} -B -1 -q")
            began = time.thread_time()
            model = self.library.train(self.problem, setting)
            self.seconds[eps].append(time.thread_time() - began)
            w = np.array(model.w[: self.X.shape[1]]) * (1.0 if model.label[0] == 1 else -1.0)
            hinges = np.maximum(1.0 - self.y * (self.X @ w), 0.0)
            self.objective[eps] = float(hinges.mean() + 0.5 * self.lam * w @ w)

    def seconds_to(self, gap: float, f_star: float) -> float:
        """Return the median of the fastest tolerance that comes within the gap."""
        near = [eps for eps, f in self.objective.items() if f - f_star <= gap * f_star]
        return min((float(np.median(self.seconds[eps])) for eps in near), default=np.inf)


def seconds_to(trace: solvers.Trace, gap: float, f_star: float) -> float:
    """CPU seconds until the relative gap; inf where it never is."""
    there = np.flatnonzero(trace.objective - f_star <= gap * f_star)
    return float(trace.cpu_seconds[there[0]]) if there.size else np.inf


@pytest.mark.parametrize("name", RACE)
def test_dual_cd_is_no_slower_than_liblinear_and_ocas_takes_a_second(name):
    """All take turns, so that what else the machine does slows them down alike."""
    set_name, options, lam = RACE[name]
    data = loaded(set_name, options)
    problem = solvers.make_problem(data, loss="binary-hinge", penalty="l2", lam=lam)
    rival = Liblinear(*csr(data), lam)
    own = {id: [] for id in ("dual-cd", "ocas", "bmrm", "sublbfgs")}
    for turn in range(TURNS):
        rival.run()
        for id in own if turn < 3 else ("dual-cd",):
            solver = solvers.make_solver(id)
            own[id].append(solvers.solve(problem, solver, tol=5e-5, max_seconds=4.0, max_iter=20_000))
    best = solvers.solve(problem, solvers.make_solver("dual-cd"), tol=1e-8, max_seconds=20.0)
    f_star = float(best.objective.min())

    def median(measure: Callable[[solvers.Trace], float], id: str) -> float:
        return float(np.median([measure(trace) for trace in own[id]]))

    table, rows = {}, []
    for id in own:
        to = [median(lambda t, gap=gap: seconds_to(t, gap, f_star), id) for gap in (2e-2, 1e-3, 1e-4)]
        proved = median(lambda t: first(t.cpu_seconds, t.dual_gap <= 1e-4 * t.objective), id)
        table[id] = to
        rows.append([f"`{id}`", *to, proved])
    to = [rival.seconds_to(gap, f_star) for gap in (2e-2, 1e-3, 1e-4)]
    rows.append(["liblinear", *to, None])
    report = Report(f"{name}, λ = {lam:g}, f* = {f_star:.9g}: CPU seconds to a gap")
    report.table("CPU seconds of one thread", ["solver", "2e-2", "1e-3", "1e-4", "1e-4, proved"], rows)
    report.note(f"dual-cd / liblinear to 1e-4: {table['dual-cd'][2] / to[2]:.2f}")
    report.write(f"hinges-{name}.html")
    assert table["ocas"][2] <= 1.0
    assert min(table["sublbfgs"][0], table["ocas"][0]) <= table["bmrm"][0]
    assert table["dual-cd"][2] <= to[2]


def first(values: np.ndarray, holds: np.ndarray) -> float:
    there = np.flatnonzero(holds)
    return float(values[there[0]]) if there.size else np.inf


@pytest.mark.parametrize("name", AGREE)
def test_solvers_agree_within_their_gaps(name):
    loss, lam, ids = AGREE[name]
    options = {"scale": "unit"} if name == "leukemia" else {}
    problem = solvers.make_problem(loaded(name, options), loss=loss, penalty="l2", lam=lam)
    found = {}
    for id in ids:
        trace = solvers.solve(problem, solvers.make_solver(id), tol=1e-4, max_seconds=300.0)
        result = trace.result
        found[id] = (result["objective"], result["dual_gap"])
        print(f"{name} {id}: f = {result['objective']:.9g}, gap {result['dual_gap']:.2g}, "
              f"{result['iterations']} iterations, {result['cpu_seconds']:.2f} s")  # fmt: skip
        assert result["dual_gap"] <= 1e-4 * result["objective"]
        # no bound is above any value that another solver has reached
    least = min(f for f, _ in found.values())
    assert all(f - gap <= least * (1.0 + 1e-12) for f, gap in found.values())


@pytest.mark.parametrize(
    ("name", "loss", "lam", "options"),
    [
        ("a9a", "binary-hinge", 1e-4, {"loss": "hinge", "dual": True}),
        ("digits", "multiclass-hinge", 1e-3, {"multi_class": "crammer_singer"}),
    ],
)
def test_dual_cd_and_scikit_learn_find_the_same_minimum(name, loss, lam, options):
    data = loaded(name, {"split": "none"} if name == "digits" else {})
    problem = solvers.make_problem(data, loss=loss, penalty="l2", lam=lam)
    trace = solvers.solve(problem, solvers.make_solver("dual-cd"), tol=1e-9, max_seconds=60.0)
    X, y = csr(data)
    svc = LinearSVC(C=1.0 / (lam * y.size), fit_intercept=False, tol=1e-9, max_iter=1_000_000, **options)
    w = svc.fit(X, y).coef_.T.ravel()
    other = problem.at(w).objective
    print(f"{name}: dual-cd {trace.result['objective']:.10g}, scikit-learn {other:.10g}")
    assert trace.result["objective"] <= other * (1.0 + 1e-8)
    assert other <= trace.result["objective"] * (1.0 + 1e-4)


@pytest.mark.parametrize("lam", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("name", RAW)
def test_raw_features_are_solved_or_the_run_says_how_far(name, lam):
    """Within 1e-3 of the minimum that another program finds, or ended with a sentence; and no bound is above
    it. Of letter, which cvxpy does not take, no bound is above what liblinear and the others reach."""
    set_name, factor, passes, known = RAW[name]
    data = loaded(set_name, {"scale": "none"})
    data = replace(data, train=replace(data.train, X=data.train.X * factor))
    binary = data.n_classes <= 2
    loss = "binary-hinge" if binary else "multiclass-hinge"
    problem = solvers.make_problem(data, loss=loss, penalty="l2", lam=lam)
    traces = {}
    for id in ("ls-bmrm", "bmrm", "dual-cd"):
        traces[id] = solvers.solve(
            problem, solvers.make_solver(id), tol=1e-3, max_iter=PASSES, max_seconds=BUDGET
        )
    X, y = csr(data)
    C, kind = 1.0 / (lam * y.size), {"loss": "hinge"} if binary else {"multi_class": "crammer_singer"}
    svc = LinearSVC(C=C, fit_intercept=False, tol=1e-3, max_iter=passes, random_state=0, **kind)
    began = time.thread_time()
    with warnings.catch_warnings(action="ignore"):
        other = problem.at(svc.fit(X, y).coef_.T.ravel()).objective
    seconds = time.thread_time() - began
    reached = min(other, *(float(np.nanmin(trace.objective)) for trace in traces.values()))
    least = Program(data, loss, "l2", lam, True).least() if known else reached
    print(f"\n{name}, λ = {lam:g}, least {least:.9g}")
    for id, trace in traces.items():
        r = trace.result
        cuts = trace.inner_iterations[-1] if id != "dual-cd" else np.nan
        above, proved = r["objective"] / least - 1.0, r["dual_gap"] / r["objective"]
        print(f"{id:10} above {above:8.1e}, proved {proved:8.1e}, {r['iterations']:6} iterations, "
              f"{cuts:4.0f} cuts, {r['cpu_seconds']:6.2f} s, {r['status']}: {r['message']}")  # fmt: skip
        assert r["objective"] - r["dual_gap"] <= least * (1.0 + 1e-7)
        assert above <= 1e-3 or (r["status"] != "converged" and r["message"])
    print(f"{'liblinear':10} above {other / least - 1.0:8.1e}, {np.max(svc.n_iter_)} passes, {seconds:.2f} s")
