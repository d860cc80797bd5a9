"""The server: who may see a page, and how what changes reaches a browser."""
