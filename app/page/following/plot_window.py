"""A second window with a single view, which follows a page."""

from __future__ import annotations

from solverscope.app import ui
from solverscope.app.page.following.following_session import FollowingSession
from solverscope.app.page.following.mirror import mirror
from solverscope.app.page.frame import frame
from solverscope.app.page.help_dialog import HelpDialog, explanation
from solverscope.app.page.legend import LegendRows
from solverscope.app.page.session import Session, by_token
from solverscope.app.page.theme_toggle import ThemeToggle
from solverscope.app.page.type_size import LARGE_VIEW, TypeSize
from solverscope.app.views import ProblemView, View

#: Notice after the followed page was closed.
GONE = "The page of this window is closed, and its runs are gone."


class PlotWindow:
    """A window with the view that draws the figure ``name`` on the page with this ``token``, and a legend.

    Raises ValueError if the page does not exist or does not have the figure.
    """

    def __init__(self, name: str, token: str) -> None:
        leader = by_token.get(token)
        if leader is None:
            raise ValueError(GONE)
        self.session = FollowingSession(leader)
        self.plot = again(_drawing(leader, name), self.session)
        self.notice = ui.html(sizing_mode="stretch_width")
        self.legend = LegendRows(self.session)
        self.help = HelpDialog(lambda id: explanation(self.session.views, id))
        self.session.watchers = [self.legend, self]
        self.session.show_in(self.plot)

    def update(self) -> None:
        """Show a notice if the followed page was closed."""
        gone = self.session.leader.closed
        self.notice.object = f'<p class="note error" role="alert">{GONE}</p>' if gone else ""

    def view(self) -> object:
        """Return the page as a Panel object."""
        rows = ui.column(self.legend, kind="runs needs-server")
        shown = ui.column(self.plot, kind="tabs")
        main = ui.column(self.notice, rows, shown, kind="main")
        foot = ui.column(self.session.drawn_updates, self.help, kind="foot")
        title = ui.html(f"<h1>{self.plot.title}</h1>", sizing_mode="stretch_width", css_classes=["question"])
        header = ui.column(title, TypeSize(offered=[LARGE_VIEW]), ThemeToggle(), kind="header")
        return frame(f"{self.plot.title} · Solverscope", header, [], [main, foot], 0)

    def close(self) -> None:
        """Close this window; the page that it follows continues."""
        self.session.close()


def _drawing(leader: Session, name: str) -> View:
    for view in leader.views:
        if any(drawn.name == name for _, drawn in view.shown_figures()):
            return view
    raise ValueError(f"The page of this window has no plot {name!r}.")


def again(view: View, session: Session) -> View:
    """Return another view of the same class with the same settings."""
    if isinstance(view, ProblemView):
        return type(view)((), session.cursor, problem=view.problem)
    made = type(view)((), session.cursor)
    mirror(view, made)
    return made
