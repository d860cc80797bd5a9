"""CRFsuite's training algorithms for linear chains, by python-crfsuite.

CRFsuite minimizes Σ_i L_i + c₁‖w‖₁ + c₂‖w‖²: f is s times that objective with c₁ = a/s and c₂ = b/(2s). The
strengths of ‖w‖₁ and ½‖w‖² are a and b, and s is 1 for a sum, 1/n for a mean. CRFsuite's features correspond
to weights one to one. Each feature of a token is an attribute with a value, and all pairs of attributes and
labels, and of labels, are features. It has no begin and end states: if chains have these, first and last
tokens get an additional attribute.
"""

from __future__ import annotations

import ctypes
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from typing import IO, Any

import numpy as np

from ..declare import Trait, param, random_seed
from ..methods.common_params import tol_param
from ..problems.problem import Problem
from .external_solver import ExternalSolver, IterateReporter, Task
from .observation_mode import RERUN, growing_lengths

#: Messages at which each algorithm begins; before them features are listed and steps calibrated.
CRFSUITE_BEGINS = {
    "lbfgs": "L-BFGS optimization",
    "l2sgd": "***** Epoch #1 ",
    "ap": "Averaged perceptron",
    "pa": "Passive Aggressive",
    "arow": "Adaptive Regularization",
}
CRFSUITE_ENDS = "Total seconds required for training"
#: Make all pairs features, even if their values have a negative sum: by default these are left out.
ALL_PAIRS = {"feature.possible_states": 1, "feature.possible_transitions": 1, "feature.minfreq": -1e30}
#: Words of a model's head: numbers of names, and where its parts begin.
N_LABELS, N_ATTRIBUTES, FEATURES_AT, LABELS_AT, ATTRIBUTES_AT = range(5, 10)
#: An entry of the features, and of the names, which all have the same length here.
FEATURE_ENTRY = np.dtype([("type", "<u4"), ("from", "<u4"), ("to", "<u4"), ("weight", "<f8")])
NAME_ENTRY = np.dtype([("id", "<u4"), ("size", "<u4"), ("name", "S9")])
#: Bytes before the first entry.
BEFORE_FEATURES, BEFORE_NAMES = 12, 24 + 256 * 8


@dataclass(frozen=True)
class CRFsuite(ExternalSolver):
    """CRFsuite's five training algorithms, which do not expose intermediate weights and start from zero.

    L-BFGS (OWL-QN if there is ‖w‖₁) and stochastic gradient descent, with a ridge, minimize f. Averaged
    perceptron, passive aggressive (PA-I) and AROW, without a penalty, minimize errors instead.
    """

    id = "crfsuite"
    name = "CRFsuite"
    summary = "CRFsuite's five algorithms for chain CRFs, run anew with more and more iterations"
    paper = "Okazaki 2007"
    program = "CRFsuite"
    modules = ("pycrfsuite",)
    needs = Trait.CHAINS | Trait.SEPARABLE | Trait.UNIFORM
    observation_mode = RERUN
    takes_start = False
    dense_vectors = 24

    algorithm: str = param(
        "lbfgs", "CRFsuite's name of it", choices=tuple(CRFSUITE_BEGINS), title="training algorithm"
    )
    memory: int = param(6, "pairs (s, y) kept by lbfgs, num_memories", low=1, high=1000, title="pairs m")
    tol: float = tol_param()
    seed: int = random_seed("seed of the order of the sequences, for all but lbfgs")

    @property
    def random(self) -> bool:
        return self.algorithm != "lbfgs"

    def refuses(self, problem: Problem) -> str | None:
        if too_large := super().refuses(problem):
            return too_large
        l1, ridge = problem.penalty.l1, problem.penalty.ridge
        if self.algorithm == "l2sgd" and (l1 or not ridge):
            return f"{self.id} with l2sgd takes a ridge alone: take the penalty l2, or algorithm=lbfgs"
        if self.algorithm in ("ap", "pa", "arow") and (l1 or ridge):
            return (
                f"{self.id} with {self.algorithm} takes no penalty: take the penalty none, or algorithm=lbfgs"
            )
        if np.unique(problem.loss.y).size < problem.loss.n_outputs:
            return f"{self.id} leaves labels without a token out: take data that have some of each label"
        return None

    def load(self, task: Task) -> None:
        """Import python-crfsuite; X is not needed, since CRFsuite takes features by name."""
        import pycrfsuite  # noqa: F401

    def advance(self, task: Task, report: IterateReporter) -> str:
        trainer = trainer_of(self.algorithm, report)
        trainer.set_params(ALL_PAIRS | self.settings(task))
        append(trainer, task)
        with tempfile.TemporaryFile() as file:
            for n in growing_lengths():
                ctypes.CDLL(None).srand(self.seed + 1)  # so that a longer run begins like a shorter one
                trainer.set("max_iterations", n)
                trainer.train(f"/dev/fd/{file.fileno()}")
                report(n, weights(file, task))
                if trainer.iterations < n:
                    return trainer.said or "its own tolerance is met"
        raise AssertionError

    def settings(self, task: Task) -> dict[str, Any]:
        """Return the parameters of the algorithm."""
        c1, c2 = task.l1 / task.scale, 0.5 * task.ridge / task.scale
        if self.algorithm == "lbfgs":
            stop = {"epsilon": self.tol, "delta": 0.0}
            return {"c1": repr(c1), "c2": repr(c2), "num_memories": self.memory, **stop}
        return {"c2": repr(c2), "delta": self.tol} if self.algorithm == "l2sgd" else {}


