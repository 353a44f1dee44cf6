"""Clocks that are not quite right: how the times that they record become uncertain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.errors import AfaError
from afa.extra.uncertain.distributions import Distribution, shape_of
from afa.extra.uncertain.draws import drawn
from punctuation.durations import Duration, ticks_of_duration
from punctuation.time import BEGINNING, FOREVER


class Clock:
    """Clocks, one for each value of a field, by which events are dated.

    Parameters
    ----------
    by : str or sequence of str
        The event's fields that tell clocks apart: ``"host"``.
    skew : int (ticks) or str
        A clock is off by up to so much, either way: in a world all its events by the same.
    own : int (ticks) or str
        Each event is off by up to so much more, either way, on its own: a way through a network, say.
    granularity : int (ticks) or str
        Times are cut off to multiples of it: what is dated t happened in ``[t, t + granularity)``.
    shape : str, Shape or sequence of float
        How ``skew`` and ``own`` are distributed; see `between`.

    Raises
    ------
    AfaError
        A length is none, or below 0; or nothing is uncertain.

    Examples
    --------
    >>> Clock(by="host", skew="500 ms", own="20 ms")
    Clock(by='host', skew='500 ms', own='20 ms')
    """

    __slots__ = ("by", "granularity", "own", "shape", "skew")

    def __init__(
        self, by: str | Sequence[str], skew: Duration = 0, own: Duration = 0, granularity: Duration = 1, shape: Any = "uniform"
    ) -> None:
        names = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, Sequence) else ()
        if not names or not all(isinstance(name, str) for name in names):
            raise AfaError(f"expected the field or fields that tell clocks apart but got by={by!r}")
        self.by, self.skew, self.own, self.granularity, self.shape = names, skew, own, granularity, shape_of(shape)
        if self.shape.name == "weights":
            raise AfaError("expected a distribution of any length for a clock but got a table of weights")

    def ticks(self, tick: str | None) -> InTicks:
        """Returns the lengths in ticks, checked."""
        lengths = dict[str, int]()
        for name, least in (("skew", 0), ("own", 0), ("granularity", 1)):
            given = getattr(self, name)
            found = ticks_of_duration(given, tick, name)
            if not least <= found < FOREVER // 4:
                raise AfaError(f"expected a number of ticks, at least {least}, but got {name}={given!r}")
            lengths[name] = found
        if list(lengths.values()) == [0, 0, 1]:
            raise AfaError("expected skew=, own= or granularity= above nothing but got a clock that is right")
        return InTicks(**lengths, shape=self.shape)

    def __repr__(self) -> str:
        said = [f"by={(self.by[0] if len(self.by) == 1 else self.by)!r}"]
        said += [f"{name}={getattr(self, name)!r}" for name in ("skew", "own") if getattr(self, name) != 0]
        said += [f"granularity={self.granularity!r}"] if self.granularity != 1 else []
        return f"Clock({', '.join(said)})"


class InTicks(NamedTuple):
    """The lengths of a `Clock` in ticks."""

    skew: int
    own: int
    granularity: int
    shape: Distribution

    def bounds(self, lower: Any, upper: Any) -> tuple[Any, Any]:
        """Returns the first and the last possible instants of what is dated so; arrays. AfaError: one lies beyond int64."""
        off = self.skew + self.own
        if len(lower) and (int(lower.min()) < BEGINNING + off or int(upper.max()) > FOREVER - off - self.granularity):
            low, high = int(lower.min()), int(upper.max())
            raise AfaError(f"expected times that clocks may be off by {off} ticks from but got {low} to {high}")
        return lower - off, upper + (off + self.granularity - 1)

    def times(self, t: Any, worlds: Sequence[Any], words: Any, clocks: Any) -> Any:
        """Returns the time of each event in each world, shape (worlds, n), by what the clocks say: t, of shape (n,) or (worlds, n).

        ``worlds`` are the worlds' words for skew, own and granularity, each of shape (worlds, 1); ``words`` and ``clocks`` those of
        the events and of the clocks that date them, shape (n,).
        """
        found = np.broadcast_to(t, (len(worlds[0]), t.shape[-1]))
        if self.skew:
            found = found + self.shape.drawn(drawn(worlds[0], clocks), np.int64(2 * self.skew + 1)) - self.skew
        if self.own:
            found = found + self.shape.drawn(drawn(worlds[1], words), np.int64(2 * self.own + 1)) - self.own
        if self.granularity > 1:
            found = found + (drawn(worlds[2], words) * self.granularity).astype(np.int64)
        return found
