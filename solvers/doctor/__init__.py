"""Findings: why a run is slow, by rules over its record and a few products."""
