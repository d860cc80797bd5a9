# ruff: noqa: F401 (imports are what is public)
"""Data sets for solvers: built-in, generated, or read from files. Most users only need `load`.

Importing this package and listing `DATASETS` loads neither data nor numerical libraries.
"""

import importlib
import typing
from types import ModuleType as _Module

from .entry import DataSetInfo, Lam, Request
from .errors import DataError
from .options import Option
from .registry import DATASETS, describe, load, offer, own_id, register
from .store import DataFile

if typing.TYPE_CHECKING:
    from .dataset import Content, Dataset, Example, Part
    from .matrix import Products
    from .metrics import entity_scores

#: Names that are imported at their first use, by module.
_LAZY = {
    **dict.fromkeys(("Content", "Dataset", "Example", "Part"), "dataset"),
    **{"Products": "matrix", "entity_scores": "metrics"},
}

#: What is imported above is public, and nothing else.
__all__ = [name for name, thing in vars().copy().items() if name[0] != "_" and not isinstance(thing, _Module)]
__all__ += [name for name in _LAZY if name not in __all__]


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
