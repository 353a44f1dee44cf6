"""The compiled engine over several memories, for threads: each method does as `CompiledEngine`, with all of them."""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

from afa.change import Change
from afa.compiled import compiled_invariants, compiled_states, superfluous
from afa.compiled.compiled_engine import CompiledEngine
from afa.compiled.encode import Encoded
from afa.compiled.kernel import layout as k
from afa.compiled.sharded_states import joined
from afa.compiled.shards import ShardFront
from afa.conditions.promised import PACE, PromisesByKey
from afa.engine import Budget, Ends, Host, Living, PathTotals, Picks, Setup, Sizes, SoughtMatch, Step, Ways
from afa.engine.cuts import Cuts
from afa.model.arctable import ArcTable
from afa.state.states import States

WORDS = 16
"""So many words of the undo log take about as long to commit as a row takes."""


class ShardedEngine(CompiledEngine):
    """See `afa.engine.Engine` for the methods, and `afa.compiled.shards` for how keys are spread.

    Output, snapshots and faults are those of a `CompiledEngine`, to the byte. Requires keys, and that numbers may have gaps.
    """

    store: ShardFront

    def __init__(self, setup: Setup, strict: bool, threads: int) -> None:
        front = ShardFront(setup, strict, threads)
        super().__init__(setup, strict, front)
        self._engines = [CompiledEngine(setup, strict, shard) for shard in front.shards]

    @classmethod
    def of(cls, setup: Setup, strict: bool, threads: int) -> ShardedEngine:
        """Make one whose arcs in force are prepared once for all memories."""
        return cls(setup._replace(table=_shared(setup.table)), strict, threads)

    def _engine_of(self, key: Hashable) -> CompiledEngine:
        """Return the engine that takes the events of a key; a new key gets its number here."""
        return self._engines[self.store.directory.code(key) % len(self._engines)]

    def _reader_of(self, key: Hashable) -> CompiledEngine:
        """Return the engine that holds a key, without a number for a new one: any engine says that it holds nothing of that."""
        return self._engines[(self.store.directory.find(key) or 0) % len(self._engines)]

    def _all(self, work: Callable[[CompiledEngine], Any], size: int | None = None) -> list[Any]:
        """Do something with each engine of one memory; see `ShardFront.all`."""
        engines = self._engines
        return self.store.all(lambda shard: work(engines[shard.number]), len(self.store.directory) if size is None else size)

    def bound(self, budget: Budget) -> None:
        super().bound(budget)
        for engine in self._engines:
            engine.bound(budget)

    # -- arcs --------------------------------------------------------------------------------------------------------------

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        super().swap(_shared(table), le, re)
        self._all(lambda engine: engine.swap(table, le, re), 0)

    def prune(self, promises: PromisesByKey, arcs: int, changes: int) -> None:
        if changes - self._looked >= len(self.store.directory) // PACE:
            self.store.journal.set(self, "_looked", changes)
            self._all(lambda engine: superfluous.prune(engine.store, promises, arcs), 0)

    # -- events ------------------------------------------------------------------------------------------------------------

    @property
    def serial(self) -> int:
        return sum(engine.serial for engine in self._engines)

    def push(self, change: Change) -> list[Change] | None:
        engine = self._engine_of(change.key)
        self.store.idle += 1
        self.began = self.serial
        return engine.push(change)

    def apply(self, key: Hashable, changes: Sequence[Change]) -> None:
        self.store.idle += len(changes)
        self._engine_of(key).apply(key, changes)

    def run_columns(self, batch: Encoded, host: Host, cuts: Cuts | None = None) -> None:
        if batch.arcs:
            for engine in self._engines:
                engine.store.arcs.use(batch.arcs)
        super().run_columns(batch, host, cuts)

    def check_ties(self) -> None:
        self._all(CompiledEngine.check_ties, 0)

    def collect(self) -> list[Change]:
        return list(itertools.chain.from_iterable(self._all(CompiledEngine.collect, 0)))

    # -- progress ------------------------------------------------------------------------------------------------------------

    def overdue(self, t: int) -> list[Change]:
        return list(itertools.chain.from_iterable(self._all(lambda engine: engine.overdue(t), 0)))

    def tick(self) -> None:
        if self.store.arcs.table.timeouts:
            self._all(CompiledEngine.tick)

    def _sweep(self, whom: int, since: int) -> None:
        self._all(lambda engine: engine.store.call_all(k.CLEAN, whom, since))

    def clean_all(self, whom: int = k.ALL_KEYS, since: int = 0) -> None:
        if len(self.store.directory):
            self._sweep(whom, since)
            self.commit()

    # -- the call ------------------------------------------------------------------------------------------------------------

    def keep(self) -> None:
        self.store.recover()
        size = sum(int(shard.memory.w[k.Scratch.replaced]) for shard in self.store.shards) // WORDS
        self.store.each(lambda shard: shard.tell(k.COMMIT), size)
        for shard in self.store.shards:  # one after the other: numbers of keys that are gone are given again in this order
            shard.directory.take_gone()
        super().keep()

    def restore(self) -> None:
        self.store.recover()
        for engine in self._engines:
            engine.restore()
        super().restore()

    def _end(self) -> None:
        for shard in self.store.shards:
            if shard.memory.grown:
                shard.memory.settle()
        super()._end()

    def let_threads_run(self) -> None:
        super().let_threads_run()
        for shard in self.store.shards:
            shard.memory.alone = True

    def let_raise(self) -> None:
        super().let_raise()
        for engine in self._engines:
            engine.let_raise()

    def __deepcopy__(self, memo: dict[int, Any]) -> ShardedEngine:
        store = self.store
        progress, journal = copy.deepcopy(store.progress, memo), copy.deepcopy(store.journal, memo)
        setup = store.setup._replace(table=store.arcs.table, progress=progress, journal=journal)
        other = ShardedEngine.of(setup, store.strict, len(self._engines))
        other.load(self.save())
        other.commit()
        other.store.directory.follow(store.directory)
        if self.budget is not None:
            other.bound(copy.deepcopy(self.budget, memo))
        return other

    # -- the state ---------------------------------------------------------------------------------------------------------

    def steps(self, key: Hashable, low: int, high: int, starts: Collection[Any] | None = None) -> list[Step]:
        return self._reader_of(key).steps(key, low, high, starts)

    def ways(self, key: Hashable, sought: SoughtMatch) -> Ways | None:
        return self._reader_of(key).ways(key, sought)

    def totals(self, key: Hashable, sought: SoughtMatch, field: str | None, component: str | None) -> PathTotals | None:
        return self._reader_of(key).totals(key, sought, field, component)

    def matches(self, key: Hashable, low: int) -> list[tuple[Any, int, int]] | None:
        return self._reader_of(key).matches(key, low)

    def picks(self, key: Hashable, soughts: Sequence[SoughtMatch]) -> Picks:
        return self._reader_of(key).picks(key, soughts)

    def living(self, t: int) -> Living:
        found = self._all(lambda engine: compiled_states.living(engine.store, t))
        begun, rows, keys = zip(*found)
        return Living(min(begun), sum(rows), sum(keys))

    def sizes(self) -> Sizes:
        self.clean_all()
        return Sizes(*(sum(column) for column in zip(*self._all(lambda engine: compiled_states.sizes(engine.store)))))

    def by_state(self) -> dict[str, int]:
        self.clean_all()
        return dict(sum(map(Counter, self._all(lambda engine: compiled_states.by_state(engine.store))), Counter[str]()))

    def ends(self) -> Ends:
        self.clean_all()
        return Ends(*(sum(column) for column in zip(*self._all(lambda engine: compiled_states.ends(engine.store)))))

    def states_of(self, codes: Any, gone: Any) -> States:
        n = len(self._engines)
        own = [[some[some % n == i] // n for some in (codes, gone)] for i in range(n)]
        return joined([engine.states_of(*mine) for engine, mine in zip(self._engines, own)])

    def load(self, states: States) -> None:
        of = self.store.directory.numbers(states.keys) % len(self._engines)
        for i, engine in enumerate(self._engines):
            store = engine.store
            store.memory.m[k.Memory.shards], idle = 1, store.idle  # numbers of keys are its own meanwhile
            engine.load(states.only(of == i))
            store.memory.m[k.Memory.shards] = len(self._engines)
            self.store.idle += store.idle - idle  # keys are cleaned, and their numbers given again, as with one memory

    def check(self) -> None:
        self.clean_all()
        for shard in self.store.shards:
            compiled_invariants.check(shard)
        self.store.directory.check()


def _shared(table: ArcTable) -> ArcTable:
    """Return a table that remembers its program: all memories have its arcs in force."""
    if table.made is None:
        table.made = []
    return table
