"""One watermark for several streams that flow together: the smallest watermark of the streams that have not fallen silent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from punctuation.base_errors import AfaError
from punctuation.calls import Calls, Member, whole
from punctuation.door import is_table
from punctuation.promise import Punctuation
from punctuation.reading import Part, TableWatermark, le_of, read
from punctuation.source import Source, pack, unpack
from punctuation.time import BEGINNING, FOREVER, as_time


class Union(Member):
    """The union of several streams, each with its own source of watermarks.

    A member that has ended or is idle does not hold the others back. If all that have not ended are idle, the union has the
    watermark of the furthest of these: the one it would have, had that member fallen silent last.

    Parameters
    ----------
    sources : mapping of name to Source
        The members.
    idle_after : float, optional
        In units of ``clock``: a member that has sent nothing for so long is idle, until it sends something. None: never.
    clock : callable
        ``clock() -> float``, the time at which items arrive; it has nothing to do with LE.
    where : mapping of name to condition, optional
        For each member a condition that its events satisfy and no other member's do, ``{"a": "feed == 'a'"}``. Where the member's
        watermark is ahead of the union's, the union hands it out with this condition, so that a member that is hours late holds
        back only what it can touch. The watermark of a member that has ended is that of the furthest of the others, not FOREVER, as
        arcs can't change below a watermark. Not kept in a snapshot.

    Attributes
    ----------
    promised : int
        The last watermark handed out; BEGINNING before the first.
    late : int
        Items that came behind the union's watermark, and were passed on: the operator's policy decides about them.

    Notes
    -----
    An item costs O(1); it costs O(members) if the slowest member moves, or a member may have become idle.

    Examples
    --------
    >>> from afa import insert
    >>> from punctuation import BoundedDisorder
    >>> union = Union({"a": BoundedDisorder(0), "b": BoundedDisorder(2)})
    >>> union.push("a", insert("tick", le=7))  # nothing is known of b
    [Change(payload='tick', le=7, re=None, diff=1, key=None)]
    >>> union.push("b", insert("tick", le=8))
    [Change(payload='tick', le=8, re=None, diff=1, key=None), Punctuation(t=6)]
    >>> union.end("b")
    [Punctuation(t=7)]
    >>> union = Union({"a": BoundedDisorder(0), "b": BoundedDisorder(9)}, where={"a": "feed == 'a'"})
    >>> union.push("a", insert("tick", le=7))
    [Change(payload='tick', le=7, re=None, diff=1, key=None), Punctuation(t=7, where="feed == 'a'")]
    """

    def __init__(
        self,
        sources: Mapping[Any, Source],
        idle_after: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        where: Mapping[Any, Any] | None = None,
    ) -> None:
        if not isinstance(sources, Mapping) or not sources:
            raise AfaError(f"expected a mapping of names to sources, at least one, but got sources={sources!r}")
        for name, source in sources.items():
            if not isinstance(source, Source):
                raise AfaError(f"expected a source of promises but got {source!r} as the member {name!r}")
        if len({id(source) for source in sources.values()}) < len(sources):
            raise AfaError(f"expected a source of its own for each member but got one twice: sources={sources!r}")
        if idle_after is not None and (
            isinstance(idle_after, bool) or not isinstance(idle_after, (int, float)) or not idle_after > 0
        ):
            raise AfaError(f"expected idle_after > 0 in units of the clock (None: never) but got idle_after={idle_after!r}")
        if not callable(clock):
            raise AfaError(f"expected a clock() -> number but got clock={clock!r}")
        if where is not None and not isinstance(where, Mapping):
            raise AfaError(f"expected a mapping of names to conditions but got where={where!r}")
        for name, condition in (where or {}).items():
            if name not in sources:
                raise AfaError(f"expected conditions of members but got where={where!r} with {name!r}")
            if not isinstance(condition, str) and not callable(condition):
                raise AfaError(f"expected a str or a callable condition(e) but got {condition!r} for the member {name!r}")
        self.sources = dict(sources)
        self.idle_after = idle_after
        self.where = dict(where or {})
        self.promised = BEGINNING
        self.late = 0
        self._clock = clock
        self._heard = dict.fromkeys(self.sources, clock())
        self._live: set[Any] = set()  # as the last call saw it that looked at all; none: the next call looks
        self._slowest: Any = None
        self._due = float("inf")  # no live member is idle before
        self._calls = Calls(self)

    @property
    def idle(self) -> list[Any]:
        """The names of the members that are idle now. A member that has ended is not idle."""
        now = self._clock()
        return [name for name, source in self.sources.items() if source.promised < FOREVER and self._is_idle(name, now)]

    @property
    def stale(self) -> int:
        """Watermarks in the members' input that said nothing new."""
        return sum(source.stale for source in self.sources.values())

    def push(self, name: Hashable, item: Any) -> list[Any]:
        """Take one item of a member. Returns as `Source.push`, with the union's watermark.

        Raises
        ------
        AfaError
            There is no such member; or its source refuses the item. The union is unchanged.
        """
        return self._calls.call(self._push, name, item)

    def _push(self, name: Any, item: Any) -> list[Any]:
        source, now = self._member(name), self._clock()
        self._calls.include(source)
        le = None if isinstance(item, Punctuation) else le_of(item, source.tick)
        before, out = source.promised, source.passed(item)
        if le is not None:
            self.late += le < self.promised
        self._heard[name] = now
        return self._passed(name, out, now, before)

    @whole
    def push_many(self, name: Hashable, batch: Any) -> list[Any]:
        """Take a batch of a member. Returns as `Source.push_many`, with the union's watermark.

        A watermark in the batch is the member's own and is not passed on. A watermark in a row of a table is refused, as it
        would be passed on with the table.
        """
        source, now = self._member(name), self._clock()
        self._calls.include(source)
        parts = read(batch, source.kinds, source.tick)
        told = next((part for part in parts if isinstance(part, TableWatermark)), None)
        if told is not None:
            raise AfaError(f"expected a table without punctuations in a union (put a Punctuation beside it) but got {told!r}")
        before, out = source.promised, source.take(parts)
        for part in parts:
            if not isinstance(part, Part) or len(part.le):
                self._heard[name] = now
            if isinstance(part, Part):
                self.late += int(np.count_nonzero(part.le < self.promised))
        return self._passed(name, out, now, before)

    @whole
    def advance(self) -> list[Any]:
        """Look at the clock without an item. Returns the watermark that follows if a member has fallen silent."""
        return self._moved(self._clock())

    @whole
    def end(self, name: Hashable | None = None) -> list[Any]:
        """End a member's stream, or all streams. Returns the watermark that follows."""
        now = self._clock()
        if name is not None:
            source = self._member(name)
            self._calls.include(source)
            before, out = source.promised, source.end()
            return self._passed(name, out, now, before)
        for source in self.sources.values():
            self._calls.include(source)
            source.end()
        return self._moved(now)

    def __call__(self, pairs: Iterable[tuple[Hashable, Any]]) -> Iterator[Any]:
        """Yield the items of ``(name, item)`` pairs with the union's watermarks among them, then the end of the stream."""
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise AfaError(f"expected a pair (name, item) but got {pair!r}")
            name, item = pair
            yield from self.push_many(name, item) if is_table(item) else self.push(name, item)
        yield from self.end()

    @whole
    def snapshot(self) -> bytes:
        """Return the whole state, the members' too, as bytes. Silence is saved as a duration, not as a time of the clock."""
        now = self._clock()
        silent = [max(now - heard, 0) for heard in self._heard.values()]
        members = [source.snapshot() for source in self.sources.values()]
        return pack("Union", self._options(), [[self.promised, self.late], silent, members])

    @whole
    def restore(self, blob: bytes) -> Union:
        """Restore the state that `snapshot` saved, into a union of the same members. Returns the union itself.

        The time between the two does not count as silence.

        Raises
        ------
        AfaError
            The blob is no snapshot, is damaged, or belongs to another union. The union is unchanged.
        """
        state = unpack(blob, "Union", self._options())
        now = self._clock()
        try:
            numbers, silent, members = state
            promised, late = (as_time(n, "number") for n in numbers)
            if late < 0 or not all(type(age) in (int, float) and 0 <= age < math.inf for age in silent):
                raise AfaError(f"expected a count, and how long each has been silent, but got {late} and {silent!r}")
            heard = {name: now - age for name, age in zip(self.sources, silent, strict=True)}
            for source, part in zip(self.sources.values(), members, strict=True):
                self._calls.include(source)
                source.restore(part)
        except (AfaError, TypeError, ValueError) as error:
            raise AfaError(f"expected a union's state but got something else: {error}") from error
        self.promised, self.late, self._heard = promised, late, heard
        self._live = set()
        return self

    # -- calls: see `punctuation.calls.Member` ---------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        """Return all of the union's own state that a call changes. A member's source joins the call when an item comes for it."""
        return self.promised, self.late, self._heard.copy()

    def call_failed(self, before: Any) -> None:
        """Restore the state from before a call. The next call looks at all members anew."""
        self.promised, self.late, self._heard = before
        self._live, self._slowest, self._due = set(), None, float("inf")

    def _options(self) -> list[Any]:
        return [list(self.sources), self.idle_after]

    def _member(self, name: Any) -> Source:
        try:
            source: Source = self.sources[name]
            return source
        except (KeyError, TypeError):
            known = ", ".join(map(repr, self.sources))
            raise AfaError(f"expected one of the members {known} but got name={name!r}") from None

    def _is_idle(self, name: Any, now: float) -> bool:
        return self.idle_after is not None and now - self._heard[name] >= self.idle_after

    def _passed(self, name: Any, out: list[Any], now: float, before: int) -> list[Any]:
        """Returns the output of a member's source, with the union's watermark in place of the member's, which was ``before``."""
        items = [item for item in out if not isinstance(item, Punctuation)]
        if name not in self._live or name == self._slowest or now >= self._due:
            items += self._moved(now)  # else the smallest promise is another's, and all others are as they were
        return [*items, *self._of_conditions(name)] if self.where and before < self.sources[name].promised else items

    def _of_conditions(self, name: Any) -> list[Punctuation]:
        """Return the watermarks with conditions that follow from a member's. Ended members have that of the furthest."""
        promised = self.sources[name].promised
        furthest = max((source.promised for source in self.sources.values() if source.promised < FOREVER), default=FOREVER)
        told = [name] if promised < FOREVER else []
        if promised in (FOREVER, furthest):
            told += [other for other, source in self.sources.items() if source.promised == FOREVER]
        t = min(promised, furthest)
        return [Punctuation(t, self.where[other]) for other in told if other in self.where] if self.promised < t else []

    def _moved(self, now: float) -> list[Any]:
        """Find out which members are live. Returns the union's watermark if it moved."""
        going = {name: source.promised for name, source in self.sources.items() if source.promised < FOREVER}
        self._live = {name for name in going if not self._is_idle(name, now)}
        self._slowest = min(self._live, key=going.__getitem__, default=None)
        if self.idle_after is not None:
            self._due = min((self._heard[name] + self.idle_after for name in self._live), default=now)
        promise = going[self._slowest] if self._live else max(going.values(), default=FOREVER)
        if promise <= self.promised:
            return []
        self.promised = promise
        return [Punctuation(promise)]
