"""Aggregates of the readings of one situation, in the order of time: begin with the first reading, go on with the next.

    first last count sum avg min max      None is left out; without a value there is none

A sum of floats is added up from the first reading on, one after the other, so that it depends on the readings alone, and not on
which of them came in which batch, or which a promise has made final.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from afa.errors import Int64Error
from afa.schema import NAN
from punctuation.time import BEGINNING, FOREVER

NUMERIC = ("sum", "avg", "min", "max")
"""What only numbers have."""


class Fold(NamedTuple):
    """How an aggregate is made of values, none of which is None.

    Parameters
    ----------
    first : callable
        From the first value to what is held.
    next : callable
        From what is held and the next value to what is held then.
    told : callable
        From what is held to the aggregate.
    """

    first: Callable[[Any], Any]
    next: Callable[[Any, Any], Any]
    told: Callable[[Any], Any]


def _same(value: Any) -> Any:
    return value


def _sum(held: Any, value: Any) -> Any:
    """Return a sum as a float with one NaN, or as an int within int64."""
    found = held + value
    if type(found) is float:
        return NAN if found != found else found
    if not BEGINNING <= found <= FOREVER:
        raise Int64Error(f"expected a sum within int64 but got {found}: the readings of one situation add up to more")
    return found


def _least(held: Any, value: Any) -> Any:
    """Return the smaller of two; NaN, if it is one of them."""
    return held if held <= value or held != held else NAN if value != value else value


def _most(held: Any, value: Any) -> Any:
    return held if held >= value or held != held else NAN if value != value else value


def _mean(held: tuple[float, int]) -> float:
    found = held[0] / held[1]
    return NAN if found != found else found


FOLDS = {
    "first": Fold(_same, lambda held, _: held, _same),
    "last": Fold(_same, lambda _, value: value, _same),
    "count": Fold(lambda _: 1, lambda held, _: held + 1, _same),
    "sum": Fold(_same, _sum, _same),
    "avg": Fold(lambda value: (float(value), 1), lambda held, value: (_sum(held[0], float(value)), held[1] + 1), _mean),
    "min": Fold(_same, _least, _same),
    "max": Fold(_same, _most, _same),
}
"""The aggregates by their names."""
