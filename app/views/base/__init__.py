"""The common parts of views: cursor, sending of records, plots, help."""
