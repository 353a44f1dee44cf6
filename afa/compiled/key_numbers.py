"""The numbers of keys: from columns of keys to numbers and back, in machine code, without a Python object for each key.

    key_parts          columns and single keys as the kernels take them
    kernel.key_table   the table: who has which number
    key_arrays         its memory

A number is a key's until it is `gone`. Keys that Python alone can tell from others stand in the table too, so that they have
numbers; a dictionary next to it says which one is meant.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import functools
import struct
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from afa.compiled import key_arrays
from afa.compiled.kernel import key_layout as t
from afa.compiled.key_arrays import KeyArrays
from afa.compiled.key_parts import KeyPart, RecordForm, column_of, form_of, part_of
from afa.compiled.machine.kernels import load
from afa.compiled.memory import EMPTY, WordArray
from afa.compiled.record_words import float_of
from afa.schema import ODD
from afa.state.key_columns import KeyColumn, KeyColumns, texts_between
from afa.state.plain import Unfit, arrow, keys_in, used

RECENT = 1 << 14
"""How many keys that came one by one are known without the table."""
MANY = 1 << 14
"""How many rows are looked for by several threads."""
SHORT, FEW = 8 * key_arrays.SPARE, 16
"""The bytes of a record for which there is room in any case; how many keys that are gone are taken from the recent ones."""
WORD = t.KeyCall.columns + t.KeyColumnWords.SIZE
_one = struct.Struct(f"={WORD + 1}q").pack_into


@functools.cache
def kernels(wait: bool) -> Any:
    """Return the kernels of this process; ``wait``: compiled in full."""
    return load(wait)


class KeyNumbers:
    """The numbers of keys; ``wait``: see `kernels`.

    >>> numbers = KeyNumbers()
    >>> numbers.code("a"), numbers.code(7), numbers.code("a"), numbers.find(7.0), numbers.find("b")
    (0, 1, 0, 1, None)
    >>> numbers.numbers_of([np.array([9, 7, 9])], True, 3).tolist(), list(numbers.names_of(np.array([0, 2])))
    ([2, 1, 2], ['a', 9])
    """

    def __init__(self, wait: bool = False) -> None:
        self.arrays = KeyArrays()
        self.top = 0  # one past the largest number that was ever given
        self.news = False  # whether `given` has something to tell
        self.threads = 1  # that may look for keys side by side
        self.together: Callable[[Sequence[Callable[[], int]]], list[int]] | None = None  # carries out jobs in so many threads
        self._main = kernels(wait)
        self._recent: dict[Hashable, int] = {}
        self._odd: dict[int, Hashable] = {}  # names that the table does not have
        self._objects: dict[Hashable, int] = {}  # the numbers of those that Python alone tells from others
        self._fresh = 0  # numbers from here on were given since `given`
        self._again: list[Any] = []  # and these, or arrays of these, which were other keys' before
        self._torn = False  # whether it is not known which
        self._call = WordArray(np.zeros((3, WORD + 1), np.int64))  # for one key
        self._out = ctypes.c_int64.from_address(self._call.at + 8 * t.OUT * self._call.n)
        self._word_at = self._call.at + 8 * WORD

    @property
    def odd(self) -> bool:
        """Whether Python has names that the table does not have."""
        return bool(self._odd)

    def __len__(self) -> int:
        return int(self.arrays.m[t.KeyTable.count])

    def __deepcopy__(self, memo: Any) -> KeyNumbers:
        other = KeyNumbers()
        for name in ("arrays", "top", "news", "_odd", "_objects", "_fresh", "_again", "_torn"):
            setattr(other, name, copy.deepcopy(getattr(self, name), memo))
        return other

    def run(self, what: int, low: int = 0, high: int = 0, batch: WordArray = EMPTY, arrays: KeyArrays | None = None) -> int:
        arrays = arrays or self.arrays
        return int(self._main(arrays, arrays, batch, what, low, high))

    # -- one key -------------------------------------------------------------------------------------------------------------

    def find(self, key: Hashable) -> int | None:
        """Return the number of a key; None: it has none."""
        found = self._recent.get(key)
        if found is not None:
            return found
        form = form_of(key)
        if form is None:
            return self._objects.get(key)
        self._put(form)
        return None if self.run(t.FIND, 0, 1, self._call) else self._out.value

    def code(self, key: Hashable) -> int:
        """Return the number of a key, a new one if it has none."""
        found = self._recent.get(key)
        if found is not None:
            return found
        form = form_of(key)
        found = self._objects.get(key) if form is None else None
        if found is None:
            found = self._given_to(key, form)
        if len(self._recent) >= RECENT:
            self._recent.clear()
        self._recent[key] = found
        return found

    def _put(self, form: RecordForm) -> None:
        """Write the key that the next call for one key is about."""
        kind, value, record = form
        if record is None:
            _one(self._call.words, 0, 0, 1, 1, 0, kind, 0, kind, 0, self._word_at, 0, value)
            return
        if len(record) > SHORT:
            self.arrays.spare(len(record) // 8)
        ctypes.memmove(self.arrays.sought, record, len(record))
        _one(self._call.words, 0, 0, 0, 1, 0, kind, value, 0, 0, 0, 0, 0)

    def _given_to(self, key: Hashable, form: RecordForm | None) -> int:
        """Return the number of a key, a new one if the table has none."""
        self._put(form or RecordForm(t.OBJECT | t.ODD, hash(key)))
        new = self.run(t.FIND, 0, 1, self._call)
        if new:
            self._insert(self._call, 1)
        found = self._out.value
        if new and (form is None or form.kind & ~t.CLASS == t.ODD):
            self._odd[found] = key
            if form is None:
                self._objects[key] = found
        return found

    def _insert(self, call: WordArray, n: int) -> None:
        """Give numbers to the rows of a call for which `find` found none. If it ends half-way, `given` lists all numbers."""
        arrays, torn = self.arrays, self._torn
        self.news = self._torn = True
        arrays.m[t.KeyTable.next] = arrays.m[t.KeyTable.logged] = 0
        try:
            while (status := self.run(t.INSERT, 0, n, call)) < 0:
                arrays.provide(status, self.run)
        finally:
            if logged := int(arrays.m[t.KeyTable.logged]):
                self._again.append(call.words[t.LOG, :logged].copy())
            self.top = int(arrays.m[t.KeyTable.top])
        self._torn = torn

    # -- many keys -----------------------------------------------------------------------------------------------------------

    def numbers_of(self, columns: Sequence[Any], single: bool, n: int) -> Any:
        """Return the number of the key of each row, new ones for new keys; ``single``: a key is a value, else a tuple of values.

        Raises `Unfit` where the rows must go one by one.
        """
        coded = _coded(columns[0], n) if single else None
        if coded is not None:
            return self._by_dictionary(*coded)
        given = [column_of(column) for column in columns]
        parts = None if single and _bare_none(given[0]) else _parts(given, n)
        if parts is None:
            places, keys = keys_in(columns, single, n)
            return np.array(list(map(self.code, keys)), np.int64)[places]
        return self._numbers(parts, single, n)

    def numbers_of_keys(self, keys: KeyColumns) -> Any:
        """Return the number of each key, new ones for new keys."""
        parts = None if not keys.width and _bare_none(keys.columns[0]) else _parts(keys.columns, len(keys))
        if parts is None or len(parts) > t.PARTS:
            return np.fromiter(map(self.code, keys), np.int64, len(keys))
        return self._numbers(parts, not keys.width, len(keys))

    def numbers_of_texts(self, texts: list[str], places: Any) -> Any:
        """Return the number of the key of each row; ``places``: of each row the place of its key in a list of texts that occur."""
        try:
            found = np.fromiter(map(self._recent.__getitem__, texts), np.int64, len(texts))
        except KeyError:
            found = self.numbers_of_keys(KeyColumns.of(texts))
            if len(self._recent) + len(texts) > RECENT:
                self._recent.clear()
            self._recent.update(zip(texts[:RECENT], found.tolist()))
        return found[places]

    def _by_dictionary(self, indices: Any, dictionary: Any) -> Any:
        """Look for each entry of a dictionary once; only those that occur are given numbers."""
        parts = _parts([column_of(dictionary)], len(dictionary))
        if parts is not None:
            call, missing = self._sought(parts, True, len(dictionary))
            if not missing:
                return call.words[t.OUT, : len(dictionary)][indices]
        indices, dictionary = used(indices, dictionary)
        return self.numbers_of([dictionary], True, len(dictionary))[indices]

    def _numbers(self, parts: list[KeyPart], single: bool, n: int) -> Any:
        call, missing = self._sought(parts, single, n)
        if missing:
            _check(parts)
            self._insert(call, n)
        return call.words[t.OUT, :n]

    def _sought(self, parts: list[KeyPart], single: bool, n: int) -> tuple[WordArray, int]:
        """Look for the keys of ``n`` rows. Returns the call, and how many rows have keys without a number."""
        if len(parts) > t.PARTS:
            raise Unfit
        rows = max(n, 1) if self.together is None or n < MANY else -(-n // self.threads)
        width = sum(part.longest for part in parts) + 2 + len(parts) // 8
        lows = range(0, n, rows)
        self.arrays.spare(len(lows) * width)
        call = WordArray(np.empty((3, max(n, t.KeyCall.columns + t.KeyColumnWords.SIZE * len(parts))), np.int64))
        words = [not single, len(parts), rows, width, 0, 0, *(word for part in parts for word in part.words())]
        call.words[0, : len(words)] = words
        if self.together is None or len(lows) == 1:
            return call, self.run(t.FIND, 0, n, call)
        self.arrays.alone = True
        try:
            jobs = [functools.partial(self._look, low, min(low + rows, n), call, parts) for low in lows]
            return call, sum(self.together(jobs))
        finally:
            self.arrays.alone = False

    def _look(self, low: int, high: int, call: WordArray, parts: list[KeyPart]) -> int:
        """Look for the keys of some rows. ``parts``: memory that the call points to; it lives as long as a thread is at work."""
        return self.run(t.FIND, low, high, call)

    # -- names ---------------------------------------------------------------------------------------------------------------

    def name(self, code: int) -> Any:
        """Return the key that has a number."""
        w = self.arrays.w
        kind = int(w[(code >> 3) * t.GROUP]) >> 8 * (code & 7) & 127
        if kind & ~t.CLASS == t.ODD:
            return self._odd.get(code)  # None: of a number that was lost
        value = int(w[(code >> 3) * t.GROUP + 1 + (code & 7)])
        return self._tuple(value >> t.LENGTH) if kind == t.TUPLE else self._value(kind, value)

    def _value(self, kind: int, value: int) -> Any:
        if kind == t.INT:
            return value
        if kind == t.TEXT:
            at, size = value >> t.LENGTH, value & t.LONGEST
            return self.arrays.p[at : at + (size + 7) // 8].tobytes()[:size].decode()
        return value_of(kind, value)

    def _tuple(self, at: int) -> tuple[Any, ...]:
        p = self.arrays.p
        parts = int(p[at]) & 255
        heads = (parts + 8) // 8
        kinds, at, found = p[at : at + heads].tobytes()[1 : parts + 1], at + heads, []
        for kind in kinds:
            value = 0
            if kind == t.TEXT:
                value = at + 1 << t.LENGTH | int(p[at])
                at += (int(p[at]) + 7) // 8 + 1
            elif kind != t.NONE:
                value = int(p[at])
                at += 1
            found.append(self._value(kind, value))
        return tuple(found)

    def names_of(self, codes: Any) -> KeyColumns:
        """Return the keys of numbers, an array."""
        n = len(codes)
        if not n:
            return KeyColumns.of([])
        call = WordArray(np.empty((4, n), np.int64))
        call.words[t.OUT] = codes
        kinds = self._kinds(call, t.NONE_OF, n)
        if kinds == {t.TUPLE}:
            width = int(self.arrays.p[call.words[3, 0] >> t.LENGTH]) & 255
            if width and self.run(t.CELLS, width - 1, n, call) == n and not self.run(t.CELLS, width, n, call):
                return KeyColumns(width, [self._column(call, part, n) for part in range(width)])
            return KeyColumns.of(list(map(self.name, codes.tolist())))
        column = self._cells(call, kinds, n)
        return KeyColumns(0, [column or KeyColumn(None, list(map(self.name, codes.tolist())))])

    def _kinds(self, call: WordArray, part: int, n: int) -> set[int]:
        """Write the values of a part of each key to a call. Returns their kinds."""
        self.run(t.CELLS, part, n, call)
        return set(np.flatnonzero(np.bincount(call.words[2])).tolist())

    def _column(self, call: WordArray, part: int, n: int) -> KeyColumn:
        found = self._cells(call, self._kinds(call, part, n), n)
        return found or KeyColumn(None, list(map(self._value, call.words[2].tolist(), call.words[3].tolist())))

    def _cells(self, call: WordArray, kinds: set[int], n: int) -> KeyColumn | None:
        """Return the values that CELLS has written as a column; None: they have several types."""
        present, values = None, call.words[3]
        if t.NONE in kinds and len(kinds) > 1:
            kinds = kinds - {t.NONE}
            present = call.words[2] != t.NONE
        if kinds == {t.INT}:
            return KeyColumn(int, values.copy(), present)
        if kinds == {t.INT | t.AS_BOOL}:
            return KeyColumn(bool, values != 0, present)
        if kinds <= {t.REAL, t.INT | t.AS_FLOAT}:
            return KeyColumn(float, np.where(call.words[2] == t.REAL, values.view(np.float64), values), present)
        return KeyColumn(str, self._texts(call, n), present) if kinds == {t.TEXT} else None

    def _texts(self, call: WordArray, n: int) -> Any:
        lengths = np.where(call.words[2] == t.TEXT, call.words[3] & t.LONGEST, 0)
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        packed = np.empty(int(offsets[-1]) // 8 + 2, np.int64)
        self.run(t.PACK, 0, n, call, key_arrays.arrays_of(self.arrays.m, packed, self.arrays.p))
        return texts_between(offsets, packed.view(np.uint8)[: offsets[-1]])

    # -- which there are -----------------------------------------------------------------------------------------------------

    def live(self) -> Any:
        """Return the numbers of all keys. O(numbers ever given)."""
        kinds = self.arrays.w[:: t.GROUP][: (self.top + 7) // 8].copy().view(np.uint8)
        return np.flatnonzero(kinds[: self.top])

    def given(self) -> Any:
        """Return the numbers given since this was asked last, or more: an array, or the only one."""
        torn = self._torn
        if torn:
            self.top = int(self.arrays.m[t.KeyTable.top])
        if not torn and not self._again and self._fresh + 1 == self.top:
            found: Any = self._fresh
        else:
            again = list(map(np.atleast_1d, self._again))
            found = self.live() if torn else np.concatenate([np.arange(self._fresh, self.top), *again])
        self._fresh = self.top
        self._again.clear()
        self._torn = self.news = False
        return found

    def gone(self, codes: Any) -> None:
        """Forget the keys of numbers: an array. INVARIANT: in an order that lets this be done again, wherever it ended."""
        if len(codes) > FEW:
            self._recent.clear()
        else:
            for code in codes.tolist() if self._recent else ():
                self._recent.pop(self.name(code), None)
        odd = [code for code in codes.tolist() if code in self._odd] if self._odd else []
        for code in odd:
            if self._objects.get(self._odd[code]) == code:
                del self._objects[self._odd[code]]
        call = WordArray(np.empty((3, max(len(codes), 1)), np.int64))
        call.words[t.OUT, : len(codes)] = codes
        self.run(t.REMOVE, 0, len(codes), call)
        for code in odd:
            self._odd.pop(code, None)
        with contextlib.suppress(MemoryError):  # then the arena stays as it is
            self.arrays.compact(self.run)


def value_of(kind: int, value: int) -> Any:
    """Return the value that a word stands for."""
    if kind & t.CLASS == t.NONE:
        return None
    if kind & t.CLASS == t.REAL:
        found = float_of(value)
        return int(found) if kind & ~t.CLASS == t.AS_INT else found
    return bool(value) if kind & ~t.CLASS == t.AS_BOOL else float(value) if kind & ~t.CLASS == t.AS_FLOAT else value


def _bare_none(column: KeyColumn) -> bool:
    """Return whether a key may be None itself, which only Python tells from no key."""
    return column.present is not None or (column.kind is None and None in list(column.values))


def _coded(column: Any, n: int) -> tuple[Any, Any] | None:
    """Return places and entries of a column that comes with a dictionary, where each entry may be looked for."""
    if isinstance(column, (np.ndarray, list, tuple)):
        return None
    import pyarrow as pa

    array = arrow(column)
    if not pa.types.is_dictionary(array.type) or array.null_count or array.dictionary.null_count:
        return None
    if len(array) != n:
        raise Unfit
    indices, dictionary = array.indices.to_numpy(zero_copy_only=False), array.dictionary
    return used(indices, dictionary) if len(dictionary) > n else (indices, dictionary)


def _parts(columns: Sequence[KeyColumn], n: int) -> list[KeyPart] | None:
    """Return columns of ``n`` rows as the kernels take them; None: a column has a value that only Python can tell from others."""
    if any(len(column) != n for column in columns if column.kind is not None):
        raise Unfit
    if any(column.kind is None and not isinstance(column.values, list) for column in columns):
        return None
    parts = [part_of(column) for column in columns]
    return None if None in parts else [part for part in parts if part is not None]


def _check(parts: list[KeyPart]) -> None:
    """Refuse texts that are no UTF-8 before they become keys. Raises `Unfit`."""
    for part in parts:
        if part.texts is not None:
            try:
                part.texts.validate(full=True)
            except ODD as error:
                raise Unfit from error
