"""Changes of a page made as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import panel as pn

from solverscope.app.compat.bokeh_model_walk import one_walk


@contextmanager
def batch() -> Iterator[None]:
    """Send what the block changes in one message, and let Bokeh go through the document at most once.

    A block that changes data, texts and numbers alone needs no walk. Blocks may be nested; outside of a
    served page there is nothing to hold back.
    """
    document = pn.state.curdoc
    if document is None:
        yield
    else:
        with pn.io.hold(), one_walk(document.models):
            yield
