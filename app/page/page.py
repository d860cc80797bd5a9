"""The page: the parts of one visitor's page, put together, and its URL, which is kept up to date."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl, urlencode

import panel as pn

from solverscope.app import ui, views
from solverscope.app.page.appearance import Appearance
from solverscope.app.page.cursor_bar import CursorBar
from solverscope.app.page.export_panel import ExportPanel
from solverscope.app.page.following.teaching import Teaching
from solverscope.app.page.guide import Guide
from solverscope.app.page.help_dialog import HelpDialog, explanation
from solverscope.app.page.layout import laid_out
from solverscope.app.page.legend import LegendRows
from solverscope.app.page.prediction import Prediction
from solverscope.app.page.session import Session
from solverscope.app.page.session_restore import SessionRestore
from solverscope.app.page.sidebar.breaks import Breaks
from solverscope.app.page.sidebar.fields import FieldForm
from solverscope.app.page.sidebar.optimum import Optimum
from solverscope.app.page.sidebar.own_loops import OwnLoops
from solverscope.app.page.sidebar.plugin_notices import PluginNotices
from solverscope.app.page.sidebar.problem_panel import ProblemPanel
from solverscope.app.page.sidebar.run_controls import RunControls
from solverscope.app.page.sidebar.solver_panel import SolverPanel
from solverscope.app.page.story_card import StoryCard
from solverscope.app.page.story_menu import StoryMenu
from solverscope.app.page.tabs.branches import Branches
from solverscope.app.page.tabs.tab_bar import TabBar, used_by
from solverscope.app.page.tabs.tab_views import tab_view
from solverscope.app.page.top_views import TopViews
from solverscope.app.page.type_size import PAGE_VIEWS, PLOTS_VIEW, TypeSize
from solverscope.app.runs import problem_cache
from solverscope.app.runs.history import History
from solverscope.app.runs.live import STYLE_PERIOD, LiveRun
from solverscope.app.runs.pool import PoolFull
from solverscope.app.serving.access import LOCAL_RIGHTS, Rights
from solverscope.app.settings.experiment import MOST_SOLVERS, Experiment
from solverscope.app.settings.recipe import Entrant, Recipe, RunLimits
from solverscope.app.settings.setting import Setting
from solverscope.app.settings.settings_table import IN_RUN_FORM, REPEAT
from solverscope.app.stories import FREE, Story, free, left_out, stories
from solverscope.app.ui.batch import batch
from solverscope.app.ui.material_ui import pmui
from solverscope.app.views import TABS, View
from solverscope.app.views.base.help import Help
from solverscope.app.views.base.plot import SHARED, share_axis
from solverscope.ids import nearest
from solverscope.solvers import SOLVERS, Problem, Stopping

TITLE = "Solverscope"


class Page:
    """The page of one visitor. ``query`` contains the parameters of its URL. ``history`` is the archive of
    its runs, by default in memory, and ``rights`` limit what it may use."""

    def __init__(
        self,
        query: Mapping[str, str] = MappingProxyType({}),
        history: History | None = None,
        *,
        rights: Rights = LOCAL_RIGHTS,
    ) -> None:
        self.rights = rights
        self.session = Session(history=history)
        self.session.notify = self.notify
        self.notices = pn.Column(sizing_mode="stretch_width", margin=0)
        self.story, setting = self._read(query)
        self._build(setting)
        self.appearance = Appearance(self)
        self._plain = self.appearance.read()
        self._offer_tabs()
        self.appearance.apply({**self.story.view, **query})
        self.tab_bar.fold()
        self._changed()
        pn.state.onload(self.open_tabs)  # the first picture does not wait for what is below the plots

    # what is on the page

    def _build(self, setting: Experiment) -> None:
        session = self.session
        self.story_menu = StoryMenu(self.story.id)
        self.story_menu.param.watch(lambda event: self._choose_story(event.new), "value")
        self.question = ui.html(sizing_mode="stretch_width", css_classes=["question"])
        self.guide = Guide(self)
        self.prediction = Prediction(self)
        self.story_card = StoryCard(self.guide, self.prediction, self._back_to_story)
        self.type_size = TypeSize()
        self.solvers = SolverPanel(self._changed)
        self.limits = FieldForm(self._changed)
        self.breaks = Breaks(session, self._changed)
        self.problem = ProblemPanel(
            session, setting.problem, self._problem_changed, own_files=self.rights.own
        )
        self.controls = RunControls(self)
        self.legend = LegendRows(session)
        self.optimum = Optimum(session)
        self.own_loops = OwnLoops(self, self.optimum)
        self.top_views = TopViews(session, self.problem.options.enter)
        self.convergence, self.sparsity = self.top_views.convergence, self.top_views.sparsity
        self.convergence.param.watch(lambda *events: self._share_axis(), SHARED)
        self.convergence.param.watch(lambda *events: self._changed(), ["x", "measure", "scale", "x_scale"])
        for speed in (self.controls.pace, self.controls.drawing, self.controls.again):
            speed.param.watch(lambda event: self._changed(), "value")
        self.tabs: dict[str, View] = {}  # made when they are first looked at
        self.tab_column = ui.column(kind="tabs")
        self.tab_bar = TabBar()
        self.tab_lines = pn.panel(self.tab_bar)
        self.cursor_bar = CursorBar(session, self.controls.toggle, Branches(self))
        session.watchers = [self.problem, self.controls, self.optimum, self.legend, self.cursor_bar]
        self.teaching = Teaching(self)
        session.watchers += [self.breaks, self.story_card, self.teaching, self.own_loops]
        self.export_panel = ExportPanel(
            session,
            lambda: f"{TITLE}: {self.story.name}",
            lambda: dict.fromkeys((*session.views, *self.tabs.values())),
        )
        self.session_restore = SessionRestore(self)
        session.watchers += [self.session_restore, PluginNotices(self)]
        self.pending = ui.html(margin=(0, 10))
        self.help = HelpDialog(self.explain)
        self._show(setting)

    def view(self) -> pmui.Page:
        """Return the page as a Panel object; data are loaded at the first tick, once a browser shows it."""
        for view in self.session.views:
            view.awaits = self.session.awaits
        made = laid_out(self, TITLE)
        self._make_room()
        return made

    def close(self) -> None:
        """Close the page after its visitor has left."""
        with ExitStack() as parts:  # the last first, and each although another fails
            for part in (self.problem, self.session, self.own_loops, self.teaching, self.session_restore):
                parts.callback(part.close)

    def notify(self, text: str) -> None:
        """Show a notice at the top of the page."""
        said = ui.html(html.escape(text), sizing_mode="stretch_width")
        self.notices.append(
            pmui.Alert(
                said, severity="warning", closeable=True, sizing_mode="stretch_width", margin=(0, 0, 8, 0)
            )
        )

    def adopt(self, other: Page) -> None:
        """Take over the runs of a page that the browser has left for this one, and answers to its story's
        question. If this page has runs already, it keeps those."""
        if self.session.runs or other.session.closed:
            return
        self.session.adopt(other.session)
        self._running, self.racing = other._running, other.racing
        if self.story is other.story:
            self.prediction.adopt(other.prediction)
        self._changed()

    # set-up

    def _story(self, id: str | None) -> Story:
        first = next(iter(stories().values()))
        if id == FREE:
            return free()
        if id is not None and id not in stories():
            why = f"There is no story {id!r}{nearest(id, stories())}"
            if (wrong := left_out().get(id)) is not None:
                why = f"The story {id!r} is left out, since {wrong}"
            self.notify(f"{why}: the first one is shown instead.")
        return stories().get(id, first)

    def _read(self, query: Mapping[str, str]) -> tuple[Story, Experiment]:
        """Return the story and the settings in a URL, and show a notice for each invalid parameter."""
        story = self._story(query.get("story"))
        setting, notices = Experiment.from_address(query, story.setting)
        for notice in notices:
            self.notify(notice)
        return (free() if "story" not in query and setting != story.setting else story), setting

    def go_to(self, query: Mapping[str, str]) -> None:
        """Apply another URL of this page, to which the browser has navigated."""
        with batch(models=True), self._setting_up():
            self.guide.go(None)
            self.notices.clear()
            story, setting = self._read(query)
            if story.id != self.story.id:
                self.story = story
                self.prediction.reset()
                self.story_menu.value = story.id
            for view in self.session.views:
                view.show_all()
            self._show(setting)
            if (problem := setting.without_run_form().problem) != self.problem.setting:
                self.problem.set(problem)
            self.appearance.apply({**self._plain, **story.view, **query})
            self.tab_bar.fold()
        with batch():
            self._changed()

    def _choose_story(self, id: str) -> None:
        if id == self.story.id:
            return
        if id != FREE:
            self.load_story(stories()[id])
        else:
            self._leave_story()
            self._changed()

    def _leave_story(self) -> None:
        """Keep all settings, and detach them from a story that they no longer match."""
        self.guide.go(None)
        self.story = free()
        self.prediction.reset()
        self.story_card.show(self.story)
        self.story_menu.value = FREE

    def load_story(self, story: Story) -> None:
        """Apply all settings of a story at once."""
        with batch(models=True), self._setting_up():
            self.guide.go(None)
            if story is not self.story:
                self.story = story
                self.prediction.reset()
            self.notices.clear()
            for view in self.session.views:
                view.show_all()
            self._show(story.setting)  # first: else the solvers of the story before would be drawn again
            self.problem.set(story.setting.problem)
            self.appearance.apply({**self._plain, **story.view})
            self.tab_bar.fold()
        with batch():
            self._changed()

    @contextmanager
    def _setting_up(self) -> Iterator[None]:
        """Keep the story during the block, in which the settings may temporarily differ from it."""
        self._whole = False
        try:
            yield
        finally:
            self._whole = True

    def _back_to_story(self) -> None:
        """Restore the settings of the story, at the current step if it is guided."""
        at = self.guide.at
        self.load_story(self.story)
        self.guide.go(at)
        self.story_card.update()

    def take(self, setting: Experiment, look: Mapping[str, str]) -> None:
        """Set all controls that differ, and axes, tab and speed."""
        with batch(models=True), self._setting_up():
            if (problem := setting.without_run_form().problem) != self.problem.setting:
                self.problem.set(problem)
            if setting != self.setting:
                self._show(setting)
            self.appearance.apply({"break": self.breaks.text, **look})
        with batch():
            self._changed()

    def _show(self, setting: Experiment) -> None:
        self.solvers.set(setting.problem, setting.entrants)
        shown = {one.name: one.of(setting) for one in IN_RUN_FORM if one.part}
        changed = {
            one.name: shown[one.name]
            for one in IN_RUN_FORM
            if one.part and shown[one.name] != one.field.default
        }
        self.limits.set([one.field for one in IN_RUN_FORM], changed)
        self.story_card.show(self.story)  # last: it asks only about settings that are its own

    @property
    def setting(self) -> Experiment:
        """Return the experiment that the next *Run* would start."""
        chosen = Experiment(self.problem.setting, self.solvers.chosen, RunLimits())
        for one in IN_RUN_FORM:
            if one.part:
                chosen = one.put(chosen, self._of_run_form(one))
        return chosen

    def _of_run_form(self, one: Setting) -> Any:
        """Return the value of a setting in the run form."""
        return self.limits.values.get(one.name, one.field.default)

    def _problem_changed(self) -> None:
        self.solvers.set_problem(self.problem.setting)
        self._turn_lam()
        self._changed()

    def _turn_lam(self) -> None:
        """Change λ of the active runs to the selected value, if λ is live."""
        lam = self.problem.setting.lam
        if not (self.problem.live.value and self.session.racing and self._running) or self.problem.obstacle:
            return
        if lam not in (None, self._running.problem.lam):
            self._running = replace(self._running, problem=replace(self._running.problem, lam=lam))
            self.session.set_lam(lam)

    def _changed(self) -> None:
        """Update the URL and the hints after any change by the user."""
        self.session.awaits = (self.problem.obstacle or "") if not self.problem.ready else ""
        self.top_views.show(self.problem.problem)
        self._offer_tabs()
        if self._whole and self.story.id != FREE and not self._of_story(self.problem.setting):
            self._leave_story()
        self.legend.obstacle = self.obstacle
        self.controls.update()
        self.legend.update()
        self.pending.object = self._waiting_changes()
        self._compare_with_story()
        self.write_address()
        self._start_when_ready()

    def _offer_tabs(self) -> None:
        racing = [SOLVERS[entrant.id] for entrant in self.solvers.chosen]
        fitting = [view for view in TABS.values() if view.fits(self.problem.problem, racing)]
        own = used_by(self.story) if self.story.id != FREE and self._of_story(self.problem.setting) else ()
        self.tab_bar.offer(fitting, own=own, stay=bool(self.session.runs))

    def _of_story(self, problem: Recipe) -> bool:
        """Return whether a problem is that of the story, apart from options and λ."""
        own = self.guide.setting.problem
        return (problem.data, problem.loss, problem.penalty) == (own.data, own.loss, own.penalty)

    def _compare_with_story(self) -> None:
        """Show in the header and in the card whether the settings still are those of the story."""
        story = self.guide.setting
        changed = self.story.id != FREE and self.setting != story
        self.story_card.param.update(changed=changed, holds=not changed or self.running == story)
        note = "<small>modified</small>" if changed else ""
        question = self.story.question
        self.question.object = question and f'<p title="{question}"><span>{question}</span>{note}</p>'

    def _waiting_changes(self) -> str:
        """Return a note on changes that take effect at the next *Run*, as HTML, or ""."""
        setting, running = self.setting, self._running
        if not self.session.racing or setting == running:
            return ""
        if running is not None and replace(setting, problem=running.problem) == running:
            alike = replace(setting.problem, lam=running.problem.lam) == running.problem
            if alike and not self.problem.live.value:
                return (
                    "λ takes effect on the next Run; tick <i>apply λ to running solvers</i> to change it now."
                )
        return "Changes take effect on the next Run."

    @property
    def obstacle(self) -> str | None:
        """Return why nothing can be started now, or None."""
        wrong = self.problem.obstacle or self.solvers.obstacle or self.limits.obstacle
        if wrong is None and (n := len(self.solvers.chosen)) * self.repeat > MOST_SOLVERS:
            wrong = f"{self.repeat} runs of {n} solvers are more than {MOST_SOLVERS}: choose fewer of either"
        return wrong

    @property
    def repeat(self) -> int:
        """Return the number of runs of each solver."""
        return self._of_run_form(REPEAT)

    def write_address(self) -> None:
        """Write the current settings into the browser's URL."""
        if self._whole and self.session.ticking and pn.state.location is not None:
            location, known = pn.state.location, self.query()
            others = [pair for pair in parse_qsl(location.search.lstrip("?")) if pair[0] not in known]
            location.search = f"?{urlencode([*self.address().items(), *others], safe=';,=@:/')}"

    def address(self) -> dict[str, str]:
        """Return the parameters of a short URL that leads back to this page.

        They are its story, and the settings that differ from those of the story.
        """
        whole, story = self.query(), self.story
        changed = self.setting.changes(story.setting)
        usual = {"view": PAGE_VIEWS[0], "break": "", **self._plain, **story.view}
        looks = {name: whole[name] for name, value in usual.items() if whole[name] != value}
        return {"story": story.id, **changed, **looks}

    def query(self) -> dict[str, str]:
        """Return all URL parameters of this page, also those that its story sets."""
        look = {**self.appearance.read(), "view": self.type_size.view, "break": self.breaks.text}
        return {"story": self.story.id, **self.setting.address(), **look}

    def _share_axis(self) -> None:
        for view in self.session.views:
            share_axis(self.convergence, view)

    def open_tabs(self) -> None:
        """Build the part below the plots, once the browser shows the rest."""
        self.tab_bar.param.watch(lambda event: self._show_tab(), "chosen")
        self.type_size.param.watch(lambda event: self._show_tab(), "view")
        self._show_tab()

    def _show_tab(self) -> None:
        """Show the selected tab, or none if only the plots are shown."""
        chosen, alone = self.tab_bar.chosen, self.type_size.view == PLOTS_VIEW
        with batch(models=chosen not in self.tabs):
            self._make_room()
            if chosen not in self.tabs and not alone:
                self.tabs[chosen] = tab_view(chosen, self)
                first = self.convergence
                if any(getattr(first, name) != first.param[name].default for name in SHARED):
                    self._share_axis()  # else each view has the axis it likes
                self.tab_column.append(self.tabs[chosen])
            for id, view in self.tabs.items():
                view.visible = id == chosen and not alone
            self._changed()

    def _make_room(self) -> None:
        """Extend the plots to the height of the tabs if only the plots are shown."""
        alone = self.type_size.view == PLOTS_VIEW
        ui.set_class(self.top_views.view, "alone", alone)
        for part in (self.tab_lines, self.tab_column):
            part.visible = not alone

    def shown(self) -> Iterator[View]:
        """Yield the views on the page, and their parts."""
        for view in (*self.top_views.shown, *self.tabs.values()):
            if view.visible:
                yield from (view, *view.parts)

    @property
    def running(self) -> Experiment | None:
        """Return the experiment that was started last, if its runs are still on the page."""
        return self._running if self.session.runs or self.session.pressed is not None else None

    def explain(self, id: str) -> Help | None:
        """Return the help on the figure with this id."""
        return explanation(dict.fromkeys((*self.session.views, *self.tabs.values())), id)

    # running

    #: Whether the settings are consistent: False while several are changed one after another.
    _whole = True
    _running: Experiment | None = None
    #: The solver's label by that of each run that was started last: runs that repeat each other share one.
    racing: Mapping[str, str] = MappingProxyType({})

    def _start_when_ready(self) -> None:
        """Start the runs if *Run* was pressed before the data were loaded, and there is no obstacle now."""
        step = self.session.pressed
        if step is None or self.problem.loading:
            return
        self.session.pressed = None
        if self.obstacle is None:
            self.start(step)
        else:
            self._changed()

    def start(self, step: bool) -> None:
        """Start the selected solvers together, at once or as soon as the data are loaded."""
        setting, base = self.setting, self.problem.problem
        if base is None and self.problem.loading:  # pressed before the browser knew that there are none
            self.session.pressed = step
            self._changed()
            return
        if base is None or not setting.entrants:
            return
        self._running = setting

        def maker(chosen: Entrant, style: int) -> Callable[..., LiveRun]:
            own = chosen.recipe(setting.problem)

            def stopping(problem: Problem) -> Stopping:
                here = own if problem.lam is None else replace(own, lam=problem.lam)
                f_star = self.optimum.of(problem, self.story.optimum(here))
                return setting.limits.stopping(f_star)

            return partial(
                LiveRun,
                make_problem=lambda worker: problem_cache.variant(base, own, worker.pulse),
                solver=chosen.make(),
                label=chosen.label,
                style=style,
                experiment=replace(setting, entrants=(chosen,)),
                stopping=stopping,
                probes=views.probes(base),
            )

        try:
            racing, self.racing = setting.repeated(self.repeat)
            styles = [
                style + STYLE_PERIOD * k for k in range(self.repeat) for style in self.solvers.run_styles
            ]
            self.session.launch([*map(maker, racing.entrants, styles)], styles=styles, step=step)
        except PoolFull as error:
            self.notify(str(error))
        self._changed()
