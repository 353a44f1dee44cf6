"""The readings of all keys: their payloads here, all else in the arrays of the kernel (`afa.extra.situations.reading_kernel`).

    table 3, rows 0 1 2       sources (3, 0) (3, 1) (3, 2)         payloads are made of a table's columns when they are asked for
    place key 7, LE 12        MANY: {order: {reading: copies}}     where more than one came, or one went

What comes alone is a table of one row.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from sortedcontainers import SortedDict

from afa.change import Change
from afa.compiled.code.strings import Strings
from afa.errors import ChangeError
from afa.extra.situations import reading_layout as k
from afa.extra.situations.folds import Fold
from afa.extra.situations.key_standing import Going, Kind, LastingSituations
from afa.extra.situations.reading_memory import ReadingMemory
from afa.extra.situations.told_forms import net
from afa.journal import Journal
from afa.model.copies import added
from afa.schema import Schema
from afa.state.plain import values_of
from afa.state.states import Column
from afa.state.value_numbers import ValueNumbers
from punctuation.time import BEGINNING, FOREVER

ROW_BITS = 32
"""A source is the number of a table << ROW_BITS | the row there."""
PACE = 16
"""Keys are looked through for what is final once in so many keys' readings, so that a promise for each reading stays cheap."""
Reading = tuple[Any, "int | None"]
"""A payload and an RE."""
Bucket = dict[Any, dict[Reading, int]]
"""The copies of each reading at a place, by order."""


class RowReadings(NamedTuple):
    """Readings that came as changes."""

    rows: Sequence[Reading]

    def at(self, rows: Sequence[int]) -> list[Reading]:
        return [self.rows[each] for each in rows]


class TableReadings(NamedTuple):
    """Readings that came as a table; ``order``: its rows as the kernel has them, None: as they came."""

    columns: Sequence[Column]
    schema: Schema
    order: Any

    def at(self, rows: Sequence[int]) -> list[Reading]:
        cls: Any = self.schema.cls
        there = np.array(rows, np.int64) if self.order is None else self.order[rows]
        columns = [
            values_of(Column(each.values[there], None if each.present is None else each.present[there], each.texts), field.type)
            for each, field in zip(self.columns, self.schema.fields)
        ]
        return [(self.schema.take(cls(*row)), None) for row in (zip(*columns) if columns else [()] * len(rows))]

    def but(self, rows: Any, n: int) -> TableReadings:
        """Return the readings but for some of n rows."""
        return self._replace(order=np.delete(np.arange(n) if self.order is None else self.order, rows))


