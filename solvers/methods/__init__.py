"""The solvers, one file per family, and the code that they share."""
