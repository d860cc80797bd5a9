"""Changes to the inside of Bokeh, BokehJS and Panel, one per file.

Each is here or, if it is a script, in ``assets/compat``, and nowhere else. In ``reports`` each has a report
for the library's issue tracker: what is wrong, a smallest example, and versions. One that does not fit the
installed version is left out and logged. Changes to the inside of Numba are in
:mod:`solverscope.solvers.compute.kernel_cache`.
"""
