"""The menu of stories."""

from __future__ import annotations

from bokeh.document import Document

from solverscope.app.page.story_menu import StoryMenu
from solverscope.app.stories import by_topic, stories


def test_every_story_is_once_in_the_menu_under_its_topic():
    found = [(topic, name, id) for topic, group in by_topic().items() for name, id in group.items()]
    assert sorted(found) == sorted((story.topic, story.name, story.id) for story in stories().values())
    assert found[0][2] == "shrinking"
    assert min(map(len, by_topic().values())) > 1


def test_a_click_chooses_a_story_and_marks_it_and_a_topic_cannot_be_chosen():
    menu = StoryMenu("kink")
    assert stories()["kink"].name in menu.stylesheets[-1]
    menu.get_root(Document()).data.value = stories()["armijo"].name
    assert menu.value == "armijo"
    assert stories()["armijo"].name in menu.stylesheets[-1]
    assert stories()["kink"].name not in menu.stylesheets[-1]
    heads = [line for line, id in menu.options.items() if id in menu.disabled_options]
    assert heads == list(by_topic())
