"""Chain CRFs with ℓ1: our solvers and CRFsuite, each in a process of its own, one thread."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]

OURS = """
import json, resource, sys
from solverscope import datasets, solvers
solver = solvers.make_solver(sys.argv[1], **json.loads(sys.argv[6]))
small = solvers.make_problem(datasets.load("synthetic-chain", n_samples=20), lam_ratio=0.1)
solvers.solve(small, solver, max_iter=3)  # imports, and kernels from the cache
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
problem = solvers.make_problem(datasets.load(sys.argv[4]), lam=float(sys.argv[5]))
trace = solvers.solve(problem, solver, gap=float(sys.argv[2]), f_star=float(sys.argv[3]), max_seconds=900)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
columns = {name: trace[name].tolist() for name in ("cpu_seconds", "objective", "nnz", "epoch", "passes")}
print(json.dumps({"mib": (peak - before) / 1024, **columns, "result": trace.result}))
"""

CRFSUITE = """
import sys, time
import numpy as np, pycrfsuite, datasets
class Trainer(pycrfsuite.Trainer):
    began = None
    def message(self, message):
        if self.began is None and "L-BFGS" in message:
            self.began = time.process_time()
        if message.startswith("Loss:"):
            print(time.process_time() - self.began, float(message.split()[1]), flush=True)
data = datasets.load(sys.argv[1])
part, names = data.train, [f"x{j}" for j in range(data.n_features)]
words = [[] for _ in range(part.X.shape[0])]
for lo in range(0, len(words), 2048):
    hi = min(lo + 2048, len(words))
    if hasattr(part.X, "csc_rows"):
        indptr, rows, _ = part.X.csc_rows(lo, hi)
    else:
        columns = part.X[lo:hi].tocsc()
        indptr, rows = columns.indptr, columns.indices
    features = np.repeat(np.arange(data.n_features), np.diff(indptr))
    for i, j in zip(rows.tolist(), features.tolist()):
        words[lo + i].append(names[j])
trainer = Trainer(algorithm="lbfgs", verbose=True)
trainer.set_params({"c1": float(sys.argv[2]), "c2": 0.0, "max_iterations": 2000})
trainer.set_params({"epsilon": 1e-9, "delta": 1e-9})
trainer.set_params({"feature.possible_states": True, "feature.possible_transitions": True})
for a, b in zip(part.offsets[:-1].tolist(), part.offsets[1:].tolist()):
    trainer.append(words[a:b], [str(c) for c in part.y[a:b]])
    words[a:b] = [None] * (b - a)
trainer.train("/dev/null")
"""


@dataclass(frozen=True)
class Race:
    """A chain CRF with ℓ1 on a data set, and the best objective known."""

    data: str
    lam: float
    f_star: float

    def ours(self, solver: str, gap: float, **params: object) -> dict:
        """One solver in a process of its own; its trace and the memory it took beyond the imports."""
        words = [solver, str(gap), str(self.f_star), self.data, str(self.lam), json.dumps(params)]
        done = subprocess.run(
            [sys.executable, "-c", OURS, *words], cwd=ROOT, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout.splitlines()[-1])

    def crfsuite(self, gap: float, budget: float) -> list[tuple[float, float]]:
        """(CPU seconds, objective) per iteration of CRFsuite's OWL-QN, until the gap or the budget."""
        seen: list[tuple[float, float]] = []
        command = [sys.executable, "-c", CRFSUITE, self.data, str(self.lam)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        try:
            for line in process.stdout:
                seconds, loss = map(float, line.split())
                seen.append((seconds, loss))
                if loss <= self.f_star * (1 + gap) or seconds > budget:
                    break
        finally:
            process.kill()
            process.wait()
        return seen

    def time_to(self, gap: float, seconds: Sequence[float], objective: Sequence[float]) -> float | None:
        """CPU seconds at the first iterate within ``gap`` of f*."""
        reached = np.flatnonzero(np.asarray(objective) <= self.f_star * (1 + gap))
        return float(seconds[reached[0]]) if reached.size else None
