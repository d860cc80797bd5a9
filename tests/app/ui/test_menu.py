"""A menu and choices that come late."""

from bokeh.document import Document

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
