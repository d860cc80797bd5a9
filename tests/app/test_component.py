"""The page's own components."""

from panel.custom import JSComponent

import app.page.page  # noqa: F401  # all of them
from app.component import Component
from app.page.type_size import TypeSize
from app.serving.pulse import Pulse


def test_a_browser_takes_each_script_as_it_is_under_a_name_of_its_own():
    pulse, again, other = (made._get_properties(None) for made in (Pulse(), Pulse(), TypeSize()))
    assert pulse["bundle"]
    assert pulse["bundle"] == again["bundle"]
    assert pulse["bundle"] != other["bundle"]


def test_all_own_components_are_of_this_kind():
    def below(cls: type) -> set[type]:
        return {cls, *(c for sub in cls.__subclasses__() for c in below(sub))}

    own = {cls for cls in below(JSComponent) if cls.__module__.startswith("app.")}
    assert own <= below(Component)
    assert len(own) > 10
