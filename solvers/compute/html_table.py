"""HTML descriptions of objects, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape


def html_table(title: str, values: Mapping[str, object]) -> str:
    """Return an HTML table with a title and one row per value that is neither None nor empty."""
    left = 'style="text-align:left"'
    rows = "".join(
        f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(text)}</td></tr>"
        for name, value in values.items()
        if (text := "" if value is None else str(value))
    )
    return f"<table><caption {left}><b>{escape(title)}</b></caption>{rows}</table>"
