"""Numbers without gaps in the blocks: which are in force, and which records take effect; see `afa.operator.gapless`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable
from typing import Any

import numpy as np

from afa.change import Change
from afa.compiled.block import KeyBlock, head_words
from afa.compiled.compiled_states import pending
from afa.compiled.kernel import layout as k
from afa.compiled.memory import WordArray
from afa.compiled.store import Store
from afa.engine import Host
from afa.errors import AfaError


class NumberLookup:
    """The protocol `afa.engine.NumberedEngine` over a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def look(self, host: Host, batch: WordArray) -> None:
        """Ask the operator about the numbers of the records at w.index; a record without effect is left with a diff of 0.

        A refusal names its key; w.key names none then.
        """
        try:
            self._decide(host, batch)
        except AfaError:
            self._store.memory.w[k.Scratch.key] = k.NOWHERE
            raise

    def _decide(self, host: Host, batch: WordArray) -> None:
        host.numbers_applied()
        store, w = self._store, self._store.memory.w
        index = w[k.Scratch.index]
        for x in sorted(w[index : index + store.memory.m[k.Memory.numbered]].tolist()):
            le, re, diff, code, _, _, _, *words = batch.words[:, x].tolist()
            batch.words[k.Arrivals.diff, x] = host.take_numbered(
                Change(store.payloads.record(words), le, re, diff, store.key_of(code))
            )

    def numbered(self, key: Hashable, number: int) -> tuple[int, Any] | None:
        block = self._block(key)
        if block is None:
            return None
        place = bisect_left(block.steps, number, key=lambda step: block.word(k.Block.seq, step))
        if place == len(block.steps) or block.word(k.Block.seq, block.steps[place]) != number:
            return None
        step = block.steps[place]
        events = [(self._store.payloads.record(words), re) for re, _, *words in block.events(step)]
        return block.word(k.Block.le, step), events[0] if events else None

    def neighbours(self, key: Hashable, le: int, number: int) -> list[tuple[int, int]]:
        block = self._block(key)
        if block is None:
            return []

        def at(step: int) -> tuple[int, int]:
            return block.word(k.Block.le, step), block.word(k.Block.seq, step)

        place = bisect_left(block.steps, (le, number), key=at)
        return [at(step) for step in block.steps[max(place - 1, 0) : place + 2]]

    def _block(self, key: Hashable) -> KeyBlock | None:
        """Drop the final state of a key, and return its block; None: it has none."""
        store = self._store
        m, code = store.memory.m, store.directory.find(key)
        at = 0 if code is None else int(m[m[k.Memory.dir] + code * k.KeyEntry.SIZE + k.KeyEntry.block])
        if not at or code is None:
            return None
        if head_words(store, [code], k.Block.cleaned)[0] < store.progress.floor:
            store.call(k.SERVE, code, 0)
        block = KeyBlock(store, code)
        return block if block.at else None

    def waiting(self, key: Hashable, payload: Any, le: int, re: int) -> int:
        store = self._store
        code = store.directory.find(key)
        if code is None or not store.memory.m[k.Memory.waiting]:
            return 0
        return sum(-change.diff for change in pending(store, code) if change[:3] == (payload, le, re))

    def final_gaps(self) -> list[tuple[Hashable, int, int]]:
        found, self._store.missing = self._store.missing, []
        return found

    @property
    def open_gaps(self) -> int:
        """See there. O(steps of the keys that may have a gap)."""
        codes = self._store.held()
        count = 0
        for code in codes[head_words(self._store, codes, k.Block.gap) < k.FOREVER].tolist():
            block = KeyBlock(self._store, code)
            le, numbers = (np.array([block.word(column, step) for step in block.steps]) for column in (k.Block.le, k.Block.seq))
            count += int(((numbers[1:] - numbers[:-1] != 1) & (le[1:] >= self._store.progress.events)).sum())
        return count
