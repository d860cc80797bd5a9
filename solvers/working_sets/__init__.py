"""Rules that choose the weights a solver works on, and schedules of their epochs."""
