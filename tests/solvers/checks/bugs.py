"""Thirty bugs seeded in five plug-ins of students: a text of a plug-in, and what replaces it.

The list was written before any check. ``quantities`` are the names of what is wrong, in words of the record:
a check has found the bug if one of its sentences names one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

STUDENTS = Path(__file__).parent / "students"
#: File and id of each plug-in.
SOUND = {name: f"student-{name}" for name in ("ista", "cd", "pqn", "sgd", "lbfgs", "fista")}


@dataclass(frozen=True)
class Bug:
    """A change of a plug-in that makes it wrong."""

    student: str
    title: str
    quantities: frozenset[str]
    changes: tuple[tuple[str, str], ...]

    def text(self) -> str:
        """The plug-in with the bug."""
        text = (STUDENTS / f"{self.student}.py").read_text(encoding="utf-8")
        for old, new in self.changes:
            if text.count(old) != 1:
                raise ValueError(f"{self.title}: {old!r} stands {text.count(old)} times in {self.student}.py")
            text = text.replace(old, new)
        return text


def _bug(student: str, title: str, quantities: str, *changes: tuple[str, str]) -> Bug:
    return Bug(student, title, frozenset(quantities.split()), changes)


BUGS = (
    _bug(
        "ista",
        "wrong sign in one coordinate of the gradient",
        "gradient violation",
        (
            "            g = point.gradient()\n",
            "            g = point.gradient()\n            g[0] = -g[0]\n",
        ),
    ),
    _bug(
        "ista",
        "λ without n",
        "objective",
        ("prox(point.w - t * g, t)", "prox(point.w - t * g, t * problem.loss.n_instances)"),
    ),
    _bug(
        "ista",
        "stale gradient after a refused step",
        "gradient violation",
        (
            "            g = point.gradient()\n",
            "            if trials == 1:\n                g = point.gradient()\n",
        ),
    ),
    _bug(
        "ista",
        "f without its penalty",
        "objective",
        ('"step": t,', '"step": t, "objective": point.smooth_part,'),
    ),
    _bug(
        "ista",
        "w changed in place by each trial",
        "objective w",
        (
            "new = problem.at(penalty.prox(point.w - t * g, t))",
            "w = point.w\n                w -= t * g\n                new = problem.at(penalty.prox(w, t))",
        ),
    ),
    _bug(
        "cd",
        "residual that leaves out small changes",
        "objective violation gradient",
        (
            "                    r += (new - w[j]) * X[:, j]\n",
            "                    if abs(new - w[j]) > 1e-3:\n"
            "                        r += (new - w[j]) * X[:, j]\n",
        ),
    ),
    _bug(
        "cd",
        "residual in single precision, which drifts",
        "objective violation gradient",
        ("start.residual.Z[:, 0].copy()", "start.residual.Z[:, 0].astype(np.float32)"),
    ),
    _bug("cd", "soft threshold with 2λ", "objective", ("abs(v) - l1[j]", "abs(v) - 2.0 * l1[j]")),
    _bug("cd", "last coordinate never visited", "objective", ("range(w.size)", "range(w.size - 1)")),
    _bug(
        "cd",
        "gradient of the start of the pass for all coordinates",
        "objective",
        ("(s * (X[:, j] @ r) + ridge[j] * w[j])", "g[j]"),
    ),
    _bug(
        "cd",
        "non-zeros of the iterate before",
        "nnz",
        ("nnz=nnz,", "nnz=told,"),
        (
            "        while True:\n",
            "        nnz = int(np.count_nonzero(w))\n        while True:\n            told = nnz\n",
        ),
    ),
    _bug(
        "pqn",
        "pair of the wrong working set",
        "pair",
        ("pairs.carry(keep, np", "pairs.carry(keep[::-1], np"),
    ),
    _bug(
        "pqn",
        "stale gradient after a refused step",
        "gradient violation pair",
        ("before, g = g, point.gradient(A)", "before, g = g, point.gradient(A) if found.t == 1.0 else g"),
    ),
    _bug("pqn", "shrinking with the wrong M̂", "working_set", ("l1 - bound)", "l1 + bound)")),
    _bug(
        "pqn",
        "no look at the weights left out",
        "working_set violation",
        ("if violation <= aim and not A.full:", "if violation < 0.0 and not A.full:"),
        ("bound = violation / problem.loss.n_instances", "bound = 0.0"),
    ),
    _bug(
        "pqn",
        "epochs counted from 1",
        "epoch",
        (
            "n, epoch, found = problem.design.working_set(), point.gradient(), 0, 0,",
            "n, epoch, found = problem.design.working_set(), point.gradient(), 0, 1,",
        ),
    ),
    _bug(
        "pqn",
        "promised decrease that is the whole of f",
        "step objective direction",
        (
            "            d = self.minimum(w, g, l1, pairs, gamma)\n"
            "            decrease = g @ d + l1 @ (np.abs(w + d) - np.abs(w))\n            found",
            "            d = self.minimum(w, g, l1, pairs, gamma)\n"
            "            decrease = abs(point.objective)\n            found",
        ),
    ),
    _bug("pqn", "step that is always told as 1", "step", ('"found": found,', '"found": found, "step": 1.0,')),
    _bug(
        "sgd",
        "averaged sums of which only passes are counted",
        "objective",
        ("count, t = count + 1, t + 1", "t = t + 1"),
        ("            k += 1\n", "            k, count = k + 1, count + 1\n"),
    ),
    _bug(
        "sgd",
        "generator shared by all runs",
        "repetition",
        ("rng = np.random.default_rng(self.seed)", "rng = SHARED"),
        ("\n\n@solvers.register", "\n\nSHARED = np.random.default_rng(0)\n\n\n@solvers.register"),
    ),
    _bug(
        "sgd",
        "w0 changed in place",
        "w0",
        ("w = problem.at(w0).w", "w = problem.at().w if w0 is None else w0"),
    ),
    _bug(
        "sgd",
        "off-by-one epoch: the last sample is never drawn",
        "objective sample",
        ("rng.permutation(n)", "rng.permutation(n - 1)"),
    ),
    _bug(
        "sgd",
        "labels of the problem changed in place",
        "data",
        (
            "y = dense(problem.design), problem.loss.y",
            "y = dense(problem.design), problem.loss.y\n        y[y > 0] = 2\n        y = np.sign(y)",
        ),
    ),
    _bug(
        "sgd", "gradient of a sample without n", "objective", ("n * problem.scale * g", "problem.scale * g")
    ),
    _bug(
        "lbfgs",
        "Wolfe with c2 < c1",
        "step",
        ("c1: float = solvers.param(1e-4,", "c1: float = solvers.param(0.4,"),
        ("c2: float = solvers.param(0.9,", "c2: float = solvers.param(0.1,"),
    ),
    _bug("lbfgs", "s that is w, not its change", "pair", ("pairs.push(point.w - w,", "pairs.push(point.w,")),
    _bug(
        "lbfgs",
        "both loops of the recursion in one order",
        "pair direction",
        ("        for s, y in pairs:\n", "        for s, y in reversed(pairs):\n"),
    ),
    _bug("lbfgs", "violation in another norm", "violation", ("np.abs(g).max()", "np.linalg.norm(g)")),
    _bug(
        "lbfgs",
        "Armijo's bound with the wrong sign",
        "step objective",
        ("f + self.c1 * t * slope", "f - 0.5 * t * slope"),
    ),
    _bug(
        "lbfgs",
        "gradient without the ridge",
        "gradient violation",
        (
            "            g = point.gradient()\n",
            "            g = point.gradient() - problem.penalty.ridge_gradient(point.w)\n",
        ),
    ),
)

_RIDGE = "point.gradient() - penalty.ridge_gradient(point.w)"
#: What new users got wrong, and the bank once missed: the loss is no smooth part if the penalty has a ridge.
#: Each is sought on the case with a ridge.
LATER_BUGS = (
    _bug(
        "ista",
        "decrease of the loss for that of the smooth part",
        "violation",
        ("f = 2.0 * t, 0, point.smooth_part", "f = 2.0 * t, 0, point.loss"),
        ("new.smooth_part <= f", "new.loss <= f"),
    ),
    _bug(
        "ista",
        "ridge left out of gradient, decrease and violation, which is not told",
        "violation",
        ("        g = point.gradient()\n        while", f"        g = {_RIDGE}\n        while"),
        ("            g = point.gradient()\n", f"            g = {_RIDGE}\n"),
        ('{"violation": violation, "step"', '{"step"'),
        ('live={"gradient": g}, ', ""),
        ("f = 2.0 * t, 0, point.smooth_part", "f = 2.0 * t, 0, point.loss"),
        ("new.smooth_part <= f", "new.loss <= f"),
    ),
    _bug(
        "ista",
        "ridge left out of the gradient, and no violation told",
        "violation",
        ("        g = point.gradient()\n        while", f"        g = {_RIDGE}\n        while"),
        ("            g = point.gradient()\n", f"            g = {_RIDGE}\n"),
        ('{"violation": violation, "step"', '{"step"'),
        ('live={"gradient": g}, ', ""),
    ),
)

#: What a user got wrong, and the bank missed until a solver could show where its proximal steps start, and
#: lists of pairs.
MISSED_BUGS = (
    _bug("fista", "bound without its ½", "step", ("d @ d / (2.0 * t)", "d @ d / t")),
    _bug("fista", "y in place of x", "w", ("Iterate.at(new, n,", "Iterate.at(extrapolated, n,")),
    _bug(
        "lbfgs",
        "a pair more than memory says",
        "memory_pairs",
        ("Pairs(self.memory)", "Pairs(self.memory + 1)"),
    ),
    _bug(
        "lbfgs",
        "a pair more than memory says, in a plain list",
        "memory_pairs",
        ("Pairs(self.memory)", "Pairs(self.memory + 1)"),
        ('"memory": pairs', '"memory": list(zip(pairs.S, pairs.Y, strict=True))'),
        ('"memory_pairs": len(pairs), ', ""),
    ),
)
