"""Batches of changes to a page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from weakref import WeakKeyDictionary

import panel as pn
from bokeh.document import Document

#: Contexts that end with the outermost block of a document.
_open: WeakKeyDictionary[Document, ExitStack] = WeakKeyDictionary()


@contextmanager
def batch(*, models: bool = False) -> Iterator[None]:
    """Send all changes made in the block in one message.

    Bokeh traverses the whole document at each change that refers to a model. With ``models`` it does so only
    once, at the end. Blocks may be nested, and the outermost sends the changes. Otherwise the message of an
    inner block could refer to a new model that a later block replaces and the browser never receives. Without
    a served page, the block has no effect.
    """
    document = pn.state.curdoc
    if document is None:
        yield
        return
    with ExitStack() as block:
        if document not in _open:
            block.enter_context(pn.io.hold())
            _open[document] = block
            block.callback(_open.pop, document)
        if models:
            _open[document].enter_context(one_walk(document))
        yield


@contextmanager
def one_walk(document: Document) -> Iterator[None]:
    """Postpone Bokeh's traversals of the document to the end of the block.

    This is also so after an error: a document that stays frozen would not find new models.
    """
    failed: BaseException | None = None
    with document.models.freeze():
        try:
            yield
        except BaseException as error:
            failed = error
    if failed is not None:
        raise failed
