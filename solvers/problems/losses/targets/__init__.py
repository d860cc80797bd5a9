"""Losses of numeric targets."""
