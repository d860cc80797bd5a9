"""The button *Teach this* in the header, and the short URL at which others follow this page."""

from __future__ import annotations

from typing import Any, ClassVar

import param

from solverscope.app import ui
from solverscope.app.serving.classroom import TEACH_ARGUMENT, Lesson, own_address, teach
from solverscope.app.serving.serve_options import PUBLIC_FLAG, Serving
from solverscope.app.ui.component import Component

#: Note if the server only answers this machine.
LOCAL_ONLY = (
    "Only this machine can open it now. To let others in, start the server with: "
    f"panel serve app --args {PUBLIC_FLAG}"
)
#: Note if visitors come through a proxy.
BEHIND_PROXY = "Only those can open it whom the proxy before this server lets in."


class Teaching(Component):
    """The button that starts and ends a lesson on ``page``, which ends with the page at the latest."""

    code = param.String(default="", doc="the code of the lesson; empty while there is none")
    address = param.String(default="", doc="what is added to the page's own address")
    followers = param.Integer(default=0, doc="how many look at it now")
    counts = param.List(default=[], doc="each answer of theirs to what the story asks, and how often")
    note = param.String(default="", doc="who can open it")
    host = param.String(default="", doc="where others reach a server that answers them; empty if unknown")

    _esm = ui.page_script("panel.js", "copy.js", "teaching.js")
    _stylesheets: ClassVar[list[str]] = [ui.asset("header_buttons.css", "panel.css")]

    def __init__(self, page: Any) -> None:
        serving = Serving.from_arguments()
        behind = bool(serving.key or serving.proxies)
        who = {"note": BEHIND_PROXY if behind else LOCAL_ONLY}
        if serving.public and not serving.key:
            who = {"host": own_address()}
        super().__init__(css_classes=["teaching"], **who)
        self._page = page
        self.lesson: Lesson | None = None

    def receive(self, data: dict[str, Any]) -> None:
        match data.get("action"):
            case "teach" if self.lesson is None:
                self.lesson = teach(self._page)
                self.param.update(code=self.lesson.code, address=f"?{TEACH_ARGUMENT}={self.lesson.code}")
            case "end":
                self.close()
                self.param.update(code="", address="", followers=0)

    def update(self) -> None:
        """Update the number of followers and the counts of their answers."""
        self.followers = 0 if self.lesson is None else self.lesson.followers
        self.counts = self._page.prediction.counts

    def close(self) -> None:
        """End the lesson; the pages of current followers stay as they are."""
        if self.lesson is not None:
            self.lesson.end()
            self.lesson = None
