"""The page's own components."""

from bokeh.document import Document
from panel.custom import JSComponent

import solverscope.app.page.page  # noqa: F401  # all of them
from solverscope.app.compat.panel_plain_script import PlainScript
from solverscope.app.component import Component
from solverscope.app.page.type_size import TypeSize
from solverscope.app.serving.pulse import Pulse


def test_a_browser_takes_each_script_as_it_is_under_a_name_of_its_own():
    pulse, again, other = (made.get_root(Document()).bundle for made in (Pulse(), Pulse(), TypeSize()))
    assert pulse
    assert pulse == again
    assert pulse != other


def test_all_own_components_are_of_this_kind():
    def below(cls: type) -> set[type]:
        return {cls, *(c for sub in cls.__subclasses__() for c in below(sub))}

    own = {cls for cls in below(JSComponent) if cls.__module__.startswith("solverscope.app.")} - {PlainScript}
    assert own <= below(Component)
    assert issubclass(Component, PlainScript)
    assert len(own) > 10
