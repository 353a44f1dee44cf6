"""The stage behind a query of SQL: it numbers matches (MATCH_NUMBER), and leaves out those of which WHERE does not hold.

    matches of a key, by their first rows    1 .. n final    n + 1, n + 2 .. held, as those before them may change yet

A match that comes, goes or moves renumbers those behind it: each leaves again, by a retraction and an insertion. Of matches that
come in order the numbers are made as columns. What is held stands as it came, in tables (``tail``), until a match before it
changes; from then on it stands one by one (``opened``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sortedcontainers import SortedDict

from afa.change import Change, put_in_order
from afa.engine import Logged
from afa.errors import blame
from afa.operator.plain_data import reading
from afa.operator.tables import CallInput, CallOutput
from afa.schema import Schema, any_payload, as_ticks, taker
from afa.state.key_columns import KeyColumns
from afa.state.plain import stable_order
from afa.state.sound import wanted
from punctuation.deadlines import Deadlines
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER
from speculation import stage_state as saved
from speculation.before_after import After
from speculation.stage import Output, Stage, checked

FINAL, TAIL, COUNT, LAST, ORDER, EXACT = range(6)
"""Of a key: how many matches are final, stand in tables, are there in all; no match that is held begins at a larger LE than LAST;
one begins there, at ORDER, if it is EXACT."""
SMALL = 65_536
"""Tables of fewer rows are joined, so that there are not many."""
KEYS = 1024
"""Below so many keys, nobody asks of which of them anything is held."""
MOST = 1 << 48
"""So many matches of a key are not final."""
Start = tuple[Any, ...]
"""The place of the first row of a match: its LE, and what orders rows of one LE."""
Row = tuple[Any, int, int]
"""A match, or a row of it: payload, LE and RE."""


class ShownMatches(NamedTuple):
    """What leaves of the matches of a query; fields are named by their places in what comes."""

    shown: type  # the class of what leaves: the first fields of what comes
    numbers: tuple[int, ...] = ()  # these of them are the match's number
    window: int | None = None  # a match starts at RE - window; None: ``start`` says it
    start: int | None = (
        None  # holds the LE of the first row; None: matches do not overlap, and the LE of their last row orders them
    )
    order: tuple[int, ...] = ()  # hold what orders first rows of one LE; last rows where theirs is the LE that orders
    pieces: tuple[Callable[[Any], bytes], ...] = ()  # make of each of these what orders as they do together
    ranked: bool = False  # whether that orders all first rows, whatever their LE
    asked: int | None = None  # says whether WHERE holds; None: nothing is asked
    counted: int | None = None  # is 0 of rows that no match holds, which have no number; None: there are none
    late: Callable[[Any, int | None], Any] | None = None
    """Makes what leaves of what comes and its number, where values or WHERE read the number; None: nothing leaves."""
    once: bool = False  # whether rows that agree in all that leaves are one
    said: str = ""  # what a snapshot must have in common with it
    whole: Callable[[Sequence[Row], int | None], Iterable[tuple[Row, Any]]] | None = None
    """Makes what leaves of all rows of a match and its number, each with one of its rows; None: each row leaves by itself."""
    read: bool = True  # whether what leaves depends on the number

    @property
    def counts(self) -> bool:
        """Whether matches are numbered."""
        return bool(self.numbers) or self.late is not None or self.whole is not None

    def start_of(self, match: Change) -> Start:
        """Return where a match starts."""
        payload, le = match.payload, match.le if self.start is None else match.payload[self.start]
        le = 0 if self.ranked else le if self.window is None or match.re is None else match.re - self.window
        order = [payload[place] for place in self.order]
        return (le, b"".join([piece(value) for piece, value in zip(self.pieces, order)])) if self.pieces else (le, *order)

    def starts_of(self, rows: Logged) -> Any:
        """Return the LE at which each of the matches starts."""
        if self.ranked:
            return np.zeros(len(rows.le), np.int64)
        if self.window is not None:
            return rows.re - self.window
        return rows.le if self.start is None else np.array(rows.fields[self.start], np.int64)

    def orders_of(self, rows: Logged) -> list[Any]:
        """Return what orders matches whose first rows have one LE, as columns of numbers."""
        columns = [rows.fields[place] for place in self.order]
        if self.pieces:
            columns = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
            return [_ranks([b"".join([piece(value) for piece, value in zip(self.pieces, each)]) for each in zip(*columns)])]
        return [_ranks(column) for column in columns]

    def leaving(self, rows: Mapping[Row, int], number: int | None) -> Iterator[tuple[Row, Any, int]]:
        """Yield of the rows of a match those that leave, with what they show, and how often."""
        if self.whole is not None:
            yield from ((row, shown, rows[row]) for row, shown in (self.whole(list(rows), number) if rows else ()))
            return
        for row, copies in rows.items():
            shown = self.of(row[0], number)
            if shown is not None:
                yield row, shown, copies

    def of(self, payload: Any, number: int | None) -> Any:
        """Return what leaves of a match; None: nothing."""
        if self.asked is not None and not payload[self.asked]:
            return None
        if self.late is not None:
            return self.late(payload, number)
        items = list(payload[: len(self.shown._fields)])  # type: ignore[attr-defined]
        for place in self.numbers:
            items[place] = number
        return self.shown(*items)


class _Table(NamedTuple):
    """Changes that came as columns: of each its key by number, the LE of its start, whether it is the first of its match."""

    codes: Any
    starts: Any
    first: Any
    rows: Logged
    top: int  # no start is larger

    def at(self, there: Any) -> _Table:
        return _Table(self.codes[there], self.starts[there], self.first[there], self.rows.at(np.flatnonzero(there)), self.top)


class MatchNumbers(Stage):
    """Number the matches of a query that chooses, in the order in which its scan finds them; leave out what WHERE does not want.

    Parameters
    ----------
    of : ShownMatches
        What leaves of the matches.
    schema : Schema
        Of the matches as they come.

    Notes
    -----
    In order O(matches), as columns where they come so. A match that comes late: O(log n), and those behind it.
    """

    needs_all = draws = by_keys = True
    _numbers = ("_promised", "_tail")

    def __init__(self, of: ShownMatches, schema: Schema) -> None:
        super().__init__()
        self.of_matches, self.shown, self._schema, self.looks_back = of, of.shown, schema, of.counts
        self._leaves = Schema.of(of.shown, "match")._replace(tick=schema.tick)
        self._codes: dict[Hashable, int] = {}  # of each key its number
        self._names: list[Hashable] = []  # of each number its key
        self._counts = np.zeros((0, 6), np.int64)
        self._opened: dict[int, SortedDict] = {}  # of a key by start: row -> copies
        self._tail: tuple[_Table, ...] = ()
        self._leaving: SortedDict = SortedDict()  # by LE: of each row that leaves once how many matches show it
        self._coming: list[Change] = []
        self._deadlines: Deadlines | None = None  # None: they are to be set anew
        self._promised = BEGINNING

    # -- one call --------------------------------------------------------------------------------------------------------------

    def take(self, item: Change | Punctuation, out: Output) -> None:
        """Take a checked item, within a call; `end` numbers what has come."""
        if not isinstance(item, Punctuation):
            self._coming.append(item)
        elif item.where is None:
            self.end(out)
            t = as_ticks(item.t, "t")
            self._settle(t)
            out.append(Punctuation(t))

    def end(self, out: Output) -> None:
        """Number what has come; append what changes."""
        coming, self._coming = self._coming, []
        out += self._revised(coming)

    def columns(self, found: CallOutput) -> CallOutput:
        """Do with an operator's output of one call, as columns, what `push_fitting` does with changes."""
        left: list[Logged] = []
        promises, n = [], 0
        for part in found.parts():
            if isinstance(part, Punctuation):
                self._settle(part.t)
                promises.append((n, part.t))
            else:
                left.append(self._rows_told(part))
                n += len(left[-1].le)
        return CallOutput(_joined(left) if left else Logged.of([], self._leaves), promises)

    def call_begins(self) -> Any:
        """Begin a call; where no number of a match is asked for, forget keys of which nothing is held, once they are many."""
        if not self.of_matches.read and len(self._names) > 2 * len(self._opened) + KEYS:
            codes = list(self._opened)
            names, opened = [self._names[code] for code in codes], dict(enumerate(self._opened.values()))
            numbered, counts = {name: code for code, name in enumerate(names)}, self._counts[codes]
            vars(self).update(_names=names, _opened=opened, _codes=numbered, _counts=counts, _deadlines=None)  # at once
        return super().call_begins()

    def call_failed(self, before: Any) -> None:
        """Restore the state from before the call; deadlines are set anew when they are needed."""
        super().call_failed(before)
        self._coming, self._deadlines = [], None

    # -- changes, one by one ---------------------------------------------------------------------------------------------------

    def _revised(self, changes: Iterable[Change]) -> list[Change]:
        """Return what leaves, where these come and go: one difference."""
        told: dict[Any, int] = {}
        by_key: dict[Hashable, list[Change]] = {}
        counted = self.of_matches.counted
        for change in changes:
            if counted is not None and not change.payload[counted]:
                self._count(change.key, {change[:3]: change.diff}, None, 1, told)
            else:
                by_key.setdefault(change.key, []).append(change)
        if not self.of_matches.counts:
            for change in (each for found in by_key.values() for each in found):
                self._count(change.key, {change[:3]: change.diff}, None, 1, told)
        else:
            came = {key: self._by_start(found) for key, found in by_key.items()}
            self._open({self._code(key): min(found) for key, found in came.items()})
            for key, each in came.items():
                self._revise(key, each, told)
        left = [Change(payload, le, re, diff, key) for (payload, le, re, key), diff in self._net(told) if diff]
        put_in_order(left)
        return left

    def _by_start(self, changes: Iterable[Change]) -> dict[Start, list[Change]]:
        found: dict[Start, list[Change]] = {}
        for change in changes:
            found.setdefault(self.of_matches.start_of(change), []).append(change)
        return found

    def _revise(self, key: Hashable, came: dict[Start, list[Change]], told: dict[Any, int]) -> None:
        """Let matches of a key come and go, and number those behind them anew."""
        journal, code = self._journal, self._code(key)
        opened, least, last = self._opened[code], min(came), max(came)
        old = new = int(self._counts[code, FINAL] + self._counts[code, TAIL]) + opened.bisect_left(least)
        before = {start: opened.get(start) for start in came}
        for start, found in came.items():
            rows = _net_of(before[start] or {}, found)
            if rows:
                journal.put(opened, start, rows)
            elif before[start] is not None:
                journal.drop(opened, start)
        shifted = sum((start in opened) - (rows is not None) for start, rows in before.items())
        for start in sorted({*opened.irange(least, None if shifted and self.of_matches.read else last), *came}):
            now = opened.get(start)
            was = before.get(start, now)
            old, new = old + (was is not None), new + (now is not None)
            if start in before or (old != new and self.of_matches.read):
                self._count(key, was or {}, old, -1, told)
                self._count(key, now or {}, new, 1, told)
        self._note(code)
        counts = self._counts[code]
        counts[COUNT] += shifted
        end = opened.peekitem()[0] if opened and opened.peekitem()[0] >= least else None
        if end is None:  # the last one stands in a table
            counts[LAST], counts[EXACT] = max(last[0], int(counts[LAST])), 0
        else:
            bits = _bits_of(end[1:])
            counts[LAST], counts[EXACT], counts[ORDER] = end[0], bits is not None, bits or 0
        self._rest(code)

    def _count(self, key: Hashable, rows: dict[Any, int], number: int | None, sign: int, told: dict[Any, int]) -> None:
        """Count what leaves of the rows of a match."""
        try:
            for (_, le, re), shown, copies in self.of_matches.leaving(rows, number):
                row = shown, le, re, key
                told[row] = told.get(row, 0) + sign * copies
        except Exception as error:
            blame(error, f"in the match at le={max(le for _, le, _ in rows)}, of key {key!r}")
            raise

    def _net(self, told: dict[Any, int]) -> Iterator[tuple[Any, int]]:
        """Yield what leaves: a row that leaves once when the first match that shows it comes, or the last one goes."""
        if not self.of_matches.once:
            yield from told.items()
            return
        for row, diff in told.items():
            le = row[1]
            if le not in self._leaving:
                self._journal.put(self._leaving, le, {})
            rows = self._leaving[le]
            before = rows.get(row, 0)
            if before + diff:
                self._journal.put(rows, row, before + diff)
            elif before:
                self._journal.drop(rows, row)
            if not rows:
                self._journal.drop(self._leaving, le)
            yield row, (before + diff > 0) - (before > 0)

    def _open(self, least: dict[int, Start]) -> None:
        """Let the matches of some keys stand one by one, from a start on."""
        for code in least:
            if code not in self._opened:
                self._journal.put(self._opened, code, SortedDict())
        first = min((start[0] for start in least.values()), default=FOREVER)
        tail: list[_Table] = []
        for table in self._tail:
            there = self._from(table, least) if table.top >= first else None
            if there is None or not there.any():
                tail.append(table)
                continue
            found = table.at(there)
            codes, counts = _counted(found.codes[found.first], len(self._counts))
            self._note(codes)
            self._counts[codes, TAIL] -= counts
            for change in found.rows.changes(self._schema):
                opened, start = self._opened[self._code(change.key)], self.of_matches.start_of(change)
                rows = _net_of(opened.get(start, {}), [change])
                self._journal.put(opened, start, rows)
            tail += [] if there.all() else [table.at(~there)]
        self._tail = tuple(tail)

    def _from(self, table: _Table, least: dict[int, Start]) -> Any:
        """Return which rows of a table are of these keys, and of matches that start there or later."""
        if len(least) == 1:
            ((code, start),) = least.items()
            return (table.codes == code) & (table.starts >= start[0])
        starts = np.full(len(self._counts), FOREVER)
        starts[list(least)] = [start[0] for start in least.values()]
        return table.starts >= starts[table.codes]

    # -- columns ---------------------------------------------------------------------------------------------------------------

    def _rows_told(self, rows: Logged) -> Logged:
        """Return what leaves of rows of one call."""
        of = self.of_matches
        if of.once or of.late is not None or of.whole is not None:
            return Logged.of(self._revised(rows.changes(self._schema)), self._leaves)
        if not of.counts:
            return self._shown(rows, None)
        codes, starts = self._codes_of(rows), of.starts_of(rows)
        new = (rows.diff > 0) & (starts > self._counts[codes, LAST])
        if new.all():
            return self._shown(rows, self._numbered(codes, starts, new, rows))
        same = self._of_the_last(codes, starts, rows) & ~new
        fast = new | same
        if fast.all():
            return self._shown(rows, self._numbered(codes, starts, new, rows))
        slow, rest = np.flatnonzero(~fast), np.flatnonzero(fast)
        revised = Logged.of(self._revised(rows.at(slow).changes(self._schema)), self._leaves)
        rows = rows.at(rest)
        found = _joined([revised, self._shown(rows, self._numbered(codes[rest], starts[rest], new[rest], rows))])
        return found.at(np.lexsort((found.le, found.diff > 0)))

    def _of_the_last(self, codes: Any, starts: Any, rows: Logged) -> Any:
        """Return which changes are of the last match of their key, which is there before and behind them: it keeps its number."""
        counts, places = self._counts, self.of_matches.order
        found = (counts[codes, EXACT] == 1) & (starts == counts[codes, LAST])
        if places:  # EXACT says that there are bits
            found &= counts[codes, ORDER] == self._bits(rows, places)
        stays, breaks = np.zeros(len(counts), np.bool_), np.zeros(len(counts), np.bool_)
        stays[codes[found & (rows.diff > 0)]] = True
        found &= stays[codes]
        breaks[codes[~found & ((rows.diff < 0) | (starts <= counts[codes, LAST]))]] = True
        return found & ~breaks[codes]

    def _bits(self, rows: Logged, places: Sequence[int]) -> Any:
        """Return what orders first rows of one LE as int64s that tell them apart; None: it is no column of numbers."""
        column = rows.fields[places[0]]
        alone = len(places) == 1 and not self.of_matches.pieces
        return column.view(np.int64) if alone and getattr(column, "dtype", None) in (np.int64, np.float64) else None

    def _numbered(self, codes: Any, starts: Any, new: Any, rows: Logged) -> Any:
        """Return the numbers of matches that come behind all of their keys that are held, and of such as are the last ones."""
        if new.all():
            found, first = self._ranked(codes, starts, rows)
        else:
            found, first, places = self._counts[codes, COUNT], np.zeros(len(codes), np.bool_), np.flatnonzero(new)
            found[places], first[places] = self._ranked(codes[places], starts[places], rows.at(places))
        if len(codes):
            self._hold(_Table(codes, starts, first, rows, int(starts.max())))
        return found

    def _ranked(self, codes: Any, starts: Any, rows: Logged) -> tuple[Any, Any]:
        """Return the numbers of matches that come behind all of their keys that are held; and which rows are the first of one."""
        if not len(codes):
            return codes, codes
        places, order = self.of_matches.order, None
        by = [codes, starts, *self.of_matches.orders_of(rows)]
        bits = self._bits(rows, places) if places else np.zeros(len(starts), np.int64)
        if not _ascending(by):
            order = stable_order(codes)
            if not _ascending([column[order] for column in by]):
                order = np.lexsort(by[::-1])
            by = [column[order] for column in by]
            bits = None if bits is None else bits[order]
        codes = by[0]
        first = _differs(by)
        ranks, ends = np.cumsum(first), np.flatnonzero(np.append(codes[1:] != codes[:-1], True))
        keys, before = codes[ends], np.append(0, ranks[ends][:-1])
        self._note(keys)
        base = self._counts[keys, COUNT] - before
        found = ranks + (base if len(keys) == 1 else np.repeat(base, np.diff(ends, prepend=-1)))
        self._counts[keys, TAIL] += ranks[ends] - before
        self._counts[keys, COUNT] += ranks[ends] - before
        self._counts[keys, LAST], self._counts[keys, EXACT] = by[1][ends], bits is not None
        if bits is not None:
            self._counts[keys, ORDER] = bits[ends]
        if order is None:
            return found, first
        back, numbers = np.empty_like(first), np.empty_like(found)
        back[order], numbers[order] = first, found
        return numbers, back

    def _shown(self, rows: Logged, numbers: Any) -> Logged:
        """Return rows as they leave."""
        of = self.of_matches
        fields = rows.fields[: len(self._leaves.fields)]
        for place in of.numbers:
            fields[place] = numbers
        found = rows._replace(fields=fields)
        if of.asked is None:
            return found
        there = np.asarray(rows.fields[of.asked], np.bool_)
        return found if there.all() else found.at(np.flatnonzero(there))

    def _hold(self, table: _Table) -> None:
        tail = [*self._tail, table]
        while len(tail) > 1 and len(tail[-2].codes) <= 2 * len(tail[-1].codes) and len(tail[-2].codes) < SMALL:
            *tail, one, other = tail
            codes, starts, first = (np.concatenate(pair) for pair in zip(one[:3], other[:3]))
            tail.append(_Table(codes, starts, first, _joined([one.rows, other.rows]), max(one.top, other.top)))
        self._tail = tuple(tail)

    # -- what is final ---------------------------------------------------------------------------------------------------------

    def _settle(self, t: int) -> None:
        """Forget the matches that are final behind an operator's promise: those that start before it."""
        if t <= self._promised:
            return
        self._promised, tail = t, list[_Table]()
        for table in self._tail:
            gone = np.ones(len(table.starts), np.bool_) if table.top < t else table.starts < t
            keys, counts = _counted(table.codes[gone & table.first], len(self._counts))
            self._note(keys)
            self._counts[keys, FINAL] += counts
            self._counts[keys, TAIL] -= counts
            if not gone.all():
                tail.append(table.at(~gone) if gone.any() else table)
        self._tail = tuple(tail)
        for code in self._due(t):
            self._forget(code, t)
        for le in list(self._leaving if t == FOREVER else self._leaving.irange(None, t, inclusive=(True, False))):
            self._journal.drop(self._leaving, le)

    def _forget(self, code: int, t: int) -> None:
        opened = self._opened[code]
        found = list(opened if t == FOREVER else opened.irange(None, (t,), inclusive=(True, False)))
        for start in found:
            self._journal.drop(opened, start)
        counted = (FINAL, len(found)) if self.of_matches.read else (COUNT, -len(found))
        self._set(code, counted[0], int(self._counts[code, counted[0]]) + counted[1])
        self._rest(code)

    def _due(self, t: int) -> list[Any]:
        """Return the keys of which a promise makes something final that stands one by one."""
        if t == FOREVER:
            return list(self._opened)
        if self._deadlines is None or not self._deadlines.whole:
            self._deadlines = Deadlines()
            for code in list(self._opened):
                self._rest(code)
        return self._deadlines.due(t)

    def _rest(self, code: int) -> None:
        """Set the promise that a key wants next; forget what stands one by one if nothing does."""
        opened = self._opened[code]
        if not opened:
            self._journal.drop(self._opened, code)
        if self._deadlines is not None:
            self._deadlines.set(code, opened.peekitem(0)[0][0] + 1 if opened else None)

    # -- keys ------------------------------------------------------------------------------------------------------------------

    def _code(self, key: Hashable) -> int:
        """Return the number of a key."""
        code = self._codes.get(key)
        if code is None:
            code = self._codes[key] = len(self._names)
            self._names.append(key)
        if code >= len(self._counts):
            more = np.zeros((max(len(self._counts), 16), 6), np.int64)
            more[:, LAST] = BEGINNING
            self._counts = np.concatenate([self._counts, more])
        return code

    def _codes_of(self, rows: Logged) -> Any:
        """Return the numbers of the keys of rows."""
        keys = rows.keys
        if not len(keys):
            return np.full(len(rows.le), self._code(None))
        column = keys.columns[0] if isinstance(keys, KeyColumns) and not keys.width else None
        if column is not None and column.kind in (int, str) and column.present is None:
            found = column.arrow().dictionary_encode()
            return self._listed(found.dictionary.to_pylist())[found.indices.to_numpy()]
        return self._listed(keys)

    def _listed(self, keys: Iterable[Hashable]) -> Any:
        keys = list(keys)
        found = list(map(self._codes.get, keys))
        return np.array(list(map(self._code, keys)) if None in found else found, np.int64)

    def _set(self, code: int, name: Any, value: int) -> None:
        self._note(code)
        self._counts[code, name] = value

    def _note(self, codes: Any) -> None:
        """Note what the next write of the numbers of keys undoes."""
        self._journal.note(self._put_back, codes, self._counts[codes].copy())

    def _put_back(self, codes: Any, counts: Any) -> None:
        self._counts[codes] = counts

    # -- what is held ----------------------------------------------------------------------------------------------------------

    @property
    def keys(self) -> set[Hashable]:
        """The keys of which anything is held."""
        counted = np.flatnonzero(self._counts[:, COUNT]).tolist()
        return {self._names[code] for code in counted} | {row[-1] for each in self._leaving.values() for row in each}

    def _known(self, keys: Iterable[Hashable] | None) -> list[int]:
        """Return the numbers of keys; None: of all."""
        return list(self._codes.values()) if keys is None else [self._codes[key] for key in keys if key in self._codes]

    def numbers(self, keys: Collection[Hashable] | None = None) -> list[Any]:
        """Return how many matches of each key are final, as plain data; ``keys``: of these only."""
        known = [[self._names[code], int(self._counts[code, FINAL])] for code in self._known(keys) if self._counts[code, FINAL]]
        leaving, some = (item for each in self._leaving.values() for item in each.items()), None if keys is None else set(keys)
        rows = [[list(payload), *times, key, n] for (payload, *times, key), n in leaving if some is None or key in some]
        return [self.of_matches.said, self._promised, known, rows]

    def waiting(self, keys: Iterable[Hashable] | None = None) -> list[Change]:
        """Return the matches that are held; ``keys``: of these only."""
        found: dict[Any, int] = {}
        codes = self._known(keys)
        for code in codes:
            for rows in self._opened.get(code, {}).values():
                found |= {(*row, self._names[code]): copies for row, copies in rows.items()}
        for table in self._tail:
            its = table if keys is None else table.at(np.isin(table.codes, codes))
            for payload, le, re, diff, key in its.rows.changes(self._schema):
                row = payload, le, re, key
                found[row] = found.get(row, 0) + diff
        return [Change(payload, le, re, copies, key) for (payload, le, re, key), copies in found.items() if copies]

    def part(self, keys: Iterable[Hashable] | None = None) -> Any:
        """Return the matches that are held as plain data; ``keys``: of these only."""
        return saved.columns_of(self.waiting(keys))

    def load(self, numbers: Any, waiting: Any, without: Collection[Hashable] = ()) -> None:
        """Take what a stage of the same query has saved, by `numbers` and `part`, of keys that this one does not hold.

        What this one holds follows the promise of the other, if that is larger. The keys in ``without`` are left out.
        """
        said, promised, known, rows = numbers
        wanted("the numbers of matches of this query", said == self.of_matches.said, said)
        self._settle(as_ticks(promised, "promised"))
        self._promised = promised
        finals = {any_payload(key): final for key, final in known}
        whole = len(finals) == len(known) and all(type(final) is int and 0 < final < MOST for final in finals.values())
        wanted("how many matches of each key are final", whole and (self.of_matches.read or not finals), known)
        held = [checked(change) for change in saved.changes(waiting, taker(self._schema)) if change.key not in without]
        rows = [row for row in rows if row[3] not in without]
        finals = {key: final for key, final in finals.items() if key not in without}
        come = {*finals} | {change.key for change in held} | {any_payload(row[3]) for row in rows}
        wanted("keys that are not held", come.isdisjoint(self.keys), come)
        for key, final in finals.items():
            self._set(self._code(key), [FINAL, COUNT], final)
        wanted("matches with an end", all(change.re is not None for change in held), held)
        starts = [] if self.of_matches.ranked else [self.of_matches.start_of(change)[0] for change in held]
        wanted("matches that are not final", all(c.diff > 0 for c in held) and min(starts, default=FOREVER) >= promised, starts)
        wanted("matches that start at their LE or before", all(start <= change.le for start, change in zip(starts, held)), starts)
        others, self._leaving = self._leaving, SortedDict()
        self._revised(held)
        least, its = self._leaving, dict[int, dict[Any, int]]()
        for payload, le, re, key, copies in rows:
            row = checked(Change(taker(self._leaves)(self.shown(*payload)), le, re, copies, key))
            wanted("rows that leave once", self.of_matches.once and copies > 0 and le >= promised, row)
            its.setdefault(le, {})[row.payload, le, row.re, row.key] = copies
        shown = all(its.get(le, {}).get(row, 0) >= n for le, each in least.items() for row, n in each.items())
        wanted("the rows of DISTINCT, each for all matches that show it", shown and sum(map(len, its.values())) == len(rows), rows)
        self._leaving = others
        for le, each in its.items():
            others[le] = {**others.get(le, {}), **each}
        self._journal.commit()

    def chosen(self, match: Change) -> list[Any]:
        """Return the payloads of the matches that leave as this one, with all that they hold."""
        payload, le, re, _, key = match
        if not self.of_matches.counts:
            return [payload if self.of_matches.asked is None else (*payload, True)]
        starts: dict[Start, dict[Row, int]] = {}
        for each in self.waiting():
            if each.key == key:
                row = each.payload, as_ticks(each.le, "le"), as_ticks(each.re, "re")
                starts.setdefault(self.of_matches.start_of(each), {})[row] = each.diff
        first = 1 + int(self._counts[self._codes[key], FINAL]) if key in self._codes else 1
        told = [self.of_matches.leaving(starts[start], number) for number, start in enumerate(sorted(starts), first)]
        return [row[0] for rows in told for row, shown, _ in rows if row[1:] == (le, re) and tuple(shown) == tuple(payload)]


