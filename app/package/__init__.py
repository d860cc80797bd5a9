"""A live scope for numerical solvers: the packages ``solvers``, ``datasets`` and ``app``."""

__version__ = "0.2.0"
