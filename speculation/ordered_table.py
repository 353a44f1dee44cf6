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
from afa.tableout import assemble, check_output, kind_of, names_of
from punctuation.promise import Punctuation
from punctuation.reading import PUNCTUATION
from punctuation.time import BEGINNING, FOREVER
from speculation.numbers import Block, Cover, Tail, gaps_of, merged
from speculation.ordered_batch import Arrivals, arrivals_of, column_of
from speculation.ordered_columns import Unusual, gathered, integers, picked
from speculation.sequences import Sequences

BARRIER = 1  # beside EVENT and PUNCTUATION
FEW, PART = 64, 64
"""So many rows at most, or one in so many, go as single changes."""


def push_table(sequences: Sequences, keys: Keys | None, batch: Any) -> Any:
    """`Ordered.push_many`, of a table, or of a list of one and punctuations; None: it goes row by row."""
    listed = isinstance(batch, (list, tuple)) and not hasattr(batch, "_fields")
    first, *then = batch if listed and len(batch) else [batch]
    if kind_of(first) is None or not all(isinstance(item, Punctuation) and _is_plain(item) for item in then):
        return None
    if getattr(sequences.core.engine, "encode", None) is None or (keys is not None and keys.function is not None):
        return None
    check_output(sequences.derived.original, keys, first)
    try:
        arrivals = arrivals_of(sequences, keys, first, then)
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


def _is_plain(item: Punctuation) -> bool:
    """Whether it promises all events: one with a condition is refused where items go one by one."""
    return type(item.t) is int and item.where is None


class Coming(NamedTuple):
    """What a batch makes of the numbers of one key.

    Parameters
    ----------
    low, behind, high : int
        Its rows among the arrivals; up to ``behind`` they fall among the numbers that there are.
    blocks : list of Block
    moved : list of (number, LE, diff)
        Barriers that go, and those that come among the numbers that there are.
    new : list of (number, LE)
        Barriers that come after them.
    """

    key: Hashable
    low: int
    behind: int
    high: int
    blocks: list[Block]
    moved: list[tuple[int, int, int]]
    new: list[tuple[int, int]]


class Plan(NamedTuple):
    """What the operator beneath gets, and what is then in force.

    Parameters
    ----------
    keys : list of Coming
    first : numpy array
        The arrivals that it gets first, as single changes: few, and with the barriers that move all of one step, so that nothing is
        found on the way that is withdrawn again.
    columns : dict of columns
        All others, in order.
    then : list of Punctuation
        What comes after them.
    """

    keys: list[Coming]
    first: Any
    columns: dict[str, Any]
    then: list[Punctuation]


# -- what it makes of the numbers --------------------------------------------------------------------------------------------------


