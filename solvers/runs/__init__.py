"""Runs, which advance, time, record and end a solver."""
