"""Pages on the runs of another page: a lesson and how it begins, and the window of one plot."""
