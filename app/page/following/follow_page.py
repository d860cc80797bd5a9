"""The page of a lesson: the teacher's problem, runs, plots and tab, without controls."""

from __future__ import annotations

import html
from urllib.parse import urlencode

import panel as pn

from solverscope.app import ui
from solverscope.app.page.cursor_bar import CursorBar
from solverscope.app.page.following.following_session import FollowingSession
from solverscope.app.page.following.mirror import mirror
from solverscope.app.page.following.plot_window import again
from solverscope.app.page.following.poll import Poll
from solverscope.app.page.frame import frame
from solverscope.app.page.help_dialog import HelpDialog, explanation
from solverscope.app.page.legend import LegendRows
from solverscope.app.page.page import Page
from solverscope.app.page.tabs.tab_bar import TabBar
from solverscope.app.page.theme_toggle import ThemeToggle
from solverscope.app.page.top_views import TopViews
from solverscope.app.serving.classroom import ALONE_ARGUMENT, TEACH_ARGUMENT, Lesson
from solverscope.app.settings.recipe import info_of
from solverscope.app.views import TABS, PastRuns, Path, Sweep, View

#: Notice at the end of the lesson.
LESSON_OVER = "The lesson is over. What is on this page stays until you close it."
#: Text in place of a tab that has runs of its own.
NOT_SHOWN = "The tab {} is not shown in a lesson."
LESSON_NOT_STARTED = "The teacher has not started a run yet."
#: Tabs with runs of their own, and with data that only the teacher may see.
OWN: tuple[type[View], ...] = (Path, PastRuns, Sweep)
#: Maximal number of tabs on a shared page: each browser builds all of them, also hidden ones.
HELD = 3


class FollowPage:
    """The page of a lesson's followers, who share it, with the teacher's cursor, axes and tab.

    If ``alone``, it is the page of a single follower who explores the same runs with a separate cursor and
    tabs.
    """

    def __init__(self, lesson: Lesson, *, alone: bool = False) -> None:
        self.lesson, self.alone = lesson, alone
        self.teacher: Page = lesson.teacher
        self.session = FollowingSession(self.teacher.session, steers=False, follows=not alone)
        self.session.awaits = LESSON_NOT_STARTED
        self.top_views = TopViews(self.session, lambda name, text: None)
        self.tabs: dict[str, View] = {}
        self.tab_bar = TabBar()
        self.tab_column = ui.column(kind="tabs")
        self.legend = LegendRows(self.session)
        self.cursor_bar = CursorBar(self.session, lambda: None)
        self.help = HelpDialog(lambda id: explanation(self.session.views, id))
        self.poll = Poll(self.teacher.prediction)
        self.notice = ui.html(sizing_mode="stretch_width")
        self.missing = ui.html(sizing_mode="stretch_width")
        self.question = ui.html(sizing_mode="stretch_width", css_classes=["question"])
        self.ways = ui.html(css_classes=["ways"])
        self.session.watchers = [self, self.legend, self.cursor_bar]
        if alone:
            lesson.alone.add(self.session)
            self.tab_bar.chosen = self.teacher.tab_bar.chosen
            self.tab_bar.param.watch(lambda event: self._show_tab(), "chosen")
        self.update()

    def view(self) -> object:
        """Return the page as a Panel object."""
        rows = ui.column(self.legend, kind="runs needs-server")
        bar = [self.tab_bar] if self.alone else []
        main = ui.column(
            self.notice,
            self.poll,
            rows,
            self.top_views.view,
            *bar,
            self.missing,
            self.tab_column,
            kind="main",
        )
        foot = ui.column(self.cursor_bar, self.session.drawn_updates, self.help, kind="foot")
        if not self.alone:
            for part in (main, foot):
                ui.set_class(part, "looked-at", True)
        header = ui.column(self.question, self.ways, ThemeToggle(), kind="header lesson")
        return frame("Lesson · Solverscope", header, [], [main, foot], 0)

    def update(self) -> None:
        """Show the teacher's problem and open tab."""
        teacher = self.teacher
        if self.lesson.over or teacher.session.closed:
            self.session.over = True
            self.notice.object = f'<p class="note error" role="alert">{LESSON_OVER}</p>'
            self.ways.object = ""
            return
        name, question = html.escape(teacher.story.name), html.escape(teacher.story.question)
        about = self._about()
        self.question.object = f'<p title="{question}"><span>{name}: {about}</span></p>'
        self.ways.object = self._ways()
        self.poll.update()
        self.top_views.show(teacher.problem.problem)
        if not self.alone:
            led = {type(view): view for view in self.top_views.shown}
            for view in teacher.top_views.shown:
                if type(view) in led:
                    mirror(view, led[type(view)])
        self._show_tab()
        if not self.alone:
            self.help.tell([*self.top_views.shown, *(view for view in self.tabs.values() if view.visible)])

    def _about(self) -> str:
        """Return the data set and λ of the problem, as HTML."""
        setting = self.teacher.problem.setting
        lam = "" if setting.lam is None else f", λ = {setting.lam:g}"
        return html.escape(f"{setting.data if self._listed else 'a file of the teacher'}{lam}")

    @property
    def _listed(self) -> bool:
        """Return whether the server lists the data set; other files are private to the teacher."""
        return not info_of(self.teacher.problem.setting.data).paths

    def _ways(self) -> str:
        """Return links: to a page for exploring alone or back to the lesson, and to a page with the same
        settings."""
        code = self.lesson.code
        arguments = {TEACH_ARGUMENT: code} if self.alone else {TEACH_ARGUMENT: code, ALONE_ARGUMENT: "1"}
        here = f"?{urlencode(arguments)}"
        first = "Rejoin the lesson" if self.alone else "Explore these runs"
        links = [f'<a href="{here}">{first}</a>']
        if self._listed:
            own = html.escape(f"?{urlencode(self.teacher.query())}")
            links.append(f'<a href="{own}" target="_blank">Open my own copy</a>')
        return " ".join(links)

    def _show_tab(self) -> None:
        """Show the teacher's tab, or that of the follower who explores alone."""
        chosen = self.tab_bar.chosen if self.alone else self.teacher.tab_bar.chosen
        kind = TABS[chosen]
        shown = not issubclass(kind, OWN)
        self.missing.object = "" if shown else f'<p class="note">{NOT_SHOWN.format(kind.title)}</p>'
        led = self.teacher.tabs.get(chosen)
        if shown and chosen not in self.tabs:
            made = kind((), self.session.cursor) if led is None else again(led, self.session)
            self.tabs[chosen] = made
            self.session.show_in(made)
        elif shown and led is not None and not self.alone:
            mirror(led, self.tabs[chosen])
        for id, view in self.tabs.items():
            view.visible = id == chosen
        if shown and pn.panel(self.tabs[chosen]) not in self.tab_column.objects:
            self.tab_column.append(self.tabs[chosen])
            if len(self.tab_column) > HELD and not self.alone:
                self.tab_column.pop(0)  # the one that came first

    def close(self) -> None:
        """Close this page; the lesson continues."""
        self.session.close()
