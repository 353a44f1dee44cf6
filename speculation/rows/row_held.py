"""The common part of stages that hold rows: words, numbers of keys, arrays; a call that fails; rows no longer in use."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np

from afa.change import Change
from afa.schema import Schema
from afa.state.value_numbers import ValueNumbers
from punctuation.time import BEGINNING
from speculation.rows import row_layout as k
from speculation.rows.row_memory import RowMemory
from speculation.rows.row_words import RowWords

PACE = 16
"""Keys are looked through for final entries once in so many keys' changes, so that a promise for each change stays cheap."""


class RowHeld:
    """The rows of a stage; ``schema``: of the records that they hold."""

    columns = True

    def __init__(self, schema: Schema) -> None:
        self._words = RowWords(schema)
        self._keys = ValueNumbers()
        self._memory: RowMemory
        self._idle = 0  # rows that have come since keys were looked through
        self._before = 0

    def begins(self) -> None:
        """Begin a call."""
        self._before = int(self._memory.m[k.RowControl.retractions])
        if self._keys.many or self._words.many:
            self._tidy()

    def failed(self) -> None:
        """Restore all rows."""
        self._memory.rollback()
        self._memory.m[k.RowControl.retractions], self._memory.m[k.RowControl.drawn] = self._before, 0

    def worked(self) -> None:
        """Forget how."""
        self._memory.commit()

    def _tidy(self) -> None:
        """Give numbers of keys and texts that nothing holds any more again; no call is under way."""
        rows, _ = self._memory.held()
        held = self._memory.r[rows]
        if self._keys.many:
            there = np.zeros(len(self._keys), bool)
            there[held[:, k.RowPool.key]] = True
            self._keys.keep(there.tolist())
        self._words.keep(held)

    def _put(self, rows: Any) -> Any:
        """Call the kernels to take rows, in order of arrival. Returns the row that does not fit, or None."""
        memory = self._memory
        numbers = memory.rows(len(rows))
        memory.r[numbers] = rows
        memory.keys(len(self._keys))
        self._idle += len(rows)
        fault = memory.take(numbers, self._words.strings.ranks) == k.FAULT
        return memory.r[[memory.m[k.RowControl.fault]]] if fault else None

    def _drawn(self) -> int:
        """Return how many links the kernels have drawn, or events revised, since the last time."""
        found = int(self._memory.m[k.RowControl.drawn])
        self._memory.m[k.RowControl.drawn] = 0
        return found

    def _settle(self, t: int, first: int, least: int, whole: bool, force: bool) -> bool:
        """Call the kernels to forget entries that a promise makes final. With many keys not at each promise, unless ``force``."""
        m = self._memory.m
        if not force and not whole and not m[k.RowControl.retractions] and self._idle * PACE < len(self._keys):
            return False
        m[k.RowControl.forget_below], m[k.RowControl.least], m[k.RowControl.promise] = first, least, t
        m[k.RowControl.all], m[k.RowControl.force], m[k.RowControl.done] = whole, force or whole, 0
        self._memory.call(k.SETTLE, 0, self._words.strings.ranks)
        self._idle = 0
        return True

    @property
    def keys(self) -> Collection[Hashable]:
        """The keys of which anything is held."""
        return [self._keys.all[number] for number in self._memory.keys_held().tolist()]

    def _listed(self, rows: Any, copies: Any, payloads: Sequence[Any] | None = None) -> list[Change]:
        """Return rows as changes, of so many copies; ``payloads``: as they are shown, where that is not all of a record."""
        names, times = self._keys.all, rows[:, [k.RowPool.le, k.RowPool.re, k.RowPool.key]].tolist()
        found = zip(self._words.records(rows) if payloads is None else payloads, times, copies.tolist())
        return [Change(payload, le, None if re == BEGINNING else re, n, names[key]) for payload, (le, re, key), n in found]

    def _plain(self, rows: Any, copies: Any) -> list[Any]:
        """Return rows as plain data (`speculation.stage_state`)."""
        names, (le, re, keys) = self._keys.all, rows[:, [k.RowPool.le, k.RowPool.re, k.RowPool.key]].T.tolist()
        columns = [column.tolist() for column in self._words.columns(rows)]
        ends = [None if end == BEGINNING else end for end in re]
        return [list(self._words.places), [names[number] for number in keys], le, ends, copies.tolist(), columns]
