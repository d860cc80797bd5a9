"""The current document after a callback that fails."""

from __future__ import annotations

import pytest
from bokeh.document import Document
from bokeh.document.callbacks import invoke_with_curdoc
from bokeh.io import curdoc
from bokeh.io import doc as current

from solverscope.app.compat import bokeh_failed_callback


@pytest.fixture(autouse=True)
def left_as_found(monkeypatch):
    monkeypatch.setattr(current, "_PATCHED_CURDOCS", [])


@pytest.mark.parametrize("changed", [True, False])
def test_a_callback_that_fails_leaves_no_current_document_to_others(changed, as_it_comes, monkeypatch):
    """Without the change it does: once it does not, the change can go."""
    bokeh_failed_callback.apply()
    if not changed:
        as_it_comes(current, "patch_curdoc")
    document, before = Document(), curdoc()

    def fail() -> None:
        assert curdoc() is document
        raise OSError("as it happens")

    with pytest.raises(OSError, match="as it happens"):
        invoke_with_curdoc(document, fail)
    assert (curdoc() is before) is changed
