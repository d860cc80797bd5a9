"""The controls of all runs: *Run*, *Pause*, *Step*, *Stop*, *Clear*, and the speeds of runs and plots."""

from __future__ import annotations

from collections.abc import Callable

from solverscope.app.help import tip
from solverscope.app.page.protocols import PanelPage
from solverscope.app.settings.experiment import Experiment
from solverscope.app.ui.material_ui import pmui
from solverscope.app.ui.menu import LineMenu

#: Iterates per second by menu entry; 0 is full speed.
PACES = {f"{n} a second": float(n) for n in (1, 2, 5, 10, 30, 100)} | {"full": 0.0}

#: Ticks (about five per second) between updates of the plots, by menu entry; 0 draws nothing while runs are
#: active.
DRAWING = {"live": 1, "once a second": 5, "at the end": 0}

#: Whether a change of the settings restarts all runs, by the value of the URL parameter.
RERUNS = {"off": False, "on": True}

#: The text next to Run when it can be pressed, and while data are loaded for it.
RUN_ICON, LOADING_ICON = "play_arrow", "hourglass_empty"


class RunControls:
    """The buttons that control runs.

    *Run* starts new runs if none is alive and there is no obstacle. It also does so while data are being
    loaded, as the click may have been sent before the button was disabled.
    """

    def __init__(self, page: PanelPage) -> None:
        self._page, self._session = page, page.session
        session = page.session
        small = {"size": "small", "margin": 0}
        self.run = pmui.Button(label="Run", icon=RUN_ICON, variant="contained", width=112, **small)
        self.pause = pmui.Button(label="Pause", icon="pause", variant="outlined", **small)
        self.step = pmui.Button(
            label="Step",
            icon="skip_next",
            variant="outlined",
            **small,
        )
        self.stop = pmui.Button(label="Stop", icon="stop", variant="outlined", **small)
        self.clear = pmui.Button(label="Clear", icon="clear", variant="text", **small)
        self.pace = LineMenu(label="Speed, iterations", options=PACES, value=0.0, width=112)
        self.drawing = LineMenu(
            label="Redraw", options=DRAWING, value=1, width=112, description=tip("run_controls.plots")
        )
        self.again = pmui.Checkbox(
            label="rerun on change", size="small", margin=(0, 10), description=tip("run_controls.again")
        )
        #: The experiment of the last race, and the settings at the last tick.
        self._raced: Experiment | None = None
        self._resting: Experiment | None = None
        self.run.on_click(lambda event: self.go())
        self.pause.on_click(lambda event: self._then(session.pause))
        self.step.on_click(lambda event: self.go(step=True))
        self.stop.on_click(lambda event: self._then(session.stop))
        self.clear.on_click(lambda event: self._then(self._clear))
        self.pace.param.watch(lambda event: session.set_pace(event.new), "value")
        self.drawing.param.watch(lambda event: session.set_drawing(event.new), "value")
        self.again.param.watch(lambda event: self._rerun_from_now_on(event.new), "value")
        buttons = [self.run, self.pause, self.step, self.stop, self.clear]
        self.widgets = [*buttons, self.pace, self.drawing]

    def go(self, *, step: bool = False) -> None:
        """Start or resume the runs; with ``step``, for a single iterate."""
        if self._session.state != "idle":
            self._then(self._session.step if step else self._session.resume)
        elif self._page.obstacle is None or self._page.problem.loading:
            self._then(lambda: self._page.start(step))

    def toggle(self) -> None:
        """Start, resume or pause the runs, as the space bar does."""
        if self._session.state == "running":
            self._then(self._session.pause)
        elif not self.run.disabled:
            self.go()

    def _clear(self) -> None:
        self._raced = None
        self._session.clear()

    def _rerun_from_now_on(self, wanted: bool) -> None:
        self._session.keeps_last = wanted
        self._raced = self._page.running or self._page.setting

    def _run_again(self) -> None:
        """Restart all runs if the settings have changed since the last race.

        This happens once the settings have not changed for a tick and the runs have stopped.
        """
        page, session = self._page, self._session
        if not self.again.value:
            return
        before, self._resting = self._resting, page.setting
        self._raced = page.running or self._raced
        if self._raced is None or self._resting == self._raced or page.obstacle is not None:
            return
        session.hurry()
        if self._resting != before:
            return
        if session.alive:
            session.stop()
        else:
            self._raced = self._resting
            self._then(lambda: page.start(False))

    def _then(self, act: Callable[[], None]) -> None:
        act()
        self._session.tick()

    def update(self) -> None:
        """Enable the buttons that apply in the current state."""
        state, waits = self._session.state, self._session.pressed is not None
        cannot_start = state == "idle" and self._page.obstacle is not None
        self.run.disabled = state == "running" or cannot_start
        self.pause.disabled = state != "running"
        self.step.disabled = cannot_start
        self.stop.disabled = not (self._session.alive or waits)
        self.clear.disabled = not (self._session.runs or waits)
        self.run.icon = LOADING_ICON if self._page.problem.loading and state == "idle" else RUN_ICON
        self.run.label = "Resume" if state == "paused" else "Run"
        self._run_again()
