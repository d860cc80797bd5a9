"""Findings about slow runs, by rules that read the record and compute a few products."""
