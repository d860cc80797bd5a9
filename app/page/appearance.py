"""The part of the page's URL that is not the experiment: axes, tab, speed, and when λ and plots change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from solverscope import datasets
from solverscope.app.page.sidebar.breaks import Breaks
from solverscope.app.page.sidebar.fields import FieldForm
from solverscope.app.page.sidebar.problem_panel import ProblemPanel
from solverscope.app.page.sidebar.run_controls import DRAWING, PACES, RERUNS, RunControls
from solverscope.app.page.tabs.tab_bar import TabBar
from solverscope.app.page.type_size import PAGE_VIEWS, TypeSize
from solverscope.app.settings.settings_table import FINDING, FINDING_SUFFIX, IN_ADDRESS, REPEAT, REPEATS
from solverscope.app.views import TABS
from solverscope.app.views.base.plot import AXES, AXIS_SCALES
from solverscope.app.views.convergence.convergence import OBJECTIVE_MEASURES, Convergence
from solverscope.ids import nearest

#: Whether a change of λ takes effect at once, by the value of the URL parameter.
DIALS = {"next-run": False, "live": True}


class PageWithControls(Protocol):
    """The attributes of the page that its appearance consists of."""

    convergence: Convergence
    tab_bar: TabBar
    controls: RunControls
    type_size: TypeSize
    problem: ProblemPanel
    limits: FieldForm
    breaks: Breaks
    repeat: int

    def notify(self, text: str) -> None:
        """Show a notice to the visitor."""


class Appearance:
    """The appearance of a page, which can be read and changed."""

    def __init__(self, page: PageWithControls) -> None:
        self._page = page

    def read(self) -> dict[str, str]:
        """Return the settings of the appearance as URL parameters: axes, tab, speed, and when λ and plots
        change."""
        page = self._page
        view, controls = page.convergence, page.controls
        look = {"x": view.x, "y": view.measure, "scale": view.scale, "x_scale": view.x_scale}
        look["tab"] = page.tab_bar.chosen
        look["speed"] = next(name for name, value in PACES.items() if value == controls.pace.value)
        look["plots"] = next(name for name, value in DRAWING.items() if value == controls.drawing.value)
        look["repeat"] = str(page.repeat)
        look["dial"] = next(name for name, live in DIALS.items() if live == page.problem.live.value)
        look["rerun"] = next(name for name, value in RERUNS.items() if value == controls.again.value)
        return look

    def apply(self, query: Mapping[str, str]) -> None:
        """Set axes, tab and speed as a URL or a story specifies.

        Invalid values and unknown names are ignored, with a notice.
        """
        page, view = self._page, self._page.convergence
        choices = {
            "x": (AXES, lambda value: setattr(view, "x", value)),
            "y": (OBJECTIVE_MEASURES, lambda value: setattr(view, "measure", value)),
            "scale": (AXIS_SCALES, lambda value: setattr(view, "scale", value)),
            "x_scale": (AXIS_SCALES, lambda value: setattr(view, "x_scale", value)),
            "tab": (TABS, lambda value: setattr(page.tab_bar, "chosen", value)),
            "speed": (PACES, lambda value: setattr(page.controls.pace, "value", PACES[value])),
            "view": (PAGE_VIEWS, lambda value: setattr(page.type_size, "view", value)),
            "dial": (DIALS, lambda value: setattr(page.problem.live, "value", DIALS[value])),
            "plots": (DRAWING, lambda value: setattr(page.controls.drawing, "value", DRAWING[value])),
            "rerun": (RERUNS, lambda value: setattr(page.controls.again, "value", RERUNS[value])),
            "repeat": (REPEATS, lambda value: page.limits.enter(REPEAT.name, value)),
        }
        text = query.get("break", "")
        try:
            page.breaks.show(text)
        except ValueError as error:
            page.breaks.show("")
            page.notify(f"break={text!r} in the address was left out: {error}.")
        others = {"story", "break", FINDING, *(one.in_address for one in IN_ADDRESS)}
        unknown = [name for name in query.keys() - choices.keys() - others if not name.startswith("bokeh-")]
        if unknown:
            named = ", ".join(f"{name}{nearest(name, choices.keys() | others)}" for name in sorted(unknown))
            page.notify(f"Left out of the address, since the page has no such setting: {named}.")
        if FINDING in query:
            page.notify(_finding(query[FINDING], page.problem.setting.data))
        for name, (possible, choose) in choices.items():
            value = query.get(name)
            if value is not None and value in possible:
                choose(value)
            elif value is not None:
                page.notify(
                    f"{name}={value!r} in the address was left out: choose one of {', '.join(possible)}."
                )


def _finding(check: str, data: str) -> str:
    """Return the description of a finding of ``solverscope check``, which is stored with its data."""
    scheme, _, path = data.partition(":")
    if data in datasets.DATASETS and scheme == "npz" and Path(path).stem == check:
        told = Path(path).with_suffix(FINDING_SUFFIX)
        if told.is_file():
            return told.read_text(encoding="utf-8").strip()
    return f"{FINDING}={check!r} in the address was left out: the data are not those of that finding."
