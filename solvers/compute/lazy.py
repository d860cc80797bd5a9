"""Properties that are computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):
    """A property that is computed at its first use and stored in the object, like
    ``functools.cached_property``.

    In Python 3.11, ``cached_property`` takes a lock that all objects of the class share. A run that pauses or
    yields while it computes a value would block every other run that reads the property. Here two threads
    that read the property of one object at the same time may both compute the value.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, thing: None, owner: type) -> Self: ...
    @overload
    def __get__(self, thing: object, owner: type) -> T: ...
    def __get__(self, thing: object | None, owner: type) -> T | Self:
        if thing is None:
            return self
        value = thing.__dict__[self._name] = self._compute(thing)
        return value
