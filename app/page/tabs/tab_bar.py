"""The two lines of tabs: groups of views, and the views of the chosen group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import panel_material_ui as pmui
import param
from panel.viewable import Viewable, Viewer

from app import theme, views
from app.serving.batch import batch
from app.views import View

#: Groups of views that are not in :data:`.views.GROUPS`, and of those that have nothing to show.
PLUGINS, MORE = "Plug-ins", "More"


def group_of(view: type[View]) -> str:
    """Return the group that a view stands in if it has something to show."""
    return next((name for name, members in views.GROUPS.items() if view in members), PLUGINS)


class Line(pmui.TabMenu):
    """A line of tabs that passes over a click on one that it no longer has: it may have been on its way
    while the page learned of other tabs."""

    def __init__(self, *styles: str) -> None:
        sheets = [theme.asset(name) for name in styles]
        looks = {"variant": "scrollable", "margin": 0}
        super().__init__(items=[], stylesheets=sheets, **looks)

    def show(self, items: list[dict[str, str]], active: int) -> None:
        """Have these tabs, and one of them chosen."""
        if self.items != items:
            self.items = items  # first: the number of tabs bounds which can be chosen
        self.active = active

    def _process_property_change(self, props: dict[str, Any]) -> dict[str, Any]:
        if (props.get("active") or 0) >= len(self.items):
            props = {name: value for name, value in props.items() if name != "active"}
        return super()._process_property_change(props)

    def _process_click(self, msg: dict[str, Any], index: int, value: dict[str, str] | None) -> None:
        if value is not None:  # a click is told twice: by the property, and by a message
            super()._process_click(msg, index, value)


class TabBar(Viewer):
    """Chooses a view by its id (``chosen``). Views that fit stand in their groups; the others stand under
    *More*, each with the sentence that says what it needs."""

    chosen: str = param.String(default=views.Shrinking.id, doc="id of the view that is shown")

    def __init__(self) -> None:
        super().__init__()
        self._groups: dict[str, list[type[View]]] = {}
        self._seen: dict[str, str] = {}  # by group, what was chosen there last
        self._top, self._below = Line("tabs.css"), Line("tabs.css", "tabs_below.css")
        self.offer(views.TABS.values())
        self._top.param.watch(lambda event: self._open(event.new), "active")
        self._below.param.watch(lambda event: self._choose(event.new), "active")
        self.param.watch(lambda event: self._show(), "chosen")

    def offer(self, fitting: Iterable[type[View]], *, stay: bool = False) -> None:
        """Put these views into their groups, and all others under *More*. The chosen view goes there too, as
        where runs are on the page that it shows (``stay``); else one that fits takes its place."""
        fitting, groups = set(fitting), {}
        for view in views.TABS.values():
            groups.setdefault(group_of(view) if view in fitting else MORE, []).append(view)
        order = [name for name in (*views.GROUPS, PLUGINS, MORE) if name in groups]
        groups = {name: groups[name] for name in order}
        if groups == self._groups:
            return
        fitted = self._groups and self._group != MORE
        self._groups = groups
        if fitted and self._group == MORE and not stay:
            beside = groups.get(group_of(views.TABS[self.chosen])) or next(iter(groups.values()))
            self.chosen = beside[0].id
        self._show()

    @property
    def _group(self) -> str:
        return next(name for name, group in self._groups.items() if views.TABS[self.chosen] in group)

    @batch()
    def _show(self) -> None:
        """Bring both lines up to date with what is offered and chosen."""
        names, name = list(self._groups), self._group
        group, self._seen[name] = self._groups[name], self.chosen
        self._top.show([{"label": other} for other in names], names.index(name))
        about = [{"tooltip": view.hint} if name == MORE else {} for view in group]
        tabs = [{"label": view.title} | more for view, more in zip(group, about, strict=True)]
        self._below.show(tabs, group.index(views.TABS[self.chosen]))

    def _open(self, at: int) -> None:
        """Show what was chosen last in a group, or else its first view."""
        name = list(self._groups)[at]
        if name != self._group:
            group, seen = self._groups[name], views.TABS.get(self._seen.get(name, ""))
            self.chosen = (seen if seen in group else group[0]).id

    def _choose(self, at: int) -> None:
        self.chosen = self._groups[self._group][at].id

    def __panel__(self) -> Viewable:
        return theme.column(self._top, self._below, kind="tab-bar")
