"""Other people's programs: the optimum of each is ours, and so is its objective, converted."""

from __future__ import annotations

import functools
import re
import threading

import numpy as np
import psutil
import pytest
from sklearn.metrics import hinge_loss, log_loss

from solverscope import datasets, solvers
from solverscope.solvers.rivals import process
from solverscope.solvers.rivals.external_solver import Task, signs
from solverscope.solvers.rivals.observation_mode import CALLBACK, RERUN, RESTART, growing_lengths
from tests.solvers.convex import Program
from tests.solvers.helpers import (
    ELSEWHERE,
    HOUSE,
    binary,
    chains,
    dense_of,
    multiclass,
    multitask,
    regression,
    tol_that_ends,
)
from tests.waiting import PATIENCE, wait_until

RIVALS = [id for id in solvers.SOLVERS if id not in HOUSE and id != "relay"]
#: How near each comes to our optimum within 20 CPU seconds, (f - f*)/f*: SciPy's and scikit-learn's own
#: tolerance is 1e-9 of the violation at w = 0, liblinear's and celer's 1e-9 of theirs. Those without an end
#: are over once they are there.
NEAR = {"sklearn-sgd": 1e-2, "sklearn-saga": 1e-6}
USUAL = 1e-8
#: The problem that each solves here, besides what its traits let it solve.
PROBLEMS = {
    "sklearn-saga": ("logistic", "elastic-net"),
    "sklearn-linear-svc": ("binary-hinge", "l2"),
    "sklearn-sgd": ("binary-hinge", "l2"),
    "liblinear": ("logistic", "l1"),
    "skglm": ("logistic", "l1"),
    "celer": ("logistic", "l1"),
    "sklearn-elastic-net": ("squared", "l1"),
    **dict.fromkeys(
        ("skglm-multitask-lasso", "celer-multitask-lasso", "sklearn-multitask-lasso"),
        ("multitask-squared", "l1-l2"),
    ),
    "sklearn-quantile": ("quantile", "l1"),
    "crfsuite": ("chain-crf", "l2"),
    "wapiti": ("chain-crf", "l2"),
}
DATA = {
    "breast-cancer": lambda: datasets.load("breast-cancer"),
    "digits": lambda: datasets.load("digits", positive="8"),
    "random": lambda: binary(n=200, d=30),
    "classes": lambda: multiclass(),
}
REGRESSIONS = {
    "diabetes": lambda: datasets.load("diabetes", scale="standard"),
    "regression": lambda: regression(n=200, d=30),
    "counts": lambda: datasets.load("synthetic-regression", n_samples=80, n_features=120, link="log"),
}
SEVERAL_TARGETS = {
    "targets": lambda: datasets.load("synthetic-regression", n_samples=80, n_features=120, n_targets=3),
    "sparse": lambda: multitask(n=100, d=40, storage="sparse", density=0.1),
    "multitask": lambda: multitask(n=200, d=30),
}
SEQUENCES = {
    "digit-strings": lambda: datasets.load("digit-strings", n_samples=40),
    "synthetic-chain": lambda: datasets.load("synthetic-chain", n_samples=60, n_features=40, n_labels=4),
    "chains": lambda: chains(n=80),
}


@functools.cache
def problem_of(data, loss, penalty):
    return solvers.make_problem(
        (DATA | REGRESSIONS | SEVERAL_TARGETS | SEQUENCES)[data](),
        loss=loss,
        penalty=penalty,
        lam=0.02,
        average=True,
    )


@functools.cache
def best(data, loss, penalty):
    problem = problem_of(data, loss, penalty)
    if not problem.smooth and loss != "binary-hinge":
        return Program((REGRESSIONS | DATA)[data](), loss, penalty, 0.02, True).least()
    fastest = "lbfgs" if loss == "chain-crf" else "anderson-bcd" if penalty == "l1-l2" else "prox-qn"
    fastest = fastest if problem.smooth else "dual-cd"
    solver = solvers.make_solver(fastest)
    return solvers.solve(problem, solver, tol=1e-9, max_seconds=30).result["objective"]


def solved(id, problem, least, **params):
    """A run to the optimum, or as near to it as one without an end is to come."""
    end = {"gap": NEAR[id], "f_star": least} if id in NEAR else {}
    solver = solvers.make_solver(id, **params)
    return solvers.solve(problem, solver, tol=tol_that_ends(problem, solver, 1e-9), max_seconds=20, **end)


def data_for(loss):
    """Names of three data sets on which a loss is solved."""
    kinds = solvers.LOSSES[loss].kinds
    of_kind = {"sequences": SEQUENCES, "regression": REGRESSIONS, "multitask": SEVERAL_TARGETS}
    return list(of_kind.get(kinds[0], DATA))[:3]


