"""Settings: the values that a person chooses on the command line, on the page or by an address.

``settings_table`` declares them, and says where a new one goes; ``columns`` has the columns of all tables of
runs.
"""
