"""scikit-learn's solvers of linear models; those that only solve regressions are in
:mod:`.scikit_regression`.

For logistic regression and support vector machines, scikit-learn minimizes C Σ_i L_i + ρ‖w‖₁ + ½(1 - ρ)‖w‖².
With stochastic gradient descent, it minimizes (1/n) Σ_i L_i + α(ρ‖w‖₁ + ½(1 - ρ)‖w‖²). The strengths of ‖w‖₁
and ½‖w‖² in f are a and b, and s is 1 for a sum, 1/n for a mean. f is (a + b) times the first objective with
C = s/(a + b). It is s n times the second with α = (a + b)/(s n); ρ = a/(a + b) in both. Models have no
intercept here.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from ..declare import Trait, param, random_seed
from ..methods.common_params import tol_param
from ..problems.problem import Problem
from .external_solver import ExternalSolver, IterateReporter, Task, signs
from .observation_mode import CALLBACK, NO_LIMIT, RERUN, RESTART, growing_lengths
from .private_parts import accepts_call, changed, passes_keyword

#: The name that LogisticRegression gives to an iteration of lbfgs when it calls a callback.
LBFGS_TASK = "lbfgs-iter"
#: The losses of SGDRegressor and of SGDClassifier.
SGD_REGRESSIONS = {
    **dict.fromkeys(("squared", "multitask-squared"), "squared_error"),
    "huber": "huber",
    "epsilon-insensitive": "epsilon_insensitive",
}
SGD_LOSSES = SGD_REGRESSIONS | {
    "logistic": "log_loss",
    "binary-hinge": "hinge",
    "multitask-squared-hinge": "squared_hinge",
}
#: Keyword arguments of ``sag_solver``.
SAG_KEYWORDS = (
    *("loss", "alpha", "beta", "max_iter", "tol", "random_state", "check_input", "max_squared_sum"),
    *("warm_start_mem", "is_saga"),
)


class ScikitLearn(ExternalSolver):
    """Base of scikit-learn's solvers, which sets their modules and refuses labels that scikit-learn would
    recode."""

    program = "scikit-learn"
    modules = ("sklearn.linear_model", "sklearn.svm")

    def refuses(self, problem: Problem) -> str | None:
        if problem.loss.id == "multiclass-logistic":
            seen = np.unique(problem.loss.y).size
            if seen < problem.loss.n_outputs:
                return (
                    f"{self.id} leaves classes without a sample out: take data that have some of each class"
                )
            if seen < 3:
                return f"{self.id} has one score for two classes: take the loss logistic"
        return super().refuses(problem)


def by_class(task: Task) -> np.ndarray | None:
    """Return the starting weights in scikit-learn's order, one row per class; return None for zero."""
    return task.w0.reshape(task.n_features, -1).T.copy() if task.w0.size else None


def flat(coef: np.ndarray) -> np.ndarray:
    """Return weights from scikit-learn, by class, in the order of w, by feature."""
    return np.asarray(coef, dtype=float).T.ravel()


class ScikitSmooth(ScikitLearn):
    """Base of the solvers of ``LogisticRegression`` and ``PoissonRegressor``."""

    needs = Trait.SMOOTH_PENALTY | Trait.UNIFORM
    formulas = Trait.LOG_LINEAR

    def model(self, task: Task, **params: Any) -> Any:
        """Return the scikit-learn model, set to start from the weights of the task."""
        from sklearn.linear_model import LogisticRegression, PoissonRegressor

        n_terms = task.scale * task.n_rows
        tol = max(task.aim / n_terms, np.finfo(float).tiny)
        params |= {"tol": tol, "fit_intercept": False, "warm_start": True}
        start = by_class(task)
        if task.loss == "poisson":
            model = PoissonRegressor(alpha=task.ridge / n_terms, **params)
            start = None if start is None else start[0]
        else:
            model = LogisticRegression(C=task.C, **params)
        if start is not None:
            model.coef_, model.intercept_ = start, np.zeros(task.n_outputs)
        return model


