"""Runs: what advances a solver, records and observes it, and ends it."""
