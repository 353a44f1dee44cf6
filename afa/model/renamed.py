"""Names of options that have changed. An old name goes on working, and warns once a place, naming the new one."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from afa.errors import AfaError

RENAMED: Mapping[str, str] = {
    "sequence": "order_by",
    "order": "order_by",
    "workers": "threads",
    "cancel": "id",
    "le": "time",
    "re": "until",
}
OURS = ("afa", "punctuation", "speculation")

F = TypeVar("F", bound=Callable[..., Any])


def warn_renamed(old: str, new: str) -> None:
    """Warn (DeprecationWarning) at the line of the user's code that says an old name."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(f"{old} is now {new}; the old name goes on working", DeprecationWarning, stacklevel=level)


def under_new_names(said: Mapping[str, Any], names: Mapping[str, str] = RENAMED) -> dict[str, Any]:
    """Returns options under their new names; refuses one that is said under both.

    >>> under_new_names({"order_by": "seq", "tick": "ms"})
    {'order_by': 'seq', 'tick': 'ms'}
    """
    if names.keys().isdisjoint(said):
        return dict(said)
    found: dict[str, Any] = {}
    for name, value in said.items():
        new = names.get(name, name)
        if new in found or (new != name and new in said):
            raise AfaError(f"{name}= can't be combined with {new}= because it is the same option under its old name; say {new}=")
        if new != name:
            warn_renamed(f"{name}=", f"{new}=")
        found[new] = value
    return found


def time_of(time: str, old: Mapping[str, str]) -> str:
    """Return the name of the column of times, which may be said under its old name ``le``."""
    said = under_new_names(old if time == "le" else {**old, "time": time}, {"le": "time"})
    for name in said:
        if name != "time":
            raise TypeError(f"push_many() got an unexpected keyword argument {name!r}")
    return str(said.get("time", time))


def renamed(*old: str, **more: str) -> Callable[[F], F]:
    """Let a function take these old names of its keyword arguments, too; ``more``: names that only it had.

    >>> @renamed("sequence")
    ... def ordered(order_by=None):
    ...     return order_by
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     ordered(sequence="seq")
    'seq'
    >>> str(told[0].message)
    'sequence= is now order_by=; the old name goes on working'
    """
    names = {name: RENAMED[name] for name in old} | more

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def called(*args: Any, **said: Any) -> Any:
            return function(*args, **under_new_names(said, names))

        return cast(F, called)

    return decorate
