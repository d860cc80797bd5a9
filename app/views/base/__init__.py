"""The parts of every view: cursor, feed of records, plots, help."""
