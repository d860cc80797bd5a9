"""A callback that fails leaves no current document behind."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from bokeh.document import Document
from bokeh.io import doc as current

from solverscope.app.compat.change import Change, in_place_of

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="Bokeh keeps the documents whose callbacks are at work on one list for all visitors, and "
    "patch_curdoc takes one off only if its callback ends well. Code that then asks for the "
    "current document, as HoloViews does in a thread, gets that of the failed callback "
    "(https://github.com/holoviz/panel/issues/3552).",
    without="After a callback has failed, a plot may fail with 'Patched curdoc has been previously "
    "destroyed'.",
    knows=("bokeh.io.doc:patch_curdoc", "bokeh.io.doc:curdoc"),
    digest="098f8ceff61cba4a",
)


@CHANGE.once
def apply() -> None:
    """Make the change."""
    current.patch_curdoc = in_place_of(current.patch_curdoc, _at_work)


@contextmanager
def _at_work(document: Document) -> Iterator[None]:
    current._PATCHED_CURDOCS.append(weakref.ref(document))
    try:
        yield
    finally:
        current._PATCHED_CURDOCS.pop()
