"""When an event may have happened: an interval of instants, both ends among them, and a distribution over it."""

from __future__ import annotations

from datetime import date
from typing import Any, NamedTuple

from afa.errors import AfaError
from afa.extra.uncertain.distributions import UNIFORM, Distribution, shape_of
from afa.schema import as_ticks
from punctuation.time import FOREVER


class Between(NamedTuple):
    """An uncertain time: one of the instants from ``lower`` to ``upper``, both possible; see `between`."""

    lower: Any
    upper: Any
    shape: Distribution = UNIFORM

    def ticks(self, tick: str | None) -> Between:
        """Returns this with its ends in ticks, checked.

        AfaError: an end is no time, ``lower`` lies above ``upper``, or the shape does not fit the interval.
        """
        lower, upper = as_ticks(self.lower, "lower", tick), as_ticks(self.upper, "upper", tick)
        if lower > upper:
            raise AfaError(f"expected lower <= upper but got lower={lower}, upper={upper}")
        if upper == FOREVER:
            raise AfaError(f"expected a time below the end of time but got upper={upper}")
        if lower == upper and self.shape != UNIFORM:
            raise AfaError(f"expected an interval for the distribution {self.shape!r} but got one instant, {lower}")
        self.shape.check(upper - lower + 1)
        return Between(lower, upper, self.shape)


def between(lower: int | date, upper: int | date, shape: Any = UNIFORM) -> Between:
    """Say when an event may have happened, in the place of its ``le``: at an instant from ``lower`` to ``upper``, both possible.

    Parameters
    ----------
    lower, upper : int (ticks), datetime or date
    shape : str, Shape or sequence of float
        How likely each instant is: "uniform", "triangular", "normal" (cut off at the ends), `triangular` or `normal` with a
        parameter, or a table of weights, one for each instant.

    Raises
    ------
    AfaError
        ``lower`` lies above ``upper``, the shape is none, or there is one instant only for it.

    Examples
    --------
    >>> from afa import insert
    >>> insert("scraped", between(75, 89)).le
    Between(lower=75, upper=89, shape=uniform)
    """
    for name, given in (("lower", lower), ("upper", upper)):
        if isinstance(given, bool) or not isinstance(given, (int, date)):
            raise AfaError(f"expected a time, in ticks or as a datetime, but got {name}={given!r}")
    if isinstance(lower, int) and isinstance(upper, int):
        return Between(lower, upper, shape_of(shape)).ticks(None)
    return Between(lower, upper, shape_of(shape))


def interval_of(given: Any, tick: str | None) -> Between:
    """Returns the interval of an event's ``le``: a certain time is one of one instant. AfaError: it is no time."""
    return given.ticks(tick) if isinstance(given, Between) else Between(given, given).ticks(tick)