def trainer_of(algorithm: str, report: IterateReporter) -> Any:
    """Return a trainer that reports seconds of training only.

    It extracts from the log the number of iterations, the last loss and the reason why training ended.
    """
    from pycrfsuite import BaseTrainer

    class Trainer(BaseTrainer):
        iterations, loss, said = 0, float("nan"), ""

        def message(self, message: str) -> None:
            if message.startswith(CRFSUITE_BEGINS[algorithm]):
                report.begin()
            if message.startswith(CRFSUITE_ENDS):
                report.end()
            if message.startswith(("***** Iteration #", "***** Epoch #")):
                self.iterations = int(message.split()[2][1:])
            if message.startswith("Loss: "):
                self.loss = float(message.split()[1])
            if "terminated" in message.lower() or "resulted in" in message:
                self.said = message.strip()

    return Trainer(algorithm=algorithm, verbose=False)


def append(trainer: Any, task: Task) -> None:
    """Pass the sequences to a trainer; names of features and labels are their indices, as eight digits."""
    *attributes, at_begin, at_end = [b"%08d" % j for j in range(task.n_features + 2)]
    labels = [f"{c:08d}" for c in range(task.n_outputs)]
    starts, values = task.starts.tolist(), task.values
    has_ends = task.size > (task.n_features + task.n_outputs) * task.n_outputs
    for first, end in pairwise(task.offsets.tolist()):
        lo, hi = starts[first], starts[end]
        names = [attributes[j] for j in task.features[lo:hi].tolist()]
        weighed = values[lo:hi].tolist() if values.size else ()
        items = []
        for a, b in pairwise(start - lo for start in starts[first : end + 1]):
            items.append(dict(zip(names[a:b], weighed[a:b], strict=True)) if weighed else names[a:b])
        if has_ends:
            for item, attribute in ((items[0], at_begin), (items[-1], at_end)):
                item.update({attribute: 1.0}) if weighed else item.append(attribute)
        trainer.append(items, [labels[c] for c in task.y[first:end].tolist()])


def weights(file: IO[bytes], task: Task) -> np.ndarray:
    """Return the weights in a model file, in the order of w; non-zero weights have all digits."""
    file.seek(0)
    model = file.read()
    head = np.frombuffer(model, "<u4", 12).tolist()
    (n_weights,) = np.frombuffer(model, "<u4", 1, head[FEATURES_AT] + 8).tolist()
    found = np.frombuffer(model, FEATURE_ENTRY, n_weights, head[FEATURES_AT] + BEFORE_FEATURES)

    def names(number: int, offset: int) -> np.ndarray:
        return np.frombuffer(model, NAME_ENTRY, number, offset + BEFORE_NAMES)["name"].astype(np.int64)

    features = names(head[N_ATTRIBUTES], head[ATTRIBUTES_AT])
    labels = names(head[N_LABELS], head[LABELS_AT])
    w, d, m = np.zeros(task.size), task.n_features, task.n_outputs
    W = w.reshape(-1, m)
    state, pair = found[found["type"] == 0], found[found["type"] == 1]
    rows = features[state["from"]]
    W[np.where(rows < d, rows, rows + m), labels[state["to"]]] = state["weight"]  # ends: behind transitions
    W[d + labels[pair["from"]], labels[pair["to"]]] = pair["weight"]
    return w
