"""Rules that choose which weights a solver works on, and their epochs."""
