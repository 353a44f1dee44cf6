"""Tables of events into a `Sequence` of plain components as columns, and its matches out as columns; to rows and back.

What does not fit (retractions, events behind a promise, identities that are known, conditions that numpy can't judge as Python
does) comes row by row, which also says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.conditions.condition import NO_REGISTER
from afa.extra.uncertain.distributions import UNIFORM
from afa.extra.uncertain.event_instants import MOST
from afa.extra.uncertain.instant_tables import Kinds
from afa.extra.uncertain.plain_signatures import AnchoredMatches
from afa.extra.uncertain.sequence_columns import ComponentEvents, SequenceColumns
from afa.extra.uncertain.sequence_events import SequenceEvent
from afa.extra.uncertain.sequence_pattern import SequencePattern
from afa.extra.uncertain.sequence_tables import IntervalColumns
from afa.io.event_batch import EventBatch, columns_in
from afa.rewrite.vectors import vector_of
from afa.schema import Field
from afa.state.plain import Unfit
from afa.state.states import Column
from afa.state.value_numbers import ValueNumbers
from punctuation.door import Table
from punctuation.time import FOREVER

LARGEST = 1 << 60


class NewEvents(NamedTuple):
    """The events of a table by component, and the state with their kinds; how many fit none; an interval longer than the window."""

    state: SequenceColumns
    blocks: Sequence[ComponentEvents]
    ignored: int
    long: tuple[int, int] | None


class SequenceBatches:
    """The way of tables through a `Sequence`."""

    def __init__(self, pattern: SequencePattern, columns: IntervalColumns) -> None:
        self._pattern, self._columns = pattern, columns
        known = {field.name: field for field in pattern.schema.fields}
        names = [*known]
        self.fit = False
        """Whether events can be held as columns."""
        if not pattern.plain or not pattern.schema.scalar or len(pattern.identity) != 1 or not pattern.single_identity:
            return
        identity = known[pattern.identity[0]]
        self._identity, self._by = names.index(identity.name), identity.type
        self._vectors = [
            None if each.condition is None else vector_of(each.condition.expr, pattern.schema, NO_REGISTER)
            for each in pattern.components
        ]
        judged = all(self._vectors) if pattern.of is None else known[pattern.of].type is str and not known[pattern.of].optional
        self.fit = bool(judged) and identity.type in (int, str) and not identity.optional

    # -- in --------------------------------------------------------------------------------------------------------------------

    def coming(self, table: Table, keys: ValueNumbers, state: SequenceColumns, promised: int) -> NewEvents | None:
        """Returns a table's events; None: they must come row by row."""
        try:
            ends = self._columns.lower, self._columns.upper
            return self._coming(columns_in(table, self._pattern.schema.fields, self._pattern.key, ends), keys, state, promised)
        except Unfit:
            return None

    def _coming(self, batch: EventBatch, keys: ValueNumbers, state: SequenceColumns, promised: int) -> NewEvents | None:
        pattern, fields = self._pattern, self._pattern.schema.fields
        n, times, columns = batch.n, batch.times, batch.fields
        lower, upper = times[self._columns.lower], times[self._columns.upper]
        if n == 0 or (times.get("diff", 1) != np.int64(1)).any() or lower.min() < max(promised, -LARGEST) or upper.max() > LARGEST:
            return None
        fitting = self._fitting(columns, n)
        length = upper - lower + 1
        if fitting is None or length.min() < 1:
            return None
        key = np.zeros(n, np.int64)
        if pattern.key:
            key = batch.key_numbers(pattern.single_key, keys.numbers_of)
        elif not len(keys):
            keys.number(None)
        state, kind = self._with_kinds(state, length)
        rows = [np.flatnonzero(mask) for mask in fitting]
        values = [(column, field) for field, column in zip(fields, columns.values())]
        if not self._new([_array(*values[self._identity], each) for each in rows], state):
            return None
        blocks, serial = [], state.serial
        low = lower + state.kinds.skips[kind]
        for each in rows:
            k = kind[each]
            own = [_array(column, field, each) for column, field in values]
            numbers = np.arange(serial, serial + len(each))
            high = low[each] + state.kinds.lengths[k] - 1
            blocks.append(ComponentEvents(key[each], low[each], high, k, numbers, own))
            serial += len(each)
        long = np.flatnonzero((length > pattern.window) & np.logical_or.reduce(fitting))
        said = (int(lower[long[0]]), int(upper[long[0]])) if len(long) else None
        return NewEvents(state, blocks, n - sum(map(len, rows)), said)

    def _fitting(self, columns: dict[str, Column], n: int) -> list[Any] | None:
        """Returns for each component which rows fit it; None: some row fits two."""
        pattern = self._pattern
        if pattern.of is not None:
            column = columns[pattern.of]
            texts = {text: place for place, text in enumerate(column.texts or ())}
            return [column.values == texts.get(each.value, -1) for each in pattern.components]
        found = [np.broadcast_to(np.asarray(vector(columns)), n) for vector in self._vectors if vector is not None]
        once = np.zeros(n, np.bool_)
        for mask in found:
            if (once & mask).any():
                return None
            once = once | mask
        return found

    def _with_kinds(self, state: SequenceColumns, length: Any) -> tuple[SequenceColumns, Any]:
        """Returns the state with the kinds of intervals of some lengths, and their numbers."""
        shape = self._columns.shape
        if shape != UNIFORM and shape.name == "weights" and not np.isin(length, (1, len(shape.parameters))).all():
            raise Unfit
        if length.max() > MOST:
            raise Unfit
        if length[0] == length[-1] and (length == length[0]).all():
            lengths, places = length[:1], np.zeros(len(length), np.int64)
        else:
            lengths, places = np.unique(length, return_inverse=True)
        wanted = [(shape if n > 1 else UNIFORM, n) for n in lengths.tolist()]
        state = state.with_kinds(wanted)
        return state, np.array([state.kinds.numbers[each] for each in wanted], np.int64)[places]

    def _new(self, identities: Sequence[Any], state: SequenceColumns) -> bool:
        """Returns whether every identity comes once, and none is known."""
        every = [*identities, *(block.fields[self._identity] for block in state.blocks)]
        total = sum(map(len, every))
        if self._by is int:
            ordered = np.sort(np.concatenate(every))
            return not (ordered[1:] == ordered[:-1]).any()
        return len({text for each in every for text in each.tolist()}) == total

    # -- out -------------------------------------------------------------------------------------------------------------------

    def told(self, state: SequenceColumns, gone: AnchoredMatches, come: AnchoredMatches) -> dict[str, Any]:
        """Returns what goes and comes as columns, for `afa.extra.uncertain.sequence_tables.answer`."""
        told = _ordered(gone).with_more(_ordered(come))
        latest, window = told.latest, self._pattern.window  # times lie within 2^60, the window may be FOREVER
        re = np.where(latest > FOREVER - window, FOREVER, latest + np.minimum(window, FOREVER - np.maximum(latest, 0)))
        diff = np.ones(len(re), np.int64)
        diff[: len(gone.le)] = -1
        columns: dict[str, Any] = {}
        at_first: Any = None
        for component, block, serials in zip(self._pattern.components, state.blocks, told.places):
            at = _places(block.serial, serials)
            at_first = at if at_first is None else at_first
            columns[component.name] = block.fields[self._identity][at]
        columns |= {"confidence": told.confidence, "first": told.first, "last": told.last, "le": told.le, "re": re, "diff": diff}
        names = [field.name for field in self._pattern.schema.fields]
        for name in self._pattern.key:
            columns.setdefault(name, state.blocks[0].fields[names.index(name)][at_first])
        return columns

    # -- rows --------------------------------------------------------------------------------------------------------------------

    def rows(self, keys: ValueNumbers, state: SequenceColumns) -> Iterator[tuple[Hashable, SequenceEvent]]:
        """Yields the events that are held, by their identities."""
        take: Any = self._pattern.schema.take
        make: Any = self._pattern.schema.cls
        for number, block in enumerate(state.blocks):
            fields = zip(*(each.tolist() for each in block.fields))
            lowers = block.low - state.kinds.skips[block.kind]
            rest = zip(block.key.tolist(), block.kind.tolist(), lowers.tolist())
            for values, (key, kind, lower) in zip(fields, rest):
                payload, of = take(make(*values)), state.kinds.instants[kind].kind
                entry = SequenceEvent(keys.all[key], number, payload, lower, lower + of.n - 1, of.shape)
                yield self._pattern.identity_of(payload), entry

    def loaded(self, keys: ValueNumbers, rows: Sequence[SequenceEvent]) -> SequenceColumns:
        """Returns the state that holds events, without the matches that follow from them."""
        kinds = Kinds().changed([], dict.fromkeys((entry.shape, entry.upper - entry.lower + 1) for entry in rows))
        blocks, serial = [], 0
        for number in range(len(self._pattern.components)):
            of = [entry for entry in rows if entry.component == number]
            kind = np.array([kinds.numbers[each.shape, each.upper - each.lower + 1] for each in of], np.int64)
            low = np.array([each.lower for each in of], np.int64) + kinds.skips[kind]
            everyone = np.arange(len(of))
            columns = [
                _array(Column.of([each.payload[i] for each in of], field), field, everyone)
                for i, field in enumerate(self._pattern.schema.fields)
            ]
            key = np.array([keys.number(each.key) for each in of], np.int64)
            blocks.append(ComponentEvents(key, low, low + kinds.lengths[kind] - 1, kind, everyone + serial, columns))
            serial += len(of)
        return SequenceColumns(blocks, AnchoredMatches.empty(len(blocks)), serial, kinds)


def _array(column: Column, field: Field, rows: Any) -> Any:
    """Returns some values of a field as an array of their own; of strs, and of what may be None, of objects."""
    values = column.values[rows]
    if field.type is str:
        values = np.array([*(column.texts or ()), None], object)[values]
    elif field.type is bool:
        values = values.astype(np.bool_)
    if column.present is not None:
        values = values.astype(object)
        values[~column.present[rows]] = None
    return values


def _ordered(told: AnchoredMatches) -> AnchoredMatches:
    """Returns matches by LE and RE."""
    return told.at(np.lexsort((told.latest, told.le)))


def _places(serials: Any, wanted: Any) -> Any:
    """Returns where serial numbers stand among others."""
    if not len(wanted):
        return wanted
    least = int(serials.min())
    places = np.zeros(int(serials.max()) - least + 1, np.int64)
    places[serials - least] = np.arange(len(serials))
    return places[wanted - least]
