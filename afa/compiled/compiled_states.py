"""Save and load the states of keys as columns (`afa.state.states`) by kernels, without a Python object for each row."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.compiled.block import STEPS, KeyBlock, head_words, set_head_words
from afa.compiled.code.payload_layout import FieldSlot
from afa.compiled.code.strings import Strings
from afa.compiled.encode import sequence_words
from afa.compiled.kernel import layout as k
from afa.compiled.memory import WordArray
from afa.compiled.record_words import RecordForms
from afa.compiled.store import Store
from afa.engine import Ends, Living, Sizes
from afa.model.copies import refuse_ties
from afa.state.canonical import order_of_keys
from afa.state.key_columns import KeyColumns
from afa.state.states import (
    CHANGES,
    COPIES,
    COVER,
    LE,
    NUMBER,
    OVER,
    RE,
    ROWS,
    START,
    STATE,
    Column,
    M,
    Pruned,
    States,
    given_steps,
    sorted_texts,
)
from punctuation.time import as_count, as_time

PART = 8192
"""How many changes are loaded at once: few enough for the cache."""


def pending(store: Store, entry: int) -> list[Change]:
    if not store.entries[entry, k.KeyEntry.block]:
        return []
    record, key = store.payloads.record, store.key_of(store.number_of(entry))
    return [Change(record(words), le, re, -copies, key) for le, re, copies, *words in KeyBlock(store, entry).pending()]


def overdue(store: Store, t: int) -> list[Change]:
    """Remove and return the retractions whose insertion can no longer arrive, now that ``t`` is promised."""
    changes: list[Change] = []
    if not store.memory.m[k.Memory.waiting]:
        return changes
    store.memory.m[k.Memory.next] = 0
    while (entry := store.call(k.WAITS, t)) < store.memory.m[k.Memory.keys]:
        found = [change for change in pending(store, entry) if change.le is not None and change.le < t]
        if found:
            store.call(k.EXPIRE, entry, t)
            changes += found
    return changes


def sizes(store: Store) -> Sizes:
    store.call(k.SIZES, store.progress.final)
    at = int(store.memory.w[k.Scratch.temp])
    events, partial, intervals, matches, pending, keys, ties, *high = store.memory.w[at : at + 9].tolist()
    lags = store.progress.lags or store.scan is not None  # a scan holds rows below a promise whose attempts may change
    steps, low, more, kept = store.memory.w[at + 9 : at + 13].tolist() if lags else (0, 0, 0, 0)
    copies = events + (high[0] << 32), pending + (high[1] << 32), low + (more << 32)
    return Sizes(copies[0], partial, intervals, matches, copies[1], keys, ties, steps, copies[2], kept)


def begins(store: Store) -> int:
    """Return the LE of the first row that a scan holds; FOREVER: there is none. O(keys)."""
    m, blocks = store.memory.m, store.entries[:, k.KeyEntry.block]
    blocks = blocks[blocks != 0]
    first, cap = m[blocks + k.Block.first], m[blocks + k.Block.cap]
    there = first < m[blocks + k.Block.last]
    steps = m[blocks + k.HEAD + first]
    return int(m[blocks + k.HEAD + k.Block.le * cap + steps][there].min(initial=k.FOREVER))


def living(store: Store, t: int) -> Living:
    if store.scan is not None:
        keys = len(store.held())
        return Living(begins(store), keys, keys)  # no later than where what may go on began
    store.call(k.LIVING, t, store.progress.floor)
    at = int(store.memory.w[k.Scratch.temp])
    return Living(*store.memory.w[at : at + 3].tolist())


def by_state(store: Store) -> dict[str, int]:
    states = store.arcs.states
    counts = np.zeros((1, len(states)), np.int64)
    store.call(k.BY_STATE, 0, 0, WordArray(counts))
    return {state: n for state, n in zip(states, counts[0].tolist()) if n}


def by_key(store: Store) -> list[tuple[Hashable, int, int]]:
    held = store.held()
    counts = np.zeros((2, len(store.entries)), np.int64)
    store.call(k.BY_KEY, store.progress.final, 0, WordArray(counts))
    names = store.directory.names_of(np.array([store.number_of(entry) for entry in held.tolist()], np.int64))
    return list(zip(names, *counts[:, held].tolist()))


def ends(store: Store) -> Ends:
    """Count beginnings by `afa.compiled.kernel.ends`, with a table that has room for the most beginnings of a key."""
    if store.scan is not None:
        return Ends()
    steps = int(head_words(store, store.held(), STEPS).max(initial=0))
    places = 1 << (2 * steps + 30).bit_length()
    while True:
        store.call(k.ENDS, places, 0, WordArray(np.zeros((k.Beginnings.SIZE, places), np.int64)))
        at = int(store.memory.w[k.Scratch.temp])
        by_window, by_no_arc, past, full = store.memory.w[at : at + 4].tolist()
        if not full:
            return Ends(by_window, by_no_arc, past)
        places *= 2


def check_ties(store: Store) -> None:
    """Where a step came to hold several events, look whether one still does. O(steps), with ties only.

    Ties that are told, and not refused, are those of the keys that have changed in this call.
    """
    m = store.memory.m
    if not m[k.Memory.tied]:
        return
    m[k.Memory.tied] = 0
    entries = store.entries
    here = entries[:, k.KeyEntry.block] != 0
    if store.faults is not None:
        here &= entries[:, k.KeyEntry.changed] >= m[k.Memory.serial]
    for entry in np.flatnonzero(here).tolist():
        store.memory.w[k.Scratch.key] = code = store.number_of(entry)  # the key at work, if it is refused
        block = KeyBlock(store, entry)
        for step in block.steps:
            if block.word(k.Block.events_of, step) & k.COUNT > 1:
                record = store.payloads.record
                tied = [record(words) for _, _, *words in block.events(step)]
                refuse_ties(tied, block.word(k.Block.le, step), store.key_of(code), store.faults)


# -- out ---------------------------------------------------------------------------------------------------------------------


def save(store: Store, keys: KeyColumns, codes: Any) -> States:
    """Return the states of some keys, of which these are the numbers; of those that are not held (NOWHERE), none. O(state)."""
    keys = keys.normal()
    order = order_of_keys(keys)
    keys, codes = keys.take(order), codes[order]
    *heads, marks = _written(store, codes, k.HEADS, 6, np.ones(len(codes), np.int64))
    rows = _written(store, codes, k.COVERS, 3 + store.registers.layout.width, heads[ROWS])
    changes = _written(store, codes, k.CHANGES, 3 + store.payloads.layout.width, heads[CHANGES])
    places = np.flatnonzero(marks)
    states = States(
        keys,
        store.progress.floor,
        np.stack(heads),
        store.arcs.states,
        rows[:3],
        _columns(store.registers, rows[3:]),
        changes[:3],
        _columns(store.payloads, changes[3:]),
        sorted(itertools.chain.from_iterable(_pruned(one, places, codes[places]) for one in store.stores), key=itemgetter(0)),
    )
    return states.arranged()


def _written(store: Store, codes: Any, what: int, words: int, counts: Any) -> Any:
    """Return the words that the kernels write of keys, in their order: HEADS, COVERS or CHANGES, of each so many columns."""
    n = int(counts.sum())
    if not n:
        return np.zeros((words, 0), np.int64)

    def written(one: Store) -> Any:
        mine = one.own(codes)
        entries, n = codes[mine] // one.shards, int(counts[mine].sum())
        batch = np.empty((1 + words, max(n, len(entries), 1)), np.int64)
        batch[0, : len(entries)] = entries
        one.call(k.SAVE, what, len(entries), WordArray(batch))
        return batch[1:, :n]

    parts = store.each(written, len(codes))
    if len(parts) == 1:
        return parts[0]
    found = np.empty((words, n), np.int64)
    for one, part in zip(store.stores, parts):
        if what == k.COVERS:  # after an interrupt, stores may number states in another order
            part[STATE] = np.array([store.arcs.state_number(name) for name in one.arcs.states], np.int64)[part[STATE]]
        found[:, np.repeat(one.own(codes), counts)] = part
    return found


def _pruned(store: Store, places: Any, codes: Any) -> Iterator[Pruned]:
    """What promises with conditions have left of some keys, or said of them; ``places``: theirs among all keys of the snapshot."""
    final, mine = store.progress.floor, store.own(codes)
    entries = codes[mine] // store.shards
    heads = (head_words(store, entries, name).tolist() for name in (k.Block.cleaned, k.Block.pruned))
    for place, entry, cleaned, last in zip(places[mine].tolist(), entries.tolist(), *heads):
        promised = cleaned if cleaned > final else k.BEGINNING
        if last == k.BEGINNING:
            yield Pruned(place, promised, None, [])
        else:
            yield Pruned(place, promised, last, _given(store, entry, last))


def _given(store: Store, entry: int, last: int) -> list[Any]:
    """Return the steps of a key whose lists others do not give, to the first one that is as the list before it says."""
    event, register, states = store.payloads.record, store.registers.record, store.arcs.states
    block = KeyBlock(store, entry)

    def plain(node: list[int]) -> list[Any]:
        start, m, state, _, *words = node
        return [start, m, states[state], list(register(words))]

    def steps() -> Iterator[tuple[int, Any, Any]]:
        for step, rows in zip(block.steps, block.lists()):
            le = block.word(k.Block.le, step)
            yield le, rows, [[re, copies, list(event(words))] for re, copies, *words in block.events(step)]
            if le > last:
                return

    return given_steps(steps(), plain)


def _columns(records: RecordForms, words: Any) -> list[Column]:
    return [_column(slot, records.strings, words) for slot in records.layout.slots]


def _column(slot: FieldSlot, strings: Strings, words: Any) -> Column:
    values = words[slot.value]
    present = words[slot.offset] != 0 if slot.width == 2 else None
    if slot.field.type is str:
        numbers, texts = sorted_texts(values, strings.all)
        return Column(numbers, present, texts)
    return Column(values.view(np.float64) if slot.field.type is float else values, present)


# -- in ----------------------------------------------------------------------------------------------------------------------


def load(store: Store, states: States) -> None:
    """Take in the states of keys that are not held: their lists are derived anew. O(state).

    Raises ValueError, TypeError or an AfaError where steps whose lists are given are none.
    """
    codes = store.directory.numbers(states.keys)
    for one in store.stores:
        mine = codes % one.shards == one.shard
        part = states.only(mine)
        _load(one, part, codes[mine] // one.shards)
        if one is not store:
            store.idle += part.changes.shape[1]
    store.directory.loaded(codes)


def _load(store: Store, states: States, codes: Any) -> None:
    """Do the same for keys of one store; ``codes``: their entries."""
    numbers = np.array([store.arcs.state_number(name) for name in states.names], np.int64)
    covered = np.flatnonzero(states.covered)
    if len(covered):
        _load_covers(store, states, codes, numbers, covered)
    _load_given(store, [(int(codes[part.key]), part) for part in states.pruned if part.steps])
    _set_cleaned(store, codes, states)
    store.memory.m[k.Memory.looked] = k.ALWAYS  # numbers were checked with the snapshot
    if store.arcs.table.timeouts:
        store.call_all(k.TICK)
    _load_changes(store, states, np.repeat(codes, states.heads[CHANGES]))
    m = store.memory.m
    m[k.Memory.looked] = 0
    if states.final < store.progress.floor:
        set_head_words(store, codes, k.Block.cleaned, k.BEGINNING)
    _set_cleaned(store, codes, states)
    store.take_log()


def _load_changes(store: Store, states: States, codes: Any) -> None:
    """Take in events, and retractions that wait, part by part: each belongs to the key of its number."""
    changes, sources = states.changes, [_numbered(column, store.strings) for column in states.payloads]
    order = store.event_order
    ordered = None if order is None else store.strings.numbers_of(order.texts(states.payloads))
    for low in range(0, len(codes), PART):
        here = slice(low, low + PART)
        batch: Any = np.zeros((k.Arrivals.payload + store.payloads.layout.width, len(codes[here])), np.int64)
        batch[k.Arrivals.le], batch[k.Arrivals.re], batch[k.Arrivals.diff] = (
            changes[LE, here],
            changes[RE, here],
            changes[COPIES, here],
        )
        batch[k.Arrivals.key], batch[k.Arrivals.kind], batch[k.Arrivals.arc] = codes[here], k.EVENT, k.NOWHERE
        _fill(store.payloads, [column.moved(here) for column in sources], batch[k.Arrivals.payload :])
        if ordered is not None:
            batch[k.Arrivals.seq] = ordered[here]
        elif store.sequence_slot is not None:
            batch[k.Arrivals.seq] = sequence_words(store.sequence_slot, batch)
        store.ready(batch.shape[1])
        store.memory.m[k.Memory.next] = 0
        store.call(k.RESTORE_CHANGES, 0, batch.shape[1], WordArray(batch))


def _set_cleaned(store: Store, codes: Any, states: States) -> None:
    """Clean keys with further promises than others as far as they were cleaned."""
    parts = [part for part in states.pruned if as_time(part.promised, "promised") > store.progress.floor]
    set_head_words(store, codes[[part.key for part in parts]], k.Block.cleaned, [part.promised for part in parts])


def _load_covers(store: Store, states: States, codes: Any, numbers: Any, covered: Any) -> None:
    counts = states.heads[ROWS, covered]
    n = int(counts.sum())
    heads = np.cumsum(counts + 1) - counts - 1
    batch: Any = np.zeros((max(6, 4 + store.registers.layout.width), n + len(covered)), np.int64)
    covers = states.heads[COVER, covered]
    batch[:4, heads] = codes[covered], covers, np.maximum(covers + 1, states.final), counts
    batch[4:6, heads] = states.heads[[NUMBER, OVER]][:, covered]
    words = np.zeros((4 + store.registers.layout.width, n), np.int64)
    words[1], words[2], words[3] = states.rows[START], states.rows[M], numbers[states.rows[STATE]]
    _fill(store.registers, [_numbered(column, store.strings) for column in states.registers], words[4:])
    behind = np.ones(batch.shape[1], np.bool_)
    behind[heads] = False
    batch[: len(words), behind] = words
    store.memory.m[k.Memory.next] = 0
    store.call(k.RESTORE, 0, batch.shape[1], WordArray(batch))


class _Given(NamedTuple):
    """A partial match: at which step it is stored, from which LE on it does not stand any more, its node."""

    le: int
    until: int
    row: list[int]


def _load_given(store: Store, parts: list[tuple[int, Pruned]]) -> None:
    automaton, columns = store.automaton, []
    assert automaton.event_schema is not None
    event, register = automaton.event_schema, automaton.register_schema
    runs = bool(store.arcs.program.words[k.Program.ignorable])
    for code, part in parts:
        times = [as_time(le, "le") for le, _, _ in part.steps]
        if any(le <= before for before, le in itertools.pairwise(times)):
            raise ValueError(f"expected steps in order but got {times}")
        head = [code, len(times), 0, 0, as_time(part.last, "last"), as_time(part.promised, "promised")]
        columns.append(head)
        standing: list[_Given] = []  # at the step
        for (le, rows, events), after in itertools.zip_longest(part.steps, times[1:]):
            new = []
            for start, m, state, z, until in sorted(rows, key=itemgetter(0)):
                words = store.registers.words(register.take(register.cls(*z)))
                row = [as_time(start, "start"), as_time(m, "m"), store.arcs.state_number(state), k.ALONE, *words]
                new.append(_Given(le, k.OPEN if until is None else as_time(until, "until"), row))
                if runs and after is not None and new[-1].until > after:
                    row[k.NodeRow.end] = new[-1].until
            standing = [*(given for given in standing if given.until > le), *new]
            own = new if runs else sorted(standing, key=lambda given: given.row[k.NodeRow.start])
            columns.append([le, len(own), len(events), standing[0].le if runs and standing else le])
            columns += [given.row for given in own]
            for re, copies, payload in events:
                words = store.payloads.words(event.take(event.cls(*payload)))
                columns.append([as_time(re, "re"), as_count(copies), *words])
            head[2], head[3] = head[2] + len(own), head[3] + len(events)
    if columns:
        batch: Any = np.zeros((max(map(len, columns)), len(columns)), np.int64)
        for i, column in enumerate(columns):
            batch[: len(column), i] = column
        store.memory.m[k.Memory.next] = 0
        store.call(k.RESTORE_STEPS, 0, len(columns), WordArray(batch))


def _numbered(column: Column, strings: Strings) -> Column:
    """Return a column of texts as their numbers; others as they are."""
    if column.texts is None or not len(column.values):
        return column
    return Column(np.array([strings.number(text) for text in column.texts], np.int64)[column.values], column.present)


def _fill(records: RecordForms, columns: Sequence[Column], words: Any) -> None:
    """Write columns, texts as numbers, as words: an array of shape (width, n)."""
    for slot, column in zip(records.layout.slots, columns):
        words[slot.value] = column.values.view(np.int64)
        if slot.width == 2:
            words[slot.offset] = column.present
            words[slot.value, ~column.present] = 0
