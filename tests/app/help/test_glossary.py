"""The glossary of technical words in stories."""

from __future__ import annotations

import re

import pytest

from solverscope.app.help import glossary
from solverscope.app.stories import stories

WORDS = glossary()
#: A path of SVG within a picture of 64 by 32 units, its first place absolute.
PATH = re.compile(r"M[0-9 .,MmLlHhVvCcSsQqTt-]+")


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word["id"])
def test_a_word_is_told_in_two_short_sentences_and_a_picture(word):
    sentences = re.findall(r"[^.]+\.(?: |$)", word["text"])
    assert "".join(sentences) == word["text"]
    assert 1 <= len(sentences) <= 2
    assert max(len(sentence.split()) for sentence in sentences) <= 25
    assert word.keys() == {"id", "names", "text", "line", "mark"}
    assert all(PATH.fullmatch(word[path]) for path in ("line", "mark"))


def test_no_name_means_two_things():
    names = [name.lower() for word in WORDS for name in word["names"]]
    assert len(set(names)) == len(names)


def test_each_word_stands_in_a_story_that_visitors_read():
    told = " ".join(
        text
        for story in stories().values()
        for text in (story.question, *story.look_for, *(step.text for step in story.steps))
    )
    unused = [
        word["id"]
        for word in WORDS
        if not any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", told, re.I) for name in word["names"])
    ]
    assert unused == []
