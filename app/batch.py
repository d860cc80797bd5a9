"""Changes of a page made as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import panel as pn


@contextmanager
def batch() -> Iterator[None]:
    """Send what the block changes in one message, and let Bokeh go through the document once.

    Without it Bokeh walks all models of the document at each property that refers to a model, and one curve
    sets dozens. Blocks may be nested; outside of a served page there is nothing to hold back.
    """
    document = pn.state.curdoc
    if document is None:
        yield
        return
    with pn.io.hold():
        frozen = document.models.freeze()
        frozen.__enter__()
        try:
            yield
        finally:  # Bokeh's own block would stay frozen for ever after an exception in it
            frozen.__exit__(None, None, None)
