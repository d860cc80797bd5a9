"""What is changed inside Bokeh, BokehJS, Panel, HoloViews and panel-material-ui: one change a file, and
nowhere else. What is changed inside Numba is in :mod:`solvers.compute.kernel_cache`."""
