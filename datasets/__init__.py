"""Data sets for solvers: embedded, generated, from files; `load` is all that most users need.

Importing this package and listing `DATASETS` loads neither data nor numerical libraries.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .entry import DataSetInfo, Lam, Request
from .errors import DataError
from .options import Option
from .registry import DATASETS, describe, load, offer, own_id, register
from .store import DataFile

if TYPE_CHECKING:
    from .dataset import Content, Dataset, Example, Part
    from .matrix import Products
    from .metrics import entity_scores

_LAZY = {
    "Content": "dataset",
    "Dataset": "dataset",
    "Example": "dataset",
    "Part": "dataset",
    "Products": "matrix",
    "entity_scores": "metrics",
}

__all__ = [
    "DATASETS",
    "Content",
    "DataError",
    "DataFile",
    "DataSetInfo",
    "Dataset",
    "Example",
    "Lam",
    "Option",
    "Part",
    "Products",
    "Request",
    "describe",
    "entity_scores",
    "load",
    "offer",
    "own_id",
    "register",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
