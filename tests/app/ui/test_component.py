"""The page's own components."""

from panel.custom import JSComponent

import solverscope.app.page.page  # noqa: F401  # all of them
from solverscope.app.ui.component import Component


def test_all_own_components_are_of_this_kind():
    def below(cls: type) -> set[type]:
        return {cls, *(c for sub in cls.__subclasses__() for c in below(sub))}

    own = {cls for cls in below(JSComponent) if cls.__module__.startswith("solverscope.app.")}
    assert own <= below(Component)
    assert len(own) > 10
