"""Changes of a page made as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import panel as pn
from bokeh.document.models import DocumentModelManager


@contextmanager
def batch() -> Iterator[None]:
    """Send what the block changes in one message, and let Bokeh go through the document at most once.

    Without it Bokeh walks all models of the document at each property that refers to a model, and one curve
    sets dozens. A block that changes data, texts and numbers alone needs no walk. Blocks may be nested;
    outside of a served page there is nothing to hold back.
    """
    document = pn.state.curdoc
    if document is None:
        yield
    else:
        with pn.io.hold(), _one_walk(document.models):
            yield


@contextmanager
def _one_walk(models: DocumentModelManager) -> Iterator[None]:
    """Put off the walks that the block asks for. Bokeh's own ``freeze`` walks at its end in any case, and
    stays frozen for ever after an exception."""
    own = vars(models)
    outer, asked = own.get("recompute"), list[None]()
    own["recompute"] = lambda: asked.append(None)
    try:
        yield
    finally:
        del own["recompute"]
        if outer is not None:
            own["recompute"] = outer
        if asked:
            models.recompute()
