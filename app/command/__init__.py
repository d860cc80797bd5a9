"""The command line: commands, their input and their output."""
