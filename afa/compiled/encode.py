"""Encode batches as columns for the kernels, without a Python object for each row.

What is not plainly of the schema's types (objects, nulls where there may be none, floats for ints) is left to the rows' own path,
which says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.compiled.code.payload_layout import FieldSlot
from afa.compiled.code.strings import Strings
from afa.compiled.kernel import layout as k
from afa.compiled.memory import WordArray, address
from afa.compiled.mixed_rows import MixedRows, mixed_rows
from afa.compiled.store import Store
from afa.engine import GivenColumns
from afa.model.arc import Arc
from afa.schema import Field
from afa.state.plain import Unfit, field_columns, ints, number_array, plain
from afa.state.states import Column
from punctuation.promise import Punctuation

FEW = 8
"""How many rows a text make it cheaper to look for the key of each text than of each row."""
HEAVY = 2.0**62
"""How many copies of one batch the kernels count; a batch that moves more goes row by row."""


class EncodedColumn(NamedTuple):
    """A field's column: where its words stand, its values, and which of them are there (None: all)."""

    slot: FieldSlot
    values: Any
    present: Any

    def words(self) -> list[tuple[Any, int]]:
        """Return its columns, each with its kind: of an optional field which values are there, then the values."""
        kind = k.FLOAT if self.slot.field.type is float else k.WORD
        if self.slot.width == 1:
            return [(self.values, kind)]
        there = np.ones(len(self.values), np.bool_) if self.present is None else self.present
        return [(there, k.BYTE), (self.values, kind | (0 if self.present is None else k.OPTIONAL))]


