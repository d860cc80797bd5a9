"""Readers of file formats. They check their input, and errors name file, line and reason."""
