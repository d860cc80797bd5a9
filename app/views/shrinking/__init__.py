"""Views of shrinking: the working set, which weights left it and why, and rows of W."""
