"""Steps and what they cost: the accepted step beside the trials it took."""

from __future__ import annotations

import param

from app import theme
from app.views.base.plot import X_AXES
from app.views.base.view import View
from app.views.convergence.any_field import Record


class Steps(View):
    """Two plots side by side, on the same runs and cursor."""

    id = "steps"
    title = "Steps"

    x: str = param.Selector(default="cpu_seconds", objects=list(X_AXES), doc="field on the horizontal axis")

    def build(self) -> None:
        self.parts = [
            Record((), self.cursor, field=field, choose=False, part=True, x=self.x, height=240)
            for field in ("step", "ls_trials")
        ]
        self._body.append(theme.column(*self.parts, kind="plots"))
        self.param.watch(lambda event: [part.param.update(x=event.new) for part in self.parts], "x")
