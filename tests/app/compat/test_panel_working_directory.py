"""The folder that the server runs in."""

from __future__ import annotations

from pathlib import Path

from bokeh.core.json_encoder import serialize_json
from bokeh.document import Document
from panel_material_ui import FileSelector

from solverscope.app.compat import panel_working_directory


def test_no_document_names_the_folder_that_the_server_was_started_in():
    folder = FileSelector.param.directory.default
    assert Path(folder).is_dir(), "which is why it would"
    panel_working_directory.apply()
    written = serialize_json(Document().to_json())
    assert '"name":"FileSelector' in written
    assert folder not in written
