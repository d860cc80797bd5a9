"""Checks of solvers, losses, penalties and data sets: what they claim, compared with definitions.

Checks are small functions: of the iterates of a run in ``claims``, ``searches``, ``proximal_steps`` and
``sets``, and of a solver on a problem in ``runs``. Those of losses, penalties and data stand in modules of
these names. ``bank`` calls them.
"""
