"""Where a text takes its styles from."""

from __future__ import annotations

import panel as pn
import pytest
from bokeh.models import ImportedStyleSheet
from panel.io.state import set_curdoc
from panel.reactive import Reactive

from solverscope.app.compat import panel_local_styles
from solverscope.app.serving.batch import batch


@pytest.mark.parametrize("changed", [True, False])
def test_a_text_that_changes_while_it_is_put_on_the_page_asks_no_other_host_for_styles(
    changed, serve, as_it_comes
):
    """Without the change it does: once it does not, the change can go."""
    panel_local_styles.apply()
    if not changed:
        as_it_comes(Reactive, "_get_properties")

    async def scenario(server) -> None:
        server.document.template_variables["dist_url"] = "static/extensions/panel/"
        column, pane = pn.Column(), pn.pane.HTML("at first")

        def put() -> None:
            with batch():
                column.append(pane)
                pane.object = "a moment later"

        with set_curdoc(server.document):
            root = column.get_root(server.document)
            await server.session.with_document_locked(lambda: server.document.add_root(root))
            await server.session.with_document_locked(put)
        sheets = [sheet.url for sheet in server.document.roots[0].select({"type": ImportedStyleSheet})]
        assert sheets
        assert ([url for url in sheets if "://" in url] == []) is changed

    serve(scenario)
