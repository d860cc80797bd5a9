"""Views of events and of the algorithm, step by step."""
