"""Copies of what is not to be pickled as it stands."""

from __future__ import annotations

import copy
from typing import Any


def twin(original: Any, memo: dict[int, Any]) -> Any:
    """What ``__deepcopy__`` gives: one with the same state, and of its own from there on."""
    other = memo[id(original)] = object.__new__(type(original))
    for name, value in vars(original).items():
        setattr(other, name, copy.deepcopy(value, memo))
    return other
