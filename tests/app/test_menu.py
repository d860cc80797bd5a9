"""A menu and choices that come late."""

from app.menu import Menu


def test_a_choice_that_is_gone_meanwhile_changes_nothing():
    menu = Menu(options={"Logistic": "logistic", "Softmax": "softmax"}, value="logistic")
    menu.options = {"Chain CRF": "chain-crf"}
    menu.value = "chain-crf"

    menu._process_events({"value": "Softmax"})

    assert menu.value == "chain-crf"


def test_a_choice_that_is_there_is_taken():
    menu = Menu(options={"Logistic": "logistic", "Softmax": "softmax"}, value="logistic")

    menu._process_events({"value": "Softmax"})

    assert menu.value == "softmax"
