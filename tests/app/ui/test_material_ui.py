"""What pages tell of the folder that the server runs in."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os
import solverscope.app.page.page
from bokeh.core.json_encoder import serialize_json
from bokeh.document import Document
written = serialize_json(Document().to_json())
assert '"name":"FileSelector' in written
assert os.getcwd() not in written
"""


def test_no_document_names_the_folder_that_the_server_was_started_in(tmp_path):
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
