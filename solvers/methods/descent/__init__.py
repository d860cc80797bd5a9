"""Descent along straight lines, composed of a direction, a search and a stopping rule."""
