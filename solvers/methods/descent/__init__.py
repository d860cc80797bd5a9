"""Descent along straight lines, made of a direction, a search and a stop."""
