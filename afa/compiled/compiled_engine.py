"""The compiled engine: what the protocol of `afa.engine` asks for, done by the kernels."""

from __future__ import annotations

import copy
import functools
import itertools
import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from afa.change import Change
from afa.compiled import compiled_invariants as check
from afa.compiled import compiled_states as saved
from afa.compiled import output
from afa.compiled import superfluous as pruning
from afa.compiled.batches import Batches
from afa.compiled.callback import Callback
from afa.compiled.code.layout import Layout
from afa.compiled.code.strings import Strings
from afa.compiled.directory import Directory
from afa.compiled.encode import Encoded, encode
from afa.compiled.inforce import InForce
from afa.compiled.inuse import forget_strings
from afa.compiled.kernel import names as k
from afa.compiled.machine.kernels import load
from afa.compiled.memory import EMPTY, Batch, Memory
from afa.compiled.plain import Unfit
from afa.compiled.record_words import Records, sortable
from afa.conditions.promised import PACE, Promises
from afa.cuts import Cuts
from afa.engine import Sizes
from afa.errors import AfaError, ChangeError
from afa.journal import Journal
from afa.model.arc import Arc
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.copies import crowded
from afa.model.raised import Faults
from afa.state.states import States
from punctuation.progress import Progress

if TYPE_CHECKING:
    from afa.engine import Host


@functools.cache
def kernel(wait: bool) -> Any:
    """The kernels of this process; ``wait``: compiled in full."""
    return load(wait)


