"""Values of options that several doors take, each kind checked once and refused in one wording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from afa.errors import AfaError
from punctuation.durations import unit_of

MOST_THREADS = 1024


def yes_or_no(**options: Any) -> None:
    """Refuse an option that is neither True nor False; 1 and None are neither.

    >>> yes_or_no(longest=1)
    Traceback (most recent call last):
    ...
    punctuation.base_errors.AfaError: expected longest=True or False but got longest=1
    """
    for name, value in options.items():
        if type(value) is not bool:
            raise AfaError(f"expected {name}=True or False but got {name}={value!r}")


def threads_of(value: Any, name: str = "threads") -> int:
    """Return a number of threads, 1 to MOST_THREADS."""
    if type(value) is not int or value < 1:
        raise AfaError(f"expected a number of threads, at least 1, but got {name}={value!r}")
    if value > MOST_THREADS:
        raise AfaError(f"expected at most {MOST_THREADS} threads but got {name}={value!r}")
    return value


def names_of(value: Any, name: str) -> tuple[str, ...]:
    """Return names, said as one text or as several; none for None."""
    names = () if value is None else (value,) if isinstance(value, str) else value
    if not isinstance(names, Sequence) or isinstance(names, bytes) or not all(isinstance(each, str) and each for each in names):
        raise AfaError(f"expected a field name, or several, but got {name}={value!r}")
    return tuple(names)


def tick_of(value: Any) -> str | None:
    """Return the short name of the unit that one int of LE counts; None: it is not said."""
    return None if value is None else unit_of(value, AfaError, "tick=")
