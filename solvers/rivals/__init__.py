"""External programs as solvers: their processes, the modes of observing them, and a file for each."""
