"""Runs, which advance, time, record and end a solver, and their traces."""
