"""The head of a page that comes before the page: what is sent first, and what after it."""

from __future__ import annotations

import http.client
import re
import time

import pytest

from app.serving.early_head import AGAIN, END, MARK, Heads

HEAD = f"<html><head><link {MARK}><script>"
PAGE = f"{HEAD}</script>{END}<body>1</body></html>"


@pytest.fixture
def heads():
    return Heads(lambda cookies: cookies.get("theme", ""))


def test_the_first_page_of_a_kind_teaches_the_head_of_the_next_ones(heads):
    assert heads.get("dark") == ""
    assert heads.rest("dark", "", PAGE) == PAGE
    assert heads.get("dark") == f"{HEAD}</script>"
    assert heads.get("light") == ""
    assert heads.get("dark") + heads.rest("dark", heads.get("dark"), PAGE) == PAGE


def test_after_a_head_of_another_page_the_browser_asks_again_and_gets_the_whole_page(heads):
    heads.rest("dark", "", PAGE)
    other = PAGE.replace(HEAD, f"{HEAD} ")
    assert heads.rest("dark", heads.get("dark"), other) == AGAIN
    assert heads.get("dark") == ""
    assert heads.rest("dark", "", other) == other


def test_a_text_that_is_not_the_page_teaches_nothing(heads):
    for text in ("Error", f"<html><head>{END}", PAGE.replace(END, "")):
        assert heads.rest("", "", text) == text
        assert heads.get("") == ""


def test_a_page_of_another_sort_teaches_nothing_and_is_sent_whole(heads):
    assert heads.rest(None, "", PAGE) == PAGE
    assert heads.get(None) == ""


def answer(served, **headers):
    """Seconds until the page begins and until it ends, what comes first of it, and the whole."""
    connection = http.client.HTTPConnection("localhost", served.port, timeout=60)
    began = time.perf_counter()
    connection.request("GET", "/app", headers=headers)
    response = connection.getresponse()
    assert response.status == 200
    beginning = response.read1()
    first = time.perf_counter() - began
    page = (beginning + response.read()).decode()
    connection.close()
    return first, time.perf_counter() - began, beginning.decode(), page


def without_session(page):
    """The page without what differs from session to session."""
    return re.sub(r"[\w.-]{60,}|[0-9a-f]{8}-[0-9a-f-]{27}|p\d+", "", page)


def test_a_page_begins_at_once_and_is_the_same_as_one_sent_whole(served):
    whole = answer(served)[3]
    answers = [answer(served) for _ in range(3)]
    assert min(first / last for first, last, _, _ in answers) < 0.5
    for _, _, beginning, page in answers:
        assert MARK in beginning
        assert "<body" not in beginning
        assert page[: page.index(END)] == whole[: whole.index(END)]
        assert without_session(page) == without_session(whole)
        assert page.count(END) == page.count("<body") == page.count("</html>") == 1


def test_another_theme_has_its_own_head(served):
    for _ in range(2):
        answer(served)
        dark = answer(served, Cookie="solverscope-theme=dark")[3]
        assert '"dark" !== "dark"' in dark
        assert dark.count(END) == 1


def test_a_refused_name_gets_no_head(served):
    answer(served)
    status, _, text = served.get("/app", Host=f"evil.example:{served.port}")
    assert status == 403
    assert MARK not in text
