"""Digests of what no file holds."""

from __future__ import annotations

import hashlib

import numpy as np

from ..entry import Request


def digest_of(*arrays: np.ndarray) -> str:
    """SHA-256 of the bytes of arrays."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def digest_of_parameters(request: Request) -> str:
    """SHA-256 of a generator's options and seed."""
    return hashlib.sha256(repr((sorted(request.options.items()), request.seed)).encode()).hexdigest()
