"""Runs ``panel`` as if newer libraries were installed, in which nothing is as it was."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import bokeh
import panel
import panel_material_ui
from panel.command import main

from app.compat.change import Change

bokeh.__version__ = panel.__version__ = panel_material_ui.__version__ = "99.0"
Change.found = lambda change: "another"
main()
