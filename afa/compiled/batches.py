"""Run batches of columns through the kernels: rows in order are read in place, all others chunk by chunk."""

from __future__ import annotations

from typing import Any

import numpy as np

from afa.change import Change
from afa.compiled import choices
from afa.compiled.arc_swaps import changed, follow
from afa.compiled.choices import Route, route_of
from afa.compiled.compiled_states import check_ties
from afa.compiled.encode import Encoded, only
from afa.compiled.kernel import layout as k
from afa.compiled.memory import CHUNK, WordArray, address
from afa.compiled.mixed_rows import mixed_rows
from afa.compiled.program import ArcProgram
from afa.compiled.store import Store
from afa.engine import Host
from afa.engine.logged import Cuts
from afa.errors import blame
from afa.model.arc import TIMEOUT
from afa.state.plain import stable_order

SCANNED = 1 << 12
"""The most records of a scan: of one call's records together it follows what was shown and what is."""
KEYED_CHUNK = 1 << 18
"""CHUNK for keyed operators, in which each key has only a few of the records."""
FEW_KEYS = 1 << 16
"""The same of a scan with few keys: its rows go as records, which are served key by key while they are in the cache."""
MANY, APART = 256, 64
"""So many rows of a scan are brought into the order of their keys, if at most one in so many is a promise. With 10,000 keys that is
1.5 times as fast: each key is served once and not once a chunk, and its records stand side by side."""
SPARSE = 16
"""Rows are counted by key where the numbers of keys are below so many times the rows: there is a count for each number."""
SPREAD = 16
"""How many chunks are brought into order at once: rows that are late behind those of the time before cost most. With 4, rows take a
tenth longer where 5 % are late. Fewer, where two rows of one LE were found: such rows go another way."""
ROOM = 1 << 21
"""How many words the lists of a chunk may take."""


