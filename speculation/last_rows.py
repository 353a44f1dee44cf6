"""The events of a `LastBefore` as rows of words: changes or tables in, changes or columns out (`speculation.rows`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from afa.change import Change
from afa.compiled.key_numbers import KeyNumbers
from afa.engine import Logged
from afa.io.event_batch import EventBatch, batch_of
from afa.model.copies import crowded
from afa.model.keys import Keys
from afa.rewrite.vectors import ColumnCondition
from afa.state.plain import Unfit
from afa.state.sound import wanted
from afa.state.states import Column
from punctuation.door import Table
from punctuation.time import BEGINNING, FOREVER
from speculation.rows import row_layout as k
from speculation.rows.row_memory import RowMemory
from speculation.rows.row_tails import ALONE, UNKNOWN, RowPiece, RowRuns, RowTails, WaitingTable
from speculation.rows.row_words import FieldPlace, RowWords, words_of

BITS = 1 << k.TRUTH_BITS
"""How many conditions a word has."""
LE = FieldPlace(int(k.RowPool.le), None, int)
KEYS = 1024
"""Below so many keys, nobody asks of which of them anything is held."""
MANY = 256
"""So many rows of a table that come in order need not be seen by the kernels."""
PACE = 16
"""Keys are looked through for final entries once in so many keys' changes, so that a promise for each change stays cheap."""


