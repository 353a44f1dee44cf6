"""Read what a scan shows of one key from Python: which matches, and the rows of each."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from afa.compiled.block import KeyBlock
from afa.compiled.kernel import layout as k
from afa.compiled.kernel import scan_layout as y
from afa.compiled.store import Store
from afa.engine import Picks, SoughtMatch, Step, Ways
from afa.model.choice import PAST
from afa.scan.told import RowTaken, picks_of, ways_of


class HeldMatch(NamedTuple):
    """A match shown: the places of its first and last row, and what it shows: LE, RE, record, of one or of each row."""

    first: int
    last: int
    shown: tuple[tuple[int, int, Any], ...]


class ScanReading:
    """The rows and the matches of one key, by its number."""

    def __init__(self, store: Store, code: int) -> None:
        assert store.scan is not None
        self._store, self._choice = store, store.scan.choice
        self._block = KeyBlock(store, code)
        self._steps = self._block.order
        self._held = int(store.memory.m[k.Memory.held])

    def matches(self) -> Iterator[HeldMatch]:
        """Yield the matches that are shown, by their starts."""
        return map(self._match, self._shown())

    def _shown(self) -> Sequence[int]:
        """Return the steps at which the matches begin that are shown, in order: a view."""
        block = self._block
        if not block.at:
            return []
        begin = k.HEAD + k.Block.shown * block.head(k.Block.cap)
        found: Sequence[int] = block.m[begin + block.head(k.Block.shown_first) : begin + block.head(k.Block.shown_last)]
        return found

    def _match(self, step: int) -> HeldMatch:
        block, width = self._block, k.MatchRow.register + self._store.memory.register
        told, record = self._store.matches.layout.width, self._store.matches.record
        (le, seq, *_), *rows = block.rows(block.word(k.Block.matches_of, step), k.Block.matches, width)
        shown = tuple((t, re, record(words[:told])) for t, re, *words in rows)
        return HeldMatch(self._place_of(self._le(step), block.word(k.Block.seq, step)), self._place_of(le, seq), shown)

    def ways(self, sought: SoughtMatch) -> Ways | None:
        """See `afa.engine.Engine.ways`."""
        found = self._found(sought)
        return ways_of(self._choice, [self._rows(match) for match in found], max((match.shown[0][1] for match in found), default=0))

    def picks(self, soughts: Sequence[SoughtMatch]) -> Picks:
        """See `afa.engine.Engine.picks`."""
        return picks_of(self._choice, [[self._rows(match) for match in self._found(sought)] for sought in soughts])

    def steps(self, low: int, high: int) -> list[Step]:
        """See `afa.engine.Engine.steps`."""
        first, last = max(bisect_left(self._steps, low, key=self._le) - 1, 0), bisect_right(self._steps, high, key=self._le) + 1
        event = self._store.payloads.record
        return [
            Step(self._le(step), self._le(step), True, {(event(words), re): n for re, n, *words in self._block.events(step)}, [])
            for step in self._steps[first:last].tolist()
        ]

    def classes(self, step: int) -> dict[Any, int]:
        """Return the classes behind a step, tuples of threads (state, register), each with the LE from which on it is over."""
        words, width = self._classes(step), y.Thread.register + self._held
        size, states = int(words[y.StepClasses.classes]) * y.ClassHead.SIZE, self._store.arcs.states
        heads = words[y.StepClasses.rest : y.StepClasses.rest + size].reshape(-1, y.ClassHead.SIZE).tolist()
        last = heads[-1][y.ClassHead.end] if heads else 0
        rest = words[y.StepClasses.rest + size :]
        threads = rest[: last * width].reshape(-1, width).tolist()
        forms = self._store.registers
        known = self._held == forms.layout.width  # else the row before gives them
        found = [(states[state], forms.record(words) if known else None) for state, *words in threads]
        return {tuple(found[first:end]): until for first, (end, until) in zip([0, *(end for end, _ in heads)], heads)}

    def _found(self, sought: SoughtMatch) -> list[HeldMatch]:
        """Return the matches that show what is sought. O(log matches + those near it)."""
        begins, le, window, found = self._shown(), sought.le, self._choice.window, list[HeldMatch]()
        least = le - (self._span if window is None else window)
        for step in begins[: bisect_right(begins, le, key=self._le)][::-1]:
            match = self._match(step)
            over = self._choice.skip == PAST and self._le(self._steps[match.last]) < le  # so are those before it
            if over or self._le(step) < least:
                break
            if sought.is_among(match.shown):
                found.append(match)
        return found[::-1]

    @cached_property
    def _span(self) -> int:
        """The longest time from the first row of a match that is shown to its last one. O(matches)."""
        block, begins, width = self._block, np.array(self._shown(), np.int64), k.MatchRow.register + self._store.memory.register
        if not len(begins):
            return 0
        of, le = (block.m[k.HEAD + column * block.head(k.Block.cap) + begins] for column in (k.Block.matches_of, k.Block.le))
        ends = block.m[block.head(k.Block.matches) + (of >> 24) * width + k.MatchRow.t]
        return int((ends - le).max())

    def _le(self, step: int) -> int:
        return self._block.word(k.Block.le, step)

    def _place_of(self, le: int, seq: int) -> int:
        """Return the place of a row among those of its key. O(log rows + those of its LE)."""
        place = bisect_left(self._steps, le, key=self._le)
        while self._block.word(k.Block.seq, self._steps[place]) != seq:
            place += 1
        return place

    def _rows(self, match: HeldMatch) -> list[RowTaken]:
        """Read back which place of the pattern took each row of a match, from the links of its rows."""
        first = match.first
        steps = self._steps[first : match.last + 1].tolist()
        links, source = [], k.NOWHERE
        for step in steps:
            links.append(self._link(step, source))
            source = links[-1][0]
        thread, place = links[-1][1:3]
        places = [place]
        for step, link in zip(reversed(steps[:-1]), reversed(links[:-1])):
            took = int(self._classes(step)[link[3] + thread])
            thread, place = took >> y.PLACE_BITS, took & (1 << y.PLACE_BITS) - 1
            places.append(place)
        event, found = self._store.payloads.record, []
        for at, (step, place) in enumerate(zip(steps, reversed(places)), first):
            ((re, _, *words),) = self._block.events(step)
            found.append(RowTaken(at, self._block.word(k.Block.le, step), event(words), re, place))
        return found

    def _classes(self, step: int) -> Any:
        """Return the words of `StepClasses` of a step: of its own, or those that rows share."""
        word, m = self._block.word(k.Block.nodes_of, step), self._store.memory.m
        if word & k.COUNT:
            return self._block.node_array(step).ravel()
        at = int(m[k.Memory.shared]) + (word >> 24)
        return m[at : at + int(m[at + y.StepClasses.size])]

    def _link(self, step: int, source: int) -> list[int]:
        words = self._classes(step)
        classes, threads, sources, *_ = words[: y.StepClasses.rest].tolist()
        at = y.StepClasses.rest + classes * y.ClassHead.SIZE + threads * (y.Thread.register + self._held)
        at += (sources - 1 if source == k.NOWHERE else source) * y.ClassLink.SIZE
        found: list[int] = words[at : at + y.ClassLink.SIZE].tolist()
        return found
