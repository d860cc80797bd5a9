"""Settings: the values that a person chooses on the command line, on the page or by an address.

A new one is an entry in ``settings_table`` and an attribute in ``recipe``. One of the problem is an argument
of ``solvers.make_problem`` too, and for records a key of ``Problem.describe``. A limit is a field of
``Stopping``. On the page ``in_run_form`` gives a setting its field; one of the problem has a widget in
``page/sidebar/problem_panel``. A text in the address has its reader and writer in ``experiment``. The columns
of all tables of runs are in ``columns``; one of the legend also needs a track in ``assets/legend.css``.
"""
