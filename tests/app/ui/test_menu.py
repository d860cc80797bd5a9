"""A menu and choices that come late."""

import asyncio
from types import SimpleNamespace

from bokeh.document import Document
from panel.io.state import set_curdoc

from solverscope.app.ui.menu import Menu


def choose(menu: Menu, label: str) -> None:
    """Click on a choice, as the browser tells of it."""
    menu.get_root(Document()).data.value = label


def test_a_choice_that_is_gone_meanwhile_changes_nothing():
    menu = Menu(options={"Logistic": "logistic", "Softmax": "softmax"}, value="logistic")
    menu.options = {"Chain CRF": "chain-crf"}
    menu.value = "chain-crf"

    choose(menu, "Softmax")

    assert menu.value == "chain-crf"


def test_a_choice_that_is_there_is_taken():
    menu = Menu(options={"Logistic": "logistic", "Softmax": "softmax"}, value="logistic")

    choose(menu, "Softmax")

    assert menu.value == "softmax"


def test_a_choice_that_waits_outlasts_what_the_page_sets_meanwhile(monkeypatch):
    """Two clicks come together on a busy machine, and what the first leads to sets the menu of the second."""
    menu = Menu(options={"Logistic": "logistic", "Softmax": "softmax", "Hinge": "hinge"}, value="logistic")
    document = Document()
    request = SimpleNamespace(arguments={}, headers={}, cookies={}, path="/")
    session = SimpleNamespace(request=request, server_context=None)
    monkeypatch.setattr(Document, "session_context", session)
    root = menu.get_root(document)
    with set_curdoc(document):
        root.data.value = "Softmax"
        assert menu.value == "logistic", "it waits"
        menu.value = "hinge"
        assert root.data.value == "Softmax", "the browser keeps what was chosen last"
        [waiting] = document.session_callbacks
        asyncio.run(waiting.callback())
    assert menu.value == "softmax"
