"""Tables of insertions and punctuations through arrays: sorted by key and number, only the ends of blocks are looked at.

    rows of the batch -> sorted by number -> blocks of adjacent numbers -> with the blocks that there are -> barriers
        -> one table in order for the operator beneath: events, barriers and punctuations

Whatever is unusual goes row by row, which says what is wrong with it: other changes than insertions, a number that comes twice or
is in force, numbers against their times, retractions that wait, columns that are not plainly of their types.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np

from afa import table
from afa.change import Change
from afa.keys import Keys
from afa.schema import Field
from afa.table import EVENT, PUNCTUATION
from afa.tableout import TIMES, assemble, check_output, kind_of, names_of
from punctuation.promise import Punctuation
from punctuation.time import FOREVER
from speculation.numbers import Block, Cover, Tail, gaps_of, merged
from speculation.ordered_columns import Unusual, gathered, integers, numbered_keys, picked
from speculation.sequences import Sequences

BARRIER = 1  # beside EVENT and PUNCTUATION
WIDE = 4
"""Numbers that range over so many times their count are sorted by places, as they are nearly all there."""


def push_table(sequences: Sequences, keys: Keys | None, batch: Any) -> Any:
    """`Ordered.push_many`, of a table, or of a list of one and punctuations; None: it goes row by row."""
    listed = isinstance(batch, (list, tuple)) and not hasattr(batch, "_fields")
    first, *then = batch if listed and len(batch) else [batch]
    if kind_of(first) is None or not all(isinstance(item, Punctuation) and type(item.t) is int for item in then):
        return None
    if getattr(sequences.core.engine, "encode", None) is None or (keys is not None and keys.function is not None):
        return None
    check_output(sequences.derived.original, keys, first)
    try:
        arrivals = _arrivals(sequences, keys, first, then)
        plan = _plan(sequences, keys, arrivals)
        encoded = table.prepared(sequences.core, plan.columns, keys)
    except Unusual:
        return None
    if encoded is None:
        return None
    columns, promised = _carry_out(sequences, keys, arrivals, plan, encoded)
    mixed = not listed and table.is_mixed(sequences.core, first, keys)
    made = assemble(columns, promised if mixed else None, first, sequences.derived.original, keys, mixed)
    if not listed:
        return made
    return [made] if promised is None else [made, Punctuation(promised)]


class Arrivals(NamedTuple):
    """The events of a batch that are not late, by key and number.

    Parameters
    ----------
    batch : table
    rows : numpy array
        Their rows in the batch.
    number, le, code : numpy array
        ``code``: which of the keys.
    keys : list
    late, codes : numpy array
        The rows of events that are late; the key of each row of the batch.
    promises : list of int
        In order of arrival.
    promised : int
        After all of them.
    """

    batch: Any
    rows: Any
    number: Any
    le: Any
    code: Any
    keys: list[Hashable]
    late: Any
    codes: Any
    promises: list[int]
    promised: int


class Coming(NamedTuple):
    """What a batch makes of the numbers of one key.

    Parameters
    ----------
    low, high : int
        Its rows among the arrivals.
    blocks : list of Block
    gone, new : list of (number, LE)
        Barriers.
    """

    key: Hashable
    low: int
    high: int
    blocks: list[Block]
    gone: list[tuple[int, int]]
    new: list[tuple[int, int]]


class Plan(NamedTuple):
    """What the operator beneath gets, and what is then in force.

    Parameters
    ----------
    keys : list of Coming
    columns : dict of columns
        In order.
    events : numpy array
        Where the arrivals stand in them.
    then : list of Punctuation
        What comes after them.
    """

    keys: list[Coming]
    columns: dict[str, Any]
    events: Any
    then: list[Punctuation]


# -- the batch ---------------------------------------------------------------------------------------------------------------------


def _arrivals(sequences: Sequences, keys: Keys | None, batch: Any, then: list[Any]) -> Arrivals:
    """Take the events of a batch apart, and sort them."""
    core, number = sequences.core, sequences.derived.number
    there, fields = names_of(batch), [field.name for field in sequences.derived.schema.fields]
    needed = {*fields, "le", *(keys.columns if keys else ())}
    if any(name in TIMES for name in fields) or len(set(there)) != len(there) or not needed <= set(there):
        raise Unusual
    le, numbers = integers(batch, "le"), integers(batch, number)
    rows, promises, late = np.arange(len(le)), [], np.empty(0, np.int64)
    if table.is_mixed(core, batch, keys):
        kind = integers(batch, "kind")
        if not np.isin(kind, (EVENT, PUNCTUATION)).all():
            raise Unusual
        rows, promises = np.flatnonzero(kind == EVENT), le[kind == PUNCTUATION].tolist()
    before: Any = core.progress.events
    if promises:
        before = np.maximum.accumulate(np.maximum(np.where(kind == PUNCTUATION, le, before), before))[rows]
    if "diff" in there and (integers(batch, "diff")[rows] != 1).any():
        raise Unusual
    is_late = le[rows] < before
    if is_late.any():
        if core.late.policy == "raise":
            raise Unusual
        rows, late = rows[~is_late], rows[is_late]
    if not len(rows):
        raise Unusual
    promises += [item.t for item in then]
    if keys is None:
        codes, found = np.zeros(len(le), np.int64), list[Hashable]([None])
    else:
        codes, found = numbered_keys([_column(batch, name) for name in keys.names], keys.single)
    rows = _in_order(rows, numbers, codes if len(found) > 1 else None)
    number_, le_, code_ = numbers[rows], le[rows], codes[rows]
    same = code_[1:] == code_[:-1]
    if (same & ((number_[1:] <= number_[:-1]) | (le_[1:] < le_[:-1]))).any():
        raise Unusual
    return Arrivals(batch, rows, number_, le_, code_, found, late, codes, promises, max([core.progress.events, *promises]))


def _column(batch: Any, name: str) -> Any:
    return batch.column(name) if kind_of(batch) == "arrow" else batch[name]


def _in_order(rows: Any, numbers: Any, code: Any) -> Any:
    """The rows by key and number. O(n) where numbers are dense, which they are but for what is missing yet."""
    found = numbers[rows]
    least, most = int(found.min()), int(found.max())
    if code is not None:
        codes = code[rows]
        span = most - least + 1
        if span * (int(codes.max()) + 1) >= FOREVER:
            return rows[np.lexsort((found, codes))]
        found = codes * span + (found - least)
        least, most = int(found.min()), int(found.max())
    if (found[1:] > found[:-1]).all():
        return rows
    if most - least >= WIDE * len(found):
        return rows[np.argsort(found)]
    places = np.full(most - least + 1, -1)
    places[found - least] = rows
    placed = places[places >= 0]
    if len(placed) < len(rows):
        raise Unusual  # a number that comes twice
    return placed


# -- what it makes of the numbers --------------------------------------------------------------------------------------------------


def _plan(sequences: Sequences, keys: Keys | None, arrivals: Arrivals) -> Plan:
    """What the operator beneath gets, and what is then in force; nothing is changed yet."""
    coming = list(_coming(sequences, arrivals))
    return Plan(coming, *_columns(sequences, keys, arrivals, coming))


def _coming(sequences: Sequences, arrivals: Arrivals) -> Iterator[Coming]:
    """What becomes of each key that the batch has events of."""
    number, le, code, promised = arrivals.number, arrivals.le, arrivals.code, sequences.core.progress.events
    begins = np.flatnonzero(np.append(True, (number[1:] != number[:-1] + 1) | (code[1:] != code[:-1])))
    ends = np.append(begins[1:], len(number)) - 1
    found = list(map(Block, number[begins].tolist(), number[ends].tolist(), le[begins].tolist(), le[ends].tolist()))
    codes = code[begins]
    heads = np.append(np.flatnonzero(np.append(True, codes[1:] != codes[:-1])), len(codes)).tolist()
    lows = np.append(begins[heads[:-1]], len(number)).tolist()
    for i, of in enumerate(codes[heads[:-1]].tolist()):
        key, more = arrivals.keys[of], found[heads[i] : heads[i + 1]]
        numbers = sequences.keys.get(key)
        if numbers is not None and numbers.waiting:
            raise Unusual
        old = [] if numbers is None else numbers.blocks
        blocks = merged(old, more)
        if blocks is None:
            raise Unusual
        gone = {gap.barrier(promised) for gap in gaps_of(old)}
        new = {
            gap.barrier(arrivals.promised)
            for gap in gaps_of(blocks)
            if gap.before >= arrivals.promised or sequences.gaps == "break"
        }
        yield Coming(key, lows[i], lows[i + 1], blocks, sorted(gone - new), sorted(new - gone))


def _columns(
    sequences: Sequences, keys: Keys | None, arrivals: Arrivals, coming: list[Coming]
) -> tuple[dict[str, Any], Any, list[Punctuation]]:
    """The table for the operator beneath, where the arrivals stand in it, and what comes after it.

    Punctuations stand among the events of one stream, so that state is dropped on the way; of many keys they come after all.
    """
    derived, batch = sequences.derived, arrivals.batch
    barriers = [(_place(arrivals, key, number), number, le, key.low) for key in coming for number, le in key.new]
    at, numbers, times, of = (np.array([barrier[i] for barrier in barriers], np.int64) for i in range(4))
    rows, le = np.insert(arrivals.rows, at, arrivals.rows[of]), np.insert(arrivals.le, at, times)
    number, marks = np.insert(arrivals.number, at, numbers), np.insert(np.full(len(arrivals.rows), EVENT), at, BARRIER)
    then = [Punctuation(t) for t in arrivals.promises]
    if keys is None and then and table.is_mixed(sequences.core, batch, None):
        promises = np.array(arrivals.promises, np.int64)
        places = le.searchsorted(np.maximum.accumulate(promises))
        among = places < len(le)
        then = [Punctuation(t) for t in promises[~among].tolist()]
        at, promises = places[among], promises[among]
        rows, le = np.insert(rows, at, arrivals.rows[0]), np.insert(le, at, promises)
        number, marks = np.insert(number, at, 0), np.insert(marks, at, PUNCTUATION)
    blank = marks != EVENT
    columns: dict[str, Any] = {"le": le, derived.number: number, derived.field: (marks == BARRIER).astype(np.int64)}
    for field, neutral in zip(derived.schema.fields, derived.neutral):
        if field.name != derived.number:
            of_key = keys is not None and field.name in keys.names
            column = _column(batch, field.name)
            columns[field.name] = gathered(column, field, rows, None if of_key or not blank.any() else blank, neutral)
    for name in keys.columns if keys else ():
        columns[name] = gathered(_column(batch, name), Field(name, None, False), rows, None, None)
    if "re" in names_of(batch):
        columns["re"] = integers(batch, "re")[rows]
        columns["re"][marks == BARRIER] = [sequences.re(t) for t in le[marks == BARRIER].tolist()]
    if (marks == PUNCTUATION).any():
        columns["kind"] = np.where(marks == PUNCTUATION, PUNCTUATION, EVENT)
    return columns, np.flatnonzero(marks == EVENT), then


def _place(arrivals: Arrivals, coming: Coming, number: int) -> int:
    """Before which of the arrivals a barrier comes."""
    return coming.low + int(arrivals.number[coming.low : coming.high].searchsorted(number))


# -- the call ----------------------------------------------------------------------------------------------------------------------


def _carry_out(
    sequences: Sequences, keys: Keys | None, arrivals: Arrivals, plan: Plan, encoded: Any
) -> tuple[list[Any], int | None]:
    """All or nothing: barriers that go, the table, what is then in force; the output's columns, and what is promised."""
    core = sequences.core
    with sequences.call():
        _take_late(sequences, arrivals)
        gone: dict[Hashable, list[Change]] = {}
        for _, change, key in sequences.promise(arrivals.promised, apart={coming.key for coming in plan.keys}):
            gone.setdefault(key, []).append(change)
        for coming in plan.keys:
            for gap in gaps_of(coming.blocks):
                sequences.stays(coming.key, gap, arrivals.promised)
            if coming.gone:
                gone[coming.key] = [sequences.barrier(coming.key, number, le, -1) for number, le in coming.gone]
        core._flush(gone)
        out = table.carried_out(core, encoded, plan.then, keys)
        _put(sequences, arrivals, plan)
        sequences.changes += len(arrivals.rows)
    return out


