"""Read the state of one key from Python: for readers, snapshots, statistics and checks; of a packed key, a copy."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

from afa.compiled.kernel import layout as k
from afa.compiled.memory import WordArray
from afa.compiled.store import Store
from afa.engine import Step
from afa.model.pmatch import PMatch

STEPS = -1
"""Instead of a field of `Block`: how many steps a key has."""
NO_STEPS = np.empty(0, np.int64)
NO_NODES = np.empty((0, 0), np.int64)


def head_words(store: Store, codes: Any, name: int) -> Any:
    """Return one word of the headers of keys that hold something."""
    batch: Any = np.zeros((2, max(1, len(codes))), np.int64)
    batch[0, : len(codes)] = codes
    store.call(k.HEADS_OF, name, len(codes), WordArray(batch))
    return batch[1, : len(codes)]


def set_head_words(store: Store, codes: Any, name: int, values: Any) -> None:
    """Set a word of the header of some keys. *Requires* that they changed in this call, or that no call need take it back."""
    if len(codes):
        store.memory.m[k.Memory.next] = 0
        store.call(k.SET_HEADS, name, len(codes), WordArray(np.array(np.broadcast_arrays(codes, values), np.int64)))


class KeyBlock:
    """The state of one key, by its number, as it stands in memory; of a packed key a copy."""

    def __init__(self, store: Store, code: int) -> None:
        self.store = store
        held = int(store.entries[code, k.KeyEntry.block])
        self.at = store.call(k.OPENED, code) if held < 0 else held
        self.m = store.memory.m[self.at :]
        if held < 0:
            self.m = self.m[
                : self.head(k.Block.pending) + self.head(k.Block.pending_cap) * (k.PendingRow.payload + store.payloads.layout.width)
            ].copy()

    @property
    def order(self) -> Any:
        """The numbers of the key's steps, in order: a view."""
        return self.m[k.HEAD + self.head(k.Block.first) : k.HEAD + self.head(k.Block.last)] if self.at else NO_STEPS

    @cached_property
    def steps(self) -> list[int]:
        """The same as a list. O(steps)."""
        found: list[int] = self.order.tolist()
        return found

    def head(self, name: int) -> int:
        return int(self.m[name])

    def word(self, column: int, step: int) -> int:
        return int(self.m[k.HEAD + column * self.head(k.Block.cap) + step])

    def linked(self, place: int) -> bool:
        """Whether the step at a place continues the list before it; see `afa.compiled.kernel.gaps`."""
        gaps = int(self.store.memory.m[k.Memory.gapless])
        before, here = self.steps[place - 1], self.steps[place]
        joined = gaps == k.JOIN and self.word(k.Block.le, here) < self.head(k.Block.told)
        return not gaps or joined or self.word(k.Block.seq, before) + 1 == self.word(k.Block.seq, here)

    def array(self, slice_: int, section: int, width: int) -> Any:
        base, count = self.head(section) + (slice_ >> 24) * width, slice_ & k.COUNT
        return self.m[base : base + count * width].reshape(count, width)

    def rows(self, slice_: int, section: int, width: int) -> list[list[int]]:
        found: list[list[int]] = self.array(slice_, section, width).tolist()
        return found

    def events(self, step: int) -> list[list[int]]:
        """Return ``[re, copies, words..]`` of each event of a step."""
        return self.rows(self.word(k.Block.events_of, step), k.Block.events, k.EventRow.payload + self.store.payloads.layout.width)

    def nodes(self, step: int) -> list[list[int]]:
        """Return ``[start, m, state, end, register..]`` of each node of a step."""
        return self.rows(self.word(k.Block.nodes_of, step), k.Block.nodes, self.store.memory.row)

    def node_array(self, step: int) -> Any:
        """Return the same as an array: a view."""
        return self.array(self.word(k.Block.nodes_of, step), k.Block.nodes, self.store.memory.row)

    def matches(self, step: int) -> list[list[int]]:
        """Return ``[T, m, register..]`` of each match of a step."""
        return self.rows(
            self.word(k.Block.matches_of, step), k.Block.matches, k.MatchRow.register + self.store.registers.layout.width
        )

    def pending(self) -> list[list[int]]:
        """Return ``[le, re, copies, words..]`` of each retraction that waits."""
        return self.rows(self.head(k.Block.pending_top), k.Block.pending, 3 + self.store.payloads.layout.width)

    def lists(self) -> Iterator[list[list[int]]]:
        """Yield the list of each place, in order: the nodes of its step, and those of earlier steps that reach it. O(rows)."""
        standing: list[list[int]] = []
        for step in self.steps:
            le = self.word(k.Block.le, step)
            standing = [*(node for node in standing if node[k.NodeRow.end] > le), *self.nodes(step)]
            yield standing


def held_steps(store: Store, code: int, low: int, high: int, starts: Collection[Any] | None) -> list[Step]:
    """See `afa.engine.Engine.steps`. O(log steps + rows of the span, and of steps before it that reach into it)."""
    block = KeyBlock(store, code)
    order = block.order
    if not len(order):
        return []
    times = partial(block.word, k.Block.le)
    first = max(bisect_left(order, low, key=times) - 1, 0)
    last = min(bisect_right(order, high, key=times) + 1, len(order))
    among = np.array(sorted(starts or ()), np.int64)
    event, register, states = store.payloads.record, store.registers.record, store.arcs.states
    standing: list[tuple[int, PMatch]] = []  # until when a partial match stands, and which
    found = []
    wanted = starts is None or len(starts) > 0
    begin = bisect_left(order, min(block.word(k.Block.reach, order[first]), times(order[first])), key=times) if wanted else first
    for place, step in enumerate(order[begin:last].tolist(), begin):
        le = times(step)
        nodes = block.node_array(step) if wanted else NO_NODES
        if starts is not None and len(nodes):
            begun = nodes[:, k.NodeRow.start]
            nodes = nodes[begun == among[0] if len(among) == 1 else np.isin(begun, among)]
        standing = [node for node in standing if node[0] > le]
        standing += [(end, PMatch(start, m, states[q], register(words))) for start, m, q, end, *words in nodes.tolist()]
        if place >= first:
            events = {(event(words), re): copies for re, copies, *words in block.events(step)}
            follows = place > 0 and (store.gaps is None or block.linked(place))
            found.append(Step(le, le, follows, events, [p for _, p in standing]))
    return found


def held_matches(store: Store, code: int, low: int) -> list[tuple[Any, int, int]]:
    """See `afa.engine.Engine.matches`. What time-outs have brought stands at the step before."""
    block = KeyBlock(store, code)
    if not block.at:
        return []
    first, last, cap = (block.head(name) for name in (k.Block.first, k.Block.last, k.Block.cap))
    order = block.m[k.HEAD + first : k.HEAD + last]
    begin = bisect_left(order, low, key=lambda step: block.m[k.HEAD + k.Block.le * cap + step])
    slices = block.m[k.HEAD + k.Block.matches_of * cap + order[max(begin - 1, 0) :]]
    found: list[list[int]] = []
    for rows in slices[(slices & k.COUNT) != 0].tolist():
        found += block.rows(rows, k.Block.matches, k.MatchRow.register + store.registers.layout.width)
    register = store.registers.record
    return [(register(words), le, re) for le, re, *words in found if le >= low]
