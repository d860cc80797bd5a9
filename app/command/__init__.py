"""The command line: its commands, their input and their output."""
