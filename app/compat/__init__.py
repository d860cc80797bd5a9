"""Changes to the internals of Bokeh, BokehJS and Panel, one per file.

A change is a module of this package or, if it is a script, a file in ``assets/compat``. For each change,
``reports`` contains a report for the library's issue tracker: the problem, a minimal example, and versions. A
change that does not fit the installed version is skipped, and a log message says so. Changes to the internals
of Numba are in :mod:`solverscope.solvers.compute.kernel_cache`.
"""
