import pytest

from solverscope.datasets import DataError, Option
from solverscope.datasets.options import holds

WHOLE = Option("k", 3, "a count", 1, 10)
SHARE = Option("share", 0.5, "a share", 0.0, 1.0)
CHOICE = Option("how", "a", "a way", choices=("a", "b"))
BOTH = Option("scale", "none", "a way or a number", 0.1, 100.0, ("none", "unit"))
TEXT = Option("path", None, "a file")


@pytest.mark.parametrize(
    ("option", "given", "value"),
    [
        (WHOLE, "7", 7),
        (WHOLE, 7, 7),
        (WHOLE, "1e1", 10),
        (WHOLE, True, 1),
        (SHARE, "0.25", 0.25),
        (SHARE, 1, 1.0),
        (CHOICE, "b", "b"),
        (BOTH, "unit", "unit"),
        (BOTH, "16", 16.0),
        (TEXT, "some/file", "some/file"),
        (TEXT, 3, "3"),
        (TEXT, None, None),
    ],
)
def test_text_and_typed_values_become_the_same_value(option, given, value):
    parsed = option.parse(given)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("option", "given"),
    [
        (WHOLE, "0"),
        (WHOLE, "11"),
        (WHOLE, "2.5"),
        (WHOLE, "many"),
        (WHOLE, "nan"),
        (WHOLE, "inf"),
        (WHOLE, None),
        (SHARE, "1.5"),
        (CHOICE, "c"),
        (CHOICE, ""),
        (BOTH, "0"),
        (BOTH, "other"),
        (TEXT, ""),
    ],
)
def test_a_wrong_value_is_refused_with_what_would_be_right(option, given):
    with pytest.raises(DataError, match=option.name) as error:
        option.parse(given)
    assert "it takes" in str(error.value)
    assert "\n" not in str(error.value)


def test_conditions_on_options():
    options = {"task": 1, "split": "given"}
    assert holds("", options)
    assert holds("task=1", options)
    assert holds("task=1,split=given", options)
    assert not holds("task=1,split=random", options)
