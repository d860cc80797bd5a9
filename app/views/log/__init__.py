"""Views of events, of the algorithm step by step, and of findings."""
