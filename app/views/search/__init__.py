"""Views of one iteration of a quasi-Newton method: its line search and its curvature pairs."""
