"""What every view is made of: cursor, feed of records, plots, help."""
