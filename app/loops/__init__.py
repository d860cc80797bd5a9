"""Loops of a user's own: the client that may be copied, the server's endpoint, and their runs in the page."""
