"""What a file may at most contain."""

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