def _take_late(sequences: Sequences, arrivals: Arrivals) -> None:
    """Let the policy decide about what is late, as one change after the other."""
    if not len(arrivals.late):
        return
    batch, names = arrivals.batch, [field.name for field in sequences.derived.schema.fields]
    re = integers(batch, "re")[arrivals.late].tolist() if "re" in names_of(batch) else [None] * len(arrivals.late)
    le, codes = (column[arrivals.late].tolist() for column in (integers(batch, "le"), arrivals.codes))
    payloads = zip(*(picked(_column(batch, name), arrivals.late).tolist() for name in names))
    for payload, begin, end, code in zip(payloads, le, re, codes):
        change = sequences.core.typed(Change(sequences.derived.event(payload), begin, end), arrivals.keys[code])
        sequences.core.take_late(change, arrivals.promised)


def _put(sequences: Sequences, arrivals: Arrivals, plan: Plan) -> None:
    """Let the batch be in force: blocks, and in columns what can still change."""
    core, promised, le = sequences.core, arrivals.promised, arrivals.le
    if "re" in plan.columns:
        re = plan.columns["re"][plan.events]
    else:
        re = np.full(len(le), FOREVER) if core.window is None else le + core.window
    open_ = le >= promised
    before = np.append(0, np.cumsum(open_))  # each key's are in order: what is open is the end of it
    kept = np.flatnonzero(open_)
    fields = [picked(plan.columns[field.name], plan.events[kept]) for field in sequences.derived.schema.fields]
    tail = Tail(arrivals.number[kept], le[kept], re[kept], fields, 0, 0)
    for key, low, high, blocks, _, _ in plan.keys:
        numbers = sequences.keys.get(key)
        sequences.note_deadline(key)
        if numbers is None:
            numbers = sequences.made(key)
        begin, end = int(before[low]), int(before[high])
        last = high - (end - begin) - 1
        cover = numbers.below(promised)
        if last >= low and (cover is None or arrivals.number[last] > cover.number):
            cover = Cover(int(arrivals.number[last]), int(le[last]), int(re[last]))
        numbers.note()
        numbers.blocks[:] = blocks
        if end > begin:
            numbers.tails = [*numbers.tails, tail._replace(low=begin, high=end)]
        numbers.move_to(cover, promised)
        if numbers.empty:
            core.journal.drop(sequences.keys, key)
        sequences.refresh(key, promised)
