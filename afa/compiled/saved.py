"""The states of keys as columns (`afa.states`), written and read by the kernels: no Python object a row."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from afa.change import Change
from afa.compiled.block import Block
from afa.compiled.columns import sequence_words
from afa.compiled.kernel import names as k
from afa.compiled.layout import Slot
from afa.compiled.memory import Batch
from afa.compiled.records import Records
from afa.compiled.strings import Strings
from afa.engine import Sizes
from afa.errors import SnapshotError
from afa.states import CHANGES, COPIES, COVER, LE, RE, ROWS, START, STATE, Column, M, Pruned, States, in_order, sorted_texts

if TYPE_CHECKING:
    from afa.compiled.engine import CompiledEngine

PART = 65536
"""Changes taken in at once."""


def pending(engine: CompiledEngine, code: int) -> list[Change]:
    """The retractions of a key that wait, ``diff`` times each."""
    if not engine.directory.entries[code, k.D_BLOCK]:
        return []
    record, key = engine.payloads.record, engine.directory.names[code]
    return [Change(record(words), le, re, -copies, key) for le, re, copies, *words in Block(engine, code).pending()]


def sizes(engine: CompiledEngine) -> Sizes:
    """What is held."""
    engine.call(k.SIZES)
    at = int(engine.memory.w[k.W_TEMP])
    return Sizes(*engine.memory.w[at : at + 6].tolist())


# -- out ---------------------------------------------------------------------------------------------------------------------


def save(engine: CompiledEngine, keys: Sequence[Hashable]) -> States:
    """The states of some keys; of those that are not held, none. O(state)."""
    keys = in_order(keys)
    known = engine.directory.codes
    codes = [known[key] for key in keys if key in known]
    heads = np.zeros((3, len(keys)), np.int64)
    heads[:, [key in known for key in keys]] = _written(engine, codes, k.HEADS, 3, len(codes))
    rows = _written(engine, codes, k.COVERS, 3 + engine.registers.layout.width, int(heads[ROWS].sum()))
    changes = _written(engine, codes, k.CHANGES, 3 + engine.payloads.layout.width, int(heads[CHANGES].sum()))
    m, entries, final = engine.memory.m, engine.directory.entries, engine.progress.final
    cleaned = [(i, int(m[entries[known[key], k.D_BLOCK] + k.H_CLEANED])) for i, key in enumerate(keys) if key in known]
    states = States(
        keys,
        final,
        heads,
        engine.arcs.states,
        rows[:3],
        _columns(engine.registers, rows[3:]),
        changes[:3],
        _columns(engine.payloads, changes[3:]),
        [Pruned(i, t, None, []) for i, t in cleaned if t > final],
    )
    return states.arranged()


def _written(engine: CompiledEngine, codes: list[int], what: int, words: int, n: int) -> Any:
    """What the kernels write of some keys, an array of shape (words, n)."""
    batch = np.zeros((1 + words, max(n, len(codes), 1)), np.int64)
    batch[0, : len(codes)] = codes
    engine.call(k.SAVE, what, len(codes), Batch(batch))
    return batch[1:, :n]


def _columns(records: Records, words: Any) -> list[Column]:
    return [_column(slot, records.strings, words) for slot in records.layout.slots]


def _column(slot: Slot, strings: Strings, words: Any) -> Column:
    values = words[slot.value]
    present = words[slot.offset] != 0 if slot.width == 2 else None
    if slot.field.type is str:
        used, places = np.unique(values, return_inverse=True)
        numbers, texts = sorted_texts(places.reshape(-1), strings.texts(used.tolist()))
        return Column(numbers, present, texts)
    return Column(values.view(np.float64) if slot.field.type is float else values, present)


# -- in ----------------------------------------------------------------------------------------------------------------------


def load(engine: CompiledEngine, states: States) -> None:
    """Take in the states of keys that are not held: their lists are derived anew. O(state).

    Raises
    ------
    SnapshotError
        Some of them can't be.
    """
    if any(part.steps for part in states.pruned):
        raise SnapshotError("expected lists that can be derived but got some that punctuations with conditions have thinned out")
    codes = engine.directory.numbers(states.keys)
    numbers = np.array([engine.arcs.state_number(name) for name in states.names], np.int64)
    covered = np.flatnonzero(states.heads[ROWS])
    if len(covered):
        _load_covers(engine, states, codes, numbers, covered)
    changes = states.changes
    batch: Any = np.zeros((k.I_WORDS + engine.payloads.layout.width, changes.shape[1]), np.int64)
    batch[k.I_LE], batch[k.I_RE], batch[k.I_DIFF] = changes[LE], changes[RE], changes[COPIES]
    batch[k.I_KEY] = np.repeat(codes, states.heads[CHANGES])
    batch[k.I_KIND], batch[k.I_ARC] = k.EVENT, k.NOWHERE
    _fill(engine.payloads, states.payloads, batch[k.I_WORDS :])
    if engine.sequence_slot is not None:
        batch[k.I_SEQ] = sequence_words(engine.sequence_slot, batch)
    for low in range(0, batch.shape[1], PART):
        part = np.ascontiguousarray(batch[:, low : low + PART])
        engine.ready(part.shape[1])
        engine.call(k.RUN, 0, part.shape[1], Batch(part))
    engine.directory.loaded(codes)
    m = engine.memory.m
    m[engine.directory.entries[codes, k.D_BLOCK] + k.H_CLEANED] = k.BEGINNING  # they may be from before the present punctuation
    for number, promised, *_ in states.pruned:
        if promised > engine.progress.final and not engine.table.timeouts:
            engine.call(k.SERVE, int(codes[number]), 0, final=promised)  # else the next snapshot knows of no such promise
    engine.log()


def _load_covers(engine: CompiledEngine, states: States, codes: Any, numbers: Any, covered: Any) -> None:
    """Let the keys begin with their covers."""
    counts = states.heads[ROWS, covered]
    n = int(counts.sum())
    heads = np.cumsum(counts + 1) - counts - 1
    batch: Any = np.zeros((4 + engine.registers.layout.width, n + len(covered)), np.int64)
    covers = states.heads[COVER, covered]
    batch[:4, heads] = codes[covered], covers, np.maximum(covers, states.final), counts
    words = np.zeros((4 + engine.registers.layout.width, n), np.int64)
    words[1], words[2], words[3] = states.rows[START], states.rows[M], numbers[states.rows[STATE]]
    _fill(engine.registers, states.registers, words[4:])
    behind = np.ones(batch.shape[1], np.bool_)
    behind[heads] = False
    batch[:, behind] = words
    engine.memory.m[k.C_NEXT] = 0
    engine.call(k.RESTORE, 0, batch.shape[1], Batch(batch))
    engine.tick()


def _fill(records: Records, columns: Sequence[Column], words: Any) -> None:
    """Write columns as words, an array of shape (width, n)."""
    for slot, column in zip(records.layout.slots, columns):
        values = column.values
        if column.texts is not None:
            values = np.array([records.strings.number(text) for text in column.texts], np.int64)[values] if len(values) else values
        words[slot.value] = values.view(np.int64)
        if slot.width == 2:
            words[slot.offset] = column.present
            words[slot.value, ~column.present] = 0
