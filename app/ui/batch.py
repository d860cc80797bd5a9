"""Changes of a page made as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from weakref import WeakKeyDictionary

import panel as pn
from bokeh.document import Document

#: What ends with the outermost block of a document.
_open: WeakKeyDictionary[Document, ExitStack] = WeakKeyDictionary()


@contextmanager
def batch(*, models: bool = False) -> Iterator[None]:
    """Send what the block changes in one message.

    Bokeh goes through the whole document at each change that refers to a model. With ``models`` it does so
    once, whether the block has changed any or not. Blocks may be nested; all of this ends with the outermost.
    Else Bokeh would record the changes of a new model that a later block replaces. The message would name
    that model, which the browser never got. Outside of a served page there is nothing to hold back.
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
            _open[document].enter_context(_one_walk(document))
        yield


@contextmanager
def _one_walk(document: Document) -> Iterator[None]:
    """Put off the walks through the document to the end of the block, also where it fails: a document that an
    error has left frozen would find no model any more."""
    failed: BaseException | None = None
    with document.models.freeze():
        try:
            yield
        except BaseException as error:
            failed = error
    if failed is not None:
        raise failed
