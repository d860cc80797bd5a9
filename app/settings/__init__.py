"""Settings: the values that can be chosen on the command line, on the page or in its URL.

``settings_table`` declares them and explains where to add a new one. ``columns`` declares the columns of all
tables of runs.
"""
