"""Wapiti's training algorithms for linear chains.

The environment variable ``SOLVERSCOPE_WAPITI`` has the path of the program, as an unrelated program has the
same name. Wapiti minimizes Σ_i L_i + ρ₁‖w‖₁ + ½ρ₂‖w‖²: f is s times that objective with ρ₁ = a/s and ρ₂ =
b/s. The strengths of ‖w‖₁ and ½‖w‖² are a and b, and s is 1 for a sum, 1/n for a mean. Wapiti's features
correspond to weights one to one. Observations have no values, so that X must be a matrix of ones. Reading
data, listing features and writing models are off the clock.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TextIO

import numpy as np
import psutil

from ..declare import Trait, param
from ..problems.problem import Problem
from .external_solver import ExternalSolver, IterateReporter, Task
from .observation_mode import RERUN, growing_lengths

#: The variable with the path of the program: a wapiti on the PATH is often another program.
WHERE = "SOLVERSCOPE_WAPITI"
#: Its messages on standard error before and after training, and for each iteration.
WAPITI_BEGINS, WAPITI_ENDS = "* Train the model", "* Save the model"
ITERATION = re.compile(r"\s*\[\s*(\d+)\] obj=(\S+)")
#: The observation that makes a feature of each pair of labels; all others begin with u.
PAIR_OBSERVATION = "b"


@dataclass(frozen=True)
class Wapiti(ExternalSolver):
    """Wapiti's L-BFGS (OWL-QN if there is ‖w‖₁) and blockwise coordinate descent.

    It does not expose intermediate weights, and starts from zero. Its L-BFGS ends by itself once the length
    of the gradient is 1e-5 times that of w.
    """

    id = "wapiti"
    name = "Wapiti"
    summary = "Wapiti's algorithms for chain CRFs, run anew with more and more iterations"
    paper = "Lavergne, Cappé and Yvon 2010"
    program = "Wapiti"
    variables = (WHERE,)
    needs = Trait.CHAINS | Trait.SEPARABLE | Trait.UNIFORM
    observation_mode = RERUN
    takes_start = False
    dense_vectors = 24

    algorithm: str = param(
        "l-bfgs", "Wapiti's name of it", choices=("l-bfgs", "bcd"), title="training algorithm"
    )
    memory: int = param(5, "pairs (s, y) kept by l-bfgs, histsz", low=1, high=1000, title="pairs m")

    @classmethod
    def why_not_here(cls) -> str | None:
        if shutil.which(os.environ.get(WHERE, "")) is None:
            return f"needs the program Wapiti: name its file in {WHERE}"
        return None

    def refuses(self, problem: Problem) -> str | None:
        if too_large := super().refuses(problem):
            return too_large
        if not problem.design.binary:
            return f"{self.id} takes features that are there or not: take data whose X has ones alone"
        if np.unique(problem.loss.y).size < problem.loss.n_outputs:
            return f"{self.id} leaves labels without a token out: take data that have some of each label"
        return None

    def load(self, task: Task) -> None:
        """Do nothing: Wapiti takes features by name, and X is not needed."""

    def advance(self, task: Task, report: IterateReporter) -> str:
        with tempfile.TemporaryDirectory() as folder:
            data, first, model = (Path(folder) / name for name in ("data", "first", "model"))
            with data.open("w") as file:
                file.writelines(lines(task, task.offsets))
            with first.open("w") as file:  # it would look for errors in all sequences after each iteration
                file.writelines(lines(task, task.offsets[:2]))
            settings = [*self.settings(task), "--devel", str(first)]
            for n in growing_lengths():
                train = ["train", *settings, "--maxiter", str(n), str(data), str(model)]
                iterations, _ = trained(train, report)
                with model.open() as file:
                    report(n, weights(file, task))
                if iterations < n:
                    return "its own tolerance is met"
        raise AssertionError

    def settings(self, task: Task) -> list[str]:
        """Return the command-line options except the number of iterations.

        They disable all other stopping rules but Wapiti's own tolerance on the gradient.
        """
        rho1, rho2 = task.l1 / task.scale, task.ridge / task.scale
        given = {"algo": self.algorithm, "rho1": rho1, "rho2": rho2, "histsz": self.memory, "stopeps": 0.0}
        return [word for name, value in given.items() for word in (f"--{name}", str(value))]


def lines(task: Task, offsets: np.ndarray) -> Iterator[str]:
    """Yield the lines of the sequences between these offsets: one per token, with its features and its
    label."""
    features, starts = task.features.tolist(), task.starts.tolist()
    for first, end in pairwise(offsets.tolist()):
        for t in range(first, end):
            seen = "".join(f"u{j} " for j in features[starts[t] : starts[t + 1]])
            yield f"{seen}{PAIR_OBSERVATION} {task.y[t]}\n"
        yield "\n"


def trained(arguments: Sequence[str], report: IterateReporter) -> tuple[int, float]:
    """Run Wapiti, with the clock restricted to training; return its last iteration and the objective there.

    Wapiti prints the objective with two digits after the point, or not at all (then it is nan).
    """
    program = [os.environ[WHERE], *arguments]
    iterations, objective, began, spent, said = 0, float("nan"), 0.0, 0.0, ""
    with subprocess.Popen(
        program, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        report.started(process.pid)
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(WAPITI_BEGINS):
                began = cpu_of(process.pid)
                report.begin()
            with suppress(OSError, psutil.Error):  # it may have ended meanwhile
                spent = cpu_of(process.pid) - began
            if line.startswith(WAPITI_ENDS):
                report.end(spent)
            elif found := ITERATION.match(line):
                iterations, objective = int(found[1]), float(found[2].replace("NA", "nan"))
            said = line.strip() or said
    if process.returncode:
        raise RuntimeError(f"ended with status {process.returncode}: {said}")
    return iterations, objective


def cpu_of(pid: int) -> float:
    """Return the CPU seconds that another process has used."""
    if sys.platform == "linux":
        return time.clock_gettime(~pid << 3 | 2)  # psutil knows hundredths alone
    spent = psutil.Process(pid).cpu_times()
    return spent.user + spent.system


def weights(file: TextIO, task: Task) -> np.ndarray:
    """Return the weights in a model file, in the order of w; non-zero weights have all digits."""

    def names() -> list[str]:
        head = next(line for line in file if line.startswith("#qrk#"))
        return [file.readline().partition(":")[2].rstrip(",\n") for _ in range(int(head[5:]))]

    labels, places, n = np.array(names(), dtype=int), [], task.n_outputs
    for name in names():
        if name == PAIR_OBSERVATION:
            places.append((task.n_features * n + labels[:, None] * n + labels).ravel())
        else:
            places.append(int(name[1:]) * n + labels)
    place, w = np.concatenate(places), np.zeros(task.size)
    for line in file:
        number, _, value = line.partition("=")
        w[place[int(number)]] = float.fromhex(value)
    return w
