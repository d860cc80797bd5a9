"""The solvers, one file per family, and their common code."""
