"""Pairs of an event and a rule as the operator of a shape takes them, and its matches: columns, without a detour by tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.errors import ChangeError
from afa.io.answer import as_arrow, key_parts
from afa.operator.call import Core
from afa.rules.concerned import Pairs
from afa.rules.event_rows import arrow_of
from afa.rules.index import reaching
from afa.rules.shape import RuleParts, value_name
from afa.schema import Field, Schema
from afa.state.key_columns import KeyColumn
from afa.state.plain import Unfit
from afa.state.states import Column
from punctuation.door import arrow_type
from punctuation.promise import Punctuation

FEW = 16
"""So many pairs go as changes: for them columns cost more."""


class MatchRows(NamedTuple):
    """Changes of matches of rules of one shape, as Arrow columns or lists; ``number``: an array, which rule each is of."""

    number: Any
    keys: list[Any]
    fields: list[Any]
    le: Any
    re: Any
    diff: Any


class PairBatch(NamedTuple):
    """Pairs of one shape. ``fields``: of the pair's event; ``keys``: what makes its key, but for ``number``, the rule's."""

    fields: dict[str, Column]
    keys: list[tuple[Column, Field]]
    number: Any
    le: Any
    re: Any
    diff: Any

    def of(self, numbers: Any) -> PairBatch:
        """Return the pairs of some rules."""
        kept = np.flatnonzero(np.isin(self.number, numbers))
        fields = {name: column.moved(kept) for name, column in self.fields.items()}
        keys = [(column.moved(kept), field) for column, field in self.keys]
        return PairBatch(fields, keys, self.number[kept], self.le[kept], self.re[kept], self.diff[kept])

    def step(self, core: Core, promised: int | None) -> Any:
        """Return the pairs in the form of `Core.take`; ``promised``: the watermark right behind them."""
        if len(self.number) <= FEW:
            return list(self._items(core))
        try:
            keys = [self.number, *(_plain(*key) for key in self.keys)]
            found = core.encoded(self.fields, {"le": self.le, "re": self.re, "diff": self.diff}, keys)
        except (Unfit, UnicodeEncodeError):  # the latter of text that no UTF-8 holds
            return list(self._items(core))
        return found if promised is None else found.promised(promised)

    def _items(self, core: Core) -> Iterator[Any]:
        schema = core.automaton.event_schema
        assert schema is not None
        make = schema.cls._make  # type: ignore[attr-defined]
        listed = [self.fields[field.name].items(field) for field in schema.fields]
        keys = zip(self.number.tolist(), *(column.items(field) for column, field in self.keys))
        le, re, diff = (each.tolist() for each in (self.le, self.re, self.diff))
        for i, (record, key) in enumerate(zip(zip(*listed), keys)):
            yield "event", Change(make(record), le[i], re[i], diff[i], key), key


def _plain(column: Column, field: Field) -> Any:
    return column.values if column.present is None and field.type in (int, float) else arrow_of(column, field)


class PairMaker:
    """What rules add to their pairs, by number: their group, and constants as words."""

    def __init__(self, event: Schema) -> None:
        self.known = {field.name: field for field in event.fields}
        self._of = np.zeros((64, 1), np.int64)

    def add(self, number: int, parts: RuleParts, group: int) -> None:
        """Take a rule."""
        words = [group, *(value if type(value) is int else int(np.float64(value).view(np.int64)) for value in parts.constants)]
        if len(words) > self._of.shape[1]:
            self._of = np.pad(self._of, ((0, 0), (0, len(words) - self._of.shape[1])))
        self._of = reaching(self._of, number)
        self._of[number, : len(words)] = words

    def batches(self, pairs: Pairs, groups: list[Any]) -> dict[int, PairBatch]:
        """Return the pairs of each group, by its place."""
        of = self._of[pairs.rule, 0]
        found = np.flatnonzero(np.bincount(of)).tolist() if len(of) else []
        return {
            place: self._batch(pairs if len(found) == 1 else pairs.at(np.flatnonzero(of == place)), groups[place].shape)
            for place in found
        }

    def _batch(self, pairs: Pairs, shape: Any) -> PairBatch:
        rows, row, number, bits, end = pairs
        columns = rows.columns()
        fields = {"b": Column(bits), "h": Column(rows.digests()[row])}
        fields |= {value_name(field.name): columns[field.name].moved(row) for field in shape.values}
        for i, kind in enumerate(shape.constants):
            words = self._of[number, i + 1]
            fields[f"c{i}"] = Column(words if kind is int else words.view(np.float64))
        keys = [(columns[name].moved(row), self.known[name]) for name in shape.key]
        return PairBatch(fields, keys, number, rows.le[row], end, rows.diff[row])


def matches(core: Core, parts: list[Any], keys: list[Field], ends: Callable[[int], int] | None) -> MatchRows | None:
    """Carry out pairs and watermarks; return the changes of matches. None: there are none.

    ``keys``: the fields of keys; ``ends``: of a rule by number, where time-outs of it may fire behind.
    """
    steps = []
    for part, after in zip(parts, [*parts[1:], None]):
        if isinstance(part, Punctuation):
            steps.append(("event", part, None))
        else:
            steps.append(part.step(core, after.t if isinstance(after, Punctuation) else None))
    core.take(steps)
    if not core.engine.cut():
        return None
    rows = core.logged()
    if not len(rows.le):
        return None
    if ends is not None:
        rows = rows.at(np.flatnonzero(rows.le < np.array([ends(key[0]) for key in rows.keys])))  # type: ignore[index]
    assert core.keys is not None
    first, *others = key_parts(rows.keys, core.keys)
    number = np.array(getattr(first, "values", first), np.int64)
    of_key, fields = ([*map(_written, *part)] for part in ((others, keys), (rows.fields, core.shown.fields)))
    return MatchRows(number, of_key, fields, rows.le, rows.re, rows.diff)


def _written(column: Any, field: Field) -> Any:
    """Return a column of matches as Arrow has it; a list, where text is none that Arrow holds, which only a table needs."""
    try:
        return as_arrow(column, arrow_type(field.type), field.name)
    except ChangeError:
        return column.tolist() if isinstance(column, KeyColumn) else list(column)
