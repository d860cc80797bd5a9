"""Runs outside of the page's thread: the pool, the cache of problems, reference solutions, the history."""
