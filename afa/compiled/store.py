"""The data of the compiled engine: one memory for all keys, the meaning of its words, the arcs in force; and the kernels' call.

    memory                   the words: blocks of keys, directory, undo log, output log
    directory                keys <-> their numbers
    strings                  texts <-> their numbers
    payloads, registers      records <-> words
    arcs                     the arcs in force, as the kernels' program
    callback                 answers the kernels' questions to Python

The files next to this one work with it: each takes the store, or less.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from itertools import repeat
from typing import Any, TypeVar

import numpy as np

from afa.compiled.callback import Callback, as_function
from afa.compiled.code.payload_layout import Layout
from afa.compiled.code.strings import Strings
from afa.compiled.directory import Directory, entries_of
from afa.compiled.fit import admitted
from afa.compiled.inforce import RunningProgram
from afa.compiled.kernel import layout as k
from afa.compiled.kernel import scan_layout as y
from afa.compiled.machine.kernels import load
from afa.compiled.memory import EMPTY, EngineMemory, WordArray
from afa.compiled.path_table import PathTable
from afa.compiled.record_words import RecordForms, sortable
from afa.compiled.scan_program import HEAD, SKIPS, ScanProgram
from afa.engine import Setup
from afa.engine.logged import Cuts
from afa.errors import AfaError, BudgetError, ChangeError, blame
from afa.model.copies import crowded
from afa.model.event_order import EventOrder, is_list
from afa.state.states import ascends

T = TypeVar("T")
FEW = 16
"""Entries of a log that are compared in Python, in place of columns."""


@functools.cache
def kernel(wait: bool) -> Any:
    """Return the kernels of this process; ``wait``: compiled in full."""
    return load(wait)


class Store:
    """The data of a compiled engine, of an automaton with schemas of scalars; ``strict``: refuse arcs that Python would run.

    The journal takes back which program is in force; all else is in the kernels' undo log. Where there are keys, their states are
    cleaned when they are touched.

    Of several stores (`afa.compiled.router`) each has some of the keys, a memory, a program and a way back to Python; they share
    strings and numbers of keys with the ``first``. Number c has entry c // shards of the directory of store c % shards.
    """

    alone = False  # whether one thread alone knows the engine, see `EngineMemory`

    def __init__(self, setup: Setup, strict: bool, shards: int = 1, first: Store | None = None, shard: int = 0) -> None:
        automaton, table, progress, journal, sequence, keyed, faults, gaps, _, longest = setup
        assert automaton.event_schema is not None
        self.setup = setup
        self.automaton, self.progress, self.journal = automaton, progress, journal
        self.keyed, self.strict, self.faults = keyed, strict, faults
        self.shards, self.shard = shards, shard
        self.strings: Strings = Strings() if first is None else first.strings
        self.payloads = RecordForms(Layout.of(automaton.event_schema), self.strings)
        self.registers = RecordForms(Layout.of(automaton.register_schema), self.strings)
        self.matches = RecordForms(Layout.of(automaton.match_schema), self.strings)  # their first words
        self.idle = 0  # records taken since all keys were cleaned
        self.swept = k.BEGINNING  # all before was final then
        self.ahead = False  # whether the kernels have arcs in force that the table does not have
        self.event_order = EventOrder.of(sequence, automaton.event_schema) if is_list(sequence) else None
        self.sequence_slot = None if sequence is None or self.event_order else self.payloads.layout.slot(sequence)
        self._sequence = None if self.sequence_slot is None else automaton.event_schema.cls._fields.index(sequence)  # type: ignore[attr-defined]
        kind = None if self.sequence_slot is None else self.sequence_slot.field.type
        self.ordered = 2 if kind is str or self.event_order else 0 if kind is None else 1  # m.ordered
        self.scan: ScanProgram | None = None
        if automaton.choice is not None:
            layouts = self.payloads.layout, self.registers.layout
            scan = ScanProgram.of(automaton.choice, *layouts, self.strings) if first is None else first.scan
            self.scan = scan
            for arc in () if scan is None else scan.arcs:
                admitted(arc, strict)
        held = self.registers.layout.width
        shown = 0 if self.scan is None else (self.scan.registers if self.scan.finishes else self.matches).layout.width
        width = held if self.scan is None else max(held, shown, HEAD)
        self.memory = EngineMemory(self.payloads.layout.width, width, self.ordered, keyed)
        if self.scan is not None:
            m = self.memory.m
            m[k.Memory.scans], m[k.Memory.held] = SKIPS[self.scan.choice.skip], held if self.scan.before is None else 0
            m[k.Memory.all_rows] = self.scan.choice.rows is not None
            m[k.Memory.shares] = k.NOWHERE if self.scan.before is None else held
            m[k.Memory.measured], m[k.Memory.packed_limit] = self.scan.registers.layout.width, 0
        self.memory.m[k.Memory.shards], self.memory.m[k.Memory.shard] = shards, shard
        slot = self.sequence_slot
        self.memory.m[k.Memory.seq] = k.NOWHERE if slot is None or kind is float else slot.value
        self.gaps = gaps
        self.memory.m[k.Memory.gapless] = 0 if gaps is None else k.JOIN if gaps == "join" else k.BREAK
        self.memory.m[k.Memory.ties] = not automaton.ties
        self.longest = longest
        self.memory.m[k.Memory.longest], self.memory.m[k.Memory.told] = longest, self.matches.layout.width
        self.missing: list[tuple[Hashable, int, int]] = []  # key, first and last number of the gaps that this call made final
        self.look: Callable[[WordArray], None] | None = None  # looks at the numbers of a batch's records, if kernels ask for it
        self.directory: Directory = Directory(self.memory, keyed, strict) if first is None else first.directory
        self.callback = Callback(automaton, self.payloads, self.registers, self.memory, self.directory, faults, self.scan)
        self.path_table: PathTable | None = None  # made when a lineage is asked for
        self._function, address = as_function(self.callback)
        self._main = kernel(strict)
        forms = self.payloads, self.registers
        self.arcs = RunningProgram(automaton, table, *forms, self.memory, progress, address, strict, self.scan)
        self.callback.arcs = self.arcs

    # -- keys --------------------------------------------------------------------------------------------------------------

    @property
    def entries(self) -> Any:
        """The entries of this store's keys."""
        return entries_of(self.memory)

    def held(self) -> Any:
        """Return which entries hold something."""
        return np.flatnonzero(self.entries[:, k.KeyEntry.block])

    def own(self, codes: Any) -> Any:
        """Return which of some numbers are of keys of this store."""
        return slice(None) if self.shards == 1 else codes % self.shards == self.shard

    def number_of(self, entry: int) -> int:
        return entry * self.shards + self.shard

    def key_of(self, code: int) -> Hashable:
        """Return the key of a number."""
        found: Hashable = self.directory.name(code)
        return found

    # -- of several stores: see `afa.compiled.router` ----------------------------------------------------------------------

    @property
    def stores(self) -> Sequence[Store]:
        """All stores of the engine."""
        return [self]

    def each(self, work: Callable[[Store], T], size: int | None = None) -> list[T]:
        """Do something with each store, of so many rows, or (None) with all keys; return the results."""
        return [work(self)]

    def commit(self) -> None:
        self.tell(k.COMMIT)

    def recover(self) -> None:
        """Let no thread be at work any more: a call has failed."""

    def sequence_word(self, payload: Any) -> int:
        """Return the word that orders events of one LE."""
        if self.event_order is not None:
            return self.strings.number(self.event_order.text(payload))
        if self._sequence is None:
            return 0
        value = payload[self._sequence]
        if isinstance(value, str):
            return self.strings.number(value)
        return sortable(value) if isinstance(value, float) else int(value)

    def ready(self, n: int, coming: int = 0) -> None:
        """Make room for ``n`` records at once, and a step function if there is much to do."""
        if n > self.memory.w[k.Scratch.batch]:
            self.memory.grow("batch", n)
        self.idle += max(n, coming)
        self.arcs.ready(n, coming)

    def forget_strings(self) -> None:
        """Free the numbers of strings that nothing refers to (`Strings.keep`). O(state), all keys at once.

        *Requires* that no call is under way: an undo log holds words too. Rows that a block has left behind count as in use until
        it is moved.
        """
        constants = [self.strings.number(text) for each in self.stores for text in each.arcs.constants()]
        n = len(self.strings)
        words: Any = np.zeros((4, max(n, self.payloads.layout.width, self.memory.register, 1)), np.int64)
        words[0, _string_words(self.payloads.layout)] = 1
        words[1, _string_words(self.registers.layout)] = 1
        words[3, _string_words(self.matches.layout)] = 1
        if self.scan is not None:
            constants += [self.strings.number(text) for text in self.scan.constants()]
        for each in self.stores:
            each.call(k.STRINGS, 0, n, WordArray(words))
        initial = self.registers.words(self.automaton.register)
        words[2, [initial[word] for word in _string_words(self.registers.layout)]] = 1
        words[2, constants] = 1
        self.strings.keep(words[2, :n] != 0)

    # -- the kernels -------------------------------------------------------------------------------------------------------

    def call(self, what: int, low: int = 0, high: int = 0, batch: WordArray = EMPTY, final: int | None = None) -> int:
        """Call the kernels until they need nothing more; ``final``: all before is final, if not the effective punctuation.

        Raises the exception of a user's function, and ClosureError.
        """
        m = self.memory.m
        bounds = self.progress.events, self.progress.floor if final is None else final
        m[k.Memory.events], m[k.Memory.final] = bounds
        m[k.Memory.known] = self.progress.floor
        if self.strings.asked:
            self.arcs.know_strings()
        if self.ordered == 2:
            m[k.Memory.ranks] = self.strings.ranks().ctypes.data
        while True:
            status: int = self._main(self.memory, self.arcs.program, batch, what, low, high)
            if status >= 0:
                return status
            if status == k.FAULT:
                raise self.callback.fault()
            if status == k.ENDLESS:
                raise self.arcs.endless()
            if status == k.NUMBERS and self.look is not None:
                self.look(batch)  # which may call the kernels
                m = self.memory.m
                m[k.Memory.events], m[k.Memory.final] = bounds
                m[k.Memory.looked] = k.ONCE
                continue
            if status in (k.LATE, k.TIED, k.NUMBERS):
                return status
            if status == k.CROWDED:
                raise self._crowded(batch)
            if status == k.OVER:
                raise self._over()
            try:
                provided = self.memory.provide(status)
            except BudgetError as error:
                if self.keyed:
                    blame(error, f"at work on key {self._key_at_work()!r}")
                raise
            if not provided:
                raise AfaError(f"expected kernels and engine of one version but got the status {status}")

    def call_all(self, what: int, low: int = 0, high: int = 0) -> None:
        self.memory.m[k.Memory.next] = 0
        self.call(what, low, high)

    def tell(self, what: int, low: int = 0, high: int = 0, batch: WordArray = EMPTY) -> int:
        """Call the kernels for something that needs nothing and raises nothing: COMMIT, ROLLBACK, DROP, OTHERS."""
        found: int = self._main(self.memory, self.arcs.program, batch, what, low, high)
        return found

    def drain(self) -> int:
        """Returns how many rows the output log has, once all output is there."""
        return int(self.memory.w[k.Scratch.log_top])

    def take_log(self, cuts: Cuts | None = None) -> Any:
        """Return the output log's net entries, ``[key, sign, T, m, register..]``, and empty the log.

        Retractions come first, each by T, then by the key's number, then by their other words. With ``cuts`` the entries of each
        change on their own, in order of arrival. Where a scan chooses, a sign says how many more matches show the same, or fewer.
        """
        w, s = self.memory.w, self.memory.row
        n, taken = int(w[k.Scratch.log_top]), w[k.Scratch.taken]
        rows = w[w[k.Scratch.log] : w[k.Scratch.log] + n * s].reshape(n, s)
        times, signs, keys = rows[:, k.LogRow.t], rows[:, k.LogRow.sign], rows[:, k.LogRow.key] if self.keyed else None
        if self.gaps and (gaps := np.flatnonzero(signs == k.GAP)).size:
            self.missing += ((self.key_of(key), first, last) for key, _, first, last, *_ in rows[gaps].tolist())
            signs[gaps], taken = 0, taken + 1
        changes = None if cuts is None else cuts.change_of(n)
        columns = [column for column in (changes, times, keys) if column is not None]
        order: Any = None
        by_time: Any = None
        if n > 1 and self.scan is not None:
            by_time = _ordered(*columns) if taken or not ascends(columns, columns[-1]) else None
            taken += _summed(rows, by_time, columns, changes)
            order = None if taken else by_time
        elif n > 1 and taken:
            by_time = _ordered(changes, times, keys)
            of = np.zeros(n, np.int64) if changes is None else changes[by_time]
            self.call(k.NET, n, self.memory.register, WordArray(np.stack([by_time, of])))
        if taken and by_time is not None and changes is None:
            found = signs[by_time]
            order = np.concatenate([by_time[found < 0], by_time[found > 0]])
        if order is None and (taken or not ascends(columns, columns[-1])):
            order = _ordered(changes, np.sign(signs) if taken else None, times, keys)
            order = order[signs[order] != 0] if taken else order
        if keys is not None:
            columns = [c for c in (times, keys, changes, np.sign(signs) if taken else None) if c is not None]
            order = _ties_settled(rows, order, columns, self._ranked)
        if cuts is not None:
            cuts.keep(np.arange(n) if order is None else order)
        rows = rows.copy() if order is None else rows.take(order, axis=0)  # a quarter of the time of rows[order]
        w[k.Scratch.log_top] = w[k.Scratch.taken] = 0
        return rows

    def _ranked(self, words: Any) -> None:
        """Write the order of strings for their numbers, which history decides. ``words``: RE, register; of n."""
        for slot in (self.registers if self.scan is None else self.matches).layout.slots:
            if slot.field.type is str:
                numbers, of = np.unique(words[1 + slot.value], return_inverse=True)
                texts = self.strings.texts(numbers.tolist())
                places = np.empty(len(texts), np.int64)
                places[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
                words[1 + slot.value] = places[of]

    def _crowded(self, batch: WordArray) -> ChangeError:
        le, _, diff, _, _, _, _, *payload = batch.words[:, self.memory.m[k.Memory.record]].tolist()
        return crowded(self.payloads.record(payload), le, diff)

    def _key_at_work(self) -> Hashable:
        return self.key_of(int(self.memory.w[k.Scratch.key])) if self.keyed else None

    def _over(self) -> BudgetError:
        """Return the error of a step with more partial matches than the budget allows, and how many are in which state."""
        budget, memory = self.memory.budget, self.memory
        assert budget is not None
        le, count, at, lasting = memory.w[k.Scratch.over : k.Scratch.over + 4].tolist()
        states: dict[str, int] = {}
        if at >= 0:
            width, state = memory.row, k.NodeRow.state
            if self.scan is not None:  # then they are threads
                width, state = y.Thread.register + int(memory.m[k.Memory.held]), y.Thread.state
            rows = (memory.m if lasting else memory.w)[at : at + count * width].reshape(count, width)
            numbers, counts = np.unique(rows[:, state], return_counts=True)
            names = list(self.arcs.states)
            states = {names[number]: n for number, n in zip(numbers.tolist(), counts.tolist())}
        return budget.crowded(self.automaton, self.arcs.table, self._key_at_work(), le, count, states)


def _string_words(layout: Layout) -> list[int]:
    return [slot.value for slot in layout.slots if slot.field.type is str]


def _ordered(*columns: Any) -> Any:
    """Return the rows in order of columns, the first of which counts most; of those that are not None."""
    found = [column for column in columns if column is not None]
    return np.argsort(found[0], kind="stable") if len(found) == 1 else np.lexsort(found[::-1])


def _ties(columns: list[Any], order: Any) -> Any:
    """Return of which rows but the last the next one is equal in all columns, in an order (None: as they stand)."""
    same = np.ones(max(len(columns[0] if order is None else order) - 1, 0), np.bool_)
    for column in columns:
        values = column if order is None else column[order]
        same &= values[1:] == values[:-1]
        if not same.any():
            break
    return same


def _summed(rows: Any, order: Any, columns: list[Any], changes: Any) -> bool:
    """Sum up the signs of entries that are equal and belong to one change. Returns whether there are any. O(ties)."""
    places = np.arange(len(rows)) if order is None else order
    found, signs = dict[Any, int](), rows[:, k.LogRow.sign]
    if len(places) > FEW:  # of few rows each is looked at, in less time
        after = _ties(columns, order)
        tied = np.flatnonzero(np.append(after, False) | np.append(False, after))
        words = rows[places[tied], k.LogRow.re :]
        words = np.concatenate([np.cumsum(np.append(False, ~after))[tied, None], words], 1)
        by = np.lexsort(words.T)
        places, words = places[tied[by]], words[by]
        begin = np.flatnonzero(np.append(True, (words[1:] != words[:-1]).any(1))[: len(by)])
        sums = np.add.reduceat(signs[places], begin) if len(begin) else 0
        signs[places] = 0
        signs[places[begin]] = sums
        return len(begin) < len(places)
    of = repeat(0) if changes is None else changes[places].tolist()
    for at, change, (key, sign, *words) in zip(places.tolist(), of, rows[places].tolist()):
        first = found.setdefault((change, key, *words), at)
        if first != at:
            signs[first] += sign
            signs[at] = 0
    return len(found) < len(places)


def _ties_settled(rows: Any, order: Any, columns: list[Any], ranked: Callable[[Any], None]) -> Any:
    """Return an order (None: as they stand) in which rows that are equal in columns follow each other by their other words.

    So the way in which a key was served, of several with the same result, does not show, nor what number a string has. O(ties log
    ties); O(rows) where matches of one step have come in the order of their ends, as they mostly do.
    """
    same = _ties(columns, order)
    ends = rows[:, k.LogRow.re] if order is None else rows[order, k.LogRow.re]
    if not (same & (ends[1:] <= ends[:-1])).any():
        return order
    found = np.arange(len(rows)) if order is None else order.copy()
    after = np.append(False, same)
    tied = np.flatnonzero(after | np.append(same, False))
    words = rows[found[tied], k.LogRow.re :].T
    ranked(words)
    found[tied] = found[tied[np.lexsort([*words[::-1], np.cumsum(~after)[tied]])]]
    return found
