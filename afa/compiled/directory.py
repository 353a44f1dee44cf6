"""The directory: the entries of keys, by their numbers (`afa.compiled.key_numbers`), and which the last snapshot has.

The entries stand in one memory; or in several (`afa.compiled.router`): with n of them, that of number c in memory c % n, at c // n.

A number is a key's for as long as anything is held of it, and in the call in which it is given; and until the next snapshot, if
the last one has the key, so that the next one can say that it is gone. An entry tells in which call its key last changed
(KeyEntry.changed), so that a snapshot finds the keys that have changed since the last one without any work on the way.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.compiled.kernel import layout as k
from afa.compiled.key_image import take_image
from afa.compiled.key_numbers import KeyNumbers
from afa.compiled.memory import EngineMemory
from afa.state.key_columns import KeyColumns

NONE = np.zeros(0, np.bool_)
UNKNOWN = -1


class SavedKeys(NamedTuple):
    """The last snapshot: which numbers' keys it has (an array of bools, never written to; None: there was none), and its call."""

    keys: Any
    since: int


class Directory:
    """The entries of keys. Without keys there is one, of number 0, for ever; its name is None."""

    def __init__(self, memory: EngineMemory, keyed: bool, wait: bool = False) -> None:
        self.keys = KeyNumbers(wait)
        self.touched: list[Any] = []  # numbers, or arrays of them, of keys that may be gone when the call ends
        self.last: int | None = None  # the number of the key that was pushed to last
        self.memories = [memory]
        self._keyed = keyed
        self._known = 0  # numbers below have entries
        self._saved = SavedKeys(None, k.BEGINNING)
        self._away = NONE  # by number: the snapshot has the key, and nothing is held of it
        self._aways = 0  # how many of these; UNKNOWN: to be counted
        self._asking = False  # whether kernels may have told which keys are gone, and nobody has heard it
        self._lost = False  # whether nobody ever will

    def __len__(self) -> int:
        """How many keys hold something, or may."""
        return len(self.keys) - self._count_aways()

    def _count_aways(self) -> int:
        if self._aways == UNKNOWN:
            self._aways = int(np.count_nonzero(self._away))
        return self._aways

    def _all(self, word: int) -> Any:
        """Return one word of each entry, by number: a view, or a copy where there are several memories."""
        n = len(self.memories)
        if n == 1:
            return entries_of(self.memories[0])[:, word]
        parts = [entries_of(memory)[:, word] for memory in self.memories]
        found = np.zeros((max(map(len, parts)), n), np.int64)
        for i, part in enumerate(parts):
            found[: len(part), i] = part
        return found.ravel()

    def _mark(self, codes: Any, call: int) -> None:
        """Mark these keys as changed in the given call."""
        n = len(self.memories)
        for i, memory in enumerate(self.memories):
            entries_of(memory)[codes[codes % n == i] // n if n > 1 else codes, k.KeyEntry.changed] = call

    def _held_of(self, codes: Any) -> Any:
        """Return, for each number, whether its key holds something."""
        if len(self.memories) == 1:
            return _marked(self._all(k.KeyEntry.block), codes)
        found, n = np.zeros(len(codes), np.bool_), len(self.memories)
        for i, memory in enumerate(self.memories):
            mine = codes % n == i
            found[mine] = _marked(entries_of(memory)[:, k.KeyEntry.block], codes[mine] // n)
        return found

    def check(self) -> None:
        """Assert that there is a key for each state, and for each key of the last snapshot, and no other."""
        kept = np.union1d(self.held(), np.flatnonzero(self._away))
        assert not self._keyed or np.array_equal(self.keys.live(), kept), f"keys {self.keys.live()}, held or kept {kept}"

    def _serial(self) -> int:
        """Return the number of the call; from here on all memories have the same."""
        serial = max(int(memory.m[k.Memory.serial]) for memory in self.memories)
        for memory in self.memories:
            memory.m[k.Memory.serial] = serial
        return serial

    def held(self) -> Any:
        """Return the numbers of the keys that hold something. O(keys)."""
        return np.flatnonzero(self._all(k.KeyEntry.block))

    # -- keys and their numbers ----------------------------------------------------------------------------------------------

    def find(self, key: Hashable) -> int | None:
        return self.keys.find(key) if self._keyed else 0

    def name(self, code: int) -> Any:
        return self.keys.name(code) if self._keyed else None

    def names_of(self, codes: Any) -> KeyColumns:
        """Return the keys of numbers, an array."""
        return self.keys.names_of(codes) if self._keyed else KeyColumns.of([None] * len(codes))

    def code(self, key: Hashable) -> int:
        """Return the number of a key, a new one if it has none."""
        if not self._keyed:
            return 0
        code = self.keys.code(key)
        if self.keys.news or code >= self._known:
            self._take_new()
        if self._aways and code < len(self._away) and self._away[code]:
            self.touched.append(code)
        return code

    def numbers_of(self, columns: Sequence[Any], single: bool, n: int) -> Any:
        """Return the number of the key of each row, see `KeyNumbers.numbers_of`."""
        return self._taken(self.keys.numbers_of, columns, single, n)

    def numbers_of_texts(self, texts: list[str], places: Any) -> Any:
        """Return the number of the key of each row, see `KeyNumbers.numbers_of_texts`."""
        return self._taken(self.keys.numbers_of_texts, texts, places)

    def numbers(self, keys: Sequence[Hashable]) -> Any:
        """Return the number of each key, new ones for new keys."""
        return self._taken(self.keys.numbers_of_keys, KeyColumns.of(keys)) if self._keyed else np.zeros(len(keys), np.int64)

    def _taken(self, numbers: Any, *given: Any) -> Any:
        try:
            codes = numbers(*given)
        finally:
            if self.keys.news or self.keys.top > self._known:
                self._take_new()
        if self._aways:
            self.touched.append(codes)
        return codes

    def _take_new(self) -> None:
        """Make room for the entries of new keys. The call forgets those of them of which it holds nothing when it ends."""
        self._touch_new()
        n = len(self.memories)
        for i, memory in enumerate(self.memories):
            memory.reach((self.keys.top - i + n - 1) // n)
        self._known = self.keys.top

    def _touch_new(self) -> None:
        lost = self._lost
        self._lost = True  # if this ends half-way
        self.touched.append(self.keys.given())
        self._lost = lost

    # -- the call ------------------------------------------------------------------------------------------------------------

    def touch(self, code: int) -> None:
        self.touched.append(code)

    def ask(self) -> None:
        """Kernels are about to tell which keys are gone (`take_gone`), until `heard`."""
        self._lost = self._lost or self._asking
        self._asking = True

    def heard(self) -> None:
        self._asking = False

    def take_gone(self) -> None:
        """Note the keys that have lost all they had, as the kernels tell at the end of a call."""
        for i, memory in enumerate(self.memories):
            w = memory.w
            if n := w[k.Scratch.gones]:
                self.touched.append(w[w[k.Scratch.gone] : w[k.Scratch.gone] + n] * len(self.memories) + i)
                w[k.Scratch.gones] = 0

    def end(self) -> None:
        """End a call: the numbers of keys that are gone may be given again; if memory is short, at the end of the next call.

        Only those are looked at that are new, and those that the kernels have told; all of them where an interrupt came in between.
        """
        if not self._keyed:
            return
        if self._asking:
            self._lost = True
            self._asking = False
        try:
            self._forget_gone()
        except MemoryError:
            return
        self.touched.clear()
        self.last = None
        self._lost = False

    def _forget_gone(self) -> None:
        if self._lost:
            self.touched.append(self.keys.live())
        if self.keys.news:
            self._touch_new()
        if self.last is not None:
            self.touched.append(self.last)
        if self.touched and not self._is_held():
            codes = self._looked_at()
            if len(codes):
                self.keys.gone(codes)

    def _is_held(self) -> bool:
        """Return whether one key was touched, and it holds something: the common case of a call of one event."""
        code, n = self.touched[0], len(self.memories)
        if len(self.touched) > 1 or type(code) is not int or self._aways:
            return False
        m, code = self.memories[code % n].m, code // n
        return bool(code < m[k.Memory.keys]) and bool(m[m[k.Memory.dir] + code * k.KeyEntry.SIZE + k.KeyEntry.block])

    def _looked_at(self) -> Any:
        """Return the touched keys that hold nothing and are not in the last snapshot; note those that are in it as away."""
        codes = np.concatenate(list(map(np.atleast_1d, self.touched)))
        saved, here = self._saved.keys, self._held_of(codes)
        if saved is not None:
            codes, places = np.unique(codes, return_index=True)
            here = here[places]
            kept = _marked(saved, codes) & ~here
            if (kept != _marked(self._away, codes)).any():
                self._keep(codes, kept)
            here |= kept
        return np.unique(codes[~here])

    def _keep(self, codes: Any, kept: Any) -> None:
        """Note which keys of some numbers, all different, are away. O(codes), but where numbers are new."""
        if len(self._away) < self.keys.top:
            away = np.zeros(2 * self.keys.top, np.bool_)
            away[: len(self._away)] = self._away
            self._away = away
        aways = self._count_aways() + int(np.count_nonzero(kept)) - int(np.count_nonzero(self._away[codes]))
        self._aways = UNKNOWN  # in case an interrupt comes in between
        self._away[codes] = kept
        self._aways = aways

    # -- snapshots -----------------------------------------------------------------------------------------------------------

    @property
    def since(self) -> int:
        """The call from which on changes are newer than the last snapshot."""
        return self._saved.since

    def changed(self) -> tuple[Any, Any]:
        """Return the numbers of the keys that have changed since the last snapshot, and of those that are gone. O(keys)."""
        changed = np.flatnonzero((self._all(k.KeyEntry.changed) >= self.since) & (self._all(k.KeyEntry.block) != 0))
        return changed, np.flatnonzero(self._away)

    def arcs_dropped(self, memory: EngineMemory, t: int) -> None:
        """Count a key as changed that has steps from before ``t``, not cleaned yet: the arcs that ended by ``t`` are forgotten."""
        if self._saved.keys is not None:
            entries = entries_of(memory)
            late = memory.m[k.Memory.serial] + 1  # not m.serial: the undo log has none
            entries[entries[:, k.KeyEntry.clean] <= t, k.KeyEntry.changed] = late

    def saved(self) -> None:
        """Note that the last snapshot is of the present state. Keys that it names as gone are forgotten at the end of the call."""
        if self._aways:
            self.touched.append(np.flatnonzero(self._away))
        self.put_saved(SavedKeys(self._all(k.KeyEntry.block) != 0, self._serial()))

    def as_of(self) -> SavedKeys:
        """Return the words about the last snapshot, for `put_saved`."""
        return self._saved

    def put_saved(self, saved: SavedKeys) -> None:
        self._saved = saved

    def loaded(self, codes: Any) -> None:
        """The keys of some numbers are as a snapshot has them."""
        keys = np.zeros(max(int(memory.m[k.Memory.keys]) for memory in self.memories) * len(self.memories), np.bool_)
        if self._saved.keys is not None:
            keys[: len(self._saved.keys)] = self._saved.keys
        keys[codes] = True
        self.put_saved(SavedKeys(keys, self._serial()))
        self._mark(codes, k.BEGINNING)

    @property
    def as_saved(self) -> bool:
        """Whether the keys are those of the last snapshot."""
        saved, here = self._saved.keys, self._all(k.KeyEntry.block) != 0
        if saved is None or self._count_aways() or len(saved) > len(here):
            return False
        return bool((here[: len(saved)] == saved).all() and not here[len(saved) :].any())

    def take(self, keys: list[Any], since: int) -> None:
        """Take over the keys of an image (`afa.compiled.key_image`) that was made right after a snapshot at the call ``since``."""
        take_image(self.keys, keys)
        known = np.zeros(self.keys.top, np.bool_)
        known[self.keys.live()] = True
        self._known = int(self.memories[0].m[k.Memory.keys])
        self.put_saved(SavedKeys(known, since))

    def follow(self, other: Directory) -> None:
        """Take over the relation of another directory, of an engine with the same state, to its last snapshot."""
        saved = other.as_of().keys
        serial = self._serial()
        if saved is not None:
            codes = self.numbers(other.names_of(np.flatnonzero(saved)))
            self.loaded(codes)
            self.end()
        self.put_saved(SavedKeys(self._saved.keys, serial if saved is not None else k.BEGINNING))
        self._mark(np.arange(self.keys.top), k.BEGINNING)
        changed, _ = other.changed()
        if len(changed):
            self._mark(self.numbers(other.names_of(changed)), k.FOREVER)


def entries_of(memory: EngineMemory) -> Any:
    """Return the entries of a memory, as a view of shape (keys, KeyEntry.SIZE)."""
    m = memory.m
    n = int(m[k.Memory.keys])
    return m[m[k.Memory.dir] : m[k.Memory.dir] + n * k.KeyEntry.SIZE].reshape(n, k.KeyEntry.SIZE)


def _marked(marks: Any, codes: Any) -> Any:
    """Return whether numbers have something other than 0 in an array that may be shorter."""
    found = codes < len(marks)
    found[found] = marks[codes[found]]
    return found
