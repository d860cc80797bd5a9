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
    """Send the changes of the block in one message.

    Bokeh walks the whole document at each change that refers to a model. With ``models`` it does so once,
    whether the block has changed any or not. Blocks may be nested: the outermost sends. Otherwise Bokeh would
    record the changes of a new model that a later block replaces. The message would name that model, which
    the browser never got. Without a served page the block runs as usual.
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
    """Postpone Bokeh's walks through the document to the end of the block, also after an error. A document
    that an error left frozen would not find models any more."""
    failed: BaseException | None = None
    with document.models.freeze():
        try:
            yield
        except BaseException as error:
            failed = error
    if failed is not None:
        raise failed
