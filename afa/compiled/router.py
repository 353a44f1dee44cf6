"""Several stores in the place of one, so that threads can work on them side by side: each has some of the keys.

    rows     a b a c b a       the rows of a call, looked at in order by the first store, the `Router`
             | | | | | |
    store 0  a   a c   a       kernels of all stores run through the same rows, and each takes those of its keys
    store 1    b     b         (`local_number` of `afa.compiled.kernel.many`)

All stores work on the same rows at a time, and the next rows come when all are done. So each key sees the same as in one store.
Keys have the same numbers as with one store, by which output is merged. Where functions of the user fail, the fault is raised that
one store would have met first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from afa.compiled.compiled_states import check_ties
from afa.compiled.kernel import layout as k
from afa.compiled.memory import EMPTY, WordArray
from afa.compiled.store import Store
from afa.compiled.workers import Workers
from afa.engine import Setup
from afa.engine.logged import Cuts

T = TypeVar("T")
FEW = 2048
"""So many rows, or keys, are carried out by one thread: with more, it takes less time than others need to wake up."""
WORDS = 16
"""So many words of the undo log take about as long to commit as a row takes."""
GIVEN = [getattr(k.Memory, name) for name in ("now", "then", "changes", "next", "next_row", "left", "short", "looked")]
"""The control words that kernels over rows are given."""


def at_work(store: Store) -> int:
    """Return the number of the key at work."""
    return int(store.memory.w[k.Scratch.key])


def row_at_work(store: Store) -> int:
    """Return the row at work, of those that are carried out one by one."""
    w = store.memory.w
    return int(w[w[k.Scratch.index]])


def ended(work: Callable[[Store], Any], store: Store) -> tuple[Any, Exception | None]:
    """Do something with a store; return the result, and the fault."""
    try:
        return work(store), None
    except Exception as error:
        return None, error


class Router(Store):
    """The first of ``setup.threads`` stores, and the way to the others.

    A call of its kernels is one of its own memory, but for those over rows: GROUPS, RUN and EACH are calls of all stores.
    """

    def __init__(self, setup: Setup, strict: bool) -> None:
        setup.table.made = setup.table.made or []  # what is made of the arcs in force is made once for all stores
        super().__init__(setup, strict, setup.threads)
        self.workers = Workers()
        self._others = [Store(setup, strict, setup.threads, self, i) for i in range(1, setup.threads)]
        self._batches: list[WordArray] = []
        self.directory.memories = [store.memory for store in self.stores]
        self.directory.keys.threads, self.directory.keys.together = setup.threads, self.workers.carry_out

    @property
    def stores(self) -> Sequence[Store]:
        return [self, *self._others]  # no circle: the memory is free at once when nobody holds the engine

    def ready(self, n: int, coming: int = 0) -> None:
        for store in self.stores:
            Store.ready(store, n, coming)

    # -- side by side ----------------------------------------------------------------------------------------------------------

    def each(self, work: Callable[[Store], T], size: int | None = None, begun: Callable[[Store], int] = at_work) -> list[T]:
        """Do the same side by side in threads: with many rows or keys, and native arcs.

        Raises the fault of the store whose task was ``begun`` first: the number of its key tells, if nothing else does.
        """
        tasks = [functools.partial(ended, work, store) for store in self.stores]
        if self.arcs.native and (len(self.directory) if size is None else size) >= FEW:
            self._let_run(True)
            found = self.workers.carry_out(tasks)
            self._let_run(False)
        else:
            found = [task() for task in tasks]
        failed = [(begun(store), at_work(store), error) for store, (_, error) in zip(self.stores, found) if error is not None]
        if failed:
            _, self.memory.w[k.Scratch.key], error = min(failed, key=itemgetter(0))
            raise error
        return [result for result, _ in found]

    def _let_run(self, alone: bool) -> None:
        for store in self.stores:
            store.memory.alone = alone or self.alone

    def commit(self) -> None:
        self.recover()
        size = sum(int(store.memory.w[k.Scratch.replaced]) for store in self.stores)
        self.each(lambda store: store.tell(k.COMMIT), size // WORDS)

    def recover(self) -> None:
        self.workers.settle()
        self._let_run(False)

    # -- rows ------------------------------------------------------------------------------------------------------------------

    def call(self, what: int, low: int = 0, high: int = 0, batch: WordArray = EMPTY, final: int | None = None) -> int:
        if what == k.GROUPS:
            return self._grouped(low, high, batch, final)
        if what == k.RUN:
            return self._run(k.RUN, low, high, [batch] * self.shards, final)
        if what == k.EACH:
            return self._run_each(low, high, batch, final)
        if what == k.SCAN:
            self.memory.m[k.Memory.waiting_elsewhere] = sum(int(store.memory.m[k.Memory.waiting]) for store in self._others)
        return super().call(what, low, high, batch, final)

    def _run(self, what: int, low: int, high: int, batches: Sequence[WordArray], final: int | None) -> int:
        """Call the kernels of all stores, each with its batch. Returns the status, of GROUPS where it stopped: all say the same."""
        if self.ordered == 2:
            self.strings.ranks()
        for store in self.stores:  # what all would make at once, or each would begin with
            if self.strings.asked:
                store.arcs.know_strings()
            store.memory.m[GIVEN] = self.memory.m[GIVEN]
        for store in self._others:
            store.arcs.warm_up()  # as `Batches` does it for the first

        def work(store: Store) -> int:
            status = Store.call(store, what, low, high, batches[store.shard], final)
            if status == k.TIED:
                check_ties(store)
            return status

        return self.each(work, high - low, row_at_work if what == k.EACH else at_work)[0]

    def _grouped(self, low: int, high: int, batch: WordArray, final: int | None) -> int:
        """Take rows in order of their keys; all stores stop at the same row. The rows they leave are listed together."""
        if not self._batches or self._batches[0].n < batch.n:  # kept, as new memory costs more
            self._batches = [WordArray(np.empty((2, batch.n), np.int64)) for _ in self._others]
        given = k.TableWords.payload + 2 * self.memory.payload
        for other in self._batches:
            other.words[0, :given] = batch.words[0, :given]
        stopped = self._run(k.GROUPS, low, high, [batch, *self._batches], final)
        m, done = self.memory.m, [store.memory.m for store in self._others]
        for other, each in zip(self._batches, done):
            n, more = int(m[k.Memory.left]), int(each[k.Memory.left])
            batch.words[1, n : n + more] = other.words[1, :more]
            m[k.Memory.left] += more
            m[k.Memory.changes] += each[k.Memory.changes]
            m[k.Memory.now] = max(m[k.Memory.now], each[k.Memory.now])
        m[k.Memory.short] = 0
        return stopped

    def _run_each(self, low: int, high: int, batch: WordArray, final: int | None) -> int:
        """Carry out rows as if each came alone: their output is brought into their order, of each up to ``arc`` of its record."""
        begin = self.drain()
        self._run(k.EACH, low, high, [batch] * self.shards, final)
        words, parts, rows = batch.words[:, low:high], [], []
        for store, before in zip(self.stores, [begin] + [0] * len(self._others)):
            mine = np.flatnonzero((words[k.Arrivals.kind] == k.TAKEN) & (words[k.Arrivals.key] % self.shards == store.shard))
            rows.append(np.repeat(mine, np.diff(words[k.Arrivals.arc, mine], prepend=before)))
            parts.append(self._taken(store, before))
        row = np.concatenate(rows)
        self._append(np.concatenate(parts)[np.argsort(row, kind="stable")])
        words[k.Arrivals.arc] = begin + np.cumsum(np.bincount(row, minlength=high - low))
        return k.DONE

    # -- the output log --------------------------------------------------------------------------------------------------------

    def drain(self) -> int:
        for store in self._others:
            if store.drain():
                self._append(self._taken(store))
        return super().drain()

    def _taken(self, store: Store, before: int = 0) -> Any:
        """Take the entries from ``before`` on out of a store's log."""
        w, s = store.memory.w, self.memory.row
        rows = w[w[k.Scratch.log] + before * s : w[k.Scratch.log] + w[k.Scratch.log_top] * s].reshape(-1, s).copy()
        taken, w[k.Scratch.log_top], w[k.Scratch.taken] = w[k.Scratch.taken], before, 0
        self.memory.w[k.Scratch.taken] += taken
        return rows

    def _append(self, rows: Any) -> None:
        top = super().drain()
        if top + len(rows) > self.memory.sizes["log"]:
            self.memory.grow("log", top + len(rows))
        w = self.memory.w
        at = int(w[k.Scratch.log]) + top * self.memory.row
        w[at : at + rows.size] = rows.ravel()
        w[k.Scratch.log_top] = top + len(rows)

    def take_log(self, cuts: Cuts | None = None) -> Any:
        if cuts is not None:
            self.drain()
            return super().take_log(cuts)
        size = sum(store.drain() for store in self._others)
        if not size:
            return super().take_log()
        return _merged(np.concatenate(self.each(Store.take_log, size + super().drain())))


def _merged(rows: Any) -> Any:
    """Bring the entries of several stores, each in the order of `Store.take_log`, into this order: by sign, time and key.

    Times only have to be merged; keys are looked at where several have one time.
    """
    new = rows[:, k.LogRow.sign] > 0
    order = np.argsort(rows[:, k.LogRow.t].copy(), kind="stable")
    if not new.all():
        order = order[np.argsort(new[order], kind="stable")]
    found = rows.take(order, axis=0)  # a quarter of the time of rows[order]
    new, times, keys = new[order], found[:, k.LogRow.t].copy(), found[:, k.LogRow.key]
    ties = np.flatnonzero(times[1:] == times[:-1])
    if (keys[ties + 1] < keys[ties]).any():
        return found.take(np.lexsort((keys, times, new)), axis=0)
    return found