def _plan(sequences: Sequences, keys: Keys | None, arrivals: Arrivals) -> Plan:
    """What the operator beneath gets, and what is then in force; nothing is changed yet."""
    coming = list(_coming(sequences, arrivals))
    count = sum(key.behind - key.low for key in coming)
    first = np.empty(0, np.int64)
    if 0 < count <= max(FEW, len(arrivals.rows) // PART) and count < len(arrivals.rows):
        first = np.concatenate([np.arange(key.low, key.behind) for key in coming if key.behind > key.low])
    return Plan(coming, first, *_columns(sequences, keys, arrivals, coming, first))


def _coming(sequences: Sequences, arrivals: Arrivals) -> Iterator[Coming]:
    """What becomes of each key that the batch has events of."""
    number, le, code, promised = arrivals.number, arrivals.le, arrivals.code, sequences.core.progress.events
    begins = arrivals.begins
    ends = np.append(begins[1:], len(number)) - 1
    found = list(map(Block, number[begins].tolist(), number[ends].tolist(), le[begins].tolist(), le[ends].tolist()))
    codes = np.zeros(len(begins), np.int64) if code is None else code[begins]
    heads = np.append(np.append(0, np.flatnonzero(codes[1:] != codes[:-1]) + 1), len(codes)).tolist()
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
        gone = {gap.barrier(promised) for gap in gaps_of(old)} if len(old) > 1 else set()
        new = set()
        if len(blocks) > 1:
            stay = (gap for gap in gaps_of(blocks) if gap.before >= arrivals.promised or sequences.gaps == "break")
            new = {gap.barrier(arrivals.promised) for gap in stay}
        low, high, last = lows[i], lows[i + 1], old[-1].last if old else BEGINNING
        behind = low + int(number[low:high].searchsorted(last)) if more[0].first < last else low
        moved = [(*place, -1) for place in sorted(gone - new)]
        moved += [(*place, 1) for place in sorted(new - gone) if place[0] < last]
        yield Coming(key, low, behind, high, blocks, moved, sorted(place for place in new if place[0] > last))


class Extra(NamedTuple):
    """A row of the table beneath that is none of the batch: a barrier, or a punctuation."""

    place: int  # before which of the arrivals
    le: int  # a punctuation: of those so far the largest
    order: int  # of one LE the promise comes first
    what: int
    number: int
    value: int  # its LE
    of: int  # one of the arrivals of its key


def _extras(arrivals: Arrivals, coming: list[Coming], among: bool) -> tuple[list[Extra], list[Punctuation]]:
    """What is put among the arrivals, in order, and what comes after them.

    ``among``: whether punctuations stand among the events, so that state is dropped on the way; of many keys they come after all.
    """
    extras = []
    for key in coming:
        if key.new:
            places = arrivals.number[key.low : key.high].searchsorted([number for number, _ in key.new]).tolist()
            extras += [Extra(key.low + p, le, 1, BARRIER, n, le, key.low) for p, (n, le) in zip(places, key.new)]
    promises = arrivals.promises
    if not promises or not among:
        return extras, [Punctuation(t) for t in promises]
    highest = np.maximum.accumulate(np.array(promises, np.int64))
    places = arrivals.le.searchsorted(highest)
    last = int((places < len(arrivals.le)).sum())
    extras += [Extra(p, h, 0, PUNCTUATION, 0, t, 0) for p, h, t in zip(places[:last].tolist(), highest.tolist(), promises)]
    extras.sort(key=lambda extra: extra[:3])
    return extras, [Punctuation(t) for t in promises[last:]]


def _columns(
    sequences: Sequences, keys: Keys | None, arrivals: Arrivals, coming: list[Coming], first: Any
) -> tuple[dict[str, Any], list[Punctuation]]:
    """The table for the operator beneath, without the arrivals that it gets first, and what comes after it."""
    derived, batch = sequences.derived, arrivals.batch
    extras, then = _extras(arrivals, coming, among=keys is None and "kind" not in sequences.derived.names)
    places = np.array([extra.place for extra in extras], np.int64)
    at = places + np.arange(len(extras))
    of = arrivals.rows[[extra.of for extra in extras]]
    at -= first.searchsorted(places)
    leads = len(first) and first[-1] == len(first) - 1  # as they do in one stream
    left = arrivals.rows[len(first) :] if leads else np.delete(arrivals.rows, first)
    rows = np.insert(left, places - first.searchsorted(places), of)
    columns: dict[str, Any] = {name: integers(batch, name)[rows] for name in ("le", derived.number)}
    columns["le"][at], columns[derived.number][at] = [extra.value for extra in extras], [extra.number for extra in extras]
    what = np.array([extra.what for extra in extras], np.int64)
    barriers, promises = at[what == BARRIER], at[what == PUNCTUATION]
    columns[derived.field] = np.zeros(len(rows), np.int64)
    columns[derived.field][barriers] = 1
    for field, neutral in zip(derived.schema.fields, derived.neutral):
        if field.name != derived.number:
            of_key = keys is not None and field.name in keys.names
            columns[field.name] = gathered(column_of(batch, field.name), field, rows, None if of_key else at, neutral)
    for name in keys.columns if keys else ():
        columns[name] = gathered(column_of(batch, name), Field(name, None, False), rows, None, None)
    if "re" in names_of(batch):
        columns["re"] = integers(batch, "re")[rows]
        columns["re"][barriers] = [sequences.re(t) for t in columns["le"][barriers].tolist()]
    if len(promises):
        columns["kind"] = np.zeros(len(rows), np.int8)
        columns["kind"][promises] = PUNCTUATION
    return columns, then


# -- the call ----------------------------------------------------------------------------------------------------------------------


def _carry_out(
    sequences: Sequences, keys: Keys | None, arrivals: Arrivals, plan: Plan, encoded: Any
) -> tuple[list[Any], int | None]:
    """All or nothing: barriers that go, the table, what is then in force; the output's columns, and what is promised."""
    core = sequences.core
    with sequences.call():
        _take_late(sequences, arrivals)
        first: dict[Hashable, list[Change]] = {}
        for _, change, key in sequences.promise(arrivals.promised, apart={coming.key for coming in plan.keys}):
            first.setdefault(key, []).append(change)
        for coming in plan.keys:
            for gap in gaps_of(coming.blocks):
                sequences.stays(coming.key, gap, arrivals.promised)
            if coming.moved:
                first[coming.key] = [sequences.barrier(coming.key, *moved) for moved in coming.moved]
        for change in _changes(sequences, arrivals, arrivals.rows[plan.first]):
            first.setdefault(change.key, []).append(change)
        core._flush(first)
        out = table.carried_out(core, encoded, plan.then, keys)
        _put(sequences, arrivals, plan)
        sequences.changes += len(arrivals.rows)
    return out


def _take_late(sequences: Sequences, arrivals: Arrivals) -> None:
    """Let the policy decide about what is late, as one change after the other."""
    for change in _changes(sequences, arrivals, arrivals.late):
        sequences.core.take_late(change, arrivals.promised)


def _changes(sequences: Sequences, arrivals: Arrivals, rows: Any) -> Iterator[Change]:
    """Some rows of the batch as changes."""
    if not len(rows):
        return
    batch, names = arrivals.batch, [field.name for field in sequences.derived.schema.fields]
    re = integers(batch, "re")[rows].tolist() if "re" in names_of(batch) else [None] * len(rows)
    le = integers(batch, "le")[rows].tolist()
    codes = [0] * len(le) if arrivals.codes is None else arrivals.codes[rows].tolist()
    payloads = zip(*(picked(column_of(batch, name), rows).tolist() for name in names))
    for payload, begin, end, code in zip(payloads, le, re, codes):
        yield sequences.core.typed(Change(sequences.derived.event(payload), begin, end), arrivals.keys[code])


def _put(sequences: Sequences, arrivals: Arrivals, plan: Plan) -> None:
    """Let the batch be in force: blocks, and in columns what can still change."""
    core, promised, le = sequences.core, arrivals.promised, arrivals.le
    if arrivals.code is None:
        before, kept = None, np.arange(int(le.searchsorted(promised)), len(le))
    else:
        can_change = le >= promised
        before, kept = np.append(0, np.cumsum(can_change)), np.flatnonzero(can_change)
    rows = arrivals.rows[kept]
    fields = [picked(column_of(arrivals.batch, field.name), rows) for field in sequences.derived.schema.fields]
    tail = Tail(arrivals.number[kept], le[kept], _ends(sequences, arrivals, kept), fields, 0, 0)
    for key, low, _, high, blocks, _, _ in plan.keys:
        numbers = sequences.keys.get(key)
        sequences.note_deadline(key)
        if numbers is None:
            numbers = sequences.made(key)
        begin, end = (0, len(kept)) if before is None else (int(before[low]), int(before[high]))
        last = high - (end - begin) - 1
        cover = numbers.below(promised)
        if last >= low and (cover is None or arrivals.number[last] > cover.number):
            cover = Cover(int(arrivals.number[last]), int(le[last]), int(_ends(sequences, arrivals, last)))
        numbers.note()
        numbers.blocks[:] = blocks
        if end > begin:
            numbers.tails = [*numbers.tails, tail._replace(low=begin, high=end)]
        numbers.move_to(cover, promised)
        if numbers.empty:
            core.journal.drop(sequences.keys, key)
        sequences.refresh(key, promised)


def _ends(sequences: Sequences, arrivals: Arrivals, which: Any) -> Any:
    """The REs of some of the arrivals."""
    if "re" in names_of(arrivals.batch):
        return integers(arrivals.batch, "re")[arrivals.rows[which]]
    window = sequences.core.window
    return np.full(np.shape(which), FOREVER) if window is None else arrivals.le[which] + window
