"""Readers of file formats. Each checks its input, and refuses it with file, line and reason."""
