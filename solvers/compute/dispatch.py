"""Functions that kernels call, with an implementation for each class of the first argument."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numba.extending import overload


def by_class(default: Callable[..., Any]) -> Any:
    """Return :func:`functools.singledispatch` of a function, which kernels may call too.

    The first argument is a NamedTuple. A kernel is compiled for the classes of its arguments, so the
    implementation is selected at compile time. The kernel has no branch for it, and unused implementations
    are not compiled. Passing a function as an argument would do the same, but Numba could not cache the
    kernel.
    """
    generic = functools.singledispatch(default)
    overload(generic, jit_options={"error_model": "numpy"}, strict=False)(
        lambda first, *_: generic.dispatch(first.instance_class)
    )
    return generic
