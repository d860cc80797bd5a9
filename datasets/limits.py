"""Limits on the size and content of uploaded files."""

from dataclasses import dataclass

MAX_BYTES = 4 << 30
"""Decompressed bytes of a file."""

MAX_SMALL_BYTES = 1 << 30
"""Decompressed bytes of a file that is held whole."""

MAX_LINES = 200_000_000

MAX_NONZEROS = 200_000_000
"""Values kept of a sparse file."""

MAX_LINE_BYTES = 16 << 20

MAX_FEATURES = 20_000_000
"""Columns of a matrix; more are taken for a mistake."""


@dataclass(frozen=True)
class Limits:
    """Limits on a file that a visitor uploads.

    They concern its bytes (``size``), its bytes after decompression, its lines, and the largest feature
    index. They also concern the number of labels, and of values in a table.
    """

    size: int
    unpacked: int
    lines: int
    index: int
    labels: int
    values: int = 1 << 25


DROPPED = Limits(size=64 << 20, unpacked=256 << 20, lines=2_000_000, index=5_000_000, labels=10_000)
"""For files that are dropped on a page."""
