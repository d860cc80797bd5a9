"""What the story of other people's programs says."""

from __future__ import annotations

import numpy as np

from solverscope.solvers.rivals.observation_mode import CALLBACK, RESTART
from tests.app.stories.told import Told, claim


@claim(
    "theirs",
    "Our L-BFGS and four solvers of SciPy and scikit-learn, on one objective.",
    "SciPy and scikit-learn's lbfgs are watched by their callback, the other two by warm restarts: the "
    "record's phase says so.",
)
def _(told: Told) -> None:
    seen = {label: set(told[label].phase) for label in told.labels}
    assert seen.pop("ours") == {None}
    assert list(seen.values()) == [{CALLBACK}, {CALLBACK}, {RESTART}, {RESTART}]
    for entrant in told.story.setting.entrants[1:]:
        assert entrant.id.startswith(("scipy-", "sklearn-"))
    least = [told[label].objective.min() for label in told.labels]
    np.testing.assert_allclose(least, told.f_star, rtol=1e-7)


@claim(
    "theirs",
    "scikit-learn's lbfgs calls SciPy's L-BFGS-B: the two take the same iterations.",
)
def _(told: Told) -> None:
    scipy, sklearn = told["SciPy"], told["scikit-learn"]
    assert len(scipy) == len(sklearn) > 20
    np.testing.assert_allclose(scipy.objective, sklearn.objective, rtol=1e-9)


@claim(
    "theirs",
    "To a gap of 1e-6 our L-BFGS takes fewer iterations than SciPy's, and fewer passes over the data.",
)
def _(told: Told) -> None:
    for column in ("iteration", "passes"):
        assert told.work("ours", 1e-6, column) < told.work("SciPy", 1e-6, column)


@claim(
    "theirs",
    "Newton's method takes fewer than ten iterations, each with the Hessian of all 30 weights.",
)
def _(told: Told) -> None:
    assert told.problem().size == 30
    assert told["Newton"].status == "converged"
    assert told["Newton"].iteration[-1] < 10


@claim(
    "theirs",
    "SAGA takes more than a thousand passes to 1e-6.",
)
def _(told: Told) -> None:
    assert told.work("SAGA", 1e-6, "passes") > 1000


@claim(
    "theirs",
    "Steps of SAGA go by one sample at a time, and are as short as the steepest sample allows.",
    "Curvature pairs tell L-BFGS along which directions it may go far.",
    "How many passes over the data will SAGA take to the end, compared with ours?",
)
def _(told: Told) -> None:
    """The curvature along the newest pair is less than a fiftieth of that of the steepest sample."""
    assert told.truth().right == ("more than that",)
    starts, _, values = told.problem().design.by_rows()
    steepest = 0.25 * np.add.reduceat(values**2, starts[:-1]).max()
    assert (told["ours"].gamma[1:] < steepest / 50).all()
