"""From events to the rules that they concern: which conditions on single events are true, for many rules at once.

    condition   e.type == 'A' and e.x > 3 and e.who.startswith('a')
    words       type: [code of 'A', same]   x: [above 3, largest]       values as int64 in their order, a range of each field
    residual    e.who.startswith('a')                                    asked of the rows that the ranges leave

Entries with ranges of the same two fields stand in one list, in the order of the first value and then of the lower bound, so that a
row is looked up by two searches. Further ranges are compared for the rows found. Each entry has a lifetime in LE.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from afa.conditions.condition import Condition
from afa.expression.nodes import FLIPPED, Compare, Const, Expr, FieldRead, In, IsNone, Not, Or, conjunction
from afa.expression.splitting import clauses
from afa.expression.text import text_of_expr
from afa.rewrite.vectors import ColumnCondition
from afa.schema import Field, Schema
from afa.state.states import Column
from punctuation.time import BEGINNING, FOREVER

MISSING, LOW, HIGH = BEGINNING, BEGINNING + 1, FOREVER
"""The word of None and of NaN, which no range holds; the least and the largest of others."""
MOST = 64
"""So many alternatives of one condition are entries of their own; beyond, it is asked as a whole."""
NOTHING = (HIGH, LOW)
Range = tuple[int, int]


class IndexEntry(NamedTuple):
    """An alternative of a condition: ranges of words by field, and what is asked beside."""

    ranges: tuple[tuple[str, Range], ...]
    residual: Expr | None


class RuleIndex:
    """Entries of rules, by number; each sets a bit of its rule."""

    def __init__(self, event: Schema) -> None:
        self.event = event
        self._fields = {field.name: field for field in event.fields}
        self._codes: dict[str, dict[str, int]] = {}  # of the texts that conditions name, by field
        self._lists: dict[tuple[str | None, str | None, bool], EntryList] = {}
        self._seen: dict[str, set[int]] = {}  # the single values that conditions name, by field
        self._residuals: list[ColumnCondition] = []
        self._numbers: dict[Expr, int] = {}
        self._asked: dict[int, list[Expr]] = {}
        self._of: dict[int, list[tuple[EntryList, int]]] = {}

    def add(self, rule: int, conditions: tuple[Expr, ...], since: int, until: int, whole: bool = False) -> None:
        """Add the conditions of a rule, one for each bit, for LEs in ``[since, until)``; ``whole``: it sees each event."""
        self._of[rule] = []
        if whole:
            self._put(IndexEntry((), None), rule, 0, since, until)
        for bit, condition in enumerate(conditions):
            for entry in self._entries(condition):
                if not entry.ranges:
                    self._asked.setdefault(rule, []).append(condition)
                self._put(entry, rule, 1 << bit, since, until)

    def end(self, rule: int, until: int) -> None:
        """Let the entries of a rule serve events with LEs below ``until``."""
        for entries, place in self._of[rule]:
            entries.rows[place][UNTIL] = until
            entries.stale = True

    def drop(self, rules: set[int]) -> None:
        """Forget the entries of rules."""
        for entries in self._lists.values():
            entries.rows = [row for row in entries.rows if row[RULE] not in rules]
            entries.stale = True
        for rule in rules:
            self._of.pop(rule, None)
            self._asked.pop(rule, None)
        self._of = {rule: [] for rule in self._of}
        for entries in self._lists.values():
            for place, row in enumerate(entries.rows):
                self._of[row[RULE]].append((entries, place))

    def asked(self, rule: int) -> list[str]:
        """The conditions of a rule that no value leads to: they are asked of each event."""
        return [text_of_expr(condition) for condition in self._asked.get(rule, ())]

    # -- conditions as ranges --------------------------------------------------------------------------------------------------

    def _entries(self, condition: Expr) -> list[IndexEntry]:
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
                entries.append(IndexEntry(tuple(met.items()), residual))
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

    def _put(self, entry: IndexEntry, rule: int, bit: int, since: int, until: int) -> None:
        ranges = dict(entry.ranges)
        single = [name for name, (low, high) in ranges.items() if low == high]
        for name in single:
            self._seen.setdefault(name, set()).add(ranges[name][0])
        equal = max(single, key=lambda name: len(self._seen[name]), default=None)
        wide = next((name for name in ranges if name not in single), None)
        low, high = ranges.get(wide, (0, 0)) if wide else (0, 0)
        turned = low == LOW and high != HIGH
        entries = self._lists.setdefault((equal, wide, turned), EntryList(equal, wide, turned))
        checks = tuple((name, *ranges[name]) for name in ranges if name not in (equal, wide))
        asks = -1 if entry.residual is None else self._residual(entry.residual)
        bounds = (~high, ~low) if turned else (low, high)
        self._of[rule].append((entries, len(entries.rows)))
        entries.rows.append([ranges[equal][0] if equal else 0, *bounds, since, until, rule, bit, asks, checks])
        entries.stale = True

    def _residual(self, expr: Expr) -> int:
        number = self._numbers.get(expr)
        if number is None:
            number = self._numbers[expr] = len(self._residuals)
            self._residuals.append(ColumnCondition(Condition(text_of_expr(expr), self.event)))
        return number

    # -- rows --------------------------------------------------------------------------------------------------------------------

    def pairs(self, columns: Mapping[str, Column], le: Any) -> tuple[Any, Any, Any]:
        """Returns pairs in the order of rows: the row, the rule, and its bits that are true of the row."""
        words: dict[str | None, Any] = {None: np.zeros(len(le), np.int64)}
        found = []
        for entries in self._lists.values():
            for name in entries.fields:
                if name not in words:
                    words[name] = self._words(columns[name], self._fields[name])
            found.append(self._met(entries, words, columns, le))
        row, rule, bits = (np.concatenate(part) if part else np.empty(0, np.int64) for part in (list(zip(*found)) or [()] * 3))
        if not len(row):
            return row, rule, bits
        order = _order(row, rule)
        row, rule, bits = row[order], rule[order], bits[order]
        first = np.concatenate([[True], (row[1:] != row[:-1]) | (rule[1:] != rule[:-1])])
        if first.all():
            return row, rule, bits
        places = np.flatnonzero(first)
        return row[places], rule[places], np.bitwise_or.reduceat(bits, places)

    def _words(self, column: Column, field: Field) -> Any:
        if field.type is str:
            codes = self._codes.get(field.name, {})
            table = np.array([codes.get(text, 0) for text in column.texts or ()] or [0], np.int64)
            found = table[column.values]
        elif field.type is float:
            found = np.where(np.isnan(column.values), MISSING, float_words(column.values))
        else:
            found = np.maximum(column.values.astype(np.int64), LOW)
        return found if column.present is None else np.where(column.present, found, MISSING)

    def _met(self, entries: EntryList, words: Mapping[str | None, Any], columns: Mapping[str, Column], le: Any) -> Any:
        """Returns row, rule and bit of each entry of a list that is true of a row."""
        row, place = entries.found(words)
        e = entries.sorted
        kept = (e[place, SINCE] <= le[row]) & (le[row] < e[place, UNTIL])
        row, place = row[kept], place[kept]
        for name, low, high in entries.checked:
            word = words[name][row]
            kept = (low[place] <= word) & (word <= high[place])
            row, place = row[kept], place[kept]
        asks = e[place, ASKS]
        if (asks >= 0).any():
            true = asks < 0
            for number in np.unique(asks[~true]).tolist():
                here = np.flatnonzero(asks == number)
                some = {name: column.moved(row[here]) for name, column in columns.items()}
                true[here] = np.asarray(self._residuals[number].truths(some, len(here)), np.bool_)
            row, place = row[true], place[true]
        return row, e[place, RULE], e[place, BIT]


EQUAL, FROM, TO, SINCE, UNTIL, RULE, BIT, ASKS, CHECKS = range(9)


class EntryList:
    """Entries with a single value of one field and a range of another one; ``turned``: its upper bound is looked for."""

    def __init__(self, equal: str | None, wide: str | None, turned: bool) -> None:
        self.equal, self.wide, self.turned = equal, wide, turned
        self.rows: list[list[Any]] = []
        self.stale = True
        self.sorted: Any = None
        self.checked: list[tuple[str, Any, Any]] = []

    @property
    def fields(self) -> list[str]:
        """The fields whose words are looked at."""
        more = [name for row in self.rows for name, _, _ in row[CHECKS]] if self.stale else [name for name, _, _ in self.checked]
        return list(dict.fromkeys([*(name for name in (self.equal, self.wide) if name), *more]))

    def _sort(self) -> None:
        e = np.array([row[:CHECKS] for row in self.rows], np.int64).reshape(len(self.rows), CHECKS)
        order = np.lexsort((e[:, FROM], e[:, EQUAL]))
        self.sorted = e = e[order]
        self.checked = []
        for name in dict.fromkeys(name for row in self.rows for name, _, _ in row[CHECKS]):
            bounds = np.full((len(e), 2), (LOW, HIGH), np.int64)
            bounds[:, 0] = MISSING  # where nothing is asked
            for place, i in enumerate(order.tolist()):
                for other, low, high in self.rows[i][CHECKS]:
                    if other == name:
                        bounds[place] = low, high
            self.checked.append((name, bounds[:, 0], bounds[:, 1]))
        self._values, self._first = np.unique(e[:, EQUAL], return_index=True)
        self._bounds = np.unique(e[:, FROM])
        ranks = np.searchsorted(self._bounds, e[:, FROM]) + 1
        self._places = np.searchsorted(self._values, e[:, EQUAL]) * (len(self._bounds) + 1) + ranks
        self.stale = False

    def found(self, words: Mapping[str | None, Any]) -> tuple[Any, Any]:
        """Returns rows, in order, and the places of entries whose value and range a row meets."""
        if self.stale:
            self._sort()
        word = words[self.wide]
        bound = ~word if self.turned else word
        there = np.ones(len(word), np.bool_) if self.wide is None else word != MISSING
        value = words[self.equal]
        of = np.minimum(np.searchsorted(self._values, value), max(len(self._values) - 1, 0))
        if not len(self._values):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        rows = np.flatnonzero(there & (self._values[of] == value))
        of, bound = of[rows], bound[rows]
        ranks = np.searchsorted(self._bounds, bound, "right")
        count = np.searchsorted(self._places, of * (len(self._bounds) + 1) + ranks, "right") - self._first[of]
        row = np.repeat(rows, count)
        ends = np.cumsum(count)
        place = np.arange(len(row)) + np.repeat(self._first[of] - ends + count, count)
        kept = self.sorted[place, TO] >= np.repeat(bound, count)
        return row[kept], place[kept]


def _order(row: Any, rule: Any) -> Any:
    """Returns the order of pairs by row, then by rule; of small numbers by counting, which takes a fifth of the time."""
    if max(int(row.max()), int(rule.max())) >= 1 << 16:
        return np.lexsort((rule, row))
    order = np.argsort(rule.astype(np.uint16), kind="stable")
    return order[np.argsort(row.astype(np.uint16)[order], kind="stable")]


def float_words(values: Any) -> Any:
    """Returns floats as int64 in their order.

    >>> float_words(np.array([-1.5, -0.0, 0.0, 2.0])).tolist() == sorted(float_words(np.array([2.0, 0.0, -1.5, 0.0])).tolist())
    True
    """
    words = (np.asarray(values, np.float64) + 0.0).view(np.int64)
    return np.where(words >= 0, words, words ^ FOREVER)
