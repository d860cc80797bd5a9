"""Runs off the page's thread: the pool, problems that are kept, reference solutions."""
