"""Kernels as Python that a test can call, over arrays of numpy; with ``NUMBA_DISABLE_JIT=1`` all of them are that already."""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.named_fields import as_words
from afa.compiled.kernel.native_call import PLAIN

_MADE: dict[Any, Any] = {}


def plain(function: Any) -> Any:
    """A kernel over words, and so all that it calls."""
    if PLAIN:
        return function
    if function not in _MADE:
        scope = dict(function.__globals__)
        _MADE[function] = made = as_words(function, scope)
        for name in made.__code__.co_names:
            if hasattr(scope.get(name), "is_kernel"):
                scope[name] = plain(scope[name])
    return _MADE[function]
