"""The stores of an engine that spreads its keys over several memories, so that threads can work on them side by side.

    rows     a b a c b a       `ShardFront`: the rows of a call, looked at in order; it shares strings and numbers of keys with
             | | | | | |        the shards, and holds no key
    shard 0  a   a c   a       `Shard`: a memory, a program, a way back to Python each. Its kernels run through the same rows,
    shard 1    b     b          and take those of its keys (`local_number` of `afa.compiled.kernel.many`)

All shards work on the same rows at a time, and the next rows come when all are done. So each key sees the same as in one
memory. Where functions of the user fail, the fault is raised that would have been the first in one memory.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from afa.compiled.code.strings import Strings
from afa.compiled.compiled_states import check_ties
from afa.compiled.kernel import layout as k
from afa.compiled.memory import EMPTY, WordArray
from afa.compiled.own_directory import OwnDirectory
from afa.compiled.store import Store
from afa.compiled.workers import Workers, WorkerTask
from afa.engine import Setup
from afa.engine.cuts import Cuts

FEW = 2048
"""So many rows, or keys, are carried out by one thread: with more, it takes less time than others need to wake up."""
GIVEN = (k.Memory.now, k.Memory.changes, k.Memory.next, k.Memory.next_row, k.Memory.left, k.Memory.short, k.Memory.looked)
"""The control words that kernels over rows are given."""


class Shard(Store):
    """One of the stores."""

    def __init__(self, setup: Setup, strict: bool, front: ShardFront, number: int, shards: int) -> None:
        self._front = weakref.ref(front)  # no circle: the memory is free at once when nobody holds the front
        self.number = number
        self._known, self._shards = (front.strings, front.directory), shards
        super().__init__(setup, strict)
        self.memory.m[k.Memory.shards], self.memory.m[k.Memory.shard] = shards, number

    def _strings(self) -> Strings:
        return self._known[0]

    def _directory(self) -> Any:
        return OwnDirectory(self._known[1], self.memory, self.number, self._shards)

    def sharing(self) -> Sequence[Store]:
        front = self._front()
        return [] if front is None else front.shards

    @property
    def at_work(self) -> int:
        """The number over all memories of the key at work."""
        m = self.memory.m
        return int(self.memory.w[k.Scratch.key] * m[k.Memory.shards] + m[k.Memory.shard])


class ShardFront(Store):
    """The front of the shards: it has their strings and their directory. Parameters: of `Store`, and how many there are."""

    def __init__(self, setup: Setup, strict: bool, shards: int) -> None:
        super().__init__(setup, strict)
        self.workers = Workers()
        self._batches: list[WordArray] = []
        self.shards = [Shard(setup, strict, self, i, shards) for i in range(shards)]
        self.directory.memories = [shard.memory for shard in self.shards]
        self.directory.keys.threads, self.directory.keys.together = shards, functools.partial(_together, self.workers)

    def sharing(self) -> Sequence[Store]:
        return self.shards

    def ready(self, n: int, coming: int = 0) -> None:
        super().ready(n, coming)
        for shard in self.shards:
            shard.ready(n, coming)

    # -- side by side --------------------------------------------------------------------------------------------------------

    def each(self, work: Callable[[Shard], Any], size: int) -> list[WorkerTask]:
        """Do something with each shard; ``size``: of how many rows, or keys. With many, and native arcs, in threads."""
        together = size >= FEW and self.arcs.native
        for shard in self.shards:
            shard.memory.alone = together or self.memory.alone
        jobs = self.workers.carry_out([functools.partial(work, shard) for shard in self.shards], together)
        for shard in self.shards:
            shard.memory.alone = self.memory.alone
        return jobs

    def all(self, work: Callable[[Shard], Any], size: int) -> list[Any]:
        """Do the same, and return its result; raise its fault: that of the key with the least number."""
        jobs = self.each(work, size)
        failed = [(shard.at_work, job.error) for shard, job in zip(self.shards, jobs) if job.error is not None]
        for _, error in sorted(failed, key=lambda found: found[0]):
            assert error is not None
            raise error
        return [job.found for job in jobs]

    def recover(self) -> None:
        """End the work of all shards: a call has failed, perhaps by an interrupt."""
        self.workers.settle()
        for shard in self.shards:
            shard.memory.alone = self.memory.alone
            shard.memory.m[k.Memory.shards] = len(self.shards)

    # -- the kernels ---------------------------------------------------------------------------------------------------------

    def call(self, what: int, low: int = 0, high: int = 0, batch: WordArray = EMPTY, final: int | None = None) -> int:
        if what == k.GROUPS:
            return self._grouped(low, high, batch, final)
        if what == k.RUN:
            self._run(k.RUN, low, high, batch, final)
            return k.DONE
        if what == k.EACH:
            self._run_each(low, high, batch, final)
            return k.DONE
        if what == k.SCAN:
            self.memory.m[k.Memory.waiting] = sum(int(shard.memory.m[k.Memory.waiting]) for shard in self.shards)
        return super().call(what, low, high, batch, final)

    def _grouped(self, low: int, high: int, batch: WordArray, final: int | None) -> int:
        """Take rows in order of their keys; where it stopped: at the same row in each shard. What they leave is put together."""
        batches, given = [batch, *self._beside(batch.n)], k.TableWords.payload + 2 * self.memory.payload
        for other in batches[1:]:
            other.words[0, :given] = batch.words[0, :given]
        (stopped, *_) = self._run(k.GROUPS, low, high, batches, final)
        m, done = self.memory.m, [shard.memory.m for shard in self.shards]
        m[k.Memory.now] = max(int(each[k.Memory.now]) for each in done)
        m[k.Memory.changes] = sum(int(each[k.Memory.changes]) for each in done)
        m[k.Memory.short] = 0
        n = int(done[0][k.Memory.left])
        for each, other in zip(done[1:], batches[1:]):
            more = int(each[k.Memory.left])
            batch.words[1, n : n + more] = other.words[1, :more]
            n += more
        m[k.Memory.left] = n
        return int(stopped)

    def _beside(self, n: int) -> list[WordArray]:
        """Return the other shards' own arrays for a batch of ``n`` words; kept, as new memory costs more."""
        if not self._batches or self._batches[0].n < n:
            self._batches = [WordArray(np.empty((2, n), np.int64)) for _ in self.shards[1:]]
        return self._batches

    def _run(self, what: int, low: int, high: int, batch: Any, final: int | None) -> list[Any]:
        """Call the kernels of all shards; a fault is reported as that of the key at work."""
        self._prepare()
        batches = batch if isinstance(batch, list) else [batch] * len(self.shards)
        jobs = self.each(lambda shard: shard.call(what, low, high, batches[shard.number], final), high - low)
        failed = [(_begin(shard, what), shard, job) for shard, job in zip(self.shards, jobs) if job.error or job.found == k.TIED]
        for _, shard, job in sorted(failed, key=lambda found: found[0]):
            self.memory.w[k.Scratch.key] = shard.at_work
            if job.error is not None:
                raise job.error
            check_ties(shard)
        return [job.found for job in jobs]

    def _prepare(self) -> None:
        """Give the shards the control words of a call over rows, and tables of strings, which they would else all make at once."""
        if self.ordered == 2:
            self.strings.ranks()
        for shard in self.shards:
            if self.strings.asked:
                shard.arcs.know_strings()
            for word in GIVEN:
                shard.memory.m[word] = self.memory.m[word]

    def _run_each(self, low: int, high: int, batch: WordArray, final: int | None) -> None:
        """Carry out rows as if each came alone. Their output goes to the log of the front, of each up to ``arc`` of its record."""
        self.drain()
        self._run(k.EACH, low, high, batch, final)
        words, n = batch.words[:, low:high], len(self.shards)
        of, rows, parts = words[k.Arrivals.key] % n, [], []
        for shard in self.shards:
            mine = np.flatnonzero((words[k.Arrivals.kind] == k.TAKEN) & (of == shard.number))
            part = self._taken(shard)
            parts.append(part)
            rows.append(mine[np.searchsorted(words[k.Arrivals.arc, mine], np.arange(len(part)), "right")])
        row = np.concatenate(rows)
        begin = int(self.memory.w[k.Scratch.log_top])
        self._append(np.concatenate(parts)[np.argsort(row, kind="stable")])
        words[k.Arrivals.arc] = begin + np.cumsum(np.bincount(row, minlength=high - low))

    # -- the output log ------------------------------------------------------------------------------------------------------

    def drain(self) -> int:
        """Bring the output of all shards to the front's log; returns how many rows it has."""
        self._append(np.concatenate([self._taken(shard) for shard in self.shards]))
        return int(self.memory.w[k.Scratch.log_top])

    def _taken(self, shard: Shard) -> Any:
        """Empty a shard's log, and return its entries with keys by their numbers over all."""
        w, s = shard.memory.w, self.memory.row
        n = int(w[k.Scratch.log_top])
        rows = w[w[k.Scratch.log] : w[k.Scratch.log] + n * s].reshape(n, s).copy()
        self.memory.w[k.Scratch.taken] += w[k.Scratch.taken]
        w[k.Scratch.log_top] = w[k.Scratch.taken] = 0
        return self._shared(shard, rows)

    def _shared(self, shard: Shard, rows: Any) -> Any:
        rows[:, k.LogRow.key] = rows[:, k.LogRow.key] * len(self.shards) + shard.number
        return rows

    def _append(self, rows: Any) -> None:
        top, s = int(self.memory.w[k.Scratch.log_top]), self.memory.row
        if top + len(rows) > self.memory.sizes["log"]:
            self.memory.grow("log", top + len(rows))
        w = self.memory.w
        at = int(w[k.Scratch.log]) + top * s
        w[at : at + rows.size] = rows.ravel()
        w[k.Scratch.log_top] = top + len(rows)

    def take_log(self, cuts: Cuts | None = None) -> Any:
        if cuts is not None or self.memory.w[k.Scratch.log_top]:
            self.drain()
            return super().take_log(cuts)
        size = sum(int(shard.memory.w[k.Scratch.log_top]) for shard in self.shards)
        return _merged(np.concatenate(self.all(lambda shard: self._shared(shard, shard.take_log()), size)))