class NumberedMatches(After):
    """`MatchNumbers` at the output of the operator of a query; made by `afa.Query.operator`."""

    stages = ("MatchNumbers",)
    by_itself = False

    def _found(self, come: CallInput, net: bool) -> CallOutput:
        found: CallOutput = self.stage.columns(self.operator._found(come, True)) if net else super()._found(come, net)
        return found

    @classmethod
    def loaded(cls, part: saved.SavedStage, operator: Any, like: Any = None) -> NumberedMatches:
        """Put the stage that a snapshot holds at its operator; ``like``: one of the same query, that has taken nothing."""
        wanted("no rows that wait there", part.rows is None, part.name)
        with reading(f"the numbers of a {part.name}", part.name):
            like.load(part.numbers, part.waiting)
        wanted("a promise that the operator has made", like._promised <= operator._core.progress.output, like._promised)
        return cls(like, operator)


def _net_of(rows: dict[Any, int], changes: Iterable[Change]) -> dict[Any, int]:
    """Return the rows of a match, with their copies, after changes."""
    found = dict(rows)
    for payload, le, re, diff, _ in changes:
        row = payload, le, re
        found[row] = found.get(row, 0) + diff
    return {row: copies for row, copies in found.items() if copies}


# -- columns -----------------------------------------------------------------------------------------------------------------------


