"""How likely each instant of an interval is: a distribution function over [0, 1], stretched over the interval's instants.

    interval of 4 instants     uniform .25 .25 .25 .25     triangular .125 .375 .375 .125     Weights(.7, .1, .1, .1)

The instant k of n has the probability F((k + 1) / n) - F(k / n); a draw u in [0, 1) is the instant floor(n F^-1(u)). Both go by the
same F, so that confidences that are computed and ones that are drawn speak of the same worlds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from afa.errors import AfaError, did_you_mean

KNOTS = 4096
"""A normal distribution goes by so many straight pieces."""
MOST = 10**6
"""The most instants of a table of weights."""


class Distribution:
    """A distribution over an interval, known by its name and parameters, which a snapshot holds. Equal ones compare as equal."""

    __slots__ = ("name", "parameters")

    def __init__(self, name: str, parameters: tuple[float, ...] = ()) -> None:
        self.name, self.parameters = name, parameters

    def below(self, x: Any) -> Any:
        """Returns F(x), the probability of what lies below x, for an array in [0, 1]."""
        raise NotImplementedError

    def quantile(self, u: Any) -> Any:
        """Returns F^-1(u) for an array in [0, 1)."""
        raise NotImplementedError

    def probabilities(self, n: int) -> Any:
        """Returns the probability of each of n instants. O(n)."""
        return np.diff(self.below(np.arange(n + 1) / n))

    def drawn(self, u: Any, n: Any) -> Any:
        """Returns the instant of each draw: of n instants, for u in [0, 1). Arrays of one shape."""
        return np.minimum((n * self.quantile(u)).astype(np.int64), n - 1)

    def check(self, instants: int) -> None:
        """Refuse an interval that the shape does not fit. Raises AfaError."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distribution) and (self.name, self.parameters) == (other.name, other.parameters)

    def __hash__(self) -> int:
        return hash((self.name, self.parameters))

    def __repr__(self) -> str:
        said = ", ".join(map(repr, self.parameters[:4])) + (", .." if len(self.parameters) > 4 else "")
        return f"{self.name}({said})" if said else self.name


class _Uniform(Distribution):
    def below(self, x: Any) -> Any:
        return np.asarray(x, np.float64)

    def quantile(self, u: Any) -> Any:
        return u

    def probabilities(self, n: int) -> Any:
        return np.full(n, 1 / n)


class _Triangular(Distribution):
    def below(self, x: Any) -> Any:
        (peak,), x = self.parameters, np.asarray(x, np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(x < peak, x * x / peak, 1 - (1 - x) ** 2 / (1 - peak) if peak < 1 else x * x)

    def quantile(self, u: Any) -> Any:
        (peak,) = self.parameters
        return np.where(u < peak, np.sqrt(u * peak), 1 - np.sqrt((1 - u) * (1 - peak)))


class _Pieces(Distribution):
    """F by straight pieces."""

    def _curve(self) -> tuple[Any, Any]:
        raise NotImplementedError

    def below(self, x: Any) -> Any:
        return np.interp(x, *self._curve())

    def quantile(self, u: Any) -> Any:
        x, total = self._curve()
        return np.interp(u, total, x)


class _Normal(_Pieces):
    def _curve(self) -> tuple[Any, Any]:
        return _normal_curve(*self.parameters)


class _Weights(_Pieces):
    def _curve(self) -> tuple[Any, Any]:
        return _weights_curve(self.parameters)

    def probabilities(self, n: int) -> Any:
        self.check(n)
        return np.array(self.parameters)

    def drawn(self, u: Any, n: Any) -> Any:
        _, total = self._curve()
        return np.minimum(np.searchsorted(total[1:], u, side="right"), n - 1)  # an instant of no weight is never drawn

    def check(self, instants: int) -> None:
        if instants != len(self.parameters):
            raise AfaError(f"expected a weight for each of {instants} instants but got {len(self.parameters)} weights")


@functools.lru_cache(maxsize=64)
def _normal_curve(spread: float) -> tuple[Any, Any]:
    normal, x = NormalDist(0.5, spread), np.linspace(0, 1, KNOTS + 1)
    total = np.array([normal.cdf(each) for each in x.tolist()])
    total = (total - total[0]) / (total[-1] - total[0])
    return x, total


@functools.lru_cache(maxsize=64)
def _weights_curve(weights: tuple[float, ...]) -> tuple[Any, Any]:
    total = np.concatenate([[0.0], np.cumsum(weights)])
    return np.linspace(0, 1, len(weights) + 1), total / total[-1]


UNIFORM: Distribution = _Uniform("uniform")


def triangular(peak: float = 0.5) -> Distribution:
    """Make a triangle whose peak lies at a share of the interval: 0 at its lower end, 1 at its upper one."""
    return _Triangular("triangular", (_number("peak", peak, 0.0, 1.0),))


def normal(spread: float = 0.25) -> Distribution:
    """Make a normal distribution around the middle, cut off at the ends; its standard deviation is a share of the interval.

    By 4,096 straight pieces.
    """
    found = _number("spread", spread, 0.0, math.inf)
    if not 0.01 <= found <= 100:
        raise AfaError(f"expected a standard deviation of 0.01 to 100 intervals but got spread={spread!r}")
    return _Normal("normal", (found,))


def weights(table: Sequence[float]) -> Distribution:
    """Make a table of weights, one for each instant of the interval.

    Raises
    ------
    AfaError
        One is negative or no number, they don't sum to 1, or there are more than a million.
    """
    items = [_number("a weight", each, 0.0, math.inf) for each in _listed(table)]
    if len(items) > MOST:
        raise AfaError(f"expected at most {MOST:,} instants in a table of weights but got {len(items):,}")
    if not items or abs(math.fsum(items) - 1) > 1e-9:
        raise AfaError(f"expected weights that sum to 1 but got {math.fsum(items)!r}")
    return _Weights("weights", tuple(items))


def shape_of(given: Any) -> Distribution:
    """Returns a distribution by its name, or as a table of weights. AfaError: it is neither."""
    if isinstance(given, Distribution):
        return given
    if isinstance(given, str):
        if given not in _NAMED:
            raise AfaError(f"expected one of {', '.join(_NAMED)} but got shape={given!r}{did_you_mean(given, _NAMED)}")
        named: Distribution = _NAMED[given]()
        return named
    return weights(given)


def shape_in(data: Any) -> Distribution:
    """Returns the distribution that `data_of` has made plain data of. Other data raises any exception."""
    name, parameters = data
    found: Distribution = weights(parameters) if name == "weights" else _NAMED[name](*parameters)
    return found


def data_of(shape: Distribution) -> list[Any]:
    return [shape.name, list(shape.parameters)]


_NAMED: dict[str, Any] = {"uniform": lambda: UNIFORM, "triangular": triangular, "normal": normal}


def _listed(table: Any) -> list[Any]:
    try:
        return table.tolist() if hasattr(table, "tolist") else list(table)
    except TypeError:
        raise AfaError(f"expected a distribution or a table of weights but got {table!r}") from None


def _number(name: str, given: Any, least: float, most: float) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not least <= given <= most or math.isinf(given):
        raise AfaError(f"expected a number of {least:g} to {most:g} but got {name}={given!r}")
    return float(given)