def cases():
    for id in RIVALS:
        missing = solvers.SOLVERS[id].why_not_here()
        marks = [pytest.mark.skip(reason=f"{id} {missing}")] if missing else []
        if id.startswith("skglm"):  # compiles for a quarter of a minute
            marks.append(pytest.mark.slow)
        for data in data_for(PROBLEMS.get(id, ["logistic"])[0]):
            yield pytest.param(id, data, marks=marks)


@pytest.mark.parametrize(("id", "data"), list(cases()))
def test_its_optimum_is_ours(id, data):
    where = data, *PROBLEMS.get(id, ("logistic", "l2"))
    problem, least = problem_of(*where), best(*where)
    trace = solved(id, problem, least)
    assert -1e-9 * least <= trace.result["objective"] - least <= NEAR.get(id, USUAL) * least
    assert trace.result["objective"] == pytest.approx(problem.at(trace.w).objective, rel=1e-14)
    if id not in NEAR:
        assert trace.status in ("converged", "stalled"), trace.message
    assert set(trace.phase) <= {CALLBACK, RESTART, RERUN}
    assert len(set(trace.phase)) == 1


#: Solvers by number, and their other losses: what PROBLEMS leaves out.
VARIANTS = [
    *(("liblinear", {"type": type}, "logistic", "l2") for type in ("0", "7")),
    *(("liblinear", {"type": type}, "multitask-squared-hinge", "l2") for type in ("2", "1")),
    ("liblinear", {"type": "5"}, "multitask-squared-hinge", "l1"),
    ("sklearn-linear-svc", {}, "multitask-squared-hinge", "l2"),
    ("sklearn-sgd", {}, "logistic", "elastic-net"),
    ("skglm", {}, "logistic", "elastic-net"),
]
#: Losses of numeric targets, each on three data sets, besides those of PROBLEMS.
REGRESSION_VARIANTS = [
    ("celer", "squared", "l1"),
    *(("skglm", loss, penalty) for loss in ("squared", "huber") for penalty in ("l1", "elastic-net", "l2")),
    *(("skglm", "poisson", penalty) for penalty in ("l1", "elastic-net")),
    *(("sklearn-elastic-net", "squared", penalty) for penalty in ("elastic-net", "l2")),
    *((f"{program}-multitask-lasso", "squared", "l1-l2") for program in ("skglm", "celer", "sklearn")),
    ("sklearn-newton-cholesky", "poisson", "l2"),
    *(("sklearn-saga", loss, "elastic-net") for loss in ("squared", "multitask-squared")),
    *(("sklearn-sgd", loss, "l2") for loss in ("squared", "multitask-squared", "huber")),
    ("sklearn-linear-svc", "epsilon-insensitive", "l2"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("id", "params", "loss", "penalty"), VARIANTS)
def test_the_optimum_of_its_other_solvers_is_ours(id, params, loss, penalty):
    if missing := solvers.SOLVERS[id].why_not_here():
        pytest.skip(f"{id} {missing}")
    where = "classes" if loss == "multitask-squared-hinge" else "random", loss, penalty
    problem, least = problem_of(*where), best(*where)
    trace = solved(id, problem, least, **params)
    assert -1e-9 * least <= trace.result["objective"] - least <= NEAR.get(id, USUAL) * least


def targets():
    for id, loss, penalty in REGRESSION_VARIANTS:
        for data in data_for(loss):
            if (loss, data) != ("poisson", "diabetes"):  # exp of scores for means of 152
                marks = [pytest.mark.slow] if id.startswith("skglm") else []
                yield pytest.param(id, data, loss, penalty, marks=marks)


@pytest.mark.parametrize(("id", "data", "loss", "penalty"), list(targets()))
def test_its_optimum_of_numeric_targets_is_ours(id, data, loss, penalty):
    if missing := solvers.SOLVERS[id].why_not_here():
        pytest.skip(f"{id} {missing}")
    problem, least = problem_of(data, loss, penalty), best(data, loss, penalty)
    trace = solved(id, problem, least, **({"schedule": "invscaling"} if id == "sklearn-sgd" else {}))
    assert trace.status in ("converged", "stalled"), trace.message
    assert -1e-8 * least <= trace.result["objective"] - least <= NEAR.get(id, USUAL) * least


class Gate(solvers.Gate):
    """Does something once a run has its second iterate."""

    def __init__(self, act):
        self.act = act

    def step(self, run, iterate):
        if len(run.trace) == 2:
            self.act(run)


def kill_the_process(run):
    """End what works for a run, and nobody else's."""
    idle = {one.pid for one in process.idle}
    for child in psutil.Process().children():
        if "solverscope.solvers.rivals.child" in child.cmdline() and child.pid not in idle:
            child.kill()


@pytest.mark.slow
@pytest.mark.parametrize("id", sorted(ELSEWHERE))
@pytest.mark.parametrize("end", ["stopped", "failed"])
def test_a_run_is_stopped_and_fails_alone_where_its_process_is_killed(id, end):
    if missing := solvers.SOLVERS[id].why_not_here():
        pytest.skip(f"{id} {missing}")
    data = data_for(PROBLEMS.get(id, ["logistic"])[0])[1]
    problem = problem_of(data, *PROBLEMS.get(id, ("logistic", "l2")))
    gate = Gate(solvers.Run.interrupt if end == "stopped" else kill_the_process)
    stopping = solvers.Stopping(max_iter=1000)
    trace = solvers.Run(problem, solvers.make_solver(id), stopping=stopping, gate=gate).execute()
    assert trace.status == end
    assert len(trace) == 2
    assert trace.objective[-1] < trace.objective[0]
    assert end == "stopped" or "its process was ended by signal SIGKILL" in trace.message


@pytest.mark.slow
@pytest.mark.parametrize("id", RIVALS)
def test_a_paused_run_stands_still_and_goes_on_as_if_nothing_had_been(id):
    if missing := solvers.SOLVERS[id].why_not_here():
        pytest.skip(f"{id} {missing}")
    data = data_for(PROBLEMS.get(id, ["logistic"])[0])[2]
    problem = problem_of(data, *PROBLEMS.get(id, ("logistic", "l2")))
    stopping = solvers.Stopping(max_iter=6)
    through = solvers.Run(problem, solvers.make_solver(id), stopping=stopping).execute()
    paused, go = threading.Event(), threading.Event()
    gate = Gate(lambda run: (paused.set(), go.wait(PATIENCE)))
    run = solvers.Run(problem, solvers.make_solver(id), stopping=stopping, gate=gate)
    thread = threading.Thread(target=run.execute)
    thread.start()
    assert paused.wait(PATIENCE)
    resting = psutil.STATUS_SLEEPING, psutil.STATUS_STOPPED
    programs = psutil.Process().children(recursive=True)
    wait_until(lambda: all(program.status() in resting for program in programs))
    assert len(run.trace) == 2
    go.set()
    thread.join(PATIENCE)
    assert len(through) > 2, "it is paused on the way"
    assert run.trace.objective.tolist() == through.objective.tolist()


def test_the_summary_says_how_each_is_watched():
    said = {CALLBACK: "by its callback", RESTART: "by warm restarts", RERUN: "run anew with"}
    for id in RIVALS:
        cls = solvers.SOLVERS[id]
        assert said[cls.observation_mode] in cls.summary, id


def test_runs_anew_get_half_as_long_again():
    numbers = growing_lengths()
    assert [next(numbers) for _ in range(8)] == [1, 2, 3, 5, 8, 12, 18, 27]


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("penalty", ["l1", "l2", "elastic-net"])
@pytest.mark.parametrize("loss", ["logistic", "binary-hinge"])
def test_f_is_what_scikit_learn_minimizes_times_the_strength_of_the_penalty(loss, penalty, average):
    """C Σ_i L_i + ρ‖w‖₁ + ½(1 - ρ)‖w‖², with scikit-learn's own mean losses."""
    data = binary()
    problem = solvers.make_problem(data, loss=loss, penalty=penalty, lam=0.3, average=average)
    w = np.random.default_rng(0).normal(size=problem.size)
    task, z, n = Task.of(problem, None, 0.0), dense_of(data.train.X) @ w, data.train.y.size
    mean = (
        hinge_loss(data.train.y, z)
        if loss == "binary-hinge"
        else log_loss(data.train.y, 1 / (1 + np.exp(-z)))
    )
    rho = task.l1_ratio
    theirs = task.C * n * mean + rho * np.abs(w).sum() + 0.5 * (1 - rho) * w @ w
    assert task.strength * theirs == pytest.approx(problem.at(w).objective, rel=1e-10)
    alpha = task.strength / (task.scale * n)
    theirs = mean + alpha * (rho * np.abs(w).sum() + 0.5 * (1 - rho) * w @ w)
    assert task.scale * n * theirs == pytest.approx(problem.at(w).objective, rel=1e-10)


@pytest.mark.parametrize("storage", ["dense", "sparse", "binary"])
def test_a_program_is_given_x_as_it_is(storage):
    data = multiclass(storage=storage, density=0.2)
    X = Task.of(solvers.make_problem(data, penalty="l2", lam=0.1), None, 0.0).X
    np.testing.assert_array_equal(dense_of(X), dense_of(data.train.X))


@pytest.mark.parametrize(("number", "loss"), [("6", "logistic"), ("5", "multitask-squared-hinge")])
def test_liblinear_prints_our_objective(capfd, number, loss):
    """It prints six digits after the point: 1e-10 of an objective above 5000."""
    linear = pytest.importorskip("liblinear.liblinearutil", reason="liblinear is not installed")
    data = binary(n=4000, d=10) if loss == "logistic" else multiclass(n=4000)
    problem = solvers.make_problem(data, loss=loss, penalty="l1", lam=0.1, average=False)
    task, columns = Task.of(problem, None, 0.0), []
    for y in signs(task):
        model = linear.train(y.astype(float), task.X, f"-s {number} -c {task.C!r} -e 1e-3")
        columns.append(np.ctypeslib.as_array(model.w, (task.n_features,)) * model.get_labels()[0])
    printed = [float(text) for text in re.findall(r"Objective value = (\S+)", capfd.readouterr().out)]
    assert len(printed) == len(columns)
    assert min(printed) > 5000
    f = problem.at(np.array(columns).T.ravel()).objective
    assert task.strength * sum(printed) == pytest.approx(f, rel=1e-10)


@pytest.mark.slow
def test_skglm_reports_our_objective():
    skglm = pytest.importorskip("skglm", reason="skglm is not installed")
    from skglm.datafits import Logistic
    from skglm.penalties import L1

    data = binary()
    problem = solvers.make_problem(data, lam=0.02, average=True)
    X, y = np.asfortranarray(dense_of(data.train.X)), data.train.y.astype(float)
    solver = skglm.solvers.ProxNewton(tol=1e-12, fit_intercept=False)
    w, reported, _ = solver.solve(X, y, Logistic(), L1(0.02))
    assert reported[-1] == pytest.approx(problem.at(w).objective, rel=1e-10)


@pytest.mark.parametrize("average", [True, False])
def test_a_class_without_samples_is_refused_in_a_sentence(average):
    data = multiclass()
    data.train.y[data.train.y == 2] = 0
    problem = solvers.make_problem(data, penalty="l2", lam=0.1, average=average)
    for id in ("sklearn-saga", "sklearn-lbfgs", "sklearn-newton-cholesky"):
        sentence = solvers.make_solver(id).refuses(problem)
        assert sentence == f"{id} leaves classes without a sample out: take data that have some of each class"


def test_a_number_of_liblinear_that_does_not_fit_is_refused_in_a_sentence():
    problem = solvers.make_problem(binary(), lam=0.1)
    assert solvers.make_solver("liblinear").refuses(problem) is None
    sentence = solvers.make_solver("liblinear", type="7").refuses(problem)
    assert sentence == "liblinear has no solver 7 for this loss and penalty: choose 6"


def test_a_dense_x_beyond_free_memory_is_refused_in_a_sentence(monkeypatch):
    problem = solvers.make_problem(multitask(storage="sparse"), penalty="l1-l2", lam=0.1)
    free = psutil.virtual_memory()._replace(available=0)
    for id in ("celer-multitask-lasso", "sklearn-multitask-lasso"):
        assert solvers.make_solver(id).refuses(problem) is None
        with monkeypatch.context() as patch:
            patch.setattr(psutil, "virtual_memory", lambda: free)
            sentence = solvers.make_solver(id).refuses(problem)
        sizes = "0.0 GiB in all, and 0.0 GiB are free"
        assert sentence == f"{id} keeps X as a dense array, {sizes}: take fewer features or samples"


def test_a_missing_package_is_one_sentence_everywhere(monkeypatch, command):
    monkeypatch.setattr(solvers.SOLVERS["celer"], "modules", ("no_such_package.part",))
    sentence = "needs the package no_such_package: install solverscope[rivals]"
    assert solvers.why_not_solver("celer", "logistic", "l1") == sentence
    assert "celer" not in solvers.compatible("logistic", "l1")
    (listed,) = [entry for entry in command("list", "solvers", "--json").records if entry["id"] == "celer"]
    assert (listed["available"], listed["reason"]) == (False, sentence)
    answer = command("run", "breast-cancer", "--solver", "celer")
    assert answer.status == 2
    assert f"celer {sentence}" in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    for id in ("liblinear", "skglm", "crfsuite"):
        monkeypatch.setattr(solvers.SOLVERS[id], "modules", ("no_such_package.part",))
        assert solvers.SOLVERS[id].why_not_here() == sentence


def test_newton_cg_stalls_where_the_hessian_is_zero():
    """At w = 0 the smoothed hinge is a straight line: SciPy takes no step, and says it is done."""
    problem = solvers.make_problem(binary(), loss="smoothed-binary-hinge", penalty="none")
    trace = solvers.solve(problem, solvers.make_solver("scipy-newton-cg"), tol=1e-8)
    assert trace.status == "stalled"
    assert trace.result["violation"] == pytest.approx(trace.violation[0])
