"""Proximal and orthant-wise methods for penalties with kinks."""