class LastRows:
    """The events of a `LastBefore`, in rows."""

    def __init__(self, stage: Any) -> None:
        self._words, self._keys = RowWords(stage.event_schema), KeyNumbers()
        self._most = KEYS  # beyond so many keys, those are looked for that nothing is held of
        self._idle = 0  # rows that have come since keys were looked through
        self._before = 0  # how many retractions waited before the call
        self._stage = stage
        self._lasts = len(stage.conditions)
        self._beside = [((self._words.places | {"": LE})[field], offset) for field, offset in stage.neighbours.values()]
        self._state = self._words.width
        self._holds = self._state + k.LASTS + self._lasts + 2 * len(self._beside)
        self._looks = slice(self._state + k.LASTS, self._holds)
        self._memory = RowMemory(self._holds + (self._lasts + BITS - 1) // BITS, self._spec())
        self._more = [(place.kind, self._state + k.LASTS + self._lasts + 2 * i) for i, (place, _) in enumerate(self._beside)]
        self._coming: list[Any] = []  # rows, or changes
        offsets = [offset for _, offset in self._beside]
        ahead = max(0, *offsets, 0)  # one more: rows at or above a promise stand there, too
        self._tails = RowTails(self._memory.width, max(1, ahead - min(0, *offsets, 0) + (ahead > 0)))
        self._window: int | None = None  # in which rows live that a table brings
        self._columns: list[ColumnCondition] | None = None

    def _spec(self) -> Any:
        """Return how the kernels compare rows, see `RowSpec`."""
        stage, places = self._stage, self._words.places
        order: list[tuple[int, int]] = [(k.RowPool.le, k.UP)]
        for name, down, nulls_first in stage.ordered:
            value, missing, kind = places[name]
            order += [] if missing is None else [(missing, k.DOWN if nulls_first else k.UP)]
            order.append((value, (k.TEXT if kind is str else k.UP) | (k.DOWN if down else k.UP)))
        place = len(order)
        for value, missing, _ in places.values():  # texts by their numbers: equal events only must be found
            order += [(column, k.UP) for column in (missing, value) if column is not None]
        order.append((k.RowPool.re, k.UP))
        of, offsets = k.RowSpec, [offset for _, offset in self._beside]
        spec = np.zeros(of.order, np.int64)
        spec[[of.order_n, of.place_n]] = len(order), place
        spec[[of.window, of.lasts, of.state]] = stage.window or 0, self._lasts, self._state
        spec[of.looks] = self._lasts + 2 * len(offsets)
        spec[[of.previous, of.following]] = -min(0, *offsets, 0), max(0, *offsets, 0)
        beside = [(offset, where.value + (where.kind is None), where.missing or 0) for where, offset in self._beside]
        return np.array([*spec, *(word for words in (*order, *beside) for word in words)], np.int64)

    # -- calls -----------------------------------------------------------------------------------------------------------------

    def begins(self) -> None:
        """Begin a call."""
        self._coming = []
        self._memory.commit()
        self._tails.begins()
        self._before = int(self._memory.m[k.RowControl.retractions])
        if len(self._keys) > self._most or self._words.many:
            self._tidy()

    def failed(self) -> None:
        """Restore all rows."""
        self._memory.rollback()
        self._tails.failed()
        self._memory.m[k.RowControl.retractions], self._memory.m[k.RowControl.revised] = self._before, 0

    def worked(self) -> None:
        """Forget how."""
        self._memory.commit()

    def _tidy(self) -> None:
        """Give numbers of keys and texts that nothing holds any more again; no call is under way."""
        rows, _ = self._memory.held()
        held = np.concatenate([self._memory.r[rows], self._tails.live])
        if len(self._keys) > self._most:
            there, given = np.zeros(self._keys.top, np.bool_), self._keys.live()
            there[held[:, k.RowPool.key]] = True
            self._keys.gone(given[~there[given]])
            self._keys.given()  # nobody here asks for it
            self._most = max(KEYS, 2 * len(self._keys))
        self._words.keep(held, self._more)

    # -- what comes ------------------------------------------------------------------------------------------------------------

    def see(self, item: Any) -> None:
        """Take a change of an event in its form, or rows in words, at or above the promise. `left` says what it leads to."""
        self._coming.append(item)

    def rows_of(self, table: Table, keys: Keys | None, window: int | None, events: Any = slice(None)) -> RowPiece:
        """Return a table's rows. Raises `Unfit` where they must go one by one, which says what is wrong with them.

        ``events``: which of them count, the others mean nothing.
        """
        self._window = window
        if not self._stage.event_schema.scalar:
            raise Unfit
        batch = batch_of(table, self._stage.event_schema, keys, events)
        le, diff, fields = batch.times["le"], batch.times.get("diff"), batch.fields
        if (le > FOREVER - (window or 1))[events].any() or ("re" in batch.times and (batch.times["re"] <= le)[events].any()):
            raise Unfit
        if diff is not None and ((diff == 0) | (diff == BEGINNING))[events].any():
            raise Unfit
        for name, _, _ in self._stage.ordered:
            if fields[name].values.dtype.kind == "f" and np.isnan(fields[name].values[events]).any():
                raise Unfit
        return RowPiece(self._key_numbers(batch, keys), batch.times, fields, list(batch.keys))

    def _key_numbers(self, batch: EventBatch, keys: Keys | None) -> Any:
        """Return the number of each row's key."""
        if keys is None:
            return np.full(batch.n, self._keys.code(None))
        return self._keys.numbers_of(batch.keys, keys.single, batch.n)

    def _numbers(self, keys: Sequence[Hashable]) -> Any:
        """Return the numbers of keys that come one by one."""
        return np.fromiter(map(self._keys.code, keys), np.int64, len(keys))

    def words_of(self, piece: RowPiece, at: Any = slice(None)) -> Any:
        """Return rows of a piece in words: all, or those at some places."""
        part = piece if type(at) is slice else piece.at(at)
        le, n, window = part.times["le"], len(part.key), self._window
        rows = np.zeros((n, self._memory.width), np.int64)
        rows[:, k.RowPool.le], rows[:, k.RowPool.diff] = le, part.times.get("diff", 1)
        rows[:, k.RowPool.re] = part.times.get("re", FOREVER if window is None else le + window)
        rows[:, k.RowPool.key] = part.key
        self._put_bits(rows, self._truths(part.fields, n))
        for name, column in part.fields.items():
            words_of(self._words.places[name], column, self._words.strings, rows)
        return rows

    # -- tables in order -------------------------------------------------------------------------------------------------------

    def ahead(self, piece: RowPiece, encode: Callable[[RowRuns, dict[str, Column]], Any]) -> tuple[Any, Any] | None:
        """Take rows that come behind all of their keys, without the kernels. ``encode``: makes versions of them with neighbours.

        Returns the rows, in words, whose neighbours they are: with copies below 0 as they were, then as they are; None: there are
        none, or the operator lets these look at what comes. And their versions. None: the kernels must take the piece.
        """
        diff, tails = piece.times.get("diff"), self._tails
        if self._coming or self._lasts or len(piece.key) < MANY or (diff is not None and (diff < 1).any()):
            return None
        if self._memory.m[k.RowControl.retractions]:
            return None
        runs = RowRuns(piece, self._keys.top)
        piece = runs.piece
        places = self._tails_of(runs.keys) if runs.ascend else None
        if places is None:
            return None
        last = np.where(places[:, 0] >= 0, tails.rows[places[:, 0], k.RowPool.le], BEGINNING) if len(tails.rows) else BEGINNING
        if (runs.le[runs.begin] <= last).any():
            return None
        sources = [self._source(piece, place) for place, _ in self._beside]
        steps = {offset: self._steps(runs, piece, offset) for _, offset in self._beside}
        looks = [self._looked(runs, places, *each, source, steps[each[1]]) for each, source in zip(self._beside, sources)]
        columns = [self._words.named(look, kind) for look, (kind, _) in zip(looks, self._more)]
        try:
            versions = encode(runs, dict(zip(self._stage.neighbours, columns)))
        except Unfit:
            return None
        alone = versions.looked_at()
        revised = self._followed(runs, sources, places) if alone is None else None
        depth = places.shape[1]
        found, ends = np.full_like(places, ALONE), [runs.at(-1 - j) for j in range(depth)]
        at = np.concatenate([at for _, at in ends])
        rows = self.words_of(piece, at)
        for look, (kind, column) in zip(looks if alone is None else (), self._more):
            rows[:, column : column + 2] = self._two_words(look, kind, at)
        new, low = tails.put(rows), 0
        for j, (of, its) in enumerate(ends):
            found[of, j], low = new[low : low + len(its)], low + len(its)
            older = np.flatnonzero(runs.n <= j)
            found[older, j] = places[older, j - runs.n[older]]
        tails.move(runs.keys, found)
        tails.waiting = (*tails.waiting, WaitingTable(piece, runs.keys, places, int(runs.le.max())))
        return revised, versions if alone is None else alone

    def _tails_of(self, keys: Any) -> Any:
        """Return the places of the tails of keys. None: they are not plainly in order."""
        tails, memory = self._tails, self._memory
        places = tails.of(keys, self._keys.top).copy()
        ask = np.flatnonzero(places[:, 0] == UNKNOWN)
        if not len(ask):
            return places
        entries = np.zeros((len(ask), k.RowKey.SIZE), np.int64)
        known = keys[ask] < len(memory._entries)
        entries[known] = memory._entries[keys[ask[known]]]
        places[ask], later = ALONE, None
        for j in range(places.shape[1] + 1):  # the one before must not tie with the last of them
            at = entries[:, k.RowKey.block] + entries[:, k.RowKey.n] - j
            there = entries[:, k.RowKey.n] > j
            found = memory.m[np.where(there, at, 0)]
            there &= found & 1 == 0
            rows = memory.r[(found >> 1)[there]]
            le = np.full(len(ask), BEGINNING)
            le[there] = rows[:, k.RowPool.le]
            if (rows[:, self._state + k.COPIES] < 1).any() or (later is not None and (le[there] >= later[there]).any()):
                return None
            if j == places.shape[1]:
                break
            rows[:, k.RowPool.diff] = rows[:, self._state + k.COPIES]
            places[ask[there], j], later = tails.put(rows), le
        tails.move(keys[ask], places[ask])
        return places

    def _source(self, piece: RowPiece, place: FieldPlace) -> Column:
        """Return a field of the rows of a piece, texts by their numbers."""
        name = next((name for name, each in self._words.places.items() if each is place), None)
        values, present, texts = piece.fields[name] if name else Column(piece.times["le"])
        return Column(values if texts is None else self._words.strings.numbers_of(texts)[values], present)

    def _steps(self, runs: RowRuns, piece: RowPiece, offset: int) -> Any:
        """Return for each row of a piece the one so many steps behind, or before it; -1: there is none that it sees."""
        found, le, window = runs.beside(offset), piece.times["le"], self._stage.window
        if offset > 0 and window is not None:
            found[le[found] - window >= le] = -1
        return found

    def _looked(self, runs: RowRuns, places: Any, place: FieldPlace, offset: int, source: Column, steps: Any) -> Column:
        """Return what rows look at: a field of the rows at ``steps``, or of rows of tails before the piece."""
        found, there = source.values.take(steps), steps >= 0
        if source.present is not None:
            there &= source.present.take(steps)
        for j in range(-offset):
            of, at = runs.at(j)
            before = places[of, -offset - 1 - j]
            rows = self._tails.rows.take(before[before >= 0], 0)
            found[at[before >= 0]], there[at[before >= 0]] = self._words.numbered(self._words_at(rows, place), place.kind)[:2]
        return Column(found, there)

    def _two_words(self, column: Column, kind: Any, at: Any) -> Any:
        """Return values of a column as two words: whether each is there, and which it is."""
        words = np.zeros((len(at), 2), np.int64)
        present = None if column.present is None else column.present[at]
        words_of(FieldPlace(1, 0, kind), Column(column.values[at], present), self._words.strings, words)
        words[:, 0] = 1 - words[:, 0]
        return words

    @staticmethod
    def _words_at(rows: Any, place: FieldPlace) -> Any:
        """Return a field of rows as two words: whether it is there, and its value."""
        there = np.ones(len(rows), np.int64) if place.missing is None else 1 - rows[:, place.missing]
        return np.stack([there, rows[:, place.value] * there], 1)

    def _followed(self, runs: RowRuns, sources: Any, places: Any) -> Any:
        """Let the rows of tails have the neighbours that have come behind them. Returns these as they were, and are; or None."""
        tails, found = self._tails, list[Any]()
        following = max(0, *(offset for _, offset in self._beside), 0)
        for j in range(following):
            of = np.flatnonzero(places[:, j] >= 0)
            rows = tails.rows[places[of, j]]
            new = rows.copy()
            for (_, offset), (kind, column), source in zip(self._beside, self._more, sources):
                its = np.flatnonzero(runs.n[of] > offset - j - 1) if offset > j else ()
                if not len(its):
                    continue
                at = runs.begin[of[its]] + offset - j - 1
                new[its, column : column + 2] = self._two_words(source, kind, at)
                if self._stage.window is not None:
                    far = its[runs.le[at] - self._stage.window >= rows[its, k.RowPool.le]]
                    new[far, column : column + 2] = 0
            other = (new != rows).any(1)
            if other.any():
                old, new, of = rows[other], new[other], of[other]
                places[of, j] = tails.put(new)
                self._stage._revised += int(new[:, k.RowPool.diff].sum())
                old[:, k.RowPool.diff] *= -1
                found += [old, new]
        return np.concatenate(found) if found else None

    def _flush(self) -> None:
        """Let the kernels take what has come in order, as it has left already."""
        tails, memory = self._tails, self._memory
        if not tails.any:
            tails.clear()  # of rows that did not fit, keys without rows may stand there
            return
        behind = tails.left_behind()
        behind = behind[behind[:, self._state + k.COPIES] == 0]  # others came from the kernels
        rows = np.concatenate([behind, *(self.words_of(table.piece) for table in tails.waiting)])
        tails.clear()
        if len(rows):
            self._put(rows)
            memory.logged()
            memory.m[k.RowControl.revised] = 0

    def _truths(self, fields: dict[str, Column], n: int) -> list[Any]:
        """Return for each condition of which events it is true: an array, or one truth for all."""
        if self._columns is None:
            self._columns = list(map(ColumnCondition, self._stage.conditions.values()))
        return [each.truths(fields, n) for each in self._columns]

    def _put_bits(self, rows: Any, truths: Iterable[Any]) -> None:
        """Write which conditions each event satisfies."""
        for number, truth in enumerate(truths):
            rows[:, self._holds + number // BITS] |= np.asarray(truth, np.int64) << number % BITS

    def _of_changes(self, changes: Sequence[Change]) -> Any:
        payloads, le, re, diff, keys = zip(*changes)
        ends = [BEGINNING if each is None else each for each in re]
        return self._filled(list(zip(*payloads)), le, ends, diff, keys, payloads)

    def _filled(self, fields: Sequence[Any], le: Any, re: Any, diff: Any, keys: Sequence[Hashable], payloads: Any = None) -> Any:
        """Return rows of changes that are given by columns."""
        rows = np.zeros((len(le), self._memory.width), np.int64)
        rows[:, k.RowPool.le], rows[:, k.RowPool.re], rows[:, k.RowPool.diff] = le, re, diff
        rows[:, k.RowPool.key] = self._numbers(keys)
        self._words.fill(rows, fields)
        events = self._words.records(rows) if payloads is None else payloads
        self._put_bits(rows, ([each.holds(event) for event in events] for each in self._stage.conditions.values()))
        return rows

    # -- what leaves -----------------------------------------------------------------------------------------------------------

    def left(self) -> Any:
        """Return versions of events that go and come by what has come since the last time, as rows with their copies; or None."""
        coming, self._coming = self._coming, []
        parts = list[Any]()
        for kind, items in groupby(coming, type):
            found = list(items)
            parts += [self._of_changes(found)] if kind is Change else found
        if not parts:
            return None
        self._flush()
        row = self._put(parts[0] if len(parts) == 1 else np.concatenate(parts))
        if row is not None:
            raise crowded(self._words.records(row)[0], int(row[0, k.RowPool.le]), int(row[0, k.RowPool.diff]))
        self._stage._revised += int(self._memory.m[k.RowControl.revised])
        self._memory.m[k.RowControl.revised] = 0
        return self._logged()

    def _put(self, rows: Any) -> Any:
        """Call the kernels to take rows, in order of arrival. Returns the row that does not fit, or None."""
        memory = self._memory
        numbers = memory.rows(len(rows))
        memory.r[numbers] = rows
        memory.keys(self._keys.top)
        self._idle += len(rows)
        fault = memory.take(numbers, self._words.strings.ranks) == k.FAULT
        return memory.r[[memory.m[k.RowControl.fault]]] if fault else None

    def _logged(self) -> Any:
        lines = self._memory.logged()
        if not len(lines):
            return None
        rows = self._memory.r[lines[:, 0]]
        rows[:, k.RowPool.diff], rows[:, self._looks] = lines[:, 1], lines[:, 2:]
        return rows

    def changes(self, left: Any) -> list[Change]:
        """Return versions as changes."""
        stage, name = self._stage, self._keys.name
        lasts = [[None if last == FOREVER else last for last in each] for each in left[:, self._looks][:, : self._lasts].tolist()]
        beside = [self._words.values(left, *each) for each in self._more]
        times = left[:, [k.RowPool.le, k.RowPool.re, k.RowPool.key, k.RowPool.diff]].tolist()
        found = []
        for payload, each, (le, re, key, diff), *more in zip(self._words.records(left), lasts, times, *beside):
            each += more
            extra = [le if number is None else each[number] for number in stage._extra]
            found.append(Change(stage.filled(*payload, *extra), le, None if re == BEGINNING else re, diff, name(key)))
        return found

    def fields(self, left: Any, keys: Keys | None) -> tuple[dict[str, Any], dict[str, Any], list[Any] | None]:
        """Return versions as columns: the filled fields, their times, and those of the key."""
        import pyarrow as pa

        stage = self._stage
        le, re, diff = (np.ascontiguousarray(left[:, column]) for column in (k.RowPool.le, k.RowPool.re, k.RowPool.diff))
        columns = dict(zip(self._words.places, self._words.columns(left)))
        for name, number in zip(stage.filled._fields[len(columns) :], stage._extra):
            if number is not None and number >= self._lasts:
                columns[name] = self._words.optional(left, *self._more[number - self._lasts])
                continue
            last = None if number is None else np.ascontiguousarray(left[:, self._looks][:, number])
            columns[name] = le if last is None else pa.array(last, mask=last == FOREVER)
        times = {"le": le, "re": re, "diff": diff}
        if keys is None:
            return columns, times, None
        its: Any = None
        if not all(name in columns for name in keys.names):
            its = list(zip(*map(keys.parts, self._keys.names_of(np.ascontiguousarray(left[:, k.RowPool.key])))))
        return columns, times, [columns[name] if its is None else list(its[i]) for i, name in enumerate(keys.names)]

    # -- what is final -----------------------------------------------------------------------------------------------------------

    def settled(self, t: int, force: int = False) -> list[Change]:
        """Forget what a promise makes final. Returns the retractions that have waited in vain.

        With many keys not at each promise, unless ``force`` (2: also what others look at).
        """
        m, whole = self._memory.m, t == FOREVER
        if whole:
            self._tails.clear()
        elif self._tails.drop(t):
            self._flush()
        if not force and not whole and not m[k.RowControl.retractions] and self._idle * PACE < len(self._keys):
            return []
        m[k.RowControl.promise], m[k.RowControl.done] = t, 0
        m[k.RowControl.all], m[k.RowControl.force] = whole, max(force, whole)
        self._memory.call(k.SETTLE)
        self._idle = 0
        vain = self._logged()
        return [] if vain is None else self.events(vain)

    def first_open(self, t: int) -> int:
        """Return the LE of the first event below a promise that one at or behind it may follow as a neighbour; or the promise."""
        tails = self._tails
        if tails.any and not len(self._memory.keys_held()):
            following = max(offset for _, offset in self._beside)
            if (found := tails.first_open(t, following, self._stage.window or 0)) is not None:
                return found
        self._flush()
        self._memory.m[k.RowControl.promise] = t
        self._memory.call(k.OPEN)
        return min(t, int(self._memory.m[k.RowControl.first_open]))

    def events(self, rows: Any) -> list[Change]:
        """Return rows in words as changes."""
        return self._listed(rows, k.RowPool.diff)

    def _listed(self, rows: Any, copies: int) -> list[Change]:
        """Return rows as changes; ``copies``: the column that says of how many copies."""
        name, times = self._keys.name, rows[:, [k.RowPool.le, k.RowPool.re, copies, k.RowPool.key]].tolist()
        return [
            Change(payload, le, None if re == BEGINNING else re, n, name(key))
            for payload, (le, re, n, key) in zip(self._words.records(rows), times)
        ]

    # -- what is held ------------------------------------------------------------------------------------------------------------

    @property
    def held(self) -> int:
        """How many different events may still be revised, or are neighbours of such."""
        self._settle_all()
        _, floors = self._memory.held()
        return len(floors) - int(floors.sum())

    @property
    def keys(self) -> Collection[Hashable]:
        """The keys of which anything is held."""
        tails = np.flatnonzero(self._tails.places[:, 0] >= 0)
        return list(self._keys.names_of(np.union1d(self._memory.keys_held(), tails)))

    @property
    def latest(self) -> int:
        """The largest LE of an event that is held; BEGINNING: none is."""
        rows, _ = self._entries(None)
        return int(rows[:, k.RowPool.le].max(initial=BEGINNING))

    def _settle_all(self) -> None:
        self._flush()
        if self._stage._promised > BEGINNING:
            self.settled(self._stage._promised, True)

    def _entries(self, keys: Iterable[Hashable] | None) -> tuple[Any, Any]:
        """Return the rows of all keys, or of some, and which of them are floors."""
        self._settle_all()
        numbers, floors = self._memory.held(None if keys is None else self._known(keys))
        return self._memory.r[numbers], floors == 1

    def _known(self, keys: Iterable[Hashable]) -> Any:
        return np.array([number for number in map(self._keys.find, keys) if number is not None], np.int64)

    def waiting(self, keys: Iterable[Hashable] | None = None) -> list[Change]:
        return self._listed(self._there(keys), self._state + k.COPIES)

    def _there(self, keys: Iterable[Hashable] | None) -> Any:
        """Return the rows of events; one whose retraction has waited in vain stays in the list for a while, without copies."""
        rows, floors = self._entries(keys)
        return rows[~floors & (rows[:, self._state + k.COPIES] != 0)]

    def floors(self, keys: Iterable[Hashable] | None = None) -> list[tuple[Hashable, list[tuple[int, int]]]]:
        """Return of each key for each condition the last event below the promise."""
        rows, floors = self._entries(keys)
        found = []
        for row in rows[floors].tolist():
            lasts = row[self._looks][: self._lasts]
            found.append((self._keys.name(row[k.RowPool.key]), [(number, le) for number, le in enumerate(lasts) if le != FOREVER]))
        return found

    def part(self, keys: Iterable[Hashable] | None = None) -> list[Any]:
        """Return the events that may still be revised, of all keys or some, as plain data (`speculation.stage_state`)."""
        rows = self._there(keys)
        le, re, numbers, copies = rows[:, [k.RowPool.le, k.RowPool.re, k.RowPool.key, self._state + k.COPIES]].T.tolist()
        columns = [column.tolist() for column in self._words.columns(rows)]
        ends = [None if end == BEGINNING else end for end in re]
        return [list(self._words.places), list(map(self._keys.name, numbers)), le, ends, copies, columns]

    def load_part(self, came: Logged, floors: Sequence[Any], promised: int, without: Collection[Hashable]) -> None:
        """Take what `part` gave of another stage, but of some keys, and the lasts of keys; none of them is held here."""
        came = came.at([i for i, key in enumerate(came.keys) if key not in without]) if without else came
        wanted(f"events at or above the promise {promised}", self._beside or not (came.le < promised).any(), came.le)
        held = set(self.keys)
        wanted("keys that are not held", held.isdisjoint(came.keys) and held.isdisjoint(key for key, _ in floors), "one that is")
        revised = self._stage._revised
        if floors:  # events that settle into floors at once
            of = dict(floors)
            ends = [(key, le) for key, lasts in of.items() for le in {*lasts.values()}]
            rows = np.zeros((len(ends), self._memory.width), np.int64)
            rows[:, k.RowPool.key], rows[:, k.RowPool.diff] = self._numbers([key for key, _ in ends]), 1
            rows[:, k.RowPool.le] = [le for _, le in ends]
            self._put_bits(rows, ([of[key].get(number) == le for key, le in ends] for number in range(self._lasts)))
            self._coming = [rows]
            self.left()
            self.settled(promised, 2)
        if len(came.le):
            self._coming = [self._filled(came.fields, came.le, came.re, came.diff, came.keys)]
            self.left()
        self._stage._revised = revised
        self._memory.commit()
