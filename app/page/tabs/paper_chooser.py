"""The gallery of papers in the tab *Sweep*: a figure or table fills the form, and its verdicts are shown
below."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable

import panel as pn

from solverscope.app import ui
from solverscope.app.papers import Exhibit, papers
from solverscope.app.papers.drawing import ExhibitOutcome, exhibit_as_html, sizes_as_html, verdicts_as_html
from solverscope.app.papers.measures import ExhibitRun
from solverscope.app.papers.plan import USUAL_BUDGET, layout, share_of, text_of, within
from solverscope.app.sweep.cell_progress import CellProgress
from solverscope.app.sweep.spec import Spec
from solverscope.app.ui.menu import Menu

#: Menu entries if nothing is selected.
NO_PAPER, NO_EXHIBIT = "none", "choose one"


class PaperChooser:
    """Menus of papers, and of the figures and tables of the selected paper.

    ``fill(text)`` receives the sweep that reproduces the selected exhibit in at most five minutes on
    ``slots`` processes. ``above`` is shown above the form, and ``below``, which contains the verdicts, below
    the results.
    """

    def __init__(self, fill: Callable[[str], None], slots: int) -> None:
        self._fill, self._slots = fill, slots
        self.exhibit: Exhibit | None = None
        self.text = ""
        self._judged: tuple[object, ...] = ()
        small = {"size": "small", "margin": (8, 4, 4, 4), "sizing_mode": "stretch_width"}
        names = {NO_PAPER: ""} | {one.cite: id for id, one in papers().items()}
        self.paper = Menu(label="From a paper", options=names, value="", max_width=330, **small)
        self.choice = Menu(
            label="Figure or table", options={NO_EXHIBIT: ""}, value="", max_width=430, **small
        )
        self.choice.visible = False
        self.paper.param.watch(lambda event: self._list(), "value")
        self.choice.param.watch(lambda event: self._choose(), "value")
        self._about = ui.html(margin=(0, 10), visible=False)
        self._verdicts = ui.html(margin=(8, 10), visible=False)
        self.above = pn.Column(
            pn.FlexBox(self.paper, self.choice, margin=0), self._about, margin=0, sizing_mode="stretch_width"
        )
        self.below = self._verdicts

    def _list(self) -> None:
        """List the figures and tables of the selected paper in the menu."""
        paper = papers().get(self.paper.value)
        found = {NO_EXHIBIT: ""}
        if paper is not None:
            for id, one in paper.exhibits.items():
                found[f"{one.name}: {one.title}{' (not run)' if one.why_not else ''}"] = id
        self.choice.param.update(options=found, value="", visible=paper is not None)

    def _choose(self) -> None:
        """Describe the selected exhibit, and fill the form with the runs for it."""
        paper = papers().get(self.paper.value)
        exhibit = None if paper is None else paper.exhibits.get(self.choice.value)
        self._about.visible = exhibit is not None
        if exhibit is None:
            return
        found = layout(exhibit)
        self._about.object = exhibit_as_html(exhibit, [exhibit.why_not, *found.notes])
        if found.table is not None:
            n = len(Spec.of(found.table).cells)
            share = share_of(USUAL_BUDGET, self._slots, n)
            self.exhibit, self.text = exhibit, text_of(within(found.table, share, USUAL_BUDGET))
            self._fill(self.text)

    def judge(self, text: str, runs: Iterable[CellProgress]) -> None:
        """Show the verdicts of ``runs`` on the selected exhibit; hide them if ``text`` is not its sweep."""
        if self.exhibit is None or text != self.text:
            self._verdicts.visible = False
            return
        ended = [watched for watched in runs if watched.record]
        state = (self.exhibit.id, text, len(ended))
        if state != self._judged and ended:
            self._judged = state
            outcome = ExhibitOutcome.of(self.exhibit, [ExhibitRun.of(watched) for watched in ended])
            told = sizes_as_html(outcome.sizes) + verdicts_as_html(outcome.verdicts)
            head = f"<h3>{html.escape(self.exhibit.name)}: what its runs say</h3>"
            self._verdicts.object = head + told
        self._verdicts.visible = bool(ended)
