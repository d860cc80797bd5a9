"""External programs as solvers: one module per program, their processes, and the modes of observation."""
