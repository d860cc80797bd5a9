"""Exit statuses of the command line."""

FINISHED = 0
#: `diff`: the runs are different.
DIFFERENT = 1
#: `check`: a check has found something.
FOUND = 1
BAD_INPUT = 2
FAILED = 3
#: A result could not be written: the disk or the output is full, read-only, or closed.
NOT_WRITTEN = 4
#: All runs ended properly, but one does not meet ``--require``.
UNMET = 5
INTERRUPTED = 130
