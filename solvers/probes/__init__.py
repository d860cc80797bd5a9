"""Probes: what is kept of an iterate beside its record, for views and files."""
