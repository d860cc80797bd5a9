"""Exit statuses of the command line."""

FINISHED = 0
BAD_INPUT = 2
FAILED = 3
INTERRUPTED = 130
