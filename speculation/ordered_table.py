"""Tables of insertions and punctuations through arrays: sorted by key and number, only the ends of blocks are looked at.

    rows of the batch -> sorted by number -> blocks of adjacent numbers -> with the blocks that there are -> barriers
        -> one table in order for the operator beneath: events, barriers and punctuations

Whatever is unusual goes row by row, which says what is wrong with it: other changes than insertions, a number that comes twice or
is in force, numbers against their times, retractions that wait, columns that are not plainly of their types.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.model.keys import Keys
from afa.operator import tables as table
from afa.operator.table_out import assemble, check_output
from afa.schema import Field
from punctuation.door import Table, table_of
from punctuation.promise import Punctuation
from punctuation.reading import PUNCTUATION
from punctuation.time import FOREVER
from speculation.numbers import Cover, Tail
from speculation.ordered_batch import Arrivals, arrivals_of, column_of
from speculation.ordered_blocks import Coming, coming_of
from speculation.ordered_columns import Unusual, gathered, integers, picked
from speculation.sequences import Sequences

BARRIER = 1  # beside EVENT and PUNCTUATION
FEW, PART = 64, 4
"""So many rows at most, or one in so many, go first."""


def push_table(sequences: Sequences, keys: Keys | None, batch: Any) -> Any:
    """`Ordered.push_many`, of a table, or of a list of one and punctuations; None: it goes row by row."""
    listed = isinstance(batch, (list, tuple)) and not hasattr(batch, "_fields")
    first, *then = batch if listed and len(batch) else [batch]
    first = table_of(first)
    if first is None or not all(isinstance(item, Punctuation) and _is_plain(item) for item in then):
        return None
    if keys is not None and keys.function is not None:
        return None
    check_output(sequences.derived.original, keys, first)
    try:
        arrivals = arrivals_of(sequences, keys, first, then)
        plan = _plan(sequences, keys, arrivals)
    except Unusual:
        return None
    columns, promised = _carry_out(sequences, keys, arrivals, plan)
    mixed = not listed and table.is_mixed(sequences.core, first, keys)
    made = assemble(columns, promised if mixed else None, first, sequences.derived.original, keys, mixed)
    if not listed:
        return made
    return [made] if promised is None else [made, Punctuation(promised)]


def _is_plain(item: Punctuation) -> bool:
    """Whether it promises all events: one with a condition is refused where items go one by one."""
    return type(item.t) is int and item.where is None


class Plan(NamedTuple):
    """What the operator beneath gets, and what is then in force.

    Parameters
    ----------
    coming : Coming
    first : encoded batch or None
        What it gets first: the barriers that move, and the arrivals among the numbers that there are, if these are few: all of one
        step, so that nothing is found on the way that is withdrawn again.
    rest : encoded batch
        All others, in order.
    then : list of Punctuation
        What comes after them.
    """

    coming: Coming
    first: Any
    rest: Any
    then: list[Punctuation]


# -- what it makes of the numbers --------------------------------------------------------------------------------------------------


def _plan(sequences: Sequences, keys: Keys | None, arrivals: Arrivals) -> Plan:
    """What the operator beneath gets, and what is then in force; nothing is changed yet."""
    coming, first = coming_of(sequences, arrivals), None
    count, behind = len(arrivals.rows), coming.behind
    if len(behind) > max(FEW, count // PART) or len(behind) == count:
        behind = behind[:0]
    if len(behind) or len(coming.moved.le):
        moved = coming.moved
        rows = np.concatenate([arrivals.rows[coming.lows[moved.key]], arrivals.rows[behind]])
        at = np.arange(len(moved.le))
        columns = _columns(sequences, keys, arrivals, rows, Extras(at, moved.le, moved.number, np.full(len(at), BARRIER)))
        columns["diff"] = np.ones(len(rows), np.int64)
        columns["diff"][at] = moved.diff
        first = _encoded(sequences, keys, columns)
    rows, extras, then = _mixed(arrivals, coming, behind, among=keys is None and "kind" not in sequences.derived.names)
    return Plan(coming, first, _encoded(sequences, keys, _columns(sequences, keys, arrivals, rows, extras)), then)


def _encoded(sequences: Sequences, keys: Keys | None, columns: dict[str, Any]) -> Any:
    """Columns as the operator beneath takes them."""
    encoded = table.encoded_of(sequences.core, Table("dict", columns, columns), keys)
    if encoded is None:
        raise Unusual
    return encoded


class Extras(NamedTuple):
    """Rows of a table beneath that are none of the batch, as arrays: barriers and punctuations.

    Parameters
    ----------
    at : numpy array
        Which rows they are.
    le, number : numpy array
    what : numpy array
        BARRIER or PUNCTUATION.
    """

    at: Any
    le: Any
    number: Any
    what: Any


def _mixed(arrivals: Arrivals, coming: Coming, first: Any, among: bool) -> tuple[Any, Extras, list[Punctuation]]:
    """The rows of the arrivals but the first, with barriers and punctuations among them; and what comes after them.

    ``among``: whether punctuations stand among the events, so that state is dropped on the way; of many keys they come after all.
    """
    new, promises, last = coming.new, np.array(arrivals.promises, np.int64), 0
    place, le, number, what, of = new.place, new.le, new.number, np.full(len(new.le), BARRIER), coming.lows[new.key]
    if among and len(promises):
        highest = np.maximum.accumulate(promises)
        places = arrivals.le.searchsorted(highest)
        last = int(places.searchsorted(len(arrivals.le)))
        zeros = np.zeros(last, np.int64)
        order = np.lexsort((np.append(what, zeros - 1), np.append(le, highest[:last]), np.append(place, places[:last])))
        columns = (place, places[:last]), (le, promises[:last]), (number, zeros), (what, zeros + PUNCTUATION), (of, zeros)
        place, le, number, what, of = (np.concatenate(both)[order] for both in columns)
    then = [Punctuation(t) for t in arrivals.promises[last:]]
    rows = arrivals.rows
    if len(first):
        place = place - first.searchsorted(place)
        leads = first[-1] == len(first) - 1  # as they do in one stream
        rows = rows[len(first) :] if leads else np.delete(rows, first)
    at = place + np.arange(len(place))
    return _inserted(rows, at, arrivals.rows[of]), Extras(at, le, number, what), then


def _inserted(rows: Any, at: Any, more: Any) -> Any:
    """Rows with more of them, that come to stand at these places."""
    if not len(at):
        return rows
    found, others = np.empty(len(rows) + len(at), np.int64), np.ones(len(rows) + len(at), np.bool_)
    others[at] = False
    found[at], found[others] = more, rows
    return found


def _columns(sequences: Sequences, keys: Keys | None, arrivals: Arrivals, rows: Any, extras: Extras) -> dict[str, Any]:
    """A table for the operator beneath: rows of the batch, of which some are none but barriers and punctuations."""
    derived, batch, at = sequences.derived, arrivals.batch, extras.at
    columns: dict[str, Any] = {name: integers(batch, name)[rows] for name in ("le", derived.number)}
    columns["le"][at], columns[derived.number][at] = extras.le, extras.number
    is_barrier = extras.what == BARRIER
    barriers, promises = at[is_barrier], at[~is_barrier]
    columns[derived.field] = np.zeros(len(rows), np.int64)
    columns[derived.field][barriers] = 1
    for field, neutral in zip(derived.schema.fields, derived.neutral):
        if field.name != derived.number:
            of_key = keys is not None and field.name in keys.names
            columns[field.name] = gathered(column_of(batch, field.name), field, rows, None if of_key else at, neutral)
    for name in keys.columns if keys else ():
        columns[name] = gathered(column_of(batch, name), Field(name, None, False), rows, None, None)
    if "re" in batch.names:
        columns["re"] = integers(batch, "re")[rows]
        columns["re"][barriers] = _res(sequences, columns["le"][barriers])
    if len(promises):
        columns["kind"] = np.zeros(len(rows), np.int8)
        columns["kind"][promises] = PUNCTUATION
    return columns


def _res(sequences: Sequences, le: Any) -> Any:
    """Where the lifetimes of barriers end, see `Sequences.re`."""
    window = sequences.core.window
    return np.full(len(le), FOREVER) if window is None else np.minimum(le, FOREVER - window) + window


# -- the call ----------------------------------------------------------------------------------------------------------------------


def _carry_out(sequences: Sequences, keys: Keys | None, arrivals: Arrivals, plan: Plan) -> tuple[list[Any] | None, int | None]:
    """Within a call: barriers that go, the table, what is then in force; the output's columns, and what is promised."""
    core, coming = sequences.core, plan.coming
    _take_late(sequences, arrivals)
    others: dict[Hashable, list[Change]] = {}
    for _, change, key in sequences.promise(arrivals.promised, apart=set(coming.keys)):
        others.setdefault(key, []).append(change)
    for key, gap in coming.passed:
        sequences.report(key, gap)
    core._flush(others)
    if plan.first is not None:
        core.engine.run_columns(plan.first, core)  # its output is collected with the rest's
    rows, promised = core.run_columns(plan.rest, plan.then)
    out = table.found_columns(rows, keys), promised
    _put(sequences, arrivals, coming)
    sequences.changes += len(arrivals.rows)
    return out


