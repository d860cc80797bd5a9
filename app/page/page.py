"""The page: puts the pieces together for one visitor, and keeps the address up to date."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import panel as pn
import panel_material_ui as pmui
import param
from bokeh.events import ClientReconnected, ConnectionLost, DocumentReady
from bokeh.models import CustomJS
from panel.util import edit_readonly

from app import plugins, theme, views
from app.menu import Menu
from app.page.cursor_bar import CursorBar
from app.page.fields import Form
from app.page.legend import LegendRows
from app.page.optimum import Optimum
from app.page.path_panel import PathPanel
from app.page.problem_panel import ProblemPanel
from app.page.run_controls import DRAWING, PACES, RunControls
from app.page.session import Session
from app.page.solver_panel import SolverPanel
from app.page.standing import Standing
from app.page.theme_toggle import ThemeToggle
from app.page.theme_toggle import wanted as wanted_theme
from app.runs import library
from app.runs.budget import budget
from app.runs.live import LiveRun
from app.runs.pool import PoolFull
from app.serving import access
from app.serving.batch import batch
from app.serving.delivery import forget_failed, send_in_order
from app.serving.options import Serving
from app.settings.setting import Setting, SolverSetting
from app.stories import Story, stories
from app.views import TABS, Path, View
from app.views.convergence import MEASURES
from app.views.plot import SCALES, X_AXES
from solvers import Parameter, Problem, Stopping

TITLE = "Solverscope"
LIMITS = (
    Parameter("tol", 1e-6, "stop at a violation of so many times that at w = 0", 0.0, 1.0, None, (), True),
    Parameter("max_seconds", 120.0, "stop after so many CPU seconds of a run", 0.0, 1e6, None, (), True),
)


class Quiet(param.Parameterized):
    """Stands in for Panel's own busy state, which is one for all visitors: it makes Panel go through all of
    every page at each event of anybody, and keeps the pages of those who have left."""

    busy = param.Boolean(default=False)


class Page:
    """Everything one visitor sees. ``query`` is the address they came with."""

    def __init__(self, query: Mapping[str, str] = MappingProxyType({})) -> None:
        self.session = Session()
        self.notices = pn.Column(sizing_mode="stretch_width", margin=0)
        self.story = self._story(query.get("story"))
        setting, notices = self.story.setting.updated(query)
        for notice in notices:
            self.notify(notice)
        self._build(setting)
        self._look({**self.story.view, **query})
        self._changed()
        pn.state.onload(self._open_tabs)  # the first picture does not wait for what is below the plots

    # what is on the page

    def _build(self, setting: Setting) -> None:
        session = self.session
        self.story_menu = Menu(
            label="Story",
            options={story.name: id for id, story in stories().items()},
            value=self.story.id,
            sizing_mode="stretch_width",
            size="small",
            margin=(4, 0),
        )
        self.story_menu.param.watch(lambda event: self.tell(stories()[event.new]), "value")
        self.question = theme.html(sizing_mode="stretch_width", margin=0)
        self.solvers = SolverPanel(self._changed)
        self.limits = Form(self._changed)
        self.problem = ProblemPanel(session, setting.problem, self._problem_changed)
        self.controls = RunControls(session, self.start, self._changed)
        self.legend = LegendRows(session)
        self.optimum = Optimum(session)
        self.standing = Standing(session, self.problem.options.enter)
        self.convergence, self.sparsity = self.standing.convergence, self.standing.sparsity
        self.convergence.param.watch(lambda event: self._set_x(event.new), "x")
        self.convergence.param.watch(lambda *events: self._changed(), ["x", "measure", "scale"])
        self.tabs: dict[str, View] = {}  # made when they are first looked at
        self.tab_column = pn.Column(sizing_mode="stretch_width", margin=0)
        titles = [{"label": view.title} for view in TABS.values()]
        self.tab_bar = pmui.TabMenu(
            items=titles, active=0, variant="scrollable", sizing_mode="stretch_width", margin=0
        )
        self.cursor_bar = CursorBar(session, self.controls.toggle)
        session.on_return = lambda: self.notify(
            "The connection was lost for a while, and what ran was stopped."
        )
        session.watchers = [self.problem, self.controls, self.optimum, self.legend, self.cursor_bar]
        self.pending = theme.html(margin=(0, 10))
        self._show(setting)

    def view(self) -> pmui.Page:
        """Return the page itself. Nothing is loaded before a browser shows it: the first tick does
        that."""
        for view in self.session.views:
            view.awaits = self.session.awaits
        main = theme.column(
            self.notices,
            theme.column(self.story_menu, self.question, kind="story"),
            pn.FlexBox(
                *self.controls.widgets,
                self.optimum.view,
                align_items="center",
                margin=0,
                css_classes=["needs-server"],
            ),
            pn.Column(self.legend, sizing_mode="stretch_width", margin=0, css_classes=["needs-server"]),
            self.standing.view,
            self.tab_bar,
            self.tab_column,
            kind="main",
        )
        foot = theme.column(self.cursor_bar, self.session.pulse, kind="foot")
        sidebar = [
            self.problem.view,
            theme.html("<h2>Solvers</h2>", margin=(8, 10, 0, 10)),
            self.solvers,
            self.pending,
            theme.html("<h2>Stop when</h2>", margin=(8, 10, 0, 10)),
            self.limits,
        ]
        page = pmui.Page(
            title=TITLE,
            sidebar=sidebar,
            main=[main, foot],
            sidebar_width=300,
            favicon=theme.ASSETS / "favicon.svg",
            raw_css=[theme.asset("page.css")],
            theme_config={"light": theme.mui("light"), "dark": theme.mui("dark")},
            busy_indicator=None,
            template=theme.ASSETS / "page.html",
            theme_toggle=False,
            header=[pn.Row(pn.HSpacer(), ThemeToggle(), sizing_mode="stretch_width", margin=0)],
        )
        with edit_readonly(page):
            page.busy = Quiet().param.busy
        return page

    def notify(self, text: str) -> None:
        """Say something above everything else."""
        said = theme.html(html.escape(text), sizing_mode="stretch_width")
        self.notices.append(
            pmui.Alert(
                said, severity="warning", closeable=True, sizing_mode="stretch_width", margin=(0, 0, 8, 0)
            )
        )

    # set-up

    def _story(self, id: str | None) -> Story:
        first = next(iter(stories().values()))
        if id is not None and id not in stories():
            self.notify(f"There is no story {id!r}: the first one is shown instead.")
        return stories().get(id, first)

    def tell(self, story: Story) -> None:
        """Set everything up for a story, in one go."""
        with batch():
            self.story = story
            self.notices.clear()
            self._show(story.setting)  # first: else the solvers of the story before would be drawn again
            self.problem.set(story.setting.problem)
            self._look(story.view)
            self._changed()

    def _show(self, setting: Setting) -> None:
        points = "".join(f"<li>{point}</li>" for point in self.story.look_for)
        self.question.object = (
            f'<details class="story"><summary>{self.story.question}</summary><ul>{points}</ul></details>'
        )
        self.solvers.set(setting.problem, setting.solvers)
        given = {"tol": setting.tol, "max_seconds": setting.max_seconds}
        self.limits.set(LIMITS, {p.name: given[p.name] for p in LIMITS if given[p.name] != p.default})

    def _look(self, query: Mapping[str, str]) -> None:
        """Set axes, tab and speed as an address or a story says; leave out, and report, what is not
        possible."""
        view = self.convergence
        choices = {
            "x": (X_AXES, lambda value: setattr(view, "x", value)),
            "y": (MEASURES, lambda value: setattr(view, "measure", value)),
            "scale": (SCALES, lambda value: setattr(view, "scale", value)),
            "tab": (TABS, lambda value: setattr(self.tab_bar, "active", list(TABS).index(value))),
            "speed": (PACES, lambda value: setattr(self.controls.pace, "value", PACES[value])),
            "plots": (DRAWING, lambda value: setattr(self.controls.drawing, "value", DRAWING[value])),
        }
        for name, (possible, choose) in choices.items():
            value = query.get(name)
            if value is not None and value in possible:
                choose(value)
            elif value is not None:
                self.notify(
                    f"{name}={value!r} in the address was left out: choose one of {', '.join(possible)}."
                )

    @property
    def setting(self) -> Setting:
        """Return what the next Run would run."""
        limits = {p.name: self.limits.values.get(p.name, p.default) for p in LIMITS}
        return Setting(self.problem.setting, self.solvers.chosen, **limits)

    def _problem_changed(self) -> None:
        self.solvers.set_problem(self.problem.setting)
        self._changed()

    def _changed(self) -> None:
        """Bring the address and the hints up to date after any change by the user."""
        self.session.awaits = (self.problem.obstacle or "") if not self.problem.ready else ""
        self.standing.show(self.problem.problem)
        self.controls.loading = bool(self.problem.loading)
        self.controls.obstacle = self.legend.obstacle = self._obstacle
        self.controls.update()
        self.legend.update()
        changed = bool(self.session.alive) and self.setting != self._running
        text = "Changes take effect on the next Run." if changed else ""
        if self.pending.object != text:
            self.pending.object = text
        self.write_address()

    @property
    def _obstacle(self) -> str | None:
        """Say why nothing can be started now, in a sentence."""
        return self.problem.obstacle or self.solvers.obstacle or self.limits.obstacle

    def write_address(self) -> None:
        """Put what is chosen into the browser's address."""
        if self.session.ticking and pn.state.location is not None:
            pn.state.location.update_query(**self.query())

    def query(self) -> dict[str, str]:
        """Return the parameters of an address that leads back to this page."""
        view, controls = self.convergence, self.controls
        look = {"x": view.x, "y": view.measure, "scale": view.scale, "tab": list(TABS)[self.tab_bar.active]}
        look["speed"] = next(name for name, value in PACES.items() if value == controls.pace.value)
        look["plots"] = next(name for name, value in DRAWING.items() if value == controls.drawing.value)
        return {"story": self.story.id, **self.setting.query(), **look}

    def _set_x(self, x: str) -> None:
        for view in self.session.views:
            if "x" in view.param:
                view.x = x

    def _open_tabs(self) -> None:
        self.tab_bar.param.watch(lambda event: self._tab_changed(), "active")
        self._tab_changed()

    def _tab_changed(self) -> None:
        chosen = list(TABS)[self.tab_bar.active]
        if chosen not in self.tabs:
            self.tabs[chosen] = self._make_tab(chosen)
            if self.convergence.x != self.convergence.param.x.default:  # else each view has the axis it likes
                self._set_x(self.convergence.x)
            self.tab_column.append(self.tabs[chosen])
        for id, view in self.tabs.items():
            view.visible = id == chosen
        self._changed()

    def _make_tab(self, id: str) -> View:
        if id == Path.id:  # it has runs of its own
            panel = PathPanel(self.session, self._path_wanted)
            self.session.watchers.append(panel)
            return panel.view
        view = TABS[id]((), self.session.cursor)
        self.session.show_in(view)
        return view

    def _path_wanted(self) -> tuple[Problem, Setting] | None:
        if self._obstacle is not None:
            return None
        return self.problem.problem, self.setting

    # running

    _running: Setting | None = None

    def start(self, step: bool) -> None:
        """Start the chosen solvers together."""
        setting, base = self.setting, self.problem.problem
        if base is None or not setting.solvers:  # pressed before the browser knew that there is none
            return
        self._running = setting

        def maker(chosen: SolverSetting) -> Callable[..., LiveRun]:
            own = chosen.problem(setting.problem)
            known = self.story.optimum(own)

            def stopping(problem: Problem) -> Stopping:
                f_star = self.optimum.of(problem, known)
                return Stopping(tol=setting.tol, max_seconds=setting.max_seconds, f_star=f_star)

            return partial(
                LiveRun,
                make_problem=lambda worker: library.variant(base, own, worker.pulse),
                solver=chosen.make(),
                label=chosen.label,
                style=chosen.style,
                stopping=stopping,
                probes=views.probes(base),
            )

        try:
            self.session.launch([maker(solver) for solver in setting.solvers], step=step)
        except PoolFull as error:
            self.notify(str(error))
        self._changed()


