"""Pages that show the runs of another page: lessons, the button that starts them, and windows of one plot."""
