"""Checks of solvers, losses, penalties and data sets: what they claim, compared with what follows from
definitions.

Checks are small functions over the iterates of a run (``claims``, ``searches``, ``sets``), over a problem
(``runs``), over a loss (``losses``), a penalty (``penalties``) or data (``data``). ``bank`` calls them.
"""
