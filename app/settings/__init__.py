"""Settings: the values that a person chooses on the command line, on the page or by an address."""
