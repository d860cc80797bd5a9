"""Findings: why the run under the cursor is slow, and whether experiments confirm it."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from weakref import ref

import panel as pn

from solverscope.app import ui
from solverscope.app.ui.material_ui import pmui
from solverscope.app.views.base.exports import ShownTable
from solverscope.app.views.base.view import View
from solverscope.solvers import Finding, Problem, Trace, why_slow
from solverscope.solvers.doctor.finding import IF_WRONG

#: Heading above the findings, and text if there are none.
HEADING = "Why {label} is slow, after {iterations} iterations"
NOTHING = "No rule finds a reason why {label} is slow, after {iterations} iterations. " + IF_WRONG


class WhySlow(View):
    """Findings on the run under the cursor, the costliest first.

    They are computed outside of the page's thread, when the run has ended and, while it is active, whenever
    its number of iterates has doubled. ``problem_of`` returns the problem of a run, and ``try_out``, if
    given, starts the experiment of a finding. ``results`` maps ids of findings to texts on their experiments.
    """

    id = "why-slow"
    title = "Why slow?"
    hint = "Press Run: reasons why the run under the cursor is slow stand here."

    def build(self) -> None:
        self.problem_of: Callable[[Trace], Problem | None] = lambda trace: trace.problem
        self.try_out: Callable[[Trace, Finding], None] | None = None
        self.results: Mapping[str, str] = {}
        self.findings: list[Finding] = []
        self._examined: Callable[[], Trace | None] = lambda: None  # a run that is gone is not kept
        self._asked = 0
        self._said = ""
        self._text = ui.TextPane("", stylesheets=[ui.asset("html.css", "why_slow.css")], margin=0)
        self.cards = ui.column(kind="body")
        self._body.extend([self._text, self.cards])

    def has_content(self) -> bool:
        return self.chosen is not None and len(self.chosen) > 0

    def draw(self) -> None:
        trace = self.chosen
        stage = -1 if trace.result else int(math.log2(len(trace)))
        if self._drawn.changed("findings", trace, stage):
            if trace is not self._examined():
                self._take(trace, "Reading the record …")
            self._asked += 1
            problem = self.problem_of(trace)
            self.later(partial(_examine, trace, problem), partial(self._answered, trace, self._asked))
        self._show_cards()

    def tables(self) -> list[ShownTable]:
        heads = ("finding", "share of the cost", "numbers", "experiment", "explained in")
        rows = [
            (one.id, f"{one.share:.0%}", one.text, self._result(one), one.reference) for one in self.findings
        ]
        return [ShownTable(self._said, heads, rows)] if self._said else []

    def _answered(self, trace: Trace, asked: int, found: list[Finding] | str | None) -> None:
        """Show the findings, unless a newer request was made in the meantime, as results may arrive out of
        order."""
        if trace is self.chosen and asked == self._asked:
            self._take(trace, found)

    def _take(self, trace: Trace, found: list[Finding] | str | None) -> None:
        """Show the findings on a run, or a sentence instead."""
        self._examined = ref(trace)
        self.findings = found if isinstance(found, list) else []
        if isinstance(found, list):
            about = {"label": trace.info.label, "iterations": ui.number(int(trace.iteration[-1]))}
            self._said = (HEADING if found else NOTHING).format(**about)
        else:
            self._said = found or "The rules failed on this run: the server's log says why."
        self._show_cards()

    def _show_cards(self) -> None:
        head = f"<h2>{html.escape(self._said)}</h2>" if self.findings else html.escape(self._said)
        if self._text.object != head:
            self._text.object = head
        if self._drawn.changed("cards", self._examined(), tuple(map(id, self.findings))):
            self.cards.objects = [self._card(rank, one) for rank, one in enumerate(self.findings, 1)]
        cards: list[Any] = self.cards.objects
        for card, finding in zip(cards, self.findings, strict=True):
            result = html.escape(self._result(finding))
            said = f"<p class='result' role='status'>{result}</p>" if result else ""
            if card[1].object != said:
                card[1].object = said

    def _card(self, rank: int, finding: Finding) -> pn.Column:
        css = [ui.asset("html.css", "why_slow.css")]
        text = ui.TextPane(_told(rank, finding), stylesheets=css, sizing_mode="stretch_width", margin=0)
        result = ui.TextPane("", stylesheets=css, sizing_mode="stretch_width", margin=0)
        card = ui.column(text, result, kind="body finding")
        if self.try_out is not None and finding.remedy is not None:
            button = pmui.Button(label=f"Try {finding.remedy.says}", icon="play_arrow", variant="outlined")
            button.param.update(size="small", margin=(4, 0, 12, 0))
            button.on_click(lambda event: self._try(finding))
            card.append(button)
        return card

    def _try(self, finding: Finding) -> None:
        trace = self._examined()
        if self.try_out is not None and trace is not None:
            self.try_out(trace, finding)

    def _result(self, finding: Finding) -> str:
        return "" if finding.remedy is None else self.results.get(finding.id, "")


def _examine(trace: Trace, problem: Problem | None, pulse: Callable[[], None]) -> list[Finding] | str:
    if problem is None:
        return f"The problem of {trace.info.label} is not in memory: run it again to see why it is slow."
    try:
        return why_slow(trace, problem.with_pulse(pulse))
    except ValueError as error:
        return ui.capital(f"{error}.")


def _told(rank: int, finding: Finding) -> str:
    """Return a finding as HTML: its name, its fraction of the cost, its numbers, and a reference."""
    share = f"about {finding.share:.0%} of the cost"
    return (
        f"<h3>{rank}. {html.escape(finding.id.replace('-', ' '))} <small>{share}</small></h3>"
        f"<p>{html.escape(finding.text)}</p><p class='note'>See {html.escape(finding.reference)}.</p>"
    )
