"""Tell the kernels which state promises with conditions have made superfluous ([AFA10] App. F.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from afa.compiled.block import STEPS, head_words, set_head_words
from afa.compiled.kernel import layout as k
from afa.compiled.memory import WordArray
from afa.compiled.store import Store
from afa.conditions.promised import Promises, PromisesByKey, room


def prune(store: Store, promises: PromisesByKey, arcs: int) -> None:
    """Carry out `afa.engine.Engine.prune`. O(keys) in numpy, and O(state) of keys that have grown since; amortized O(1) a step."""
    if store.longest:
        return  # as the interpreted engine
    if store.arcs.table.timeouts:
        return  # when one fires is a matter of the clock, which conditions do not move, and of any event
    told: dict[int, tuple[Promises, WordArray]] = {}
    for code in _grown(store):
        said = promises.of_key(store.key_of(store.number_of(code)))
        t = max(min(said.of_all(), arcs), store.progress.floor)
        if t > _cleaned(store, code):
            store.call(k.SERVE, code, 0, final=t)
        if store.ordered or store.arcs.table.skips:  # see `afa.interpreted.pruning.prune`
            _looked_at(store, code)
            continue
        if id(said) not in told:
            told[id(said)] = said, _told(store, said, arcs)
        store.call(k.PRUNE, code, batch=told[id(said)][1])


def _grown(store: Store) -> list[int]:
    """Return the keys that have grown so much that it pays to look at them."""
    codes = store.held()
    found: list[int] = codes[head_words(store, codes, STEPS) >= room(head_words(store, codes, k.Block.thinned))].tolist()
    return found


def _looked_at(store: Store, code: int) -> None:
    """Note how much a key must grow before it is looked at again; a failed call need not undo that."""
    if store.entries[code, k.KeyEntry.block]:
        set_head_words(store, [code], k.Block.thinned, head_words(store, [code], STEPS))


def _cleaned(store: Store, code: int) -> int:
    return int(head_words(store, [code], k.Block.cleaned)[0])


def _told(store: Store, said: Promises, arcs: int) -> WordArray:
    """Return the promises of a key as the kernels read them, see `PruneTable`."""
    states, uses = store.arcs.states, said.uses()
    words: Any = np.zeros((5, max(4, len(states), len(uses))), np.int64)
    begins = words[k.PruneTable.begins]
    begins[k.PruneWords.start], begins[k.PruneWords.arcs], begins[k.PruneWords.count] = min(said.of_start(), arcs), arcs, len(uses)
    begins[k.PruneWords.finals] = any(event.arc.final for event in store.arcs.table.events)
    words[k.PruneTable.idle, : len(states)] = [min(said.of_state(state), arcs) for state in states]
    for i, (arc, t) in enumerate(uses):
        words[k.PruneTable.use, i] = t
        words[k.PruneTable.test, i], words[k.PruneTable.constants, i] = store.arcs.test(arc)
    return WordArray(words)
