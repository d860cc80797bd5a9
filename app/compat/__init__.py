"""Changes to the inside of Bokeh, BokehJS and Panel, one per file, with a report for upstream.

Each is here or, if it is a script, in ``assets/compat``, and nowhere else. One that does not fit the
installed version is left out and logged. Changes to the inside of Numba are in
:mod:`solverscope.solvers.compute.kernel_cache`.
"""
