"""What a visitor of the server gets: the page, a plot of it alone, or one line to a stranger."""

from __future__ import annotations

import panel as pn
from bokeh.events import ClientReconnected, ConnectionLost, DocumentReady
from bokeh.models import CustomJS

from app import plugins, theme
from app.page.alone import Alone
from app.page.beside import token
from app.page.frame import material
from app.page.page import TITLE, Page
from app.page.theme_toggle import wanted as wanted_theme
from app.runs import history
from app.runs.budget import budget
from app.serving import access
from app.serving.delivery import forget_failed, send_in_order, style_from_here
from app.serving.options import Serving
from app.settings import own_files as offered_files

#: Scripts of the page that a plot alone has no use for.
PARTS = ["help_buttons.js", "window_buttons.js", "pixels.js", "pictures.js"]


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
    style_from_here()
    plugins.load_all(serving.plugins)
    for file in serving.data:
        offered_files.offer(file)
    pn.config.theme = wanted_theme(pn.state.cookies)
    query = {name: values[-1].decode("utf-8", "replace") for name, values in pn.state.session_args.items()}
    here = request is None or access.from_here(request.remote_ip, request.headers)
    if "follow" in query:
        try:
            page = Alone(query.get("view", ""), query["follow"])
        except ValueError as error:
            pn.pane.Str(str(error)).servable(title=TITLE)
            return
    else:
        page = Page(query, None if serving.public else history.shared(), own_files=here)
    page.view().servable(title=TITLE)
    if request is not None:
        session = page.session

        def opened() -> None:
            session.start_timer(lambda: context.session.connection_count)
            session.tick()
            page.opened()

        more = PARTS if isinstance(page, Page) else []
        pn.state.curdoc.template_variables["layout"] = theme.asset("layout.js", *more)
        pn.state.curdoc.template_variables["material"] = material()
        connection = CustomJS(code=theme.asset("connection.js"))
        for event in (DocumentReady, ConnectionLost, ClientReconnected):
            pn.state.curdoc.js_on_event(event, connection)
        if isinstance(page, Page):
            follow = f"document.documentElement.dataset.follow = {token(session)!r}"
            for code in (theme.asset("retell.js"), follow):
                pn.state.curdoc.js_on_event(DocumentReady, CustomJS(code=code))
        pn.state.on_session_destroyed(lambda context: page.close())
        # what is changed while the browser still builds the page would be lost on it
        pn.state.onload(opened)