class CompiledEngine:
    """See `afa.engine.Engine` for what each method promises.

    Parameters
    ----------
    automaton : Automaton
        With schemas of scalars.
    table : ArcTable
    progress : Progress
    journal : Journal
        Of the operator: it takes back which program is in force; all else is in the kernels' undo log.
    sequence : str or None
    keyed : bool
        Whether there are keys: their states are then cleaned when they are touched.
    strict : bool
        Whether to refuse arcs that Python would run.
    faults : Faults, optional
        Takes what users' functions raise: the arc does not serve there. None: it is raised.
    """

    name = "compiled"

    def __init__(
        self,
        automaton: Automaton,
        table: ArcTable,
        progress: Progress,
        journal: Journal,
        sequence: str | None,
        keyed: bool,
        strict: bool = False,
        faults: Faults | None = None,
    ) -> None:
        assert automaton.event_schema is not None
        self.strings = Strings()
        self.payloads = Records(Layout.of(automaton.event_schema), self.strings)
        self.registers = Records(Layout.of(automaton.register_schema), self.strings)
        self.progress = progress
        self.keyed = keyed
        self.strict = strict
        self.automaton = automaton
        self._journal = journal
        self._one = Batch(np.empty((k.I_WORDS + self.payloads.layout.width, 1), np.int64))
        self._put_one = struct.Struct(f"={len(self._one.words)}q").pack_into  # numpy takes 1 us longer
        self.idle = 0  # records since all keys were cleaned
        self.began: Any = None  # the serial under which a single event was given to the kernels
        self._looked = 0  # changes taken when it was looked last for keys to prune
        self.sequence_slot = None if sequence is None else self.payloads.layout.slot(sequence)
        self._sequence = None if sequence is None else automaton.event_schema.cls._fields.index(sequence)  # type: ignore[attr-defined]
        kind = None if self.sequence_slot is None else self.sequence_slot.field.type
        self.ordered = 0 if kind is None else 2 if kind is str else 1
        self.memory = Memory(self.payloads.layout.width, self.registers.layout.width, self.ordered, keyed)
        slot = self.sequence_slot
        self.memory.m[k.C_SEQ] = k.NOWHERE if slot is None or kind is float else slot.value
        self.directory = Directory(self.memory, keyed)
        self._main = kernel(strict)
        self.faults = faults
        self._callback = Callback(self, faults)
        self.batches = Batches(self)
        self.arcs = InForce(automaton, table, self.payloads, self.registers, self.memory, progress, self._callback.address, strict)
        self._ahead = False  # whether the kernels have arcs that the table does not have

    # -- arcs --------------------------------------------------------------------------------------------------------------

    @property
    def table(self) -> ArcTable:
        """The arcs that the operator knows of."""
        return self.arcs.table

    def prune(self, promises: Callable[[Hashable], Promises], arcs: int, changes: int) -> None:
        """Drop what punctuations with conditions have made superfluous, of keys that have grown since."""
        if changes - self._looked >= len(self.directory.codes) // PACE:
            self._journal.set(self, "_looked", changes)
            pruning.prune(self, promises, arcs)

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        """Put a table in force; keys are visited only if it differs before the present."""
        self._journal.note(self._back, self.table)
        waits = self.table.timeouts or table.timeouts
        if le == k.FOREVER and not waits:  # arcs that ended are dropped
            self.arcs.table = table
            self._drop(self.progress.final)
            return
        self.arcs.install(table)
        if waits:  # deadlines may be other than noted
            entries = self.directory.entries
            entries[:, k.D_ACT] = np.where(entries[:, k.D_BLOCK] != 0, k.BEGINNING, k.FOREVER)
        if le < self.progress.now:
            self._everyone(k.SWAP, le, re)

    def _back(self, table: ArcTable) -> None:
        """A call has failed: the program of the table that was in force."""
        self._ahead = False
        self.arcs.install(table)

    def _drop(self, t: int) -> None:
        """Drop the arcs that ended at or before ``t``."""
        self._main(self.memory, self.arcs.program, EMPTY, k.DROP, t, 0)
        self.directory.arcs_dropped(t)

    def follow(self, host: Host) -> None:
        """Let the operator's table of arcs be what the kernels have made of it since `arcs_changed`."""
        if self._ahead:
            self._ahead = False
            self._journal.note(setattr, host.arcs, "table", host.arcs.table)
            self.arcs.table = host.arcs.table = ArcTable(self.arcs.program.events())
            host.arcs.clean()  # a promise that came after the last of these changes

    def arcs_changed(self) -> None:
        """The kernels have changed arcs: drop those that ended, and be ready to go back; the table is made when asked for."""
        if not self._ahead:
            self._journal.note(self._back, self.table)
            self._ahead = True
        self.memory.m[k.C_ARCS] = 0
        promised, progress = int(self.memory.m[k.C_EVENTS]), self.progress
        self._drop(min(promised, progress.arcs) if progress.arc_punctuation else promised)

    # -- kernels -----------------------------------------------------------------------------------------------------------

    def call(self, what: int, low: int = 0, high: int = 0, batch: Batch = EMPTY, final: int | None = None) -> int:
        """Call the kernels until they need nothing more; ``final``: what is final, where that is not the effective punctuation.

        Raises
        ------
        Exception
            What a user's function raised.
        ClosureError
        """
        m = self.memory.m
        m[k.C_EVENTS], m[k.C_FINAL] = self.progress.events, self.progress.final if final is None else final
        if self.strings.asked:
            self.arcs.know_strings()
        if self.ordered == 2:
            m[k.C_RANKS] = self.strings.ranks().ctypes.data
        while True:
            status: int = self._main(self.memory, self.arcs.program, batch, what, low, high)
            if status >= 0:
                return status
            if status == k.FAULT:
                raise self._callback.fault()
            if status == k.ENDLESS:
                raise output.endless(self)
            if status == k.LATE:
                return status
            if status == k.CROWDED:
                raise self._crowded(batch)
            if not self.memory.provide(status):
                raise AfaError(f"expected kernels and engine of one version but got the status {status}")

    def _crowded(self, batch: Batch) -> ChangeError:
        """The error for the record at C_PLACE."""
        le, _, diff, _, _, _, _, *payload = batch.words[:, self.memory.m[k.C_PLACE]].tolist()
        return crowded(self.payloads.record(payload), le, diff)

    def _everyone(self, what: int, low: int = 0, high: int = 0) -> None:
        self.memory.m[k.C_NEXT] = 0
        self.call(what, low, high)

    # -- events ------------------------------------------------------------------------------------------------------------

    def apply(self, key: Hashable, changes: Sequence[Change]) -> None:
        """Event changes of one key."""
        code = self.directory.code(key)
        n = len(changes)
        batch: Any = np.empty((k.I_WORDS + self.payloads.layout.width, n), np.int64)
        for i, (payload, le, re, diff, _) in enumerate(changes):
            batch[:, i] = [le, re, diff, code, self.sequence_word(payload), k.EVENT, -1, *self.payloads.words(payload)]
        self.ready(n)
        self.directory.touch(code)
        self.call(k.SERVE, code, n, Batch(batch))

    @property
    def serial(self) -> int:
        """The call, as the kernels count: a number that moves in the very step that ends one."""
        return self.memory.m[k.C_SERIAL]  # type: ignore[no-any-return]

    def push(self, change: Change) -> list[Change]:
        """One event change, checked and not late, as a call: the kernels end it; one with output is the caller's to `commit`."""
        payload, le, re, diff, key = change
        code = self.directory.code(key) if self.keyed else 0
        order = 0 if self._sequence is None else self.sequence_word(payload)
        self._put_one(self._one.words, 0, le, re, diff, code, order, k.EVENT, -1, *self.payloads.words(payload))
        memory = self.memory
        if self.arcs.lacking:
            self.ready(1)
        self.idle += 1
        self.began = memory.m[k.C_SERIAL]
        rows = self.call(k.PUSH, code, 1, self._one)
        changes = self.collect() if rows else []
        if self.keyed and not memory.m[memory.m[k.C_DIR] + code * k.D_SIZE]:
            self.directory.touch(code)
        if (rows or self.directory.touched) and not changes:
            self.commit()
        return changes

    def ready(self, n: int, coming: int = 0) -> None:
        """Room for ``n`` records at once, and a step function if there is much to do."""
        if n > self.memory.sizes["batch"]:
            self.memory.grow("batch", n)
        self.idle += max(n, coming)
        self.arcs.ready(n, coming)

    def sequence_word(self, payload: Any) -> int:
        """The word that orders events of one LE."""
        if self._sequence is None:
            return 0
        value = payload[self._sequence]
        if isinstance(value, str):
            return self.strings.number(value)
        return sortable(value) if isinstance(value, float) else int(value)

    def encode(
        self,
        columns: Mapping[str, Any],
        times: Mapping[str, Any],
        arcs: Sequence[Arc],
        window: int | None,
        key_columns: list[Any] | None,
        single: bool,
    ) -> Encoded | None:
        """Columns as `run_columns` takes them; None where they must go row by row. See `afa.compiled.encode.encode`."""
        try:
            return encode(self, columns, times, arcs, window, key_columns, single)
        except Unfit:
            return None
        except MemoryError as error:
            raise MemoryError("expected memory for the columns of a batch but the system has no more") from error

    def run_columns(self, batch: Encoded, host: Host, cuts: Cuts | None = None) -> None:
        """Carry out a batch of records in order of arrival; `Operator.push_many` for columns. ``cuts``: each of them on its own."""
        if batch.keys is not None:
            self.directory.touch(batch.keys)
        if batch.arcs:
            self.arcs.use(batch.arcs)
        if cuts is None:
            self.batches.run(batch, host)
        else:
            self.batches.run_each(batch, host, cuts)

    def collect(self) -> list[Change]:
        """The minimal difference since the last collect."""
        if not self.memory.w[k.W_LOG_TOP]:
            return []
        rows, _ = self.log()
        record, names = self.registers.record, self.directory.names
        return [Change(record(words), t, re, sign, names[key]) for key, sign, t, re, *words in rows.tolist()]

    def log(self, cuts: Cuts | None = None) -> tuple[Any, list[Hashable]]:
        """The output log's net entries; empties it. See `afa.compiled.output.take`."""
        return output.take(self, cuts)

    @property
    def logged(self) -> int:
        """How many entries the output log has."""
        return int(self.memory.w[k.W_LOG_TOP])

    # -- progress ------------------------------------------------------------------------------------------------------------

    def overdue(self, t: int) -> list[Change]:
        """Remove and return the retractions whose insertion can no longer arrive."""
        entries, m = self.directory.entries, self.memory.m
        changes: list[Change] = []
        if not m[k.C_WAITING]:
            return changes
        blocks = entries[:, k.D_BLOCK]
        m[k.C_WAITING] = int((m[blocks[blocks != 0] + k.H_PENDING_TOP] > 0).sum())
        for code in np.nonzero((entries[:, k.D_BLOCK] != 0) & (entries[:, k.D_ACT] <= t))[0].tolist():
            found = [change for change in saved.pending(self, code) if change.le is not None and change.le < t]
            if found:
                self.directory.touch(code)
                self.call(k.EXPIRE, code, t)
                changes += found
        return changes

    def tick(self) -> None:
        """Follow the clock."""
        if self.table.timeouts:
            self._everyone(k.TICK)

    def clean(self) -> None:
        """Drop what is final: at once without keys, with keys when they are touched, or all now and then."""
        lazy = self.keyed and self.idle < len(self.directory.codes)
        self._everyone(k.CLEAN, 0 if lazy else k.ALL_KEYS)
        if not lazy:
            self.idle = 0
            self.directory.touch_all()

    def clean_all(self, whom: int = k.ALL_KEYS, since: int = 0) -> None:
        """Drop all that is final, so that what is held is what must be; of CHANGED_KEYS only those that changed from a call on."""
        if self.keyed and self.directory.codes:
            self._everyone(k.CLEAN, whom, since)
            self.directory.touch_all()
            self.commit()

    # -- the call ------------------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """The call has worked."""
        self._main(self.memory, self.arcs.program, EMPTY, k.COMMIT, 0, 0)
        self.memory.settle()
        self.directory.end()
        if self.strings.many:
            forget_strings(self)

    def rollback(self) -> None:
        """Be as before the call."""
        self._main(self.memory, self.arcs.program, EMPTY, k.ROLLBACK, 0, 0)
        w = self.memory.w
        w[k.W_LOG_TOP] = w[k.W_TAKEN] = 0
        self.arcs.recover(anew=self._ahead or bool(self.memory.m[k.C_ARCS]))
        self._ahead = False
        self.memory.m[k.C_ARCS] = 0
        self.memory.settle()
        self.directory.end()

    def let_raise(self) -> None:
        """Let what functions raise be a fault of the call, from now on."""
        self.faults = None
        self._callback.let_raise()

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledEngine:
        """Another engine with the same state, on the copied operator's progress and journal."""
        progress, journal = copy.deepcopy(self.progress, memo), copy.deepcopy(self._journal, memo)
        name = None if self.sequence_slot is None else self.sequence_slot.field.name
        faults = copy.deepcopy(self.faults, memo)
        other = CompiledEngine(self.automaton, self.table, progress, journal, name, self.keyed, self.strict, faults)
        other.load(self.save())
        other.commit()
        other.directory.follow(self.directory)
        return other

    # -- what is held ------------------------------------------------------------------------------------------------------

    def keys(self) -> list[Hashable]:
        """The keys that hold any state."""
        self.clean_all()
        codes = self.directory.codes
        held = self.directory.entries[np.fromiter(codes.values(), np.int64, len(codes)), k.D_BLOCK] != 0
        return list(codes) if held.all() else list(itertools.compress(codes, held))

    def sizes(self) -> Sizes:
        """What is held. O(what is held)."""
        self.clean_all()
        return saved.sizes(self)

    def save(self, changed: bool = False) -> States:
        """The states of all keys, or of those that changed since the last snapshot."""
        if changed:
            self.clean_all(k.CHANGED_KEYS, self.directory.since)
        keys, known = self.directory.changed() if changed else self.keys(), self.directory.codes
        if len(keys) == len(known) and not changed:
            return saved.save(self, keys, np.fromiter(known.values(), np.int64, len(known)))
        return saved.save(self, keys, np.fromiter(map(known.get, keys, itertools.repeat(k.NOWHERE)), np.int64, len(keys)))

    def saved(self) -> None:
        """A snapshot was taken."""
        self._journal.note(self.directory.put_saved, *self.directory.as_of())
        self.directory.saved()

    def load(self, states: States) -> None:
        """The states of keys that are not held yet."""
        saved.load(self, states)

    def check(self) -> None:
        """Assert the invariants."""
        self.clean_all()
        check.check(self)
