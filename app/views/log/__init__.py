"""Views of what a run did, step by step: its events and its algorithm."""
