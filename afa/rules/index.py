"""From events to the rules that they concern: which conditions on single events are true, for many rules at once.

    condition   e.type == 'A' and e.x > 3 and e.who.startswith('a')
    words       type: [code of 'A', same]   x: [above 3, largest]       values as int64 in their order, a range of each field
    residual    e.who.startswith('a')                                    asked of the rows that the ranges leave

Entries with ranges of the same two fields stand in one list: those of one value of the first field in the order of the lower bound
of the second one, so that a row walks over those only of which both may be true. Further ranges are compared on the way. Each entry
has a lifetime in LE. A kernel reads and writes them: `afa.rules.index_kernel`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from afa.compiled.kernel_arrays import native_main
from afa.compiled.memory import address
from afa.conditions.condition import Condition
from afa.expression.nodes import FLIPPED, Compare, Const, Expr, FieldRead, In, IsNone, Not, Or, conjunction
from afa.expression.splitting import clauses
from afa.expression.text import text_of_expr
from afa.rewrite.vectors import ColumnCondition
from afa.rules import index_kernel as k
from afa.rules.units import Units
from afa.schema import Field, Schema
from afa.state.states import Column
from punctuation.time import FOREVER

LOW, HIGH = k.MISSING + 1, FOREVER
"""The least and the largest word but that of None and of NaN, which no range holds."""
MOST = 64
"""So many alternatives of one condition are entries of their own; beyond, it is asked as a whole."""
FEW = 64
"""How many slots there are at least."""
MANY, TIMES = 32, 2
"""Of `IndexControl`."""
NOTHING = (HIGH, LOW)
Range = tuple[int, int]


@functools.cache
def loaded() -> Callable[[Any, int, int], int]:
    """Return the kernel: ``main(memory, what, n)``."""
    return native_main(k.main, k.__name__, "afa.rules.unit_kernel", "afa.rules.unit_layout")


class Alternative(NamedTuple):
    """An alternative of a condition: ranges of words by field, and what is asked beside."""

    ranges: tuple[tuple[str, Range], ...]
    residual: Expr | None


class RuleIndex:
    """Entries of rules, by number; each sets a bit of its rule."""

    arrays = ("m", "t", "e", "d", "k", "w", "o", "r", "u", "v", "y")

    def __init__(self, event: Schema, units: Units) -> None:
        self.event, self._units = event, units
        self._fields = {field.name: field for field in event.fields}
        self._places = {name: i for i, name in enumerate(self._fields)}
        self._codes: dict[str, dict[str, int]] = {}  # of the texts that conditions name, by field
        self._seen: dict[str, set[int]] = {}  # the single values that conditions name, by field
        self._read: dict[str, None] = {}  # the fields that entries ask
        self._residuals: list[ColumnCondition] = []
        self._numbers: dict[Expr, int] = {}
        self._asked: dict[int, list[Expr]] = {}
        self._of: dict[int, list[tuple[int, int, int]]] = {}  # of each rule its entries: list, value, place
        self._lists: dict[tuple[Any, ...], int] = {}
        self._free: dict[int, list[int]] = {0: []}  # free places: of an entry, and of so many further conditions
        self._top = [0, 1]  # the first place of an entry, and of a further condition, that was never taken
        self.m = np.zeros(k.IndexControl.SIZE, np.int64)
        widths = k.IndexSlot.SIZE, k.IndexEntry.SIZE, k.ListWords.SIZE, 3, k.RuleWords.SIZE
        self.t, self.e, self.d, self.k, self.r = (np.zeros((FEW, width), np.int64) for width in widths)
        self._one = np.zeros((max(2, len(self._fields) + 1), 1), np.int64)  # the words of an entry's slot, or of a single row
        self._rows, self._count = self._one, 0
        self.w, self.o = self._one, np.empty((k.PairWords.SIZE, FEW), np.int64)
        self._placed: tuple[Any, ...] = (None,) * len(self.arrays)  # whose addresses are known
        self.m[k.IndexControl.le], self.m[k.IndexControl.many], self.m[k.IndexControl.times] = len(self._fields), MANY, TIMES

    def _call(self, what: int, n: int) -> int:
        self.m[k.IndexControl.slots], self.m[k.IndexControl.room] = len(self.t), self.o.shape[1]
        self.u, self.v, self.y = self._units.m, self._units.t, self._units.y
        arrays: Any = (self.m, self.t, self.e, self.d, self.k, self.w, self.o, self.r, self.u, self.v, self.y)
        if not all(map(is_, arrays, self._placed)):
            self.addresses = tuple(word for each in arrays for word in (address(each), each.shape[1] if each.ndim > 1 else 0))
            self._placed = arrays
        return loaded()(self, what, n)

    def add(
        self, rule: int, conditions: Sequence[Expr], since: int, until: int, whole: bool = False, begins: int = 0, key: int = 0
    ) -> None:
        """Add the conditions of a rule, one for each bit, for events with LEs in ``[since, until)``.

        ``whole``: it sees each event; ``begins``: the bits that begin something; ``key``: which key it has.
        """
        loaded()  # before anything must be undone by it
        self._of[rule] = []
        self.r = reaching(self.r, rule)
        self.r[rule, k.RuleWords.key], self.r[rule, k.RuleWords.first] = len(self._fields) + 1 + key, k.NONE
        if whole:
            self._put(Alternative((), None), rule, 0, since, until, False)
        for bit, condition in enumerate(conditions):
            for entry in self._entries(condition):
                if not entry.ranges:
                    self._asked.setdefault(rule, []).append(condition)
                self._put(entry, rule, 1 << bit, since, until, begins >> bit & 1 == 1)

    def end(self, rule: int, until: int) -> None:
        """Let the entries of a rule serve events with LEs below ``until``."""
        for _, _, place in self._of[rule]:
            self.e[place, k.IndexEntry.until] = until

    def drop(self, rules: Collection[int]) -> None:
        """Forget the entries of rules. Can be repeated."""
        for rule in rules:
            entries = self._of.get(rule, [])
            if rule < len(self.r):
                self.r[rule, k.RuleWords.first] = k.NONE
            while entries:
                number, value, place = entries[-1]
                self._slot(number, value, k.CUT, place)
                entries.pop()
                first, count = self.e[place, [k.IndexEntry.checks, k.IndexEntry.count]].tolist()
                self._free[0].append(place)
                if count:
                    self._free.setdefault(count, []).append(first)
            self._of.pop(rule, None)
            self._asked.pop(rule, None)

    def asked(self, rule: int) -> list[str]:
        """The conditions of a rule that no value leads to: they are asked of each event."""
        return [text_of_expr(condition) for condition in self._asked.get(rule, ())]

    # -- conditions as ranges --------------------------------------------------------------------------------------------------

    def _entries(self, condition: Expr) -> list[Alternative]:
        if isinstance(condition, Or) and len(condition.items) <= MOST:
            return [entry for item in condition.items for entry in self._entries(item)]
        choices: list[list[tuple[str, Range]]] = []
        rest: list[Expr] = []
        for clause in clauses(condition):
            found = self._ranges(clause)
            if found is None or math.prod(map(len, choices)) * len(found[1]) > MOST:
                rest.append(clause)
            else:
                choices.append([(found[0], one) for one in found[1]])
        residual = conjunction(rest) if rest else None
        entries = []
        for chosen in product(*choices):
            met: dict[str, Range] = {}
            for name, (low, high) in chosen:
                old = met.get(name, (LOW, HIGH))
                met[name] = max(low, old[0]), min(high, old[1])
            if all(low <= high for low, high in met.values()):
                entries.append(Alternative(tuple(met.items()), residual))
        return entries

    def _ranges(self, clause: Expr) -> tuple[str, list[Range]] | None:
        """Returns the field that a clause speaks of, and the ranges of words of which it is true; None: no ranges say it."""
        match clause:
            case FieldRead("e", name) if self._fields[name].type is bool:
                return name, [(1, 1)]
            case Not(FieldRead("e", name)) if self._fields[name] == (name, bool, False):
                return name, [(0, 0)]
            case Not(IsNone(FieldRead("e", name))) if self._fields[name].type is not float:
                return name, [(LOW, HIGH)]
            case Compare(op, FieldRead("e", name), Const(value)) if op != "!=":
                return self._compared(name, op, value)
            case Compare(op, Const(value), FieldRead("e", name)) if op != "!=":
                return self._compared(name, FLIPPED[op], value)
            case In(FieldRead("e", name), items):
                found = [self._compared(name, "==", item.value) for item in items]
                return None if None in found else (name, [one for each in found if each for one in each[1]])
        return None

    def _compared(self, name: str, op: str, value: Any) -> tuple[str, list[Range]] | None:
        kind = self._fields[name].type
        if kind is str:
            if op != "==" or type(value) is not str:
                return None
            codes = self._codes.setdefault(name, {})
            code = codes.setdefault(value, len(codes) + 1)
            return name, [(code, code)]
        if type(value) not in (int, float, bool) or value != value:
            return None
        if kind is float:
            if type(value) is not float and (abs(value) > 2**53):
                return None
            word = int(float_words(np.array([float(value)]))[0])
            low, high = (word + (op == ">"), word - (op == "<"))
        else:
            if math.isinf(value) or abs(value) > 2**62:
                return None
            whole = value == int(value)
            low = math.floor(value) + 1 if op == ">" else math.ceil(value)
            high = math.ceil(value) - 1 if op == "<" else math.floor(value)
            if op == "==" and not whole:
                return name, [NOTHING]
        return name, [(low if op in (">", ">=", "==") else LOW, high if op in ("<", "<=", "==") else HIGH)]

    # -- entries -----------------------------------------------------------------------------------------------------------------

    def _put(self, entry: Alternative, rule: int, bit: int, since: int, until: int, begins: bool) -> None:
        ranges = dict(entry.ranges)
        single = [name for name, (low, high) in ranges.items() if low == high]
        for name in single:
            self._seen.setdefault(name, set()).add(ranges[name][0])
        equal = max(single, key=lambda name: len(self._seen[name]), default=None)
        wide = next((name for name in ranges if name not in single), None)
        low, high = ranges[wide] if wide else (0, 0)
        turned = low == LOW and high != HIGH
        bounds = (~high, ~low) if turned else (low, high)
        checks = [(self._places[name], *ranges[name]) for name in ranges if name not in (equal, wide)]
        asks = k.NONE if entry.residual is None else self._residual(entry.residual)
        number, value = self._list(equal, wide, turned, begins), ranges[equal][0] if equal else 0
        place, first = self._place(0, 1), self._place(len(checks), len(checks)) if checks else 0
        self.e, self.k = reaching(self.e, place), reaching(self.k, first + len(checks))
        also = self.r[rule, k.RuleWords.first]
        self.e[place] = k.NONE, *bounds, since, until, rule, bit, asks, first, len(checks), number, value, also
        for i, check in enumerate(checks, first):
            self.k[i] = check
        self._read.update(dict.fromkeys(ranges))
        if 2 * self.m[k.IndexControl.used] >= len(self.t):
            self._refill()
        self._of[rule].append((number, value, place))
        self._slot(number, value, k.ADD, place)
        self.r[rule, k.RuleWords.first] = place

    def _slot(self, number: int, value: int, what: int, place: int) -> None:
        self.w = self._one
        self.w[0, 0], self.w[1, 0] = number, value
        self._call(what, place)

    def _place(self, kind: int, count: int) -> int:
        """Return a free place of an entry (0), or of so many further conditions."""
        free = self._free.get(kind)
        if free:
            return free.pop()
        top = self._top[kind > 0]
        self._top[kind > 0] += count
        return top

    def _list(self, *fields: Any) -> int:
        """Return the number of the list of entries that ask these fields, from 1 on."""
        number = self._lists.setdefault(fields, len(self._lists) + 1)
        self.d = reaching(self.d, number - 1)
        self.d[number - 1] = *(k.NONE if name is None else self._places[name] for name in fields[:2]), *fields[2:]
        self.m[k.IndexControl.lists] = len(self._lists)
        return number

    def _refill(self) -> None:
        """Make the table of slots anew, without those that no entry has any more."""
        old, room = self.t, self.o
        used = (old[:, k.IndexSlot.name] != 0) & (old[:, k.IndexSlot.first] != k.NONE)
        self.t = np.zeros((max(FEW, 1 << int(4 * used.sum()).bit_length()), k.IndexSlot.SIZE), np.int64)
        self.m[k.IndexControl.used], self.o = 0, np.ascontiguousarray(old.T)
        self._call(k.REFILL, len(old))
        self.o = room

    def _residual(self, expr: Expr) -> int:
        number = self._numbers.get(expr)
        if number is None:
            number = self._numbers[expr] = len(self._residuals)
            self._residuals.append(ColumnCondition(Condition(text_of_expr(expr), self.event)))
        return number

    # -- rows --------------------------------------------------------------------------------------------------------------------

    def read(self, columns: Mapping[str, Column], le: Any, keys: Sequence[Any] = ()) -> None:
        """Take rows, for `pairs`; ``keys``: for each key a word of each row."""
        first, n = len(self._fields), len(le)
        room = self._rows.shape
        if room[0] != first + 1 + len(keys) or room[1] != max(n, FEW):  # that of a few rows stays where it is
            self._rows = np.zeros((first + 1 + len(keys), max(n, FEW)), np.int64)
        self._count, rows, self.m[k.IndexControl.keys] = n, self._rows, len(keys)
        rows[first, :n] = le
        for i, words in enumerate(keys, first + 1):
            rows[i, :n] = words
        for name in self._read:
            rows[self._places[name], :n] = self._words(columns[name], self._fields[name])

    def pairs(self, columns: Mapping[str, Column], which: int = k.ALL) -> tuple[Any, Any, Any]:
        """Returns pairs of the rows, in their order: the row, the rule, and its bits that are true of the row."""
        self.w, self.m[k.IndexControl.which] = self._rows, which
        while self._call(k.MEET, self._count) < 0:
            self.o = np.empty((k.PairWords.SIZE, 2 * self.o.shape[1]), np.int64)
        n, asking = self.m[[k.IndexControl.pairs, k.IndexControl.asking]].tolist()
        row, rule, bits = self.o[:3, :n].copy()
        if not asking:
            return row, rule, bits
        more = self._true(self.o[:, self.o.shape[1] - asking :], columns)
        row, rule, bits = (np.concatenate(both) for both in zip((row, rule, bits), more))
        order = np.lexsort((rule, row))
        row, rule, bits = row[order], rule[order], bits[order]
        first = np.flatnonzero(np.diff(row, prepend=-1) | np.diff(rule, prepend=-1))
        return row[first], rule[first], np.bitwise_or.reduceat(bits, first) if len(first) else bits

    def _true(self, asked: Any, columns: Mapping[str, Column]) -> Any:
        """Returns those pairs of which is true what is asked beside."""
        asks, true = asked[k.PairWords.asks], np.zeros(asked.shape[1], np.bool_)
        for number in np.unique(asks).tolist():
            here = np.flatnonzero(asks == number)
            some = {name: column.moved(asked[k.PairWords.row, here]) for name, column in columns.items()}
            true[here] = np.asarray(self._residuals[number].truths(some, len(here)), np.bool_)
        return asked[:3, true]

    def _words(self, column: Column, field: Field) -> Any:
        if field.type is str:
            codes = self._codes.get(field.name, {})
            table = np.array([codes.get(text, 0) for text in column.texts or ()] or [0], np.int64)
            found = table[column.values]
        elif field.type is float:
            found = np.where(np.isnan(column.values), k.MISSING, float_words(column.values))
        else:
            found = np.maximum(column.values.astype(np.int64), LOW)
        return found if column.present is None else np.where(column.present, found, k.MISSING)


def reaching(array: Any, place: int) -> Any:
    """Returns an array that has a place: itself, or a copy with room."""
    if place < len(array):
        return array
    return np.concatenate([array, np.zeros((max(len(array), place + 1 - len(array)), *array.shape[1:]), np.int64)])


def float_words(values: Any) -> Any:
    """Returns floats as int64 in their order.

    >>> float_words(np.array([-1.5, -0.0, 0.0, 2.0])).tolist() == sorted(float_words(np.array([2.0, 0.0, -1.5, 0.0])).tolist())
    True
    """
    words = (np.asarray(values, np.float64) + 0.0).view(np.int64)
    return np.where(words >= 0, words, words ^ FOREVER)
