"""What of a definition counts for the situations of a key; and how a key stands at a promise as plain data, for snapshots.

Read again, all of it is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from afa.schema import NAN
from afa.state.sound import wanted
from punctuation.time import BEGINNING, FOREVER, as_time


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

    @property
    def data(self) -> list[Any]:
        """What a snapshot says of it."""
        return [self.at_least, self.at_most, list(self.folds)]


class Going(NamedTuple):
    """A situation that goes on: since when, whether it is known to last long enough, and what its aggregates have come to."""

    ts: int
    lasted: bool
    held: tuple[Any, ...]

    @property
    def data(self) -> list[Any]:
        """What a snapshot says of it."""
        return [self.ts, self.lasted, [list(v) if isinstance(v, tuple) else v for v in self.held]]


class LastingSituations(NamedTuple):
    """The situations that go on, one or None for each definition; until when, if no reading comes."""

    until: int
    going: tuple[Going | None, ...]


def standing_of(
    until: Any, going: Any, kinds: Sequence[Kind], types: Sequence[Sequence[type | None]], promised: int
) -> LastingSituations:
    """Return how a key stood at a promise; ``types``: of each definition those of the fields that are aggregated.

    SnapshotError: it is something else. Also TypeError, ValueError: it is no such data at all.
    """
    wanted("one situation or none for each definition", len(going) == len(kinds), going)
    made = [None if each is None else _going(each, kind, of, promised) for each, kind, of in zip(going, kinds, types)]
    wanted("situations that go on", any(made) and as_time(until, "until") >= promised, until)
    return LastingSituations(until, tuple(made))


def _going(each: Any, kind: Kind, types: Sequence[type | None], promised: int) -> Going:
    ts, lasted, held = each
    wanted("the aggregates of a situation", type(lasted) is bool and len(held) == len(kind.folds), held)
    wanted(f"a beginning below the promise {promised}", as_time(ts, "ts") < promised, ts)
    wanted("a situation known to last", lasted or (kind.at_least is not None and ts + kind.at_least >= promised), each)
    return Going(ts, lasted, tuple(map(_held, kind.folds, held, types)))


def _held(fold: str, value: Any, kind: Any) -> Any:
    """Return what is held of an aggregate of a field of some type, checked."""
    if value is None:
        return None
    if fold == "avg":
        total, count = value
        wanted("a sum and how many", type(total) is float and type(count) is int and 0 < count <= FOREVER, value)
        return NAN if total != total else total, count
    if fold == "count":
        wanted("a count", type(value) is int and 0 < value <= FOREVER, value)
        return value
    fits = type(value) is kind and (kind is not int or BEGINNING <= value <= FOREVER)
    wanted(f"an aggregate of {kind.__name__}", fits, value)
    return NAN if value != value else value