class Batches:
    """How an engine takes batches of columns."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._promised = k.BEGINNING  # by the records scanned
        self._coming = 0  # rows at work and after them, as far as nothing is dropped
        self._final = k.BEGINNING  # nothing of the call is before it: state may be dropped as if it were promised
        self._bounds: Any = None  # of the batch at work, see `_bounds_of`
        self._then = k.BEGINNING  # all before is dropped by the end of the call
        self._spread = SPREAD * CHUNK  # how many rows to bring into order at once
        self._late = False  # whether the rows before were out of order
        self._part = choices.COLD  # how many rows to carry out at once before there are loops
        self._program: ArcProgram | None = None  # whose numbers of arcs the columns at work have
        self._counts: Any = None  # rows of each key, by its number, in a batch that is taken in several chunks

    def run(self, batch: Encoded, host: Host) -> None:
        """Carry out a batch of records in order of arrival; `Operator.push_many` for columns.

        What is in order is read where it stands; from the first record that is not, a chunk is brought into the kernels' form.
        """
        n, low, store = len(batch.le), 0, self._store
        if not n:
            return
        if store.scan is not None and store.keyed and n >= MANY and not batch.arcs:
            batch = _by_key(batch, store.progress.events)
        if batch.kind is not None and batch.mixed is None:  # `Encoded.only` has not looked which are promises
            batch = batch._replace(mixed=mixed_rows(store, batch.le, batch.kind, None, batch.diff, 0))
        store.ready(min(n, KEYED_CHUNK if store.keyed else SPREAD * CHUNK), n)
        lags, early = store.progress.lags, self._may_drop_early(batch)
        ends, bounds = _ends(batch, lags), self._bounds_of(batch, early and not lags)
        self._bounds, self._then = bounds, _then(batch) if early and not lags else k.BEGINNING
        moves = bounds[0] < bounds[-1]  # then rows make room for others
        known = store.keyed and batch.kind is None and n > KEYED_CHUNK and not moves and batch.key.max() < SPARSE * n
        self._counts = np.bincount(batch.key) if known else None
        straight = self._straight(batch)
        while low < n:
            if self._program is not store.arcs.program:  # arcs have changed: they have other numbers
                straight = self._straight(batch)
            makes_room = bounds[min(low // CHUNK + 1, len(bounds) - 1)] < bounds[-1]  # for rows after the next ones
            self._coming = 0 if makes_room else int(ends[ends.searchsorted(low, "right")]) - low
            self._final = max(int(bounds[low // CHUNK]), store.progress.floor)
            route = route_of(straight is not None, store.keyed, self._late, n - low)
            if route is not Route.AS_RECORDS:
                begun = low
                if route is Route.SORTED:
                    low = self._arranged(straight, batch, low, min(low + self._spread, n), host)
                    self._late = self._late and low > begun
                    continue
                high = self._until(batch, ends, low, min(low + self._size(2), n))
                low = (
                    self._forward(straight, low, high, host)
                    if route is Route.IN_ORDER
                    else self._grouped(straight, batch, low, high, host)
                )
                if low == high or store.memory.m[k.Memory.short]:
                    continue
                if batch.kind is not None and batch.kind[low] != k.EVENT:
                    if store.ahead:
                        follow(store, host)
                    host.take_record(batch.item(low))
                    low += 1
                elif route is Route.IN_ORDER:
                    low = self._arranged(straight, batch, low, min(low + self._spread, n), host)
                if low > begun:
                    continue
            if store.ahead:
                follow(store, host)
            if store.arcs.warm_up():
                continue
            high = min(low + self._size(), n)
            words = self._words(high - low)
            batch.fill(words.words, slice(low, high))
            looks = store.arcs.looks
            store.memory.m[k.Memory.coming] = 0 if store.keyed else self._coming
            self._run_part(words, batch, low, host)
            self._part = min(store.arcs.next_part(high - low, looks), CHUNK)
            low = high
        if store.ahead:
            follow(store, host)

    def run_each(self, batch: Encoded, host: Host, cuts: Cuts) -> None:
        """Carry out a batch of records one by one; where the output of each ends goes to ``cuts``."""
        n, store = len(batch.le), self._store
        others = [] if batch.kind is None else np.flatnonzero(batch.kind != k.EVENT).tolist()
        for begin, end in zip([0, *(i + 1 for i in others)], [*others, n]):
            for low in range(begin, end, KEYED_CHUNK):
                high = min(low + KEYED_CHUNK, end)
                store.ready(1, high - low)
                words = self._words(high - low)
                batch.fill(words.words, slice(low, high))
                seen = store.progress.now
                self._scan(words, 0, words.n, host)
                self._final = store.progress.floor
                self._run(words, 0, words.n, k.EACH)
                self._see_again(words, 0, words.n, seen, host)
                cuts.each(words.words[k.Arrivals.arc, words.words[k.Arrivals.kind] == k.TAKEN])
            if end < n:
                host.take_record(batch.item(end))
                cuts.after(store.drain(), store.progress.output)

    def _may_drop_early(self, batch: Encoded) -> bool:
        """Return whether a promise of this call could take effect before it comes, or later, and nobody would see it.

        Not where time-outs wait for it, nor ties, which are looked for before it; nor arcs with lifetimes of their own, which may
        begin before it.
        """
        store, progress = self._store, self._store.progress
        timed = bool(store.arcs.table.timeouts) or any(arc.kind == TIMEOUT for arc in batch.arcs)
        own = batch.mixed is not None and batch.mixed.own_lifetimes
        waits = timed or own or not store.automaton.ties
        return not (waits or _then(batch) <= progress.final or progress.some > k.BEGINNING or progress.arc_punctuation)

    def _bounds_of(self, batch: Encoded, early: bool) -> Any:
        """Before which LE nothing changes from every CHUNK-th row of a batch on: no row is earlier, and the call promises it.

        State before it is dropped on the way, while it is in the cache, and not with the promise. Where that may not be (not
        ``early``), BEGINNING.
        """
        n = len(batch.le)
        if not early:
            return [k.BEGINNING] * (n // CHUNK + 1)
        then = _then(batch)
        if n < CHUNK:
            return [min(int((batch.le if batch.mixed is None else batch.mixed.least).min()), then)]
        begins = np.arange(0, n + 1, CHUNK)
        if batch.mixed is not None:
            return np.minimum(batch.mixed.ahead(begins), then)
        least = np.minimum.reduceat(batch.le, begins[begins < n])
        return np.minimum(np.minimum.accumulate(least[::-1])[::-1], then)

    def _straight(self, batch: Encoded) -> WordArray | None:
        """Return the columns as they stand, if they and the program are such that rows can go through the automaton's loops."""
        if self._store.scan is not None:
            return None
        program = self._program = self._store.arcs.program
        found = batch.straight(program.codes) if program.loops else None
        if found is not None and self._counts is not None:
            found.words[0, k.TableWords.counts] = address(self._counts)
        if found is not None and batch.mixed is not None and not self._store.keyed:
            batch.mixed.tell(found)
        return found

    def _until(self, batch: Encoded, ends: Any, low: int, high: int) -> int:
        """Return the row to stop at from row ``low``: behind a promise before ``high``, if else most of the state would move.

        ``ends``: where promises are. With the one key only: the state of many is grown part by part.
        """
        m, rows = self._store.memory.m, high - low
        b = 0 if self._store.keyed else int(m[m[k.Memory.dir] + k.KeyEntry.block])
        if b <= 0:  # nothing is held, or little
            return high
        first, last = int(m[b + k.Block.first]), int(m[b + k.Block.last])
        if last - first <= rows or m[b + k.Block.cap] - m[b + k.Block.steps] >= rows:
            return high
        end, middle = int(ends[ends.searchsorted(low)]), m[b + k.HEAD + (first + last) // 2]
        frees = end + 1 < high and m[b + k.HEAD + k.Block.le * m[b + k.Block.cap] + middle] < batch.le[end]
        return end + 1 if frees else high

    def _size(self, chunks: int = 1) -> int:
        """Return how many records to carry out at once: fewer where each leaves long lists, or the loops may be due.

        Few where an arc runs in Python: what lacks room is carried out again, and its functions are called again. In one call on a
        new operator they were called 3 to 6 times as often. With keys few rows cost more than they save, unless the keys are few.
        """
        arcs = self._store.arcs
        most = KEYED_CHUNK
        if arcs.is_cold and not arcs.program.loops:
            most = min(most, self._part)
        if self._store.keyed:
            return most if self._store.scan is None else min(most, max(FEW_KEYS, 4 * self._store.memory.keys))
        if not arcs.native:
            return min(most, choices.LEAST)
        if self._store.scan is not None:
            return min(most, SCANNED)
        memory = self._store.memory
        words = max(1, memory.row * int(memory.m[k.Memory.rate + 1]) >> 6)
        return min(chunks * CHUNK, max(ROOM // words, choices.LEAST), most)

    def _words(self, n: int) -> WordArray:
        return WordArray(np.empty((k.Arrivals.payload + self._store.payloads.layout.width, n), np.int64))

    def _forward(self, straight: Any, low: int, high: int, host: Host) -> int:
        """Take rows in order as far as they are; where it stopped."""
        m, progress = self._store.memory.m, self._store.progress
        m[k.Memory.now] = progress.now
        m[k.Memory.stale] = m[k.Memory.changes] = 0
        m[k.Memory.arcs], m[k.Memory.coming], m[k.Memory.then] = 0, self._coming, self._then
        self._store.call(k.FORWARD, low, high, straight, self._final)
        m = self._store.memory.m
        if m[k.Memory.arcs]:
            changed(self._store)
        progress.now = int(m[k.Memory.now])
        progress.stale += int(m[k.Memory.stale])
        host.changes += int(m[k.Memory.changes])
        promised, low = int(m[k.Memory.events]), int(m[k.Memory.stopped])
        if promised > progress.events:
            host.progress_to(promised)
        return low

    def _arranged(self, straight: Any, batch: Encoded, low: int, high: int, host: Host) -> int:
        """Take rows out of order: those before the last step on their own, then the others in order. Returns where it stopped."""
        store, m, progress = self._store, self._store.memory.m, self._store.progress
        m[k.Memory.now], m[k.Memory.stale] = progress.now, 0
        n = store.call(k.ARRANGE, low, high, straight)
        self._late = bool(m[k.Memory.unordered])
        if not n:  # fewer rows are less likely to have two of one LE
            self._spread = CHUNK
            return low
        self._spread = min(2 * self._spread, SPREAD * CHUNK)
        w = store.memory.w
        index = w[
            w[k.Scratch.index] : w[k.Scratch.index] + n
        ]  # INVARIANT: the kernels called below write there only to rows that are taken
        stopped, behind, promised = int(m[k.Memory.stopped]), int(m[k.Memory.behind]), int(m[k.Memory.events])
        progress.now = int(m[k.Memory.now])
        progress.stale += int(m[k.Memory.stale])
        self._run_rows(batch, index[:behind], host)
        if behind < n:
            rest = index[behind:]
            there = batch.only(rest, events=True) if store.gaps else None  # many rows in order are read faster than by numbers
            columns = there.straight(store.arcs.program.codes) if there is not None else only(straight, rest)
            ahead = self._bounds[min(stopped // CHUNK, len(self._bounds) - 1)]
            done = self._in_parts(columns, batch.le, rest, int(ahead), host)
            self._run_rows(batch, rest[done:], host)
        if promised > progress.events:
            host.progress_to(promised)
        return stopped

    def _in_parts(self, columns: Any, le: Any, rows: Any, ahead: int, host: Host) -> int:
        """Take rows in order in parts; drop old state in between. Returns where it stopped. No other row is before ``ahead``."""
        low, n = 0, len(rows)
        while low < n:
            high = min(low + self._size(2), n)
            self._final = max(self._final, min(int(le[rows[low]]), ahead))
            low = self._forward(columns, low, high, host)
            if low < high and not self._store.memory.m[k.Memory.short]:
                break
        return low

    def _grouped(self, straight: Any, batch: Encoded, low: int, high: int, host: Host) -> int:
        """Take rows of many keys until one that is no event, or late; where it stopped."""
        store, progress = self._store, self._store.progress
        columns, m = WordArray(np.empty((2, max(high - low, straight.n)), np.int64)), store.memory.m
        columns.words[0, : straight.n] = straight.words[0]
        m[k.Memory.then] = self._then
        m[k.Memory.now], m[k.Memory.changes] = progress.now, 0
        m[k.Memory.next] = m[k.Memory.next_row] = m[k.Memory.left] = m[k.Memory.short] = 0
        stopped = store.call(k.GROUPS, low, high, columns, self._final)
        m = store.memory.m
        progress.now = int(m[k.Memory.now])
        host.changes += int(m[k.Memory.changes])
        if left := int(m[k.Memory.left]):
            self._run_rows(batch, np.sort(columns.words[1, :left]), host)
        return stopped

    def _run_rows(self, batch: Encoded, rows: Any, host: Host) -> None:
        if not len(rows):
            return
        progress = self._store.progress
        words = self._words(len(rows))
        batch.fill(words.words, rows)
        words.words[k.Arrivals.kind] = k.EVENT
        seen = progress.now
        progress.now = max(progress.now, int(words.words[k.Arrivals.le].max()) + 1)
        host.changes += len(rows)
        self._store.memory.m[k.Memory.now] = progress.now
        self._run(words, 0, len(rows))
        self._see_again(words, 0, len(rows), seen, host)

    def _run_part(self, words: WordArray, batch: Encoded, start: int, host: Host) -> None:
        low, n = 0, words.n
        while low < n:
            seen = self._store.progress.now
            stop = self._scan(words, low, n, host)
            if stop > low:
                self._run(words, low, stop)
                self._see_again(words, low, stop, seen, host)
            if self._promised > self._store.progress.events:
                host.progress_to(self._promised)
            low = stop
            if low < n:
                host.take_record(batch.item(start + low))
                low += 1

    def _run(self, words: WordArray, low: int, high: int, how: int = k.RUN) -> None:
        try:
            if self._store.call(how, low, high, words, max(self._final, self._store.progress.floor)) == k.TIED:
                check_ties(self._store)
        except Exception as error:
            code = int(self._store.memory.w[k.Scratch.key])
            if self._store.keyed and code != k.NOWHERE:
                blame(error, f"of key {self._store.key_of(code)!r}")
            raise

    def _see_again(self, words: WordArray, low: int, high: int, seen: int, host: Host) -> None:
        """Where numbers are gapless: repeated events do not count as seen; ``seen``: the present before the records."""
        if not self._store.gaps:
            return
        host.numbers_applied()
        le, diff, kind = (words.words[which, low:high] for which in (k.Arrivals.le, k.Arrivals.diff, k.Arrivals.kind))
        events = (kind == k.EVENT) | (kind == k.TAKEN)
        if (diff[events] == 0).any():
            kept = (events & (diff != 0)) | (kind == k.PUNCTUATION)
            self._store.progress.now = max(seen, int(le[kept].max(initial=k.BEGINNING)) + 1) if kept.any() else seen

    def _scan(self, words: WordArray, low: int, high: int, host: Host) -> int:
        """Look at records in order of arrival until one that needs the others carried out; where it stopped."""
        m, progress = self._store.memory.m, self._store.progress
        m[k.Memory.now], m[k.Memory.refuse] = progress.now, int(host.refuses_late)
        m[k.Memory.late] = m[k.Memory.stale] = m[k.Memory.changes] = 0
        stop = self._store.call(k.SCAN, low, high, words)
        if stop == k.LATE:
            host.take_late(self._change(words, int(m[k.Memory.record])), int(m[k.Memory.events]))
        progress.now = int(m[k.Memory.now])
        progress.stale += int(m[k.Memory.stale])
        host.changes += int(m[k.Memory.changes])
        self._promised = int(m[k.Memory.events])
        if m[k.Memory.late]:
            for place in (np.nonzero(words.words[k.Arrivals.kind, low:stop] == k.DROPPED)[0] + low).tolist():
                host.take_late(self._change(words, place), int(m[k.Memory.events]))
        return stop

    def _change(self, words: WordArray, place: int) -> Change:
        le, re, diff, key, _, _, _, *payload = words.words[:, place].tolist()
        return Change(self._store.payloads.record(payload), le, re, diff, self._store.key_of(key))


def _by_key(batch: Encoded, promised: int) -> Encoded:
    """Return the rows of a key side by side, between promises; they stand behind one that has come already."""
    others = [] if batch.kind is None else np.flatnonzero(batch.kind != k.EVENT).tolist()
    n, low = len(batch.le), 0
    if batch.by_key or len(others) * APART > n or (batch.key[1:] >= batch.key[:-1]).all():
        return batch
    order = np.arange(n)
    for high in (*others, n):
        if high > low and batch.le[low:high].min() >= promised:  # what is late is told in order of arrival
            order[low:high] = low + stable_order(batch.key[low:high])
        if high < n:
            promised = max(promised, int(batch.le[high]))
        low = high + 1
    return batch.only(order, events=batch.kind is None)


def _then(batch: Encoded) -> int:
    """Return the promise at the end of a batch."""
    return batch.then if batch.mixed is None else max(batch.then, batch.mixed.then)


def _ends(batch: Encoded, lags: bool) -> Any:
    """Return the rows of promises, which may drop state, and the number of rows; ``lags``: none of this call drops any."""
    rows = () if batch.mixed is None or lags else batch.mixed.promises()
    ends = np.empty(len(rows) + 1, np.int64)
    ends[:-1], ends[-1] = rows, len(batch.le)
    return ends
