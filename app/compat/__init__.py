"""What is changed inside Bokeh, BokehJS, Panel and panel-material-ui: one change a file, here or,
if it is a script, in ``assets/compat``, and nowhere else. What is changed inside Numba is in
:mod:`solverscope.solvers.compute.kernel_cache`."""