def _take_late(sequences: Sequences, arrivals: Arrivals) -> None:
    """Let the policy decide about what is late, as one change after the other."""
    rows = arrivals.late
    if not len(rows):
        return
    batch, names = arrivals.batch, [field.name for field in sequences.derived.schema.fields]
    re = integers(batch, "re")[rows].tolist() if "re" in batch.names else [None] * len(rows)
    le = integers(batch, "le")[rows].tolist()
    codes = [0] * len(le) if arrivals.codes is None else arrivals.codes[rows].tolist()
    payloads = zip(*(picked(column_of(batch, name), rows).tolist() for name in names))
    for payload, begin, end, code in zip(payloads, le, re, codes):
        change = sequences.core.typed(Change(sequences.derived.event(payload), begin, end), arrivals.keys[code])
        sequences.core.take_late(change, arrivals.promised)


def _put(sequences: Sequences, arrivals: Arrivals, coming: Coming) -> None:
    """Let the batch be in force: blocks, and in columns what can still change."""
    core, promised, le = sequences.core, arrivals.promised, arrivals.le
    if arrivals.code is None:
        before, kept = None, np.arange(int(le.searchsorted(promised)), len(le))
    else:
        can_change = le >= promised
        before, kept = np.append(0, np.cumsum(can_change)), np.flatnonzero(can_change)
    rows, names = arrivals.rows[kept], [field.name for field in sequences.derived.schema.fields]
    numbers_of = integers(arrivals.batch, sequences.derived.number)
    fields = [picked(column_of(arrivals.batch, name), rows) for name in names]
    tail = Tail(numbers_of[rows], le[kept], _ends(sequences, arrivals, kept), fields, 0, 0)
    lows = coming.lows.tolist()
    for key, low, high, blocks in zip(coming.keys, lows, lows[1:], coming.blocks):
        numbers = sequences.keys.get(key)
        sequences.note_deadline(key)
        if numbers is None:
            numbers = sequences.made(key)
        begin, end = (0, len(kept)) if before is None else (int(before[low]), int(before[high]))
        last = high - (end - begin) - 1
        number = int(numbers_of[arrivals.rows[last]]) if last >= low else None
        cover = None if number is not None and (not numbers.blocks or number > numbers.blocks[-1].last) else numbers.below(promised)
        if number is not None and (cover is None or number > cover.number):
            cover = Cover(number, int(le[last]), int(_ends(sequences, arrivals, last)))
        numbers.note()
        numbers.blocks = [*blocks]
        if end > begin:
            numbers.tails = [*numbers.tails, tail._replace(low=begin, high=end)]
        numbers.move_to(cover, promised)
        if numbers.empty:
            core.journal.drop(sequences.keys, key)
        sequences.refresh(key, promised)


def _ends(sequences: Sequences, arrivals: Arrivals, which: Any) -> Any:
    """The REs of some of the arrivals."""
    if "re" in arrivals.batch.names:
        return integers(arrivals.batch, "re")[arrivals.rows[which]]
    window = sequences.core.window
    return np.full(np.shape(which), FOREVER) if window is None else arrivals.le[which] + window
