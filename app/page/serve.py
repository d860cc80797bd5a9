"""The response to a visitor of the server: the page, a window of one plot, or an error message."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

import panel as pn
from bokeh.events import ClientReconnected, ConnectionLost, DocumentReady
from bokeh.models import CustomJS
from bokeh.server.session import ServerSession

from solverscope import datasets
from solverscope.app import plugins, ui
from solverscope.app.compat import startup
from solverscope.app.compat.scripts import scripts
from solverscope.app.page.following.follow_page import FollowPage
from solverscope.app.page.following.plot_window import PlotWindow
from solverscope.app.page.following.poll import Poll
from solverscope.app.page.page import TITLE, Page
from solverscope.app.page.theme_toggle import wanted as wanted_theme
from solverscope.app.runs import history, problem_cache
from solverscope.app.runs.budget import budget
from solverscope.app.serving import access, classroom, guard, one_thread
from solverscope.app.serving.serve_options import Serving
from solverscope.app.stories import left_out, stories

#: Scripts of a page by its kind, in addition to those of its components.
PAGE_SCRIPTS = {
    "page": ("plots.js", "pixels.js", "page.js"),
    "window": ("plots.js",),
    "lesson": ("plots.js", "ranges.js", "lesson.js"),
}


def prepare() -> None:
    """Load the data of the first story, so that the first visitor does not wait for them."""
    budget.memory = Serving.from_arguments().memory
    problem = next(iter(stories().values())).setting.problem
    with suppress(ValueError):  # beyond what the server may hold: the page says so
        problem_cache.problem(problem_cache.load(problem), problem)


def serve() -> None:
    """Serve the page to the visitor of the current document, or an error message to visitors who are not
    admitted."""
    pn.extension()
    context = pn.state.curdoc.session_context if pn.state.curdoc is not None else None
    request = getattr(context, "request", None)
    serving = Serving.from_arguments()
    if request is not None and getattr(request, "remote_ip", None) is None:
        return  # the server itself, which warms up (--warm, --dev): the hooks have done that
    # a server of main.py alone has no hooks, and so no guard
    if (
        request is not None
        and not guard.guards()
        and (line := access.refusal(request.remote_ip, request.headers, serving))
    ):
        pn.pane.Str(line).servable(title=TITLE)
        return
    if request is not None:
        # Panel says so only once it writes the page's HTML: a page whose session the server has forgotten is
        # made anew for its socket alone, and would load style sheets from another host
        resources = pn.io.resources.LOCAL_DIST
        at = f"{pn.state.rel_path}/{resources}" if pn.state.rel_path else resources
        pn.state.curdoc.template_variables["dist_url"] = at
    budget.memory = serving.memory
    one_thread.keep()
    startup.apply()
    plugins.load_all(serving.plugins)
    for file in serving.data:
        datasets.offer(file)
    left_out()  # the log says why
    pn.config.theme = wanted_theme(pn.state.cookies)
    query = {name: values[-1].decode("utf-8", "replace") for name, values in pn.state.session_args.items()}
    rights = access.LOCAL_RIGHTS
    if request is not None:
        rights = access.rights(request.remote_ip, request.headers, serving)
        if not access.is_direct(request.headers):
            path = request.path.rstrip("/").removesuffix("/ws")
            rights = replace(rights, at=guard.direct_address(path))
    if "follow" in query or classroom.TEACH_ARGUMENT in query:
        try:
            page = _following(query)
        except ValueError as error:
            pn.pane.Str(str(error)).servable(title=TITLE)
            return
        if isinstance(page, FollowPage) and not page.alone:
            classroom.look_only(pn.state.curdoc, Poll.__name__)
    else:
        page = Page(query, None if serving.public else history.shared(), rights=rights)
    page.view().servable(title=TITLE)
    if request is not None:
        session = page.session

        def opened() -> None:
            # what follows another page computes nothing that it could come back to
            keep = partial(_keep, context.session) if isinstance(page, Page) else None
            session.start_timer(lambda: context.session.connection_count, keep)
            session.tick()
            if isinstance(page, Page):
                page.write_address()

        if isinstance(page, Page):
            session.presence.visitor = request.remote_ip, request.headers.get("User-Agent")
            session.presence.arrived = False

        together = isinstance(page, FollowPage) and not page.alone
        more = PAGE_SCRIPTS["page" if isinstance(page, Page) else "lesson" if together else "window"]
        pn.state.curdoc.template_variables.update(
            scripts="\n".join([scripts(), ui.head_script(*more)]),
        )
        connection = CustomJS(code=ui.asset("connection.js"))
        for event in (DocumentReady, ConnectionLost, ClientReconnected):
            pn.state.curdoc.js_on_event(event, connection)
        if isinstance(page, Page):
            follow = f"document.documentElement.dataset.follow = {session.token!r}"
            pn.state.curdoc.js_on_event(DocumentReady, CustomJS(code=follow))
        pn.state.on_session_destroyed(lambda context: page.close())
        # ticks begin once the page is built: what they change before would hold that up
        pn.state.onload(opened)


def _keep(session: ServerSession, wanted: bool) -> None:
    """Keep a session that has lost its connection from expiring, or let it expire."""
    if wanted:
        session.block_expiration()
    else:
        session.unblock_expiration()


def _following(query: Mapping[str, str]) -> PlotWindow | FollowPage:
    """Return the page that follows another one. Raises ValueError if that does not exist."""
    if "follow" in query:
        return PlotWindow(query.get("view", ""), query["follow"])
    return FollowPage(
        classroom.find(query[classroom.TEACH_ARGUMENT]), alone=classroom.ALONE_ARGUMENT in query
    )
