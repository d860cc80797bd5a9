"""Traces of runs: their columns, records, segments and files."""
