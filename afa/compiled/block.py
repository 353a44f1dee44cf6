"""Read a block from Python: for snapshots, statistics and checks."""

from __future__ import annotations

from collections.abc import Iterator

from afa.compiled.kernel import names as k
from afa.compiled.store import Store


class Block:
    """The state of one key, by its number, as it stands in memory."""

    def __init__(self, store: Store, code: int) -> None:
        self.store = store
        self.m = store.memory.m
        self.at = int(store.directory.entries[code, k.D_BLOCK])
        self.steps: list[int] = []
        if self.at:
            first, last = self.head(k.H_FIRST), self.head(k.H_LAST)
            order = self.at + k.HEAD
            self.steps = self.m[order + first : order + last].tolist()

    def head(self, name: int) -> int:
        return int(self.m[self.at + name])

    def word(self, column: int, step: int) -> int:
        return int(self.m[self.at + k.HEAD + column * self.head(k.H_CAP) + step])

    def linked(self, place: int) -> bool:
        """Whether the step at a place continues the list before it; see `afa.compiled.kernel.gaps`."""
        gaps = int(self.m[k.C_GAPLESS])
        before, here = self.steps[place - 1], self.steps[place]
        joined = gaps == k.JOIN and self.word(k.LE, here) < self.head(k.H_TOLD)
        return not gaps or joined or self.word(k.SEQ, before) + 1 == self.word(k.SEQ, here)

    def rows(self, slice_: int, section: int, width: int) -> list[list[int]]:
        base = self.at + self.head(section) + (slice_ >> 24) * width
        count = slice_ & k.COUNT
        found: list[list[int]] = self.m[base : base + count * width].reshape(count, width).tolist()
        return found

    def events(self, step: int) -> list[list[int]]:
        """Return ``[re, copies, words..]`` of each event of a step."""
        return self.rows(self.word(k.EV, step), k.H_EVENTS, k.E_WORDS + self.store.payloads.layout.width)

    def nodes(self, step: int) -> list[list[int]]:
        """Return ``[start, m, state, end, register..]`` of each node of a step."""
        return self.rows(self.word(k.ND, step), k.H_NODES, self.store.memory.row)

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
