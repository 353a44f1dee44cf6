"""Copies of operators and of what stands around them."""

from __future__ import annotations

import copy
from typing import Any

from afa.errors import AfaError


def twin(original: Any, memo: dict[int, Any]) -> Any:
    """Return what ``__deepcopy__`` returns: an object with the same state that is independent from there on."""
    other = memo[id(original)] = object.__new__(type(original))
    for name, value in vars(original).items():
        setattr(other, name, copy.deepcopy(value, memo))
    return other


class Twins:
    """What is copied with its state, and pickled by its snapshot only."""

    __slots__ = ()
    _called: str | None = None

    def __reduce__(self) -> Any:
        what = self._called or type(self).__name__
        raise AfaError(
            f"expected an Operator or a Keyed to be pickled but got {what}: use snapshot() and restore(), as of all others"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return twin(self, memo)

    def __copy__(self) -> Any:
        return twin(self, {})
