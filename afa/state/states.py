"""The states of keys as columns, the same for every engine. They hold only what can't be computed from the rest.

    keys       key                             in an order that the keys alone decide
    heads      changes, rows, LE, number, RE   for each key: how many changes and rows it has; its cover's LE; where numbers are
                                               gapless, its cover's number and the RE of its event, else 0
    rows       start, m, state | register..    cover: the list of the step before the punctuation ([AFA10] App. C.1)
    changes    LE, RE, copies | payload..      events; copies < 0: retractions that wait for their insertion
    pruned     steps with their lists          for keys that punctuations with conditions have thinned out: what can't be derived

The rows of a key stand side by side, in the order of the keys. The partial matches and the matches in force follow from these
columns, the punctuation that was final then (`States.final`) and the arcs in force. A key without changes and rows is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.schema import NAN, Field, Schema
from afa.state.canonical import in_order, order_of, permuted
from afa.state.key_columns import KeyColumns

ANYTHING = Field("payload", None, True)
CHANGES, ROWS, COVER, NUMBER, OVER = 0, 1, 2, 3, 4
START, M, STATE = 0, 1, 2
LE, RE, COPIES = 0, 1, 2


class Column(NamedTuple):
    """The values of one field."""

    values: Any  # an array of float64, or of int64, for bool and str too; or a list, of a field that holds anything
    present: Any = None  # for an optional field: which values are not None
    texts: list[str] | None = None  # the strings that ``values`` numbers

    @classmethod
    def of(cls, items: Sequence[Any], field: Field) -> Column:
        if field.type is None:
            return cls(list(items))
        present = None
        if field.optional:
            present = np.array([item is not None for item in items], np.bool_)
            nothing = field.type()
            items = [nothing if item is None else item for item in items]
        if field.type is str:
            texts = in_order(set(items))
            numbers = {text: i for i, text in enumerate(texts)}
            return cls(np.array([numbers[item] for item in items], np.int64), present, texts)
        return cls(np.array(items, np.float64 if field.type is float else np.int64), present)

    def items(self, field: Field) -> list[Any]:
        if field.type is None:
            return list(self.values)
        items = self.values.tolist()
        if field.type is float:
            items = [NAN if item != item else item for item in items]
        elif field.type is bool:
            items = list(map(bool, items))
        elif self.texts is not None:
            items = list(map(self.texts.__getitem__, items))
        return items if self.present is None else [item if there else None for item, there in zip(items, self.present.tolist())]

    def take(self, places: Any) -> Column:
        """Return some of the values, with only the texts that these use."""
        found = self.moved(places)
        return (
            found
            if self.texts is None
            else found._replace(**dict(zip(("values", "texts"), sorted_texts(found.values, self.texts))))
        )

    def moved(self, places: Any) -> Column:
        """Return the values at places, with all texts."""
        if isinstance(self.values, list):
            return Column(permuted(self.values, places))
        return Column(self.values[places], None if self.present is None else self.present[places], self.texts)

    @property
    def sort_keys(self) -> list[Any]:
        """Return arrays by which the values can be sorted, the most significant one first."""
        if isinstance(self.values, list):
            return [np.unique([repr(value) for value in self.values], return_inverse=True)[1]]
        values = self.values.view(np.int64)  # floats too: any order will do
        return [values] if self.present is None else [self.present, values]


class Pruned(NamedTuple):
    """First steps of a key, up to the last one whose list does not follow from the one before ([AFA10] App. F.2): plain data."""

    key: int  # its number among the keys
    promised: int  # no event of the key comes before this instant
    last: int | None  # the LE of the last such step; one more follows in ``steps``, if there is one
    steps: list[Any]  # as `given_steps` makes them


def given_steps(steps: Iterable[tuple[int, Iterable[Any], Iterable[Any]]], plain: Callable[[Any], list[Any]]) -> list[Any]:
    """Returns steps with their lists in the form that `Pruned` has them in. O(rows of the lists).

    They are given in order, as (LE, partial matches, events): the same object stands for a partial match at all steps in a row; an
    event is ``[RE, copies, [payload..]]``; ``plain`` returns a partial match as ``[start, m, state, [register..]]``. Of each comes
    ``[LE, [[start, m, state, [register..], until]..], events]``: the partial matches that are not in the list before, and the LE of
    the first step at which they are there no longer; None: they are in the last list.

    >>> given_steps([(1, ["p"], []), (2, ["p", "q"], []), (4, ["q"], [])], lambda p: [0, 9, p, []])
    [[1, [[0, 9, 'p', [], 4]], []], [2, [[0, 9, 'q', [], None]], []], [4, [], []]]
    """
    known: dict[int, tuple[Any, str, list[Any]]] = {}  # by the object's id; with the object, so that no other has it
    standing: dict[str, list[Any]] = {}
    found: list[Any] = []
    for le, rows, events in steps:
        here: dict[str, list[Any]] = {}
        for p in rows:
            if id(p) not in known:
                row = plain(p)
                known[id(p)] = p, repr(row), row
            _, text, row = known[id(p)]
            here[text] = row
        for text in [text for text in standing if text not in here]:
            standing.pop(text)[-1] = le
        new = {text: [*here[text], None] for text in sorted(here) if text not in standing}
        standing |= new
        found.append([le, list(new.values()), sorted(events, key=repr)])
    return found


class States(NamedTuple):
    """The states of some keys; see the head of this module."""

    keys: KeyColumns
    final: int  # the punctuation that was final. What time-outs before it have made is part of the covers
    heads: Any  # of shape (5, keys)
    names: list[str]  # the states that ``rows`` numbers
    rows: Any  # of shape (3, n)
    registers: list[Column]
    changes: Any  # of shape (3, n)
    payloads: list[Column]  # one for each field; a single one, without a schema
    # Of keys that have such steps; the events of their other steps stand in ``changes``. Never written to.
    pruned: list[Pruned] = []  # noqa: RUF012

    @property
    def covered(self) -> Any:
        """Which keys have a cover; an array of bools. Where numbers are gapless, one may have no partial matches."""
        return (self.heads[ROWS] > 0) | (self.heads[OVER] > self.heads[COVER])

    @property
    def held(self) -> Any:
        """Return which keys have any state, as an array of bools."""
        found: Any = self.covered | (self.heads[CHANGES] != 0)
        found[[part.key for part in self.pruned if part.steps]] = True
        return found

    def only(self, wanted: Any) -> States:
        """Return the states of some keys; ``wanted`` is an array of bools."""
        if wanted.all():
            return self
        places = [np.flatnonzero(np.repeat(wanted, self.heads[which])) for which in (ROWS, CHANGES)]
        return States(
            self.keys.take(wanted),
            self.final,
            self.heads[:, wanted],
            self.names,
            self.rows[:, places[0]],
            [column.take(places[0]) for column in self.registers],
            self.changes[:, places[1]],
            [column.take(places[1]) for column in self.payloads],
            [part._replace(key=int(wanted[: part.key].sum())) for part in self.pruned if wanted[part.key]],
        )

    def arranged(self) -> States:
        """Return the same states with rows and changes in an order that the state alone decides, equal partial matches once.

        The keys must be in their order already.
        """
        numbers, names = sorted_texts(self.rows[STATE], self.names)
        rows, registers, heads = np.stack([self.rows[START], self.rows[M], numbers]), self.registers, self.heads
        of_row, of_change = self.key_places(ROWS), self.key_places(CHANGES)
        order = _order([of_row, *rows], registers)
        if order is not None:
            rows, registers, of_row = rows[:, order], [column.moved(order) for column in registers], of_row[order]
        twins = same([of_row, *rows, *(array for column in registers for array in column.sort_keys)])
        if twins.any():  # with a sequence, two may have begun at steps of one LE
            once = np.flatnonzero(~np.concatenate([[False], twins]))
            rows, registers, heads = rows[:, once], [column.take(once) for column in registers], heads.copy()
            heads[ROWS] = np.bincount(of_row[once], minlength=len(self.keys))
        changes, payloads = self.changes, self.payloads
        order = _order([of_change, changes[LE], changes[RE]], payloads)
        if order is not None:
            changes, payloads = changes[:, order], [column.moved(order) for column in payloads]
        return States(self.keys, self.final, heads, names, rows, registers, changes, payloads, self.pruned)

    def key_places(self, which: int) -> Any:
        """Return the number of the key that each change, or each row, belongs to."""
        return np.repeat(np.arange(len(self.keys)), self.heads[which])

    @property
    def in_order(self) -> bool:
        """Return whether rows and changes stand in the order of `arranged`: then no two are equal."""
        rows, changes = self.rows, self.changes
        return ascends(_arrays([self.key_places(ROWS), *rows], self.registers)) and ascends(
            _arrays([self.key_places(CHANGES), changes[LE], changes[RE]], self.payloads)
        )


def fields(schema: Schema | None) -> Sequence[Field]:
    return (ANYTHING,) if schema is None else schema.fields


def columns(records: Sequence[Any], schema: Schema | None) -> list[Column]:
    if schema is None:
        return [Column.of(records, ANYTHING)]
    parts = zip(*records) if records else [()] * len(schema.fields)
    return [Column.of(part, field) for part, field in zip(parts, schema.fields)]


def records(parts: Sequence[Column], schema: Schema | None, n: int) -> list[Any]:
    if schema is None:
        return parts[0].items(ANYTHING)
    items = [part.items(field) for part, field in zip(parts, schema.fields)]
    return [schema.cls(*record) for record in zip(*items)] if items else [schema.cls()] * n


def sorted_texts(numbers: Any, texts: Sequence[str]) -> tuple[Any, list[str]]:
    """Number the texts that are in use anew, in the order of `afa.state.canonical`."""
    if len(texts) > 4 * len(numbers):  # most are not in use
        used, numbers = np.unique(numbers, return_inverse=True)
        numbers, texts = numbers.reshape(-1), [texts[i] for i in used.tolist()]
    there = np.zeros(len(texts), np.bool_)
    there[numbers] = True
    places = np.flatnonzero(there)
    found = texts if len(places) == len(texts) else permuted(texts, places)
    order = order_of(found)
    rank = np.empty(len(texts), np.int64)
    rank[places[order]] = np.arange(len(order))
    return rank[numbers], permuted(found, order)


def _arrays(numbers: Iterable[Any], more: Iterable[Column]) -> Iterator[Any]:
    """Yield the arrays by which rows are sorted, the most significant one first. Those of columns are made when they are needed."""
    yield from numbers
    for column in more:
        yield from column.sort_keys


def _order(numbers: list[Any], more: list[Column]) -> Any:
    """Return the places of rows in order, of which the first array, that of their keys, is. None: all are in order already.

    O(rows), and the sorting of the rows of those keys that are not in order.
    """
    of, below = numbers[0], _descents(_arrays(numbers, more))
    if not below.any():
        return None
    wrong = np.zeros(int(of[-1]) + 1, np.bool_)
    wrong[of[1:][below]] = True
    rows = np.flatnonzero(wrong[of])
    order = np.arange(len(of))
    some = [numbers_of[rows] for numbers_of in numbers], [column.moved(rows) for column in more]
    order[rows] = rows[np.lexsort(list(_arrays(*some))[::-1])]
    return order


def _descents(arrays: Iterable[Any]) -> Any:
    """Return which rows are below the one before: an array with one bool fewer than there are rows."""
    below = level = None
    for array in arrays:
        level = np.ones(max(len(array) - 1, 0), np.bool_) if level is None else level
        here = level & (array[1:] < array[:-1])
        below = here if below is None else below | here
        level &= array[1:] == array[:-1]
        if not level.any():
            break
    return below


def same(arrays: Sequence[Any]) -> Any:
    """Return which rows equal the one before: an array with one bool fewer than there are rows."""
    found = np.ones(max(len(arrays[0]) - 1, 0), np.bool_)
    for array in arrays:
        found &= array[1:] == array[:-1]
    return found


def ascends(arrays: Iterable[Any], last: Any = None) -> bool:
    """Return whether each row is above the one before. The first array is the most significant one.

    With the ``last`` of the arrays rows may be equal, too.
    """
    level = None
    for array in arrays:
        below = array[1:] < array[:-1]
        if (below if level is None else level & below).any():
            return False
        if array is last:
            return True
        same = array[1:] == array[:-1]
        level = same if level is None else level & same
        if not level.any():
            return True
    return False