@dataclass(frozen=True)
class ScikitLBFGS(ScikitSmooth):
    """SciPy's L-BFGS-B, with the objective that scikit-learn computes."""

    id = "sklearn-lbfgs"
    name = "scikit-learn lbfgs"
    summary = "LogisticRegression(solver='lbfgs'), watched by its callback"
    observation_mode = CALLBACK
    dense_vectors = 32

    tol: float = tol_param()

    @classmethod
    def why_not_here(cls) -> str | None:
        if missing := super().why_not_here():
            return missing
        if not passes_keyword("linear_model/_logistic.py", "task_name", LBFGS_TASK):
            return changed(f"the callbacks of {LBFGS_TASK}")
        return None

    def advance(self, task: Task, report: IterateReporter) -> str:
        watch = IterationCallback(report)
        model = self.model(task, solver="lbfgs", max_iter=NO_LIMIT)
        model.set_callbacks(watch).fit(task.X, task.y)
        if model.n_iter_.max() > watch.iterations:
            raise RuntimeError(f"its callback was shown {watch.iterations} of {model.n_iter_.max()} iterates")
        return "no more to gain, or its own tolerance is met"


class IterationCallback:
    """A scikit-learn callback that reports the weights after each iteration."""

    def __init__(self, report: IterateReporter) -> None:
        self._report, self.iterations = report, 0

    def setup(self, estimator: Any, context: Any) -> None:
        pass

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any = None) -> None:
        if context.task_name == LBFGS_TASK and fitted_estimator is not None:
            self.iterations += 1
            self._report(self.iterations, flat(fitted_estimator.coef_))


@dataclass(frozen=True)
class ScikitNewtonCholesky(ScikitSmooth):
    """Newton's method with the dense Hessian.

    Its only state between iterations are the weights. So a restart for each iteration is equivalent, and
    costs one more product with X.
    """

    id = "sklearn-newton-cholesky"
    name = "scikit-learn newton-cholesky"
    summary = "LogisticRegression or PoissonRegressor(solver='newton-cholesky'), watched by warm restarts"
    formulas = Trait.LOG_LINEAR | Trait.POISSON
    observation_mode = RESTART

    tol: float = tol_param()

    def advance(self, task: Task, report: IterateReporter) -> str:
        from sklearn.exceptions import ConvergenceWarning

        model = self.model(task, solver="newton-cholesky", max_iter=1)
        for n in count(1):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                model.fit(task.X, task.y)
            report(n, flat(model.coef_))
            if not any(issubclass(each.category, ConvergenceWarning) for each in said):
                break
        return "its own tolerance is met"

    def refuses(self, problem: Problem) -> str | None:
        what = f"a matrix of {problem.size} x {problem.size} numbers"
        advice = "take sklearn-lbfgs or fewer features"
        return self._why_no_room(8.0 * problem.size**2 * 3, what, advice) or super().refuses(problem)


@dataclass(frozen=True)
class ScikitSAGA(ScikitLearn):
    """SAGA, restarted for each epoch with the table of gradients that ``sag_solver`` returns.

    ``LogisticRegression`` itself would discard the table.
    """

    id = "sklearn-saga"
    name = "scikit-learn saga"
    summary = "SAGA as in LogisticRegression and Ridge(solver='saga'), watched by warm restarts"
    paper = "Defazio, Bach and Lacoste-Julien 2014"
    needs = Trait.SEPARABLE | Trait.UNIFORM
    formulas = Trait.LOG_LINEAR | Trait.LEAST_SQUARES
    observation_mode = RESTART
    passes_each = 1.0

    seed: int = random_seed("seed of the order of the samples")

    @classmethod
    def why_not_here(cls) -> str | None:
        if missing := super().why_not_here():
            return missing
        if not accepts_call("linear_model/_sag.py", "sag_solver", 2, SAG_KEYWORDS):
            return changed("sag_solver")
        return None

    def advance(self, task: Task, report: IterateReporter) -> str:
        from sklearn.linear_model._sag import sag_solver
        from sklearn.utils.extmath import row_norms

        rng, start = np.random.RandomState(self.seed), by_class(task)
        largest = row_norms(task.X, squared=True).max()
        if task.loss in ("squared", "multitask-squared"):  # each target by itself
            loss, targets = "squared", signs(task)
            starts = [None] * len(targets) if start is None else list(start[:, None])
        else:  # 0 and 1 where our labels are -1 and +1
            loss = "log" if task.n_outputs == 1 else "multinomial"
            targets, starts = [np.maximum(task.y, 0).astype(float)], [start]
        states = [{} if one is None else {"coef": np.ascontiguousarray(one.T)} for one in starts]
        for n in count(1):
            coefs = []
            for k, y in enumerate(targets):
                w, _, states[k] = sag_solver(
                    task.X,
                    y,
                    loss=loss,
                    alpha=task.ridge / task.scale,
                    beta=task.l1 / task.scale,
                    max_iter=1,
                    tol=0.0,
                    random_state=rng,
                    check_input=False,
                    max_squared_sum=largest,
                    warm_start_mem=states[k],
                    is_saga=True,
                )
                coefs.append(np.atleast_2d(w))
            report(n, flat(np.concatenate(coefs)))
        raise AssertionError


