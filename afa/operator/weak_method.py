"""A method of an object that is called by what the object itself holds, without a circle of references."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any
from weakref import WeakMethod


class Weak:
    """A method that does not keep its object alive: memory is free at once when nobody else holds the object.

    A deep copy is of the method of the object's copy.
    """

    __slots__ = ("_method",)

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = WeakMethod(method)

    def __call__(self, *given: Any) -> Any:
        method = self._method()
        assert method is not None, "what an object holds was called after the object was gone"
        return method(*given)

    def __deepcopy__(self, memo: dict[int, Any]) -> Weak:
        method: Any = self._method()
        return Weak(getattr(copy.deepcopy(method.__self__, memo), method.__name__))