def _merged(rows: Any) -> Any:
    """Bring the entries of several shards, each in the order of `Store.take_log`, into this order."""
    back = rows[:, k.LogRow.sign] < 0
    return np.concatenate([_by_time(rows[back]), _by_time(rows[~back])]) if back.any() else _by_time(rows)


def _by_time(rows: Any) -> Any:
    """Bring entries of one sign into the order of time, which only merges them; keys are looked at where several have one time."""
    times = rows[:, k.LogRow.t].copy()
    order = np.argsort(times, kind="stable")
    found, times = rows.take(order, axis=0), times.take(order)  # a quarter of the time of rows[order]
    keys, ties = found[:, k.LogRow.key], np.flatnonzero(times[1:] == times[:-1])
    if (keys[ties + 1] < keys[ties]).any():
        return found.take(np.lexsort((keys, times)), axis=0)
    return found


def _together(workers: Workers, works: Sequence[Callable[[], int]]) -> list[int]:
    """Carry out works that all must succeed."""
    jobs = workers.carry_out(works, True)
    for job in jobs:
        if job.error is not None:
            raise job.error
    return [job.found for job in jobs]


def _begin(shard: Shard, what: int) -> int:
    """Return when a shard's unit at work would have been begun in one memory: with EACH by its row, else by its key's number."""
    w = shard.memory.w
    return int(w[w[k.Scratch.index]]) if what == k.EACH else shard.at_work