def _bits_of(order: Start) -> int | None:
    """Return what orders a row of one LE as an int64 that tells it apart; None: it is no number."""
    if not order:
        return 0
    if len(order) > 1 or type(order[0]) not in (int, float):
        return None
    return int(np.array(order[0]).view(np.int64))


def _ascending(columns: Sequence[Any]) -> bool:
    """Return whether rows ascend by the first column, of one value of it by the second one .."""
    tied: Any = np.True_
    for column in columns:
        if (tied & (column[1:] < column[:-1])).any():
            return False
        tied = tied & (column[1:] == column[:-1])
    return True


def _differs(columns: Sequence[Any]) -> Any:
    """Return which rows differ from the one before in one of these columns."""
    found = np.ones(len(columns[0]), np.bool_)
    found[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return found


def _ranks(column: Any) -> Any:
    """Return numbers that order rows as a column does."""
    if isinstance(column, np.ndarray) and column.dtype != object:
        return column
    return np.unique(np.array(column, object), return_inverse=True)[1]


def _counted(codes: Any, known: int) -> tuple[Any, Any]:
    """Return the keys among these, by number, and how often each is there."""
    if known > 8 * len(codes):
        return np.unique(codes, return_counts=True)
    found = np.bincount(codes)
    keys = np.flatnonzero(found)
    return keys, found[keys]


def _joined(parts: Sequence[Logged]) -> Logged:
    """Return the rows of several outputs, one behind the other."""
    parts = [part for part in parts if len(part.le)] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    fields = [_column(column) for column in zip(*(part.fields for part in parts))]
    le, re, diff = (np.concatenate([part[i] for part in parts]) for i in (1, 2, 3))
    keyed = all(len(part.keys) for part in parts)  # without keys some have none, others None
    return Logged(fields, le, re, diff, KeyColumns.concat([KeyColumns.of(part.keys) for part in parts]) if keyed else [])


def _column(parts: Sequence[Any]) -> Any:
    kinds = {part.dtype for part in parts if isinstance(part, np.ndarray)}
    if len(kinds) != 1:
        return [item for part in parts for item in (part.tolist() if isinstance(part, np.ndarray) else part)]
    (kind,) = kinds
    return np.concatenate([part if isinstance(part, np.ndarray) else _array(part, kind) for part in parts])


def _array(items: Sequence[Any], kind: Any) -> Any:
    found = np.empty(len(items), kind)
    found[:] = items
    return found
