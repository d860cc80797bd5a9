"""The dashboard, and the command line over the same solvers."""
