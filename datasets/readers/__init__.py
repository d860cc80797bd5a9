"""Readers of file formats: each checks what it reads and names file, line and reason when it refuses."""
