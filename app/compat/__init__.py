"""Changes to the inside of Bokeh, BokehJS and Panel, one per file.

Each is here or, if it is a script, in ``assets/compat``, and nowhere else. Changes to the inside of Numba
are in :mod:`solverscope.solvers.compute.kernel_cache`.
"""