class Encoded(NamedTuple):
    """A batch whose columns are known to be plain; `fill` brings a part of it into the kernels' form."""

    le: Any
    re: Any  # None: ``le + window``
    diff: Any  # None: 1
    kind: Any  # None: an event
    arc: Any  # None: no arc
    key: Any  # None: the one key
    fields: list[EncodedColumn]
    arcs: Sequence[Arc]
    window: int | None
    sequence: FieldSlot | None
    ordered: Any  # the numbers of the texts by which a list orders events of one LE; None: no list does
    single: bool  # whether all events are insertions of one copy
    kept: list[Any]  # arrays that must live until the batch is done
    name: Callable[[int], Any]  # the key that has a number
    mixed: MixedRows | None  # None: all rows are events, or nobody has looked yet
    looks: bool  # whether rows look at those behind them
    by_key: bool  # whether those of a key stand side by side
    then: int = k.BEGINNING  # the promise right behind it, in the same call
    last: bool = False  # whether its rows stand behind all of their keys

    def promised(self, t: int) -> Encoded:
        return self._replace(then=t)

    def longest(self) -> int:
        events = slice(None) if self.kind is None else self.kind == k.EVENT
        le = self.le[events]
        if not len(le):
            return 0
        if self.re is None:
            return k.FOREVER - int(le.min()) if self.window is None else self.window
        return int((self.re[events].view(np.uint64) - le.view(np.uint64)).max())  # it may be longer than an int64 says

    def fill(self, words: Any, part: Any) -> None:
        """Write some rows (a slice, or their numbers) as the columns of an array of shape (rows of `Arrivals`, records)."""
        words[k.Arrivals.le] = self.le[part]
        if self.re is not None:
            words[k.Arrivals.re] = self.re[part]
        elif self.window is None:
            words[k.Arrivals.re] = k.FOREVER
        else:
            np.add(words[k.Arrivals.le], self.window, out=words[k.Arrivals.re])
        for row, column, value in (
            (k.Arrivals.diff, self.diff, 1),
            (k.Arrivals.kind, self.kind, k.EVENT),
            (k.Arrivals.arc, self.arc, k.LAST_ROW if self.last else k.NOWHERE),
        ):
            words[row] = value if column is None else column[part]
        words[k.Arrivals.key] = 0 if self.key is None else self.key[part]
        for slot, values, present in self.fields:
            out = words[k.Arrivals.payload + slot.value]
            if slot.field.type is float:
                floats = out.view(np.float64)
                np.add(values[part], 0.0, out=floats)  # -0.0 becomes 0.0
                wrong = np.isnan(floats)
                if wrong.any():
                    out[wrong] = k.NAN_WORD
            else:
                out[:] = values[part]
            if slot.width == 2:
                words[k.Arrivals.payload + slot.offset] = 1 if present is None else present[part]
                if present is not None:
                    out[~present[part]] = 0
        if self.ordered is not None:
            words[k.Arrivals.seq] = self.ordered[part]
        else:
            words[k.Arrivals.seq] = 0 if self.sequence is None else sequence_words(self.sequence, words)

    def looked_at(self) -> Encoded | None:
        return self._replace(last=True) if self.looks else None

    def item(self, row: int) -> Change | Punctuation:
        """Return a row that is no event, as `Core.run` takes it."""
        le = int(self.le[row])
        if self.kind[row] == k.PUNCTUATION:
            return Punctuation(le)
        arc, diff = self.arcs[self.arc[row]], 1 if self.diff is None else int(self.diff[row])
        re = k.FOREVER if self.re is None else int(self.re[row])  # an arc's lifetime does not end unless it is said
        return Change(arc, None, None, diff) if le == k.BEGINNING else Change(arc, le, re, diff)

    def event(self, row: int, payload: Any) -> Change:
        le = int(self.le[row])
        re = k.FOREVER if self.window is None else le + self.window
        re = re if self.re is None else int(self.re[row])
        key = None if self.key is None else self.name(int(self.key[row]))
        return Change(payload, le, re, 1 if self.diff is None else int(self.diff[row]), key)

    def only(self, rows: Any, events: bool) -> Encoded:
        """Return some rows (a slice, or their numbers), none of them a change of an arc. ``events``: all are events."""

        def some(column: Any) -> Any:
            return None if column is None else column[rows]

        return self._replace(
            le=some(self.le),
            re=some(self.re),
            diff=some(self.diff),
            kind=None if events else some(self.kind),
            arc=None,
            arcs=(),
            key=some(self.key),
            ordered=some(self.ordered),
            fields=[source._replace(values=some(source.values), present=some(source.present)) for source in self.fields],
            kept=[],
            mixed=None,
        )

    def straight(self, codes: Mapping[int, int]) -> WordArray | None:
        """Return where the kernels can read the columns as they stand, see `TableWords`; None if they can't.

        Addresses: the batch must outlive them. ``codes``: the program's number of each arc, by its id.
        """
        if not self.single:
            return None
        numbers = None
        if self.arc is not None:
            numbers = np.array([codes.get(id(arc), k.NOWHERE) for arc in self.arcs] or [k.NOWHERE], np.int64)
        columns = (self.le, self.re, self.kind, self.arc, numbers, self.diff, self.key)
        row = [0 if column is None else address(column) for column in columns]
        row[2:2] = [self.window or 0]
        row += [0] * (k.TableWords.payload - len(row))
        fields = [column for source in self.fields for column in source.words()]
        for values, kind in fields:
            row += (address(values), kind)
        self.kept[:] = [numbers, fields]  # for as long as their addresses are in use
        return WordArray(np.array([row], np.int64))


def only(columns: WordArray, rows: Any) -> WordArray:
    """Do as `Encoded.straight` for some rows, all of them events. ``rows`` must outlive the result."""
    words: Any = columns.words.copy()
    words[0, [k.TableWords.kind, k.TableWords.arc, k.TableWords.count]], words[0, k.TableWords.index] = 0, address(rows)
    return WordArray(words)


