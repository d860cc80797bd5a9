"""Views of shrinking: the working set, who left it and why, rows of W."""
