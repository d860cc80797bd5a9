"""Panes in the page's style."""

from __future__ import annotations

import panel as pn
import pytest
from bokeh.models import ImportedStyleSheet
from panel.io.state import set_curdoc

from solverscope.app import ui
from solverscope.app.ui.batch import batch
from tests.app.compat.conftest import serve

__all__ = ["serve"]


@pytest.mark.parametrize("pane", [ui.html, ui.cursor_text, ui.TextPane])
@pytest.mark.parametrize("models", [True, False])
def test_a_text_that_changes_while_it_is_put_on_the_page_asks_no_other_host_for_styles(pane, models, serve):
    async def scenario(server) -> None:
        server.document.template_variables["dist_url"] = "static/extensions/panel/"
        column, text = pn.Column(), pane()

        def put() -> None:
            with batch(models=models):
                column.append(text)
                text.object = "a moment later"

        with set_curdoc(server.document):
            root = column.get_root(server.document)
            await server.session.with_document_locked(lambda: server.document.add_root(root))
            await server.session.with_document_locked(put)
        sheets = [sheet.url for sheet in server.document.roots[0].select({"type": ImportedStyleSheet})]
        assert sheets
        assert [url for url in sheets if "://" in url] == []

    serve(scenario)
