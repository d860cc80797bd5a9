"""Comparison of working-set rules: size, cost, and wrong guesses."""

from __future__ import annotations

import numpy as np
import panel as pn

from solverscope.app import ui
from solverscope.app.views.base.feed import Records, known, latest
from solverscope.app.views.base.plot import Plots, RunPlot
from solverscope.app.views.base.run_events import returns
from solverscope.app.views.convergence.convergence import Convergence
from solverscope.solvers import SHRINKING, Trace


class Members(RunPlot):
    """Size of the working set, in per cent of all weights."""

    id = "rule-members"
    title = "Members"
    y_label = "working set  ·  % of all"

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        size = trace.info.problem.get("n_params", np.nan)
        return {"y": self.drawable(100.0 * known(rows["working_set"]) / size)}


class Cost(RunPlot):
    """CPU seconds spent on tests of weights up to each iterate, for solvers with a rule."""

    id = "rule-cost"
    title = "Cost of the tests"
    y_label = "CPU time of tests (s)"

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        seen = [(k, float(test.get("cost", np.nan))) for k, test in trace.probes.entries(SHRINKING.name)]
        at, cost = np.array(seen, dtype=float).reshape(-1, 2).T
        return {"y": self.drawable(latest(at, cost, rows["iteration"]))}


class Mistakes(RunPlot):
    """Cumulative number of weights that were removed by a wrong guess and returned as nonzero."""

    id = "rule-mistakes"
    title = "Mistakes"
    y_label = "wrong guesses so far"
    default_scale = "linear"

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        everything, _, _ = trace.since(None)
        wrong = np.where(everything["returned"] >= 0, np.cumsum(returns(everything)), np.nan)
        # rows may have been read before the trace was thinned
        return {"y": self.drawable(latest(everything["iteration"], wrong, rows["iteration"]))}


class Gap(Convergence):
    """The relative gap of f to f* of the same runs."""

    id = "rule-gap"

    def controls(self) -> list[pn.viewable.Viewable]:
        return []


class RuleRace(Plots):
    """Four plots of all runs over time or iterations, to compare their working-set rules.

    They show the size of the working set, the cost of the tests, the number of wrong guesses, and the
    distance of f from f*. Solvers that work on all weights are included.
    """

    id = "rules"
    title = "Rules"
    hint = "Run newton-cd or prox-qn with several rules (rule=zhong, growing, gap-safe) to compare them here."
    carried = ("active",)
    probes = (SHRINKING,)
    every = 2

    def build(self) -> None:
        (first,) = self.plots(Members, height=200)
        self.plots(Cost, Mistakes, Gap, height=200, beside=first)
        self._body.append(ui.column(*self.parts, kind="plots"))
