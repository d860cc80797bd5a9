"""The solvers, one file a family, and what they share."""
