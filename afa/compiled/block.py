"""Read the state of a key from Python: for snapshots, statistics and checks. Of keys at rest what the kernels say of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from afa.compiled.kernel import names as k
from afa.compiled.memory import WordArray
from afa.compiled.store import Store

STEPS = -1
"""Instead of a name H_*: how many steps a key has."""
NO_STEPS = np.empty(0, np.int64)


def head_words(store: Store, codes: Any, name: int) -> Any:
    """Return a word of the header of each of some keys of which something is held."""
    batch: Any = np.zeros((2, max(1, len(codes))), np.int64)
    batch[0, : len(codes)] = codes
    store.call(k.HEADS_OF, name, len(codes), WordArray(batch))
    return batch[1, : len(codes)]


def set_head_words(store: Store, codes: Any, name: int, values: Any) -> None:
    """Set a word of the header of some keys. *Requires* that they changed in this call, or that no call need take it back."""
    if len(codes):
        store.memory.m[k.C_NEXT] = 0
        store.call(k.SET_HEADS, name, len(codes), WordArray(np.array(np.broadcast_arrays(codes, values), np.int64)))


class KeyBlock:
    """The state of one key, by its number, as it stands in memory; of a key at rest a copy."""

    def __init__(self, store: Store, code: int) -> None:
        self.store = store
        held = int(store.directory.entries[code, k.D_BLOCK])
        self.at = store.call(k.OPENED, code) if held < 0 else held
        self.m = store.memory.m[self.at :]
        if held < 0:
            self.m = self.m[
                : self.head(k.H_PENDING) + self.head(k.H_PENDING_CAP) * (k.Q_WORDS + store.payloads.layout.width)
            ].copy()

    @property
    def order(self) -> Any:
        """The numbers of the key's steps, in order: a view."""
        return self.m[k.HEAD + self.head(k.H_FIRST) : k.HEAD + self.head(k.H_LAST)] if self.at else NO_STEPS

    @cached_property
    def steps(self) -> list[int]:
        """The same as a list. O(steps)."""
        found: list[int] = self.order.tolist()
        return found

    def head(self, name: int) -> int:
        return int(self.m[name])

    def word(self, column: int, step: int) -> int:
        return int(self.m[k.HEAD + column * self.head(k.H_CAP) + step])

    def linked(self, place: int) -> bool:
        """Whether the step at a place continues the list before it; see `afa.compiled.kernel.gaps`."""
        gaps = int(self.store.memory.m[k.C_GAPLESS])
        before, here = self.steps[place - 1], self.steps[place]
        joined = gaps == k.JOIN and self.word(k.LE, here) < self.head(k.H_TOLD)
        return not gaps or joined or self.word(k.SEQ, before) + 1 == self.word(k.SEQ, here)

    def array(self, slice_: int, section: int, width: int) -> Any:
        base, count = self.head(section) + (slice_ >> 24) * width, slice_ & k.COUNT
        return self.m[base : base + count * width].reshape(count, width)

    def rows(self, slice_: int, section: int, width: int) -> list[list[int]]:
        found: list[list[int]] = self.array(slice_, section, width).tolist()
        return found

    def events(self, step: int) -> list[list[int]]:
        """Return ``[re, copies, words..]`` of each event of a step."""
        return self.rows(self.word(k.EV, step), k.H_EVENTS, k.E_WORDS + self.store.payloads.layout.width)

    def nodes(self, step: int) -> list[list[int]]:
        """Return ``[start, m, state, end, register..]`` of each node of a step."""
        return self.rows(self.word(k.ND, step), k.H_NODES, self.store.memory.row)

    def node_array(self, step: int) -> Any:
        """Return the same as an array: a view."""
        return self.array(self.word(k.ND, step), k.H_NODES, self.store.memory.row)

    def matches(self, step: int) -> list[list[int]]:
        """Return ``[T, m, register..]`` of each match of a step."""
        return self.rows(self.word(k.MT, step), k.H_MATCHES, k.M_REG + self.store.registers.layout.width)

    def pending(self) -> list[list[int]]:
        """Return ``[le, re, copies, words..]`` of each retraction that waits."""
        return self.rows(self.head(k.H_PENDING_TOP), k.H_PENDING, 3 + self.store.payloads.layout.width)

    def lists(self) -> Iterator[list[list[int]]]:
        """Yield the list of each place, in order: the nodes of its step, and those of earlier steps that reach it. O(rows)."""
        standing: list[list[int]] = []
        for step in self.steps:
            le = self.word(k.LE, step)
            standing = [*(node for node in standing if node[k.N_END] > le), *self.nodes(step)]
            yield standing
