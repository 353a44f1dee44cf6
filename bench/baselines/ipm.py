"""IPM ([AFA10] Sec. 6.2): Q1 by standard joins, fed back until nothing new comes.

    candidates   events joined with the arcs that their payload allows
    matches      candidates joined with the partial matches that end one sequence number before, in the arc's source

A batch joins its events with what is there, then what came of that with all events, and so on. As in the paper it takes events out
of order, but needs sequence numbers without gaps (here: the LE), and never speculates: what is missing is waited for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.drive import Outcome, settled
from bench.workloads import EVENT, PROMISE, Stream, take

START, FALL, RISE, DONE = range(4)
ABSENT = np.nan


class Partial(NamedTuple):
    """Partial matches as columns."""

    end: NDArray[np.int64]
    start: NDArray[np.int64]
    state: NDArray[np.int64]
    balance: NDArray[np.int64]
    patterns: NDArray[np.int64]

    def rows(self, which: Any) -> Partial:
        return Partial(*(column[which] for column in self))


class JoinArc(NamedTuple):
    """An arc for whole columns: what it asks of the event, of the register, and what it adds to the register."""

    src: int
    dst: int
    event: Callable[[NDArray[np.float64]], Any]
    register: Callable[[Partial], Any] | None
    adds: tuple[int, int]


def q1(k: int, drop: float) -> list[JoinArc]:
    """The arcs of `bench.queries.q1`."""
    return [
        JoinArc(START, FALL, lambda c: c < -drop, None, (0, 0)),
        JoinArc(FALL, FALL, lambda c: c < 0, None, (1, 0)),
        JoinArc(FALL, RISE, lambda c: c < 0, None, (1, 0)),
        JoinArc(RISE, RISE, lambda c: c > 0, None, (-1, 0)),
        JoinArc(RISE, FALL, lambda c: c > 0, lambda r: r.patterns + 1 < k, (-1, 1)),
        JoinArc(RISE, DONE, lambda c: c > 0, lambda r: (r.patterns + 1 == k) & (r.balance == 1), (-1, 1)),
    ]


class IPM:
    """The two joins over buffered events and partial matches."""

    def __init__(self, arcs: list[JoinArc], window: int) -> None:
        self._arcs, self._window = arcs, window
        self._base = 0  # the sequence number of the first event in the buffer
        self._change = np.full(0, ABSENT)
        self._partial = _concatenated([])

    def push_many(self, batch: Stream) -> Stream:
        """Take events, and at most one punctuation at the end."""
        events = take(batch, batch["kind"] == EVENT) if "kind" in batch else batch
        seq = events["le"]
        self._buffer(seq, events["change"])
        own = self._partial.rows(np.isin(self._partial.end + 1, seq))  # partial matches that these events go on from
        zero = np.zeros(len(seq), np.int64)
        delta = _concatenated([self._step(_fresh(seq, zero), starts=True), self._step(own)])
        found, done = [], []
        while len(delta.end):
            done.append(delta.rows(delta.state == DONE))
            delta = delta.rows(delta.state != DONE)
            found.append(delta)
            delta = self._step(delta)
        self._partial = _concatenated([self._partial, *found])
        if "kind" in batch and batch["kind"][-1] == PROMISE:
            self._forget(int(batch["le"][-1]))
        matches = _concatenated(done)
        columns = {"balance": matches.balance, "patterns": matches.patterns, "le": matches.end}
        return {**columns, "re": matches.start + self._window, "diff": np.ones(len(matches.end), np.int64)}

    def _step(self, partial: Partial, starts: bool = False) -> Partial:
        """Join partial matches with the event that follows each, and with the arcs."""
        at = partial.end + 1 - self._base
        there = at < len(self._change)
        partial, at = partial.rows(there), at[there]
        change = self._change[at]
        open_ = (partial.end + 1 < partial.start + self._window) & ~np.isnan(change)
        out = []
        for arc in self._arcs:
            if (arc.src == START) != starts:
                continue
            takes = open_ & (partial.state == arc.src) & arc.event(change)
            if arc.register is not None:
                takes &= arc.register(partial)
            of = partial.rows(takes)
            balance, patterns = arc.adds
            state = np.full(len(of.end), arc.dst)
            out.append(Partial(of.end + 1, of.start, state, of.balance + balance, of.patterns + patterns))
        return _concatenated(out)

    def _buffer(self, seq: NDArray[np.int64], change: NDArray[np.float64]) -> None:
        more = int(seq.max(initial=self._base - 1)) + 1 - self._base - len(self._change)
        if more > 0:
            self._change = np.append(self._change, np.full(more, ABSENT))
        self._change[seq - self._base] = change

    def _forget(self, promise: int) -> None:
        """Drop what no later event can reach."""
        self._partial = self._partial.rows(self._partial.end + 1 >= promise)
        self._change = self._change[max(0, promise - self._base) :]
        self._base = max(self._base, promise)


def _fresh(seq: NDArray[np.int64], zero: NDArray[np.int64]) -> Partial:
    return Partial(seq - 1, seq, zero + START, zero, zero)


def _concatenated(parts: Sequence[Partial]) -> Partial:
    return Partial(*(np.concatenate([np.zeros(0, np.int64), *columns]) for columns in zip(*parts))) if parts else _EMPTY


_EMPTY = Partial(*(np.zeros(0, np.int64) for _ in Partial._fields))


def run(batches: Sequence[Stream], arcs: list[JoinArc], window: int, columns: Sequence[str]) -> Outcome:
    """Push all batches."""
    ipm, outputs = IPM(arcs, window), []
    begin = time.thread_time()
    for batch in batches:
        outputs.append(ipm.push_many(batch))  # noqa: PERF401  # as `bench.drive.run`
    seconds = time.thread_time() - begin
    final, answer, records = settled(outputs, columns)
    events = sum(int((batch["kind"] == EVENT).sum()) if "kind" in batch else len(batch["le"]) for batch in batches)
    return Outcome(final, answer, records, seconds, events)
