"""Numbers as the page writes them; runs told apart by colour and dash."""

from __future__ import annotations

import math

import pytest

from app import theme


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (812, "812"),
        (20910, "20\u2009910"),
        (1163.3233, "1\u2009163"),
        (0.03, "0.03"),
        (0.008312345, "0.008312"),
        (-0.5, "−0.5"),
        (1.5e-7, "1.5e−7"),
        (2.0e12, "2e12"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_numbers_have_few_digits_and_thin_spaces(value, text):
    assert theme.number(value) == text


def test_seconds_have_a_unit():
    assert theme.seconds(3.14159) == "3.14 s"
    assert theme.seconds(1234.5) == "1\u2009234 s"
    assert theme.seconds(None) == "–"


def test_two_dozen_runs_all_look_different():
    looks = {(theme.COLORS[k % len(theme.COLORS)], theme.dash(k)) for k in range(24)}
    assert len(looks) == 24