@dataclass(frozen=True)
class ScikitLinearSVC(ScikitLearn):
    """scikit-learn's version of liblinear: dual coordinate descent for hinges and the ε-insensitive loss.

    For squared hinges it is that, or a trust-region method if there are more samples than features. It cannot
    be interrupted, nor started from given weights.
    """

    id = "sklearn-linear-svc"
    name = "scikit-learn LinearSVC"
    summary = "LinearSVC or LinearSVR, run anew with more and more iterations"
    paper = "Fan et al. 2008; Ho and Lin 2012"
    needs = Trait.RIDGE | Trait.UNIFORM
    formulas = Trait.HINGES | Trait.EPSILON_INSENSITIVE
    observation_mode = RERUN
    takes_start = False

    tol: float = tol_param()
    seed: int = random_seed("seed of the order of the samples")

    def advance(self, task: Task, report: IterateReporter) -> str:
        from sklearn.svm import LinearSVC, LinearSVR

        shared = {
            "C": task.C,
            "tol": max(self.tol, np.finfo(float).tiny),
            "fit_intercept": False,
            "random_state": self.seed,
        }
        if task.loss == "epsilon-insensitive":
            model = LinearSVR(epsilon=task.loss_params["epsilon"], dual=True, **shared)
        elif task.loss == "binary-hinge":
            model = LinearSVC(loss="hinge", dual=True, **shared)
        else:
            model = LinearSVC(loss="squared_hinge", dual="auto", **shared)
        for n in growing_lengths():
            model.set_params(max_iter=n)
            coefs, needed = [], 0
            for y in signs(task):
                coefs.append(model.fit(task.X, y).coef_.ravel())
                needed = max(needed, model.n_iter_)
            report(n, flat(np.array(coefs)))
            if needed < n:
                break
        return "its own tolerance is met"


@dataclass(frozen=True)
class ScikitSGD(ScikitLearn):
    """Stochastic gradient descent, one epoch at a time: ``partial_fit`` continues the schedule of steps."""

    id = "sklearn-sgd"
    name = "scikit-learn SGD"
    summary = "SGDClassifier or SGDRegressor, watched by warm restarts"
    paper = "Bottou 2012; Tsuruoka, Tsujii and Ananiadou 2009 for ‖w‖₁"
    needs = Trait.SEPARABLE | Trait.UNIFORM
    formulas = Trait.MARGINS | Trait.LEAST_SQUARES | Trait.HUBER | Trait.EPSILON_INSENSITIVE
    observation_mode = RESTART
    passes_each = 1.0

    eta0: float = param(
        0.01, "first step, where the schedule is not optimal", low=0.0, open_low=True, title="step η₀"
    )
    schedule: str = param(
        "optimal", "how steps get shorter", choices=("optimal", "invscaling", "constant"), title="schedule"
    )
    seed: int = random_seed("seed of the order of the samples")

    def advance(self, task: Task, report: IterateReporter) -> str:
        from sklearn.linear_model import SGDClassifier, SGDRegressor

        loss, regression = SGD_LOSSES[task.loss], task.loss in SGD_REGRESSIONS
        params = {
            "loss": loss,
            "penalty": "elasticnet" if task.strength else None,
            "l1_ratio": task.l1_ratio,
            "learning_rate": self.schedule,
            "eta0": self.eta0,
            "fit_intercept": False,
            "max_iter": 1,
            "tol": None,
        }
        if task.strength:  # without a penalty it only sets the schedule
            params["alpha"] = task.strength / (task.scale * task.n_rows)
        for width in task.loss_params.values() if regression else ():  # δ or ε
            params["epsilon"] = width
        labels, start = signs(task), by_class(task)
        cls = SGDRegressor if regression else SGDClassifier
        classes = {} if regression else {"classes": [-1, 1]}
        models = [
            cls(**params, random_state=np.random.RandomState([self.seed, k])) for k in range(len(labels))
        ]
        for n in count(1):
            for k, (model, y) in enumerate(zip(models, labels, strict=True)):
                if n == 1 and start is not None:
                    model.fit(task.X, y, coef_init=start[k : k + 1])
                else:
                    model.partial_fit(task.X, y, **classes)
            report(n, flat(np.array([model.coef_.ravel() for model in models])))
        raise AssertionError
