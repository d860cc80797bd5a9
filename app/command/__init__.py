"""The command line: what each command does, reads and prints."""