class HeldReadings:
    """The readings of all keys.

    ``journal`` takes the inverse of every write that is not the kernel's. ``folds`` are those of all definitions, one after the
    other, ``strings`` the texts that they hold. ``judge`` returns which definitions a payload at an LE satisfies, as bits;
    ``order`` is the field that orders readings of one time.
    """

    def __init__(
        self,
        journal: Journal,
        kinds: Sequence[Kind],
        folds: Sequence[Fold],
        strings: Strings,
        records: bool,
        judge: Callable[[Any, int], int],
        order: str | None,
    ) -> None:
        self._journal, self._kinds, self._judge, self._order = journal, kinds, judge, order
        self.folds, self._strings = folds, strings
        self.keys = ValueNumbers()
        self.memory = ReadingMemory(kinds, [fold.code for fold in folds], records)
        self.promised = BEGINNING  # of the call
        self._settled = BEGINNING  # what lies below was forgotten
        self._idle = 0  # readings that came since then
        self._tables: dict[int, RowReadings | TableReadings] = {}
        self._ends: list[tuple[int, int]] = []  # a heap: the largest LE and the number of each table
        self._number = self._before = 0  # tables so far; those before the call
        self.several: SortedDict[tuple[int, int], Bucket] = SortedDict()  # by LE and key
        self._none = np.empty((0, self.memory.line), np.int64)
        self._coming: list[tuple[int, int, Any, int | None]] = []
        self._touched: set[tuple[int, int]] = set()

    # -- calls -------------------------------------------------------------------------------------------------------------------

    def begins(self, promised: int) -> None:
        """Begin a call: nothing of one before is coming."""
        self.promised, self._coming, self._touched, self._before = promised, [], set(), self._number
        while self._ends and self._ends[0][0] < promised:  # which no call that fails asks for any more
            self._tables.pop(self._ends[0][1], None)
            heapq.heappop(self._ends)
        if self.keys.many:
            self.keys.keep(self._held.tolist())
        if self._strings.many:
            self._strings.keep(self._used())

    def _used(self) -> Any:
        """Return which texts the aggregates hold."""
        numbers = self._numbers(None)  # which first lets all keys forget what is final
        used = np.zeros(len(self._strings), np.bool_)
        held, going = k.ReadingWords.values, k.StandingWords.going + 2 * len(self._kinds)
        for i in (2 * i for i, fold in enumerate(self.folds) if fold.texts):
            for standing in np.split(self.memory.records[:, k.KeyWords.cover :], 2, axis=1):
                used[standing[:, going + i]] = True
            for number in numbers:
                used[self.memory.entries(number)[:, held + i]] = True
        return used

    def failed(self, promised: int) -> None:
        """Restore what the kernel has written; the journal does the rest."""
        self.memory.call(k.ROLLBACK, promised)
        self.promised, self._settled = promised, BEGINNING
        if self._number > self._before:
            self._tables = {number: table for number, table in self._tables.items() if number <= self._before}
            self._ends = sorted(each for each in self._ends if each[1] <= self._before)

    def worked(self) -> None:
        """Forget how."""
        self.memory.call(k.COMMIT, self.promised)

    # -- what comes --------------------------------------------------------------------------------------------------------------

    def see(self, change: Change) -> None:
        """Take a change of a reading in its form, at or above the promise. `told` says what it leads to."""
        payload, le, re, diff, key = change
        assert le is not None
        number = self.keys.number(key)
        if diff == 1 and self._order is None and (le, number) not in self.several:
            self._coming.append((number, le, payload, re))
            return
        self._flush()
        self._take_one(le, number, payload, re, diff)

    def take_table(self, c: Any, table: TableReadings) -> None:
        """Take a table of insertions at or above the promise, as the kernel has it; two that are of one key and time are MANY."""
        self._flush()
        if self.several and c.shape[1]:
            own = self._own(c)
            if own:
                self._take_each(c[:, own], own, table)
                c, table = np.ascontiguousarray(np.delete(c, own, axis=1)), table.but(own, c.shape[1])
        if c.shape[1]:
            again = self._put(k.TAKE, c, self._first(table, int(c[k.ReadingColumns.le].max())))
            if again:
                self._take_each(c[:, again], again, table)

    def _first(self, table: RowReadings | TableReadings, last: int) -> int:
        """Hold the payloads of a table up to a time. Returns the source of its first row."""
        self._number += 1
        self._tables[self._number] = table
        heapq.heappush(self._ends, (last, self._number))
        return self._number << ROW_BITS

    def _flush(self) -> None:
        """Give the kernel what has come as changes."""
        coming, self._coming = self._coming, []
        if coming:
            coming.sort(key=itemgetter(0, 1))
            table = RowReadings([each[2:] for each in coming])
            first = self._first(table, max(each[1] for each in coming))
            rows = [self._row(number, le, payload, re, first + i) for i, (number, le, payload, re) in enumerate(coming)]
            c = self._columns(rows)
            again = self._put(k.TAKE, c)
            if again:
                self._take_each(c.reshape(len(c), -1)[:, again], again, table)

    def _columns(self, rows: Sequence[Sequence[int]]) -> Any:
        """Return rows as a batch."""
        if len(rows) == 1:
            self.memory.one[:, 0] = rows[0]
            return self.memory.one
        return np.ascontiguousarray(np.array(rows, np.int64).T)

    def _row(self, number: int, le: int, payload: Any, re: int | None, source: int) -> list[int]:
        row = [number, le, self._judge(payload, le)]
        for fold in self.folds:
            row += fold.word(True if fold.field is None else getattr(payload, fold.field))
        return [*row, FOREVER if re is None else re, source]

    def _own(self, c: Any) -> list[int]:
        """Return the rows that come where there are several."""
        keys, le = c[k.ReadingColumns.key], c[k.ReadingColumns.le]
        near = np.flatnonzero(np.isin(le, [at for at, _ in self.several]))
        return [i for i, *place in zip(near.tolist(), le[near].tolist(), keys[near].tolist()) if tuple(place) in self.several]

    def _take_each(self, c: Any, rows: list[int], table: RowReadings | TableReadings) -> None:
        """Take rows of a table where there are several, or will be."""
        for le, number, (payload, re) in zip(c[k.ReadingColumns.le].tolist(), c[k.ReadingColumns.key].tolist(), table.at(rows)):
            self._take_one(le, number, payload, re, 1)

    def _put(self, what: int, c: Any, first: int = k.NOWHERE) -> list[int]:
        """Give the kernel rows. Returns those that came where a reading is."""
        self._idle += c.shape[1]
        self.memory.keys(len(self.keys))
        self.memory.call(what, self.promised, c, first=first)
        return self.memory.clashed()

    def _take_one(self, le: int, number: int, payload: Any, re: int | None, diff: int) -> None:
        """Take a change of a reading at a place where there may be several."""
        bucket = self.several.get((le, number))
        if bucket is None:
            self.memory.keys(len(self.keys))
            source = self.memory.source(number, le)
            bucket = {} if source == k.NOWHERE else {0: {self._at([source])[0]: 1}}
            self._journal.put(self.several, (le, number), bucket)
        order = 0 if self._order is None else getattr(payload, self._order)
        there = bucket.get(order)
        if there is None:
            there = {}
            self._journal.put(bucket, order, there)
        copies = added(there.get((payload, re), 0), diff, payload, le)
        if copies:
            self._journal.put(there, (payload, re), copies)
        else:
            self._journal.drop(there, (payload, re))
            if not there:
                self._journal.drop(bucket, order)
        self._touched.add((le, number))

    def told(self, contested: Callable[[Hashable, str, int], None] | None) -> Any:
        """Return the lines of what the readings since the last time lead to.

        ``contested``: told of two different readings at one place, of which neither holds then. None: they are refused.
        """
        self._flush()
        if self._touched:
            self._hold_one(contested)
        return self._lines()

    def _hold_one(self, contested: Any) -> None:
        """Let the kernel know what holds at the places where there are several."""
        touched, self._touched = self._touched, set()
        rows: dict[int, list[list[int]]] = {k.SET: [], k.REMOVE: []}
        none = [0] * (self.memory.entry - 1)
        for le, number in sorted(touched):
            bucket = self.several[le, number]
            found = self._holds(bucket, le, number, contested)
            if found is None:
                rows[k.REMOVE].append([number, le, *none])
            else:
                rows[k.SET].append(self._row(number, le, *found, k.MANY))
            if not bucket:
                self._journal.drop(self.several, (le, number))
        for what, those in rows.items():
            if those:
                self._put(what, self._columns(sorted(those)))

    def _lines(self) -> Any:
        lines = self.memory.lines() if self.memory.d[k.ReadingControl.output_top] else self._none
        if len(lines) > 1:
            lines = net(lines)
        if self.memory.too_much:
            raise self.memory.too_large()
        return lines

    def _holds(self, bucket: Bucket, le: int, number: int, contested: Any) -> Reading | None:
        """Return the reading that holds from a place on: the last one there; None: there is none, or there are two."""
        for order in sorted(bucket, reverse=True):
            there = [each for each, copies in bucket[order].items() if copies > 0]
            if len(there) == 1:
                return there[0]
            if there:
                (one, _), (other, _), *_ = sorted(there, key=repr)
                error = (
                    f"expected one reading of a key at a time but got {one!r} and {other!r} at le={le}; order_by= names the field "
                    f"that orders readings of one time, of which the last one holds"
                )
                if contested is None:
                    raise ChangeError(error)
                contested(self.keys.all[number], error, le)
        return None

    def judge_again(self, le: int, re: int) -> None:
        """Judge the readings in ``[le, re)`` again."""
        self._flush()
        rows = []
        for number in self._numbers(None):
            entries = self.memory.entries(number)
            entries = entries[(entries[:, k.ReadingWords.le] >= le) & (entries[:, k.ReadingWords.le] < re)]
            many = entries[:, k.ReadingWords.source] == k.MANY
            self._touched |= {(at, number) for at in entries[many, k.ReadingWords.le].tolist()}
            entries = entries[~many].copy()
            readings = zip(self._at(entries[:, k.ReadingWords.source].tolist()), entries[:, k.ReadingWords.le].tolist())
            entries[:, k.ReadingWords.bits] = [self._judge(payload, at) for (payload, _), at in readings]
            words = [
                [k.ReadingWords.le, k.ReadingWords.bits],
                range(k.ReadingWords.values, self.memory.entry),
                [k.ReadingWords.until, k.ReadingWords.source],
            ]
            rows.append(np.insert(entries[:, list(chain(*words))], 0, number, axis=1))
        if rows and sum(map(len, rows)):
            self._put(k.SET, np.ascontiguousarray(np.concatenate(rows).T))

    # -- promises ------------------------------------------------------------------------------------------------------------------

    def promise(self, t: int) -> Any:
        """Return the lines of what a clock brings."""
        self.memory.call(k.PROMISE, self.promised, clock=t)
        return self._lines()

    def settled(self, t: int) -> Iterator[Change]:
        """Forget what lies below a promise, which has been told. Yields the retractions that have waited in vain."""
        self.promised = t
        for le, number in list(self.several.irange(None, (t,), inclusive=(True, False))):
            for there in self.several[le, number].values():
                for (payload, re), copies in there.items():
                    if copies < 0:
                        yield Change(payload, le, re, copies, self.keys.all[number])
            self._journal.drop(self.several, (le, number))
        if self._idle * PACE >= len(self.keys) or t == FOREVER:
            self._settle()

    def _settle(self) -> None:
        """Let the kernel forget all that it may."""
        if self._settled < self.promised:
            self.memory.call(k.SETTLE, self.promised, clock=self.promised)
            self._settled, self._idle = self.promised, 0

    @property
    def due(self) -> int:
        """The smallest promise at which something is told or forgotten; FOREVER: none. O(keys)."""
        self._settle()
        self.memory.call(k.DUE, self.promised)
        waiting = self.several.peekitem(0)[0][0] + 1 if self.several else FOREVER
        return min(int(self.memory.d[k.ReadingControl.found]), waiting)

    @property
    def begun(self) -> int:
        """The smallest beginning of a situation that goes on at the promise; FOREVER: there is none. O(keys)."""
        self._settle()
        return int(self._begins(self.memory.covers).min(initial=FOREVER))

    def _begins(self, standings: Any) -> Any:
        """Return since when situations go on; FOREVER: they do not."""
        return standings[:, k.StandingWords.going : k.StandingWords.going + 2 * len(self._kinds) : 2]

    # -- what is held --------------------------------------------------------------------------------------------------------------

    def _at(self, sources: Sequence[int]) -> list[Reading]:
        """Return the readings of some sources, none of which is MANY."""
        found: dict[int, Reading] = {}
        places: dict[int, list[int]] = {}
        for source in sources:
            places.setdefault(source >> ROW_BITS, []).append(source & ((1 << ROW_BITS) - 1))
        for number, rows in places.items():
            found |= {number << ROW_BITS | row: reading for row, reading in zip(rows, self._tables[number].at(rows))}
        return [found[source] for source in sources]

    @property
    def _held(self) -> Any:
        """Of which keys something is held."""
        self._settle()
        self.memory.keys(len(self.keys))
        held = self.memory.held
        held[[number for _, number in self.several]] = True
        return held

    def _numbers(self, keys: Iterable[Hashable] | None) -> list[int]:
        """Return the numbers of those keys of which something is held, of all or some."""
        held = self._held
        if keys is not None:
            wanted = np.zeros(len(held), np.bool_)
            wanted[self.keys.known_of(keys)] = True
            held &= wanted
        found: list[int] = np.flatnonzero(held).tolist()
        return found

    @property
    def held(self) -> list[Hashable]:
        """The keys of which something is held."""
        return [self.keys.all[number] for number in self._numbers(None)]

    @property
    def going(self) -> int:
        """How many situations go on, as far as readings say."""
        records = self.memory.records
        return int(
            (self._begins(records[:, k.KeyWords.cover + int(self.memory.d[k.ReadingControl.standing_words]) :]) != FOREVER).sum()
        )

    @property
    def count(self) -> int:
        """How many different readings are held."""
        self._settle()
        sources = [self.memory.source(number, le) for le, number in self.several]
        several = sum(len(there) for bucket in self.several.values() for there in bucket.values())
        return int(self.memory.records[:, k.KeyWords.n].sum()) - len(sources) + sources.count(k.NOWHERE) + several

    def readings(self, keys: Iterable[Hashable] | None) -> list[Change]:
        """Return the readings that are held, of all keys or some, in an order that does not depend on how they came."""
        found = []
        for number in self._numbers(keys):
            entries, key = self.memory.entries(number), self.keys.all[number]
            entries = entries[entries[:, k.ReadingWords.source] != k.MANY]
            readings = zip(self._at(entries[:, k.ReadingWords.source].tolist()), entries[:, k.ReadingWords.le].tolist())
            found += [(0, Change(payload, le, re, 1, key)) for (payload, re), le in readings]
        numbers = set(self._numbers(keys))
        for (le, number), bucket in self.several.items():
            for order, there in bucket.items() if number in numbers else ():
                items = sorted(there.items(), key=repr)
                found += [(order, Change(payload, le, re, n, self.keys.all[number])) for (payload, re), n in items]
        return [change for _, change in sorted(found, key=lambda item: (repr(item[1].key), item[1].le, item[0]))]

    def covers(self, keys: Iterable[Hashable] | None) -> list[tuple[Hashable, LastingSituations]]:
        """Return how keys stand at the promise of which a situation goes on then, in an order of their own."""
        numbers = self._numbers(keys)
        found = [(self.keys.all[number], self._standing(self.memory.covers[number].tolist())) for number in numbers]
        return sorted((item for item in found if any(item[1].going)), key=lambda item: repr(item[0]))

    def _standing(self, words: Sequence[int]) -> LastingSituations:
        going: list[Going | None] = []
        first, at = 0, k.StandingWords.going + 2 * len(self._kinds)
        for number, kind in enumerate(self._kinds):
            ts, lasted = words[k.StandingWords.going + 2 * number : k.StandingWords.going + 2 * number + 2]
            of = range(first, first + len(kind.folds))
            held = tuple(self.folds[i].held(*words[at + 2 * i : at + 2 * i + 2]) for i in of)
            going.append(Going(ts, bool(lasted), held) if words[k.StandingWords.bits] >> number & 1 else None)
            first += len(kind.folds)
        return LastingSituations(words[k.StandingWords.until], tuple(going))

    def cover(self, key: Hashable, standing: LastingSituations) -> None:
        """Let a key of which nothing is held stand so at the promise."""
        number = self.keys.number(key)
        self.memory.keys(len(self.keys))
        words, first = [standing.until, 0], 0
        held: list[int] = []
        tells = standing.until
        for i, (kind, going) in enumerate(zip(self._kinds, standing.going)):
            folds = self.folds[first : first + len(kind.folds)]
            first += len(folds)
            if going is None:
                words += [FOREVER, 1]
                held += [0, 0] * len(folds)
                continue
            words[k.StandingWords.bits] |= 1 << i
            words += [going.ts, going.lasted]
            held += [word for fold, each in zip(folds, going.held) for word in fold.of_held(each)]
            if not going.lasted and kind.at_least is not None:
                tells = min(tells, going.ts + kind.at_least)
        words += held
        record = self.memory.records[number]
        record[k.KeyWords.cover :] = words + words
        record[k.KeyWords.tells] = tells
        self.memory.d[k.ReadingControl.next] = min(int(self.memory.d[k.ReadingControl.next]), tells)