def serve() -> None:
    """Serve the page to the visitor of the current document, or one line to a stranger."""
    pn.extension()
    context = pn.state.curdoc.session_context if pn.state.curdoc is not None else None
    request = getattr(context, "request", None)
    serving = Serving.from_arguments()
    if request is not None and (
        line := access.refusal(request.remote_ip, request.headers.get("Host"), serving)
    ):  # the guard has seen to that, but for a server of main.py alone, which has no hooks
        pn.pane.Str(line).servable(title=TITLE)
        return
    budget.memory = serving.memory
    send_in_order()
    forget_failed()
    plugins.load_all(serving.plugins)
    pn.config.theme = wanted_theme(pn.state.cookies)
    query = {name: values[-1].decode("utf-8", "replace") for name, values in pn.state.session_args.items()}
    page = Page(query)
    page.view().servable(title=TITLE)
    if request is not None:
        session = page.session

        def opened() -> None:
            session.start_timer(lambda: context.session.connection_count)
            session.tick()
            page.write_address()

        connection = CustomJS(code=theme.asset("connection.js"))
        for event in (DocumentReady, ConnectionLost, ClientReconnected):
            pn.state.curdoc.js_on_event(event, connection)
        pn.state.curdoc.js_on_event(DocumentReady, CustomJS(code=theme.asset("retell.js")))
        pn.state.on_session_destroyed(lambda context: session.close())
        # what is changed while the browser still builds the page would be lost on it
        pn.state.onload(opened)
