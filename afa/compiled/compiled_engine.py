"""The compiled engine: the protocol of `afa.engine` as acts over a `Store`."""

from __future__ import annotations

import copy
import functools
import itertools
import struct
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np

from afa.change import Change
from afa.compiled import arc_swaps as arcs_of
from afa.compiled import compiled_invariants, compiled_states, superfluous
from afa.compiled.batches import Batches
from afa.compiled.block import held_matches, held_steps
from afa.compiled.encode import Encoded, encode
from afa.compiled.kernel import layout as k
from afa.compiled.match_paths import match_paths, match_picks, match_totals
from afa.compiled.memory import WordArray
from afa.compiled.number_lookup import NumberLookup
from afa.compiled.router import Router
from afa.compiled.scan_reading import ScanReading
from afa.compiled.store import Store
from afa.conditions.promised import PACE, PromisesByKey
from afa.engine import Budget, Ends, GivenColumns, Host, Living, Logged, PathTotals, Picks, Setup, Sizes, SoughtMatch, Step, Ways
from afa.engine.logged import Cuts
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.state.key_columns import KeyColumns
from afa.state.states import States

MANY = 4
"""How many rows a key are so many that most keys are about to be touched again."""


class CompiledEngine:
    """See `afa.engine.Engine` for the methods, and `Store` for the parameters; of several threads each has a store.

    Output, snapshots and faults are the same with any number of threads, to the byte.
    """

    name = "compiled"

    alone = True
    bits: list[int | None] | None = None
    budget: Budget | None = None

    def __init__(self, setup: Setup, strict: bool = False) -> None:
        spread = setup.threads > 1 and setup.keyed and setup.gaps is None and setup.faults is None
        self.store = store = Router(setup, strict) if spread else Store(setup, strict)
        self._pushed = store  # the store that took the last single event
        self.began: int | None = None  # the serial under which a single event was given to the kernels
        self.numbers = None if store.gaps is None else NumberLookup(store)
        self._batches = Batches(store)
        self._sequence = setup.sequence
        self._looked = 0  # changes taken when it was looked last for keys to prune
        self._one = WordArray(np.empty((k.Arrivals.payload + store.payloads.layout.width, 1), np.int64))
        self._put_one = struct.Struct(f"={len(self._one.words)}q").pack_into  # numpy takes 1 us longer

    @property
    def automaton(self) -> Automaton:
        return self.store.automaton

    @property
    def native(self) -> bool:
        return self.store.arcs.native

    def bound(self, budget: Budget) -> None:
        self.budget = budget
        for store in self.store.stores:
            store.memory.bound(budget)

    # -- arcs --------------------------------------------------------------------------------------------------------------

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        if self.store.shards > 1:
            table.made = table.made or []  # what is made of it is made once for all stores
        self.store.each(lambda store: arcs_of.swap(store, table, le, re), 0)

    def install(self, table: ArcTable, bits: Sequence[int | None] | None) -> None:
        self.swap(table, k.BEGINNING, k.FOREVER)

    def prune(self, promises: PromisesByKey, arcs: int, changes: int) -> None:
        """Drop state that punctuations with conditions have made superfluous, of keys that have grown since."""
        if self.store.gaps is None and self.store.scan is None and changes - self._looked >= len(self.store.directory) // PACE:
            self.store.journal.set(self, "_looked", changes)
            self.store.each(lambda store: superfluous.prune(store, promises, arcs), 0)

    # -- one event ---------------------------------------------------------------------------------------------------------

    @property
    def serial(self) -> int:
        """The call, as the kernels count: a number that moves in the very step that ends one."""
        return self._pushed.memory.m[k.Memory.serial]  # type: ignore[no-any-return]

    def push(self, change: Change) -> list[Change] | None:
        """Take one event change, checked and not late, as a call. The kernels end it; if it has output, the caller must `commit`.

        None: nothing was done, as its number is to be looked at first.
        """
        payload, le, re, diff, key = change
        store = self.store
        directory = store.directory
        code = entry = directory.code(key) if store.keyed else 0
        if store.shards > 1:
            store, entry = self._place(code)
            self._pushed = store
        memory = store.memory
        order = 0 if self._sequence is None else store.sequence_word(payload)
        self._put_one(self._one.words, 0, le, re, diff, code, order, k.EVENT, -1, *store.payloads.words(payload))
        if store.arcs.lacking:
            store.arcs.ready(1, 0)
        self.store.idle += 1
        self.began = memory.m[k.Memory.serial]
        directory.last = code
        rows = store.call(k.PUSH, entry, 1, self._one)
        if rows == k.TIED:
            self.check_ties()
        if rows == k.NUMBERS:
            return None
        changes = self.collect() if rows else []
        if store.keyed and not memory.m[memory.m[k.Memory.dir] + entry * k.KeyEntry.SIZE]:
            directory.touch(code)
        if (rows or directory.touched) and not changes:
            self.commit()
        return changes

    # -- many events -------------------------------------------------------------------------------------------------------

    def apply(self, key: Hashable, changes: Sequence[Change]) -> None:
        n, code = len(changes), self.store.directory.code(key)
        store, entry = self._place(code)
        batch: Any = np.empty((k.Arrivals.payload + store.payloads.layout.width, n), np.int64)
        for i, (payload, le, re, diff, _) in enumerate(changes):
            batch[:, i] = [le, re, diff, code, store.sequence_word(payload), k.EVENT, -1, *store.payloads.words(payload)]
        self.store.ready(n)
        if store.gaps:
            store.memory.m[k.Memory.looked] = k.ONCE  # by the operator
        store.call(k.SERVE, entry, n, WordArray(batch))

    def _place(self, code: int) -> tuple[Store, int]:
        """Return the store that has a key, by its number, and the key's entry there."""
        return self.store.stores[code % self.store.shards], code // self.store.shards

    def encode(self, given: GivenColumns, /) -> Encoded:
        try:
            return encode(self.store, given)
        except MemoryError as error:
            raise MemoryError("expected memory for the columns of a batch but the system has no more") from error

    def check_ties(self) -> None:
        self.store.each(compiled_states.check_ties, 0)

    def run_columns(self, batch: Encoded, host: Host, cuts: Cuts | None = None) -> None:
        if batch.arcs:
            self.store.each(lambda store: store.arcs.use(batch.arcs), 0)
        if self.numbers is not None:
            self.store.look = functools.partial(self.numbers.look, host)
        try:
            if cuts is None:
                self._batches.run(batch, host)
            else:
                self._batches.run_each(batch, host, cuts)
        finally:
            self.store.look = None

    def collect(self) -> list[Change]:
        if not self.store.drain():
            return []
        rows = self.store.take_log()
        store = self.store
        record, name, end = store.matches.record, store.directory.name, k.LogRow.register + store.matches.layout.width
        return [Change(record(words), t, re, sign, name(key)) for key, sign, t, re, *words in rows[:, :end].tolist()]

    def cut(self) -> int:
        return self.store.drain()

    def log(self, cuts: Cuts | None = None) -> Logged:
        store = self.store
        rows = store.take_log(cuts)
        fields = store.matches.columns(rows[:, k.LogRow.register :])
        keys: Sequence[Hashable] = store.directory.names_of(rows[:, k.LogRow.key]) if store.keyed else []
        return Logged(fields, rows[:, k.LogRow.t], rows[:, k.LogRow.re], rows[:, k.LogRow.sign], keys)

    # -- progress ------------------------------------------------------------------------------------------------------------

    def overdue(self, t: int) -> list[Change]:
        waits = any(store.memory.m[k.Memory.waiting] for store in self.store.stores)
        return [] if not waits else list(itertools.chain(*self.store.each(lambda store: compiled_states.overdue(store, t), 0)))

    def tick(self) -> None:
        if self.store.arcs.table.timeouts or self.store.gaps:
            self.store.each(lambda store: store.call_all(k.TICK))

    def clean(self) -> None:
        """Drop final state: at once without keys; with keys when they are touched, or all now and then.

        Where keys get many rows each from one time to the next, only those that nothing has touched since the last time.
        """
        store, rows = self.store, self.store.idle
        keys = len(store.directory) if store.keyed else 0
        if rows < keys:
            self._sweep(0, 0)
            return
        busy = store.keyed and rows >= MANY * keys
        self._sweep(k.IDLE_KEYS if busy else k.FULL_KEYS, store.swept)
        store.idle, store.swept = 0, store.progress.floor

    def _sweep(self, whom: int, since: int) -> None:
        self.store.each(lambda store: store.call_all(k.CLEAN, whom, since))

    def clean_all(self, whom: int = k.ALL_KEYS, since: int = 0) -> None:
        """Drop all final state, so that no more than must be is left; of CHANGED_KEYS only of keys that changed from a call on."""
        if self.store.keyed and len(self.store.directory):
            self._sweep(whom, since)
            self.commit()

    # -- the call ------------------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        directory = self.store.directory
        directory.ask()
        self.keep()
        directory.heard()
        self._end()
        if self.store.strings.many:
            self.store.forget_strings()

    def keep(self) -> None:
        """Do the first part of `commit`: from here on no rollback is possible."""
        self.store.commit()
        if self.store.keyed:
            self.store.directory.take_gone()

    def rollback(self) -> None:
        self.restore()
        self._end()

    def restore(self) -> None:
        """Do the first part of `rollback`: all that does not follow from the state."""
        self.store.recover()
        for store in self.store.stores:
            store.tell(k.ROLLBACK)
            w = store.memory.w
            w[k.Scratch.log_top] = w[k.Scratch.taken] = 0
            store.memory.m[k.Memory.looked] = store.memory.m[k.Memory.tied] = 0
            store.missing, store.look = [], None
            arcs_of.recover(store)
            store.memory.recover()

    def _end(self) -> None:
        for store in self.store.stores:
            if store.memory.grown:
                store.memory.settle()
        self.store.directory.end()

    def let_threads_run(self) -> None:
        self.store.alone = True
        for store in self.store.stores:
            store.memory.alone = True

    def let_raise(self) -> None:
        self.store.faults = None
        self.store.callback.let_raise()

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledEngine:
        """Return another engine with the same state, on the copied operator's progress and journal."""
        store = self.store
        progress, journal = copy.deepcopy(store.progress, memo), copy.deepcopy(store.journal, memo)
        faults = copy.deepcopy(store.faults, memo)
        setup = store.setup._replace(table=store.arcs.table, progress=progress, journal=journal, faults=faults)
        other = CompiledEngine(setup, store.strict)
        memo[id(self.numbers)] = other.numbers  # the operator refers to them too
        other.load(self.save())
        other.commit()
        if self.budget is not None:
            other.bound(copy.deepcopy(self.budget, memo))
        other.store.directory.follow(store.directory)
        return other

    # -- the state ---------------------------------------------------------------------------------------------------------

    def keys(self) -> list[Hashable]:
        self.clean_all()
        return self.known_keys()

    def known_keys(self) -> list[Hashable]:
        directory = self.store.directory
        return list(directory.names_of(directory.held())) if self.store.keyed else [None] * len(directory.held())

    def steps(self, key: Hashable, low: int, high: int, starts: Collection[Any] | None = None) -> list[Step]:
        held = self._held(key)
        if held is not None and self.store.scan is not None:
            return ScanReading(*held).steps(low, high)
        return [] if held is None else held_steps(*held, low, high, starts)

    def ways(self, key: Hashable, sought: SoughtMatch) -> Ways | None:
        held = self._held(key)
        if held is not None and self.store.scan is not None:
            return ScanReading(*held).ways(sought)
        return None if held is None else match_paths(*held, sought)

    def totals(self, key: Hashable, sought: SoughtMatch, field: str | None, component: str | None) -> PathTotals | None:
        held = self._held(key)
        return None if held is None or self.store.scan is not None else match_totals(*held, sought, field, component)

    def matches(self, key: Hashable, low: int) -> list[tuple[Any, int, int]] | None:
        held = self._held(key)
        if held is not None and self.store.scan is not None:
            shown = (each for match in ScanReading(*held).matches() for each in match.shown)
            return [(record, le, re) for le, re, record in shown if le >= low]
        return [] if held is None else held_matches(*held, low)

    def picks(self, key: Hashable, soughts: Sequence[SoughtMatch]) -> Picks:
        held = self._held(key)
        if held is not None and self.store.scan is not None:
            return ScanReading(*held).picks(soughts)
        return Picks([None for _ in soughts], []) if held is None else match_picks(*held, soughts)

    def _held(self, key: Hashable) -> tuple[Store, int] | None:
        """Return where a key stands that holds something; None for any other key."""
        code = self.store.directory.find(key)
        store, entry = self._place(code or 0)
        entries = store.entries
        return (store, entry) if code is not None and entry < len(entries) and entries[entry, k.KeyEntry.block] else None

    def living(self, t: int) -> Living:
        begun, rows, keys = zip(*self.store.each(lambda store: compiled_states.living(store, t)))
        return Living(min(begun), sum(rows), sum(keys))

    def begins(self) -> int:
        """Return the LE of the first row that a scan holds; FOREVER: there is none. O(keys)."""
        return min(self.store.each(compiled_states.begins, 0))

    def sizes(self) -> Sizes:
        self.clean_all()
        return Sizes(*map(sum, zip(*self.store.each(compiled_states.sizes))))

    def memory_bytes(self) -> int:
        keys: int = self.store.directory.keys.arrays.nbytes
        return sum(store.memory.used for store in self.store.stores) + keys

    def by_state(self) -> dict[str, int]:
        self.clean_all()
        return dict(sum(map(Counter, self.store.each(compiled_states.by_state)), Counter[str]()))

    def by_key(self) -> list[tuple[Hashable, int, int]]:
        self.clean_all()
        return [(name, n, 8 * words) for found in self.store.each(compiled_states.by_key) for name, n, words in found]

    def ends(self) -> Ends:
        self.clean_all()
        return Ends(*map(sum, zip(*self.store.each(compiled_states.ends))))

    def save(self, changed: bool = False) -> States:
        directory = self.store.directory
        if changed:
            self.clean_all(k.CHANGED_KEYS, directory.since)
            codes, gone = directory.changed()
        else:
            self.clean_all()
            codes, gone = directory.held(), np.empty(0, np.int64)
        return self.states_of(codes, gone)

    def states_of(self, codes: Any, gone: Any) -> States:
        """Return the states of some keys, by their numbers, and those of others that are gone."""
        directory = self.store.directory
        if not self.store.keyed:
            return compiled_states.save(self.store, KeyColumns.of([None] * len(codes)), codes)
        keys = directory.names_of(np.append(codes, gone)).normal()
        return compiled_states.save(self.store, keys, np.append(codes, np.full(len(gone), k.NOWHERE)))

    def saved(self) -> None:
        directory = self.store.directory
        self.store.journal.note(directory.put_saved, directory.as_of())
        directory.saved()

    def load(self, states: States) -> None:
        compiled_states.load(self.store, states)
        self.check_ties()

    def check(self) -> None:
        self.clean_all()
        for store in self.store.stores:
            compiled_invariants.check(store)
        self.store.directory.check()
