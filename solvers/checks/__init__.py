"""Checks of solvers, losses, penalties and data sets: their claims, compared with the definitions.

Checks are small functions. Those of the iterates of a run are in ``claims``, ``searches``, ``proximal_steps``
and ``sets``, and those of a solver on a problem in ``runs``. Those of losses, penalties and data are in
modules of these names. ``bank`` calls them.
"""
