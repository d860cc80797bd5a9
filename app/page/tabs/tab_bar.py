"""The two rows of tabs: groups of views, and the views of the selected group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import param
from panel.viewable import Viewable, Viewer

from solverscope.app import ui, views
from solverscope.app.stories import Story
from solverscope.app.ui.batch import batch
from solverscope.app.ui.material_ui import pmui
from solverscope.app.views import View

#: Groups that are not in :data:`.views.VIEW_GROUPS`: views of plug-ins, and views with nothing to show.
PLUGINS, UNUSED = "Plug-ins", "Not applicable"
#: The tab that shows all groups, not only the views of a story.
MORE = "More"
#: The group of the views that a story uses.
STORY = "This story"


def group_of(view: type[View]) -> str:
    """Return the group of a view that has something to show."""
    return next((name for name, members in views.VIEW_GROUPS.items() if view in members), PLUGINS)


def used_by(story: Story) -> set[type[View]]:
    """Return the views on tabs that a story uses: those that the story or a step opens,
    highlights or names."""
    named = " ".join((*story.look_for, *(step.text for step in story.steps)))
    ids = {story.view.get("tab", TabBar.param.chosen.default)}
    ids |= {id for step in story.steps for id in (step.view, step.set.get("tab"))}
    return {view for id, view in views.TABS.items() if id in ids or f"tab {view.title}" in named}


class TabLine(pmui.TabMenu):
    """A row of tabs that ignores clicks on removed tabs, which may arrive after the removal."""

    def __init__(self, **params: Any) -> None:
        super().__init__(
            items=[], stylesheets=[ui.asset("tabs.css")], variant="scrollable", margin=0, **params
        )

    def show(self, items: list[dict[str, str]], active: int) -> None:
        """Show these tabs, with the tab at index ``active`` selected."""
        self.items = items  # first: the number of tabs bounds which can be chosen
        self.active = active

    def _process_property_change(self, props: dict[str, Any]) -> dict[str, Any]:
        if (props.get("active") or 0) >= len(self.items):
            props = {name: value for name, value in props.items() if name != "active"}
        return super()._process_property_change(props)

    def _process_click(self, msg: dict[str, Any], index: int, value: dict[str, str] | None) -> None:
        if value is not None:  # a click arrives twice: as the property, and as a message
            super()._process_click(msg, index, value)


class TabBar(Viewer):
    """The rows of tabs, which select a view by its id (``chosen``).

    Views that suit the problem are in their groups, and others, with reasons, under *Not applicable*. A story
    starts with only its own views, and *More* shows all groups.
    """

    chosen: str = param.String(default=views.Shrinking.id, doc="id of the view that is shown")

    def __init__(self) -> None:
        super().__init__()
        self._groups: dict[str, list[type[View]]] = {}
        self._seen: dict[str, str] = {}  # by group, what was chosen there last
        self._at = ""  # the group that was opened last: a view may stand in two
        self._own: list[type[View]] = []
        self._fitting: set[type[View]] = set()
        self._folded = False
        self._top, self._below = TabLine(), TabLine(css_classes=["below"])
        self.offer(views.TABS.values())
        self._top.param.watch(lambda event: self._open(event.new), "active")
        self._below.param.watch(
            lambda event: self.param.update(chosen=self._groups[self._group][event.new].id), "active"
        )
        self.param.watch(lambda event: self._chosen(), "chosen")

    def fold(self) -> None:
        """Make the next :meth:`offer` show only a story's own views, if the selected view is among them."""
        self._folded, self._at, self._own = True, "", []

    def offer(
        self, fitting: Iterable[type[View]], *, own: Iterable[type[View]] = (), stay: bool = False
    ) -> None:
        """Show the ``fitting`` views in their groups, all others under *Not applicable*, and a story's
        ``own`` first.

        If the selected view does not fit, a fitting one is selected instead. With ``stay`` it remains
        selected, as it shows runs on the page.
        """
        own = set(own)
        self._fitting, self._own = set(fitting), [view for view in views.TABS.values() if view in own]
        fitted = self._groups and self._group != UNUSED
        if not self._arrange():
            return
        if fitted and self._group == UNUSED and not stay:
            beside = self._groups.get(group_of(views.TABS[self.chosen])) or next(iter(self._groups.values()))
            self.chosen = beside[0].id
        self._show()

    def _arrange(self) -> bool:
        """Assign all views to groups; return whether a group has changed."""
        self._folded = self._folded and (not self._own or views.TABS[self.chosen] in self._own)
        groups: dict[str, list[type[View]]] = {STORY: self._own} if self._own else {}
        for view in views.TABS.values():
            if not (self._own and self._folded):
                groups.setdefault(group_of(view) if view in self._fitting else UNUSED, []).append(view)
            elif view not in self._own:
                groups.setdefault(MORE, []).append(view)
        order = [name for name in (STORY, *views.VIEW_GROUPS, PLUGINS, UNUSED, MORE) if name in groups]
        groups, before = {name: groups[name] for name in order}, self._groups
        self._groups = groups
        return groups != before

    @property
    def _group(self) -> str:
        holding = [name for name, group in self._groups.items() if views.TABS[self.chosen] in group]
        return self._at if self._at in holding else holding[0]

    def _chosen(self) -> None:
        self._arrange()  # a view that is not the story's opens the other groups
        self._show()

    @batch()
    def _show(self) -> None:
        """Update both rows to the groups and the selected view."""
        names, name = list(self._groups), self._group
        group, self._seen[name] = self._groups[name], self.chosen
        self._top.show([{"label": other} for other in names], names.index(name))
        about = [{"tooltip": view.hint} if name == UNUSED else {} for view in group]
        tabs = [{"label": view.title} | more for view, more in zip(group, about, strict=True)]
        self._below.show(tabs, group.index(views.TABS[self.chosen]))

    def _open(self, at: int) -> None:
        """Select the group at index ``at``, with its view that was selected last, or else its first view."""
        name = list(self._groups)[at]
        if name == self._group:
            return
        if self._own and self._folded and name == MORE:
            self._folded = False
            self._arrange()
            name = list(self._groups)[at]  # a click arrives twice: in the same place stands what it opens
        group, seen = self._groups[name], views.TABS.get(self._seen.get(name, ""))
        self._at, before = name, self.chosen
        self.chosen = (seen if seen in group else group[0]).id
        if self.chosen == before:
            self._show()

    def __panel__(self) -> Viewable:
        return ui.column(self._top, self._below, kind="tab-bar")
