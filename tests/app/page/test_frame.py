"""The frame of the page."""

from __future__ import annotations

import re


def test_the_page_begins_by_asking_for_the_script_that_its_components_take(served):
    text = served.get("/app")[2]
    preloaded = re.findall(r'<link rel="modulepreload" href="([^"]+)"', text)
    taken = re.findall(r'import\("([^"]+)"\)', text)
    assert preloaded == taken
    assert len(taken) == 1
    assert served.get("/" + taken[0].removeprefix("./"))[0] == 200
