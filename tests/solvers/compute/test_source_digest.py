"""The digest of a loss's source: other code is another digest, other prose is not."""

from __future__ import annotations

import gc
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from solverscope import solvers
from solverscope.app.plugins import load_file
from solverscope.solvers.compute.source_digest import source_digest

LOSS = '''
"""A file of somebody."""
from __future__ import annotations
from dataclasses import dataclass
import numpy as np
from solverscope import solvers

@dataclass(frozen=True)
class Squares(solvers.Loss):
    """Half the squares."""
    id = "squares"
    name = "Squares"
    summary = "what is missed, squared"
    paper = "Gauss 1809"
    kinds = ("binary",)
    traits = solvers.Trait.SMOOTH
    average = True
    weight: float = solvers.param(1.0, "weight of a sample", low=0.0)

    def bind(self, part, n_classes, parents=None):
        return Bound(self, 1, np.asarray(part.y, dtype=float))

@dataclass(frozen=True, eq=False)
class Bound(solvers.RowLoss):
    def chunk_values(self, Z, y, out):
        out[:] = 0.5 * self.declared.weight * (y - Z[:, 0]) ** 2  # as it is defined

    def chunk_residual(self, Z, y, G):
        G[:, 0] = self.declared.weight * (Z[:, 0] - y)

    def predict(self, scores):
        return np.where(scores.Z[:, 0] >= 0.0, 1.0, -1.0)

solvers.register(Squares)
'''
X, Y = [[1.0, 2.0], [0.5, -1.0], [2.0, 1.0]], [1, -1, 1]


def key(path, text, **options):
    """The key of a problem whose loss is defined by this text."""
    path.write_text(text)
    load_file(path)
    try:
        return solvers.make_problem(X, Y, loss="squares", penalty="l1", lam=0.1, **options).key
    finally:
        del solvers.LOSSES["squares"]


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("what is missed, squared", "the square of what is missed"),
        ("Half the squares.", "Half of the squares."),
        ("A file of somebody.", "A file of mine."),
        ("Gauss 1809", "Legendre 1805"),
        ("# as it is defined", "# since 1809"),
        ("weight of a sample", "how much a sample counts"),
        ('name = "Squares"', 'name = "Least squares"'),
    ],
)
def test_other_prose_leaves_the_key_as_it_is(tmp_path, old, new):
    assert old in LOSS
    assert key(tmp_path / "b.py", LOSS.replace(old, new)) == key(tmp_path / "a.py", LOSS)


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.5 * self", "0.4 * self"),
        ("(Z[:, 0] - y)", "(Z[:, 0] - 2.0 * y)"),
        ("solvers.param(1.0,", "solvers.param(2.0,"),
        ("average = True", "average = False"),
    ],
)
def test_other_code_makes_another_key(tmp_path, old, new):
    assert old in LOSS
    assert key(tmp_path / "b.py", LOSS.replace(old, new)) != key(tmp_path / "a.py", LOSS)


@pytest.mark.usefixtures("registries")
def test_another_hyper_parameter_makes_another_key(tmp_path):
    keys = {
        key(tmp_path / f"{k}.py", LOSS, loss_params={"weight": weight})
        for k, weight in enumerate((1.0, 2.0, 3.0))
    }
    assert len(keys) == 3


def test_every_loss_and_penalty_of_the_package_has_a_source():
    things = [*solvers.LOSSES.values(), *solvers.PENALTIES.values()]
    assert all(source_digest(thing) for thing in things)


def test_a_class_without_a_source_has_no_digest():
    typed = type("Typed", (solvers.Loss,), {"__module__": "__typed__"})
    assert source_digest(typed) is None


def test_threads_that_ask_at_once_all_get_the_digest():
    """Python 3.11 counts the depth of trees for all threads together, and another thread may go on where the
    collector calls Python code while it makes one."""
    known, interval, threshold = (
        source_digest(solvers.LOSSES["logistic"]),
        sys.getswitchinterval(),
        gc.get_threshold(),
    )

    def called(*args):
        os.sched_yield()

    sys.setswitchinterval(1e-6)
    gc.set_threshold(500)
    gc.callbacks.append(called)
    try:
        with ThreadPoolExecutor(4) as threads:
            ask = [threads.submit(source_digest.__wrapped__, solvers.LOSSES["logistic"]) for _ in range(8)]
            found = {asked.result() for asked in ask}
    finally:
        gc.callbacks.remove(called)
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)
    assert found == {known}
