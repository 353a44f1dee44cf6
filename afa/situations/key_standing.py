"""How the situations of one key stand at a time, and what becomes of them at the next.

    reading       11: on    20: on    31: off             at_least=15
    instants      11 begins      26 lasts    31 ends      26: without a reading, once the clock is there

Between two readings something happens where a situation has lasted long enough, and where the last reading stops to hold (its RE).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from afa.situations.folds import FOLDS
from punctuation.time import BEGINNING, FOREVER

NOTHING, BEGINS, LASTS, ENDS, FAILS = range(5)
"""What an instant is to a definition. LASTS: it has lasted `at_least`, and goes on; FAILS: it ends, too early or too late."""


class Kind(NamedTuple):
    """What of a definition counts here.

    Parameters
    ----------
    at_least, at_most : int or None (ticks)
    folds : tuple of str
        The functions of its aggregates.
    plain : bool
        Whether nothing counts but that it goes on: no duration, no aggregate, nor when it began. So a reading that comes late
        concerns the next one alone, wherever the situation began.
    """

    at_least: int | None
    at_most: int | None
    folds: tuple[str, ...]
    plain: bool = False

    def allows(self, duration: int) -> bool:
        """Return whether a situation may last so long."""
        return (self.at_least is None or duration >= self.at_least) and (self.at_most is None or duration <= self.at_most)


class Reading(NamedTuple):
    """What a reading says: which definitions it satisfies (as bits), until when it holds, the values that are aggregated."""

    bits: int
    until: int
    values: Sequence[Sequence[Any]]


class Going(NamedTuple):
    """A situation that goes on: since when, whether it is known to last long enough, and what its aggregates have come to."""

    ts: int
    lasted: bool
    held: tuple[Any, ...]


GOES_ON = Going(BEGINNING, True, ())
"""A plain one."""


class LastingSituations(NamedTuple):
    """The situations that go on, one or None for each definition; until when, if no reading comes."""

    until: int
    going: tuple[Going | None, ...]

    @property
    def idle(self) -> bool:
        """Whether nothing goes on."""
        return not any(self.going)


class Happens(NamedTuple):
    """What happens at an instant: a mark for each definition, and the situation, as it goes on from there, or as it ended."""

    t: int
    marks: tuple[int, ...]
    of: tuple[Going | None, ...]


def nothing(kinds: Sequence[Kind]) -> LastingSituations:
    """Return how a key stands of which no reading is known."""
    return LastingSituations(FOREVER, (None,) * len(kinds))


def due(kinds: Sequence[Kind], standing: LastingSituations) -> int:
    """Return when something happens next if no reading comes; FOREVER: never."""
    if standing.idle:
        return FOREVER
    lasts = [g.ts + kind.at_least for g, kind in zip(standing.going, kinds) if g and not g.lasted and kind.at_least is not None]
    return min(standing.until, *lasts, FOREVER)


def passed(kinds: Sequence[Kind], standing: LastingSituations, until: int) -> Iterator[tuple[Happens, LastingSituations]]:
    """Yield what happens before a time, if no reading comes until then; with how it stands behind each."""
    while (t := due(kinds, standing)) < until:
        if t == standing.until:
            happens, standing = taken(kinds, standing, t, None)
        else:
            marks, of = [], []
            for g, kind in zip(standing.going, kinds):
                lasts = g is not None and not g.lasted and kind.at_least is not None and g.ts + kind.at_least == t
                marks.append(LASTS if lasts else NOTHING)
                of.append(g._replace(lasted=True) if g and lasts else g)
            standing = standing._replace(going=tuple(of))
            happens = Happens(t, tuple(marks), standing.going)
        yield happens, standing


def taken(kinds: Sequence[Kind], standing: LastingSituations, t: int, reading: Reading | None) -> tuple[Happens, LastingSituations]:
    """Return what happens at a reading, or (None) where the last one stops to hold; nothing lies open before it."""
    marks, of, going = [], [], list[Going | None]()
    for number, (g, kind) in enumerate(zip(standing.going, kinds)):
        mark, now = NOTHING, None
        if reading is not None and reading.bits >> number & 1:
            values = reading.values[number]
            if kind.plain:
                mark, now = NOTHING if g else BEGINS, GOES_ON
            elif g is None:
                mark, now = BEGINS, Going(t, kind.at_least is None, tuple(map(_first, kind.folds, values)))
            else:
                lasts = not g.lasted and kind.at_least is not None and t >= g.ts + kind.at_least
                mark = LASTS if lasts else NOTHING
                now = Going(g.ts, g.lasted or lasts, tuple(map(_next, kind.folds, g.held, values)))
        elif g is not None:
            mark = ENDS if kind.allows(t - g.ts) else FAILS
        marks.append(mark)
        of.append(now or g)
        going.append(now)
    until = FOREVER if reading is None or not any(going) else reading.until
    return Happens(t, tuple(marks), tuple(of)), LastingSituations(until, tuple(going))


def _first(fold: str, value: Any) -> Any:
    return None if value is None else FOLDS[fold].first(value)


def _next(fold: str, held: Any, value: Any) -> Any:
    return held if value is None else _first(fold, value) if held is None else FOLDS[fold].next(held, value)


def told(fold: str, held: Any) -> Any:
    """Return an aggregate of what is held of it; None: there was no value."""
    return None if held is None else FOLDS[fold].told(held)
