"""A file is dropped on the page: a good one is there to be run, a bad one is said and changes nothing."""

from __future__ import annotations

import gzip
import re

import pytest

from solverscope import datasets

GOOD = "".join(f"{1 if k % 3 else -1} 1:{k % 7} {k % 5 + 2}:0.5\n" for k in range(400))
BAD = {
    "value.svm": (b"1 1:0.5\n-1 2:x\n", "value.svm, line 2: a value is not a number"),
    "picture.png": (b"\x89PNG\r\n\0\0", "there is a NUL byte; give a text file"),
    "cut.svm.gz": (gzip.compress(GOOD.encode())[:-20], "cut.svm.gz is damaged or cut short"),
    "bomb.svm.gz": (
        gzip.compress((b"1 1:1" + b" " * 993 + b"#\n") * 1000) * 280,  # 280 members, one after the other
        "when decompressed: split it",
    ),
    "one.svm": (b"1 1:0.5\n1 2:1\n", "all training samples have the same label"),
    "index.svm": (b"1 1:0.5\n-1 7000000:1\n", "feature 7,000,000 is beyond 5,000,000"),
}
DROP = """([name, bytes]) => {
  const find = (root) => root.querySelector(".own") ??
    [...root.querySelectorAll("*")].map((el) => el.shadowRoot && find(el.shadowRoot)).find(Boolean)
  const dataTransfer = new DataTransfer()
  dataTransfer.items.add(new File([Uint8Array.from(bytes)], name))
  for (const type of ["dragenter", "dragover", "drop"]) {
    find(document).dispatchEvent(new DragEvent(type, {dataTransfer, bubbles: true, cancelable: true}))
  }
}"""


def give(visit, name: str, content: bytes) -> None:
    """Choose a file as the dialog of the browser does."""
    with visit.page.expect_file_chooser() as chooser:
        visit.button("Drop your own file, or choose one").click()
    chooser.value.set_files({"name": name, "mimeType": "", "buffer": content})


@pytest.mark.slow
def test_a_dropped_file_is_there_to_be_run_and_no_other_page_sees_it(visit):
    first = visit(data="breast-cancer", solvers="prox-gd")
    first.page.evaluate(DROP, ["mine.svm", list(GOOD.encode())])
    menu = first.page.get_by_role("combobox", name="Data set")
    first.wait_until(lambda: menu.inner_text() == "mine.svm", "the file to be chosen")
    first.wait_until(lambda: first.button("Run").is_enabled(), "Run to be possible")
    first.button("Run").click()
    first.wait_until(lambda: set(first.states()) == {"finished"}, "the runs to end")
    other = visit(data="breast-cancer", solvers="prox-gd")
    other.page.get_by_role("combobox", name="Data set").click()
    choices = other.page.get_by_role("listbox")
    choices.get_by_text(datasets.describe("digits").name, exact=True).wait_for()
    assert choices.get_by_text("mine.svm").count() == 0


@pytest.mark.slow
def test_a_bad_file_is_said_to_be_so_in_a_sentence_and_changes_nothing(visit):
    visit = visit(data="breast-cancer", solvers="prox-gd")
    menu = visit.page.get_by_role("combobox", name="Data set")
    for k, (name, (content, sentence)) in enumerate(BAD.items()):
        before = menu.inner_text()
        give(visit, name, content)
        said = visit.alert(re.compile(re.escape(sentence)))
        said.wait_for()
        assert menu.inner_text() == before, name
        visit.wait_until(lambda: visit.button("Run").is_enabled(), "Run to be possible")
        give(visit, f"mine-{k}.svm", GOOD.encode())
        visit.wait_until(lambda k=k: menu.inner_text() == f"mine-{k}.svm", f"a good file to follow {name}")
        visit.wait_until(lambda said=said: said.count() == 0, "the sentence to go")
