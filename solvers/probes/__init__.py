"""Probes: observations of iterates in addition to their records, for views and files."""
