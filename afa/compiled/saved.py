"""The state of a key as plain data, in the form of `afa.saved`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from afa.change import Change
from afa.compiled.block import Block
from afa.compiled.kernel import names as k
from afa.compiled.memory import Batch
from afa.engine import Sizes
from afa.saved import as_key_state, key_state

if TYPE_CHECKING:
    from afa.compiled.engine import CompiledEngine


def pending(engine: CompiledEngine, code: int) -> list[Change]:
    """The retractions of a key that wait, ``diff`` times each."""
    if not engine.directory()[code, k.D_BLOCK]:
        return []
    record, key = engine.payloads.record, engine.names[code]
    return [Change(record(words), le, re, -copies, key) for le, re, copies, *words in Block(engine, code).pending()]


def sizes(engine: CompiledEngine) -> Sizes:
    """What is held."""
    engine.call(k.SIZES)
    at = int(engine.memory.w[k.W_TEMP])
    return Sizes(*engine.memory.w[at : at + 6].tolist())


def save(engine: CompiledEngine) -> list[Any]:
    """The states of all keys."""
    return sorted((_save(engine, code) for key, code in engine.codes.items() if engine.directory()[code, k.D_BLOCK]), key=repr)


def _save(engine: CompiledEngine, code: int) -> list[Any]:
    block = Block(engine, code)
    event, register = engine.payloads.record, engine.registers.record
    cover, events = None, []
    for step in block.steps:
        le, found = block.word(k.LE, step), block.events(step)
        if not found:
            rows = [(start, m, engine.states[state], register(words)) for start, m, state, _, *words in block.nodes(step)]
            cover = (le, max(le, block.head(k.H_SINCE)), rows)
        events += [(event(words), le, re, copies) for re, copies, *words in found]
    waiting = [(event(words), le, re, copies) for le, re, copies, *words in block.pending()]
    return key_state(engine.automaton, engine.names[code], cover, events, waiting)


def load(engine: CompiledEngine, data: Any) -> None:
    """Take in the state of one key: its lists are derived anew."""
    key, cover, events, waiting = as_key_state(engine.automaton, data)
    code = engine.key_code(key)
    if cover is not None:
        le, since, rows = cover
        batch = np.zeros((3 + engine.registers.layout.width, len(rows) + 1), np.int64)
        for i, (start, m, state, register) in enumerate(sorted(rows, key=lambda row: row[0])):
            batch[:, i] = [start, m, engine.state_number(state), *engine.registers.words(register)]
        batch[:2, -1] = le, since
        engine.call(k.RESTORE, code, len(rows), Batch(batch))
        if engine.table.timeouts:
            engine.directory()[code, k.D_ACT] = k.BEGINNING
            engine.tick()
    changes = [Change(payload, le, re, copies) for payload, le, re, copies in events]
    changes += [Change(payload, le, re, -copies) for payload, le, re, copies in waiting]
    if changes:
        engine.apply(key, changes)
    engine.log()
