"""Copies of operators and of what stands around them."""

from __future__ import annotations

import copy
from typing import Any


def twin(original: Any, memo: dict[int, Any]) -> Any:
    """Return what ``__deepcopy__`` returns: an object with the same state that is independent from there on."""
    other = memo[id(original)] = object.__new__(type(original))
    for name, value in vars(original).items():
        setattr(other, name, copy.deepcopy(value, memo))
    return other
