"""The view of accepted steps and of the trials of their line searches."""

from __future__ import annotations

from functools import partial

from solverscope.app import ui
from solverscope.app.views.base.plot import Plots
from solverscope.app.views.convergence.any_field import Record


class StepsView(Plots):
    """Two plots of the same runs: accepted steps, and the trials of their line searches."""

    id = "steps"
    title = "Steps"

    def build(self) -> None:
        kinds = [partial(Record, field=field, choose=False) for field in ("step", "ls_trials")]
        self.plots(*kinds, height=240)
        self._body.append(ui.column(*self.parts, kind="plots"))
