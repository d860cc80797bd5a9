"""Fields of forms have the field's words for their names, and scripts keep their identifiers."""

from __future__ import annotations

import re

import pytest

from solverscope import datasets
from solverscope.app.page.sidebar.breaks import Conditions
from solverscope.app.page.sidebar.fields import describe
from solverscope.app.settings.settings_table import IN_RUN_FORM, MAX_SECONDS, SEED
from solverscope.solvers import LOSSES, PENALTIES, SOLVERS, Parameter, parameters

#: Letters of a name that find room in two lines beside a field.
LONGEST = 34


def forms():
    """All forms that the page may show, by what they are of."""
    for kinds in (SOLVERS, PENALTIES, LOSSES):
        yield from ((id, parameters(cls)) for id, cls in kinds.items() if parameters(cls))
    yield from ((id, info.options) for id, info in datasets.DATASETS.items() if info.options)
    yield "runs", [setting.field for setting in IN_RUN_FORM]
    yield "problem", (SEED.field,)
    yield "breaks", (Conditions(),)


@pytest.mark.parametrize("declared", [pytest.param(d, id=f"{id}-{k}") for k, (id, d) in enumerate(forms())])
def test_each_option_has_words_of_its_own(declared):
    titles = [describe(option, option.default)["title"] for option in declared]
    for option, title in zip(declared, titles, strict=True):
        assert option.title == title, f"{option.name} has no words"
        assert "_" not in title.replace("ε_s", "").replace("𝓛_j", "")
        assert not re.search(r"\d", title.replace("ℓ1", "").replace("= 0", "")), title
        assert 3 < len(title) <= LONGEST, title
    assert len(set(titles)) == len(titles), "two of a form have the same words"


def test_a_plug_in_that_gives_no_words_has_its_identifier_spelled_out():
    bare = Parameter("first_length", 1.0, "length of the first step", 0.0, None, None, (), False)
    told = describe(bare, 1.0)
    assert (told["name"], told["title"]) == ("first_length", "first length")


def test_what_a_field_sends_is_the_identifier():
    told = describe(MAX_SECONDS.field, 3.0)
    assert (told["name"], told["title"], told["value"]) == ("max_seconds", "time limit, CPU s", "3")
