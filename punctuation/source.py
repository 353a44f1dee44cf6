"""The base of all sources of watermarks. A source passes a stream on and inserts watermarks among its items.

Sources differ in where a watermark comes from (`punctuation.sources`, `punctuation.union`), not in what it means: it never
goes back, and an item that comes behind it is counted and passed on, for the operator's policy to decide.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgpack
import numpy as np

from punctuation.base_errors import AfaError
from punctuation.calls import ENTRIES, Calls, Member, whole
from punctuation.door import is_row, is_table
from punctuation.durations import unit_of
from punctuation.promise import Punctuation
from punctuation.reading import Part, TableWatermark, le_of, read
from punctuation.sealed import seal, unseal
from punctuation.time import BEGINNING, FOREVER, as_time

S = TypeVar("S", bound="Source")
MAGIC, VERSION = b"AFAP", 1


class Source(Member, ABC):
    """A source of watermarks. Each subclass defines `_after`: the watermark that follows from an item's LE.

    Parameters
    ----------
    backwards : "count" or "raise"
        What becomes of a watermark in the input that is smaller than an earlier one of the input: "count" skips it and counts it
        in ``stale``, "raise" refuses it. A watermark below the source's own alone is always skipped and counted.
    kinds : bool, optional
        Whether a column ``kind`` of a table says of each row what it is, as `Operator.push_many` has it (0 an event, 1 an arc, 2 a
        watermark), or is a field of the event. None: a table is refused in which it could be either. Not kept in a snapshot.
    tick : "ns", "us", "ms", "s", "min", "h" or "d", optional
        What one int of LE counts, as of `Operator`: then LEs may be timestamps, and durations text. Not kept in a snapshot.

    Attributes
    ----------
    promised : int
        The last watermark handed out; BEGINNING before the first.
    late : int
        Items that came behind the watermark handed out before them, and were passed on.
    stale : int
        Watermarks in the input that said nothing new. One with a condition is passed on, and moves nothing.
    """

    def __init__(self, backwards: str = "count", kinds: bool | None = None, tick: str | None = None) -> None:
        if backwards not in ("count", "raise"):
            raise AfaError(f'expected backwards="count" or "raise" but got backwards={backwards!r}')
        if kinds is not None and not isinstance(kinds, bool):
            raise AfaError(f"expected kinds=True, False or None but got kinds={kinds!r}")
        self.backwards = backwards
        self.kinds = kinds
        self.tick = None if tick is None else unit_of(tick, AfaError, "tick=")
        self.promised = BEGINNING
        self.late = self.stale = 0
        self._told = BEGINNING  # the largest punctuation of the input
        self._largest = BEGINNING  # the largest LE
        self._calls = Calls(self)

    @abstractmethod
    def _after(self, le: int) -> int:
        """Take an item's LE. Returns the watermark that follows now (int64; BEGINNING: nothing)."""

    def _within(self, le: Any, promised: int) -> int:
        """Take many LEs. Returns the largest watermark that `_after` would give on the way, at least ``promised``."""
        return max(promised, *map(self._after, le.tolist()))

    @abstractmethod
    def _options(self) -> list[Any]:
        """Return the constructor's arguments as plain data."""

    def _state(self) -> list[Any]:
        """Return the state that a subclass adds, as plain data."""
        return []

    def _put_state(self, state: list[Any]) -> None:
        """Restore what `_state` returned. Raises before it changes anything."""
        if state:
            raise AfaError(f"expected no state of its own for a {type(self).__name__} but got {state!r}")

    def push(self, item: Any) -> list[Any]:
        """Take one item.

        Parameters
        ----------
        item : Change or Punctuation
            Anything with an ``le``. An arc's change is passed on and moves nothing.

        Returns
        -------
        list
            The item, then a `Punctuation` if the watermark moved. A `Punctuation` that comes in is not passed on itself.

        Raises
        ------
        AfaError
            The item has no time; or it is a watermark that goes backwards, under ``backwards="raise"``. The source is unchanged.
        """
        calls, mine = self._calls, False
        try:
            with calls.lock:
                if calls.before is not None:
                    calls.enter()
                mine = True
                calls.before = ((self.call_failed, self.call_begins()),)
                out = self.passed(item)
                calls.before = None
                return out
        except BaseException:
            if mine:
                calls.leave()
            raise

    def passed(self, item: Any) -> list[Any]:
        """Do what `push` does, as part of a call."""
        if isinstance(item, Punctuation):
            return self._take(read([item], self.kinds, self.tick))
        le = le_of(item, self.tick)
        if le is None:
            return [item]
        self.late += le < self.promised
        promise = self._after(le)
        if promise <= self.promised:
            return [item]
        self.promised = promise
        return [item, Punctuation(promise)]

    def push_many(self, batch: Any) -> list[Any]:
        """Take a batch as one step: its watermark comes after all of its items.

        Parameters
        ----------
        batch : table of any kind that `Operator.push_many` takes, or list
            As `Operator.push_many` takes it. In a list watermarks stay where they are, in a table with ``kinds=True`` too; its
            arcs move nothing.

        Returns
        -------
        list
            For `Operator.push_many`: the batch or the items of the list, then a `Punctuation` if the watermark moved. It is the
            last one that `push` would have handed out; those before it are left out, so that fewer items are late.

        Raises
        ------
        AfaError
            As `push`; no part of the batch was taken.
        """
        return self.take(read(batch, self.kinds, self.tick))

    def take(self, parts: Sequence[Part | Punctuation | TableWatermark]) -> list[Any]:
        """Do what `push_many` does, with a batch that has been read already."""
        return self._calls.call(self._take, parts)

    def _take(self, parts: Sequence[Part | Punctuation | TableWatermark]) -> list[Any]:
        told = self._told_after(parts)
        out: list[Any] = []
        promised = self.promised
        for part in parts:
            if isinstance(part, Part):
                out += part.items
                if len(part.le):
                    self.late += int(np.count_nonzero(part.le < self.promised))
                    promised = self._within(part.le, promised)
            elif isinstance(part, Punctuation) and part.where is not None:
                out.append(part)  # it says nothing of the others
            elif part.t > self.promised:  # what the batch has earned itself is not handed out yet
                self.promised, promised = part.t, max(promised, part.t)
                out += [part] if isinstance(part, Punctuation) else []
            else:
                self.stale += 1
        self._told = told
        if promised > self.promised:
            self.promised = promised
            out.append(Punctuation(promised))
        return out

    @whole
    def end(self) -> list[Any]:
        """End the stream. Returns ``[Punctuation(FOREVER)]``, or nothing if that was handed out before."""
        if self.promised == FOREVER:
            return []
        self.promised = FOREVER
        return [Punctuation(FOREVER)]

    def __call__(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the items (changes, tables, watermarks) with the source's watermarks among them, then the end of the stream."""
        for item in items:
            yield from self.push_many(item) if is_table(item) and not is_row(item) else self.push(item)
        yield from self.end()

    @whole
    def snapshot(self) -> bytes:
        """Return the whole state as bytes: plain data, no code."""
        numbers = [self.promised, self.late, self.stale, self._told, self._largest]
        return pack(type(self).__name__, [*self._options(), self.backwards], [numbers, self._state()])

    @whole
    def restore(self: S, blob: bytes) -> S:
        """Restore the state that `snapshot` saved, into a source made with the same options. Returns the source itself.

        Raises
        ------
        AfaError
            The blob is no snapshot, is damaged, or belongs to another source. The source is unchanged.
        """
        state = unpack(blob, type(self).__name__, [*self._options(), self.backwards])
        try:
            numbers, own = state
            promised, late, stale, told, largest = (as_time(n, "number") for n in numbers)
            if min(late, stale) < 0 or told > promised:
                raise AfaError(f"expected counts, and a promise of at least {told} (told before), but got {numbers!r}")
            self._put_state(own)
        except (AfaError, TypeError, ValueError) as error:
            raise AfaError(f"expected a source's state but got something else: {error}") from error
        self.promised, self.late, self.stale, self._told, self._largest = promised, late, stale, told, largest
        return self

    # -- calls: see `punctuation.calls.Member` ---------------------------------------------------------------------------------

    def _kept(self) -> Any:
        """Return what a subclass needs to restore its own part of the state after a failed call, by `_put_kept`."""
        return None

    def _put_kept(self, kept: Any) -> None:
        assert kept is None

    def call_begins(self) -> Any:
        """Return all that a call changes."""
        return self.promised, self.late, self.stale, self._told, self._largest, self._kept()

    def call_failed(self, before: Any) -> None:
        """Restore the state from before a call."""
        self.promised, self.late, self.stale, self._told, self._largest, kept = before
        self._put_kept(kept)

    def _told_after(self, parts: Sequence[Part | Punctuation | TableWatermark]) -> int:
        told = self._told
        for part in parts:
            if isinstance(part, TableWatermark) or (isinstance(part, Punctuation) and part.where is None):
                if part.t < told and self.backwards == "raise":
                    raise AfaError(f"expected a punctuation of at least {told} (told before) but got t={part.t}")
                told = max(told, part.t)
        return told


ENTRIES.add(Source.push.__code__)


def pack(kind: str, options: list[Any], state: list[Any]) -> bytes:
    """Return the state of a source, or of a union, as a blob of `punctuation.sealed`: [kind, options, state].

    >>> unpack(pack("Clock", [5], [7, 1]), "Clock", [5])
    [7, 1]
    """
    try:
        packed: bytes = msgpack.packb([kind, options, state], strict_types=True)
    except (TypeError, ValueError, OverflowError) as error:
        raise AfaError(f"expected plain data (int, float, bool, str, None) in the state of a source but got: {error}") from error
    return seal(MAGIC, VERSION, packed)


def unpack(blob: Any, kind: str, options: list[Any]) -> list[Any]:
    """Return the state that `pack` wrote for a source of this kind with these options; refuse all else."""
    was, made, state = unseal(MAGIC, VERSION, blob, _read, "a source's snapshot")
    if (was, made) != (kind, options) or not isinstance(state, list):
        raise AfaError(f"expected a snapshot of {kind} with the options {options!r} but got one of {was} with {made!r}")
    return state


def _read(packed: bytes) -> tuple[Any, Any, Any]:
    was, made, state = msgpack.unpackb(packed, strict_map_key=False)
    return was, made, state