def encode(store: Store, given: GivenColumns) -> Encoded:
    """Check that columns can go to the kernels as they are. O(1) for a column of numbers, O(n) for strings and keys.

    Raises Unfit where the batch must go row by row.
    """
    columns, times, window, keys, single, arcs, runs = given
    le, diff, arc = ints([times.get(name) for name in ("le", "diff", "arc")])
    kind = None if times.get("kind") is None else _kinds(times["kind"], len(le))
    n, slots = len(le), store.payloads.layout.slots
    re = ends(times["re"], le, kind, window) if "re" in times else None
    mixed = None if kind is None else mixed_rows(store, le, kind, arc, diff, len(arcs))
    if kind is not None and mixed is None:
        raise Unfit
    odd = np.empty(0, np.int64)
    if diff is not None and (mixed is None or not mixed.single):
        odd = np.flatnonzero(diff != 1 if kind is None else (diff != 1) & (kind == k.EVENT))
    if len(odd) and ((diff[odd] == 0).any() or np.abs(diff[odd].astype(np.float64)).sum() > HEAVY):
        raise Unfit
    if re is not None and _any_event(re <= le, kind):
        raise Unfit
    if re is None and beyond(le, kind, window):
        raise Unfit
    found = field_columns([columns[slot.field.name] for slot in slots], [slot.field for slot in slots], n)
    fields = [EncodedColumn(slot, numbered(column, store.strings), column.present) for slot, column in zip(slots, found)]
    for slot, values, _ in fields:
        if slot is store.sequence_slot and slot.field.type is float and np.isnan(values).any():
            raise Unfit
    ordered = None
    if store.event_order is not None:
        if store.event_order.has_nan(found):
            raise Unfit
        ordered = store.strings.numbers_of(store.event_order.texts(found))
    key = None
    if keys is not None and runs is not None:
        key = np.repeat(store.directory.numbers_of(keys, single, len(runs)), runs)
    elif keys is not None:
        coded = (column for slot, column in zip(slots, found) if single and columns[slot.field.name] is keys[0])
        column = next(coded, None)
        if column is None or column.texts is None or column.present is not None or FEW * len(column.texts) > n:
            key = store.directory.numbers_of(keys, single, n)
        else:
            key = store.directory.numbers_of_texts(column.texts, column.values)
    order, name, looks = store.sequence_slot, store.directory.name, store.scan is not None and bool(store.scan.ahead)
    arrays = le, re, diff, kind, arc, key, fields, arcs, window, order, ordered
    return Encoded(*arrays, not len(odd), [], name, mixed, looks, runs is not None)


_RE = Field("re", int, True)


def ends(column: Any, le: Any, kind: Any, window: int | None) -> Any:
    """Return the ends of lifetimes; where none is given, the end by the window, and of an arc FOREVER."""
    ((re, present, _),) = field_columns([column], [_RE], len(le))
    if present is None:
        return re
    missing = ~present if kind is None else ~present & (kind == k.EVENT)
    if beyond(le[missing], None, window):
        raise Unfit
    re = np.where(present, re, k.FOREVER)
    if window is not None:
        re[missing] = le[missing] + window
    return re


def beyond(le: Any, kind: Any, window: int | None) -> bool:
    """Return whether a lifetime would end past all times, or an event comes at FOREVER."""
    last = k.FOREVER - (window or 1)
    return bool(len(le) and le.max() > last and _any_event(le > last, kind))


def _kinds(column: Any, n: int) -> Any:
    """Return the kinds of rows as bytes."""
    column = plain(column)
    if column.dtype != np.int8:
        column = number_array(column, int)
        if len(column) and not (column.min() >= k.EVENT and column.max() <= k.PUNCTUATION):
            raise Unfit
    if column.shape != (n,):
        raise Unfit
    return np.ascontiguousarray(column, np.int8)


def _any_event(wrong: Any, kind: Any) -> bool:
    found = np.flatnonzero(wrong)
    return bool(len(found) if kind is None else (kind[found] == k.EVENT).any())


def numbered(column: Column, strings: Strings) -> Any:
    if column.texts is None:
        return column.values
    return strings.numbers_of(column.texts)[column.values]


def sequence_words(slot: FieldSlot, words: Any) -> Any:
    """Return the words that order events of one LE; see `sortable` of `afa.compiled.record_words`."""
    column = words[k.Arrivals.payload + slot.value]
    return column if slot.field.type is not float else np.where(column >= 0, column, column ^ 0x7FFFFFFFFFFFFFFF)
