"""The directory as the store of one memory of several sees it: its own keys, by its own numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from afa.compiled.directory import Directory, entries_of, gone_from
from afa.compiled.kernel import layout as k
from afa.compiled.memory import EngineMemory
from afa.state.key_columns import KeyColumns


class OwnDirectory:
    """A view of memory ``number`` of so many: key number c of all is c // shards here. See `Directory` for the methods."""

    def __init__(self, directory: Directory, memory: EngineMemory, number: int, shards: int) -> None:
        self._all, self._memory, self._number, self._shards = directory, memory, number, shards

    def shared(self, codes: Any) -> Any:
        """Return own numbers as numbers over all memories."""
        return codes * self._shards + self._number

    @property
    def entries(self) -> Any:
        return entries_of(self._memory)

    def held(self) -> Any:
        return np.flatnonzero(self.entries[:, k.KeyEntry.block])

    def find(self, key: Hashable) -> int | None:
        code = self._all.find(key)
        return None if code is None else code // self._shards

    def code(self, key: Hashable) -> int:
        return self._all.code(key) // self._shards

    def numbers(self, keys: Sequence[Hashable]) -> Any:
        return self._all.numbers(keys) // self._shards

    def name(self, code: int) -> Any:
        return self._all.name(self.shared(code))

    def names_of(self, codes: Any) -> KeyColumns:
        return self._all.names_of(self.shared(codes))

    def touch(self, code: int) -> None:
        self._all.touch(self.shared(code))

    @property
    def last(self) -> int | None:
        return self._all.last

    @last.setter
    def last(self, code: int) -> None:
        self._all.last = self.shared(code)

    def ask(self) -> None:
        self._all.ask()

    def heard(self) -> None:
        self._all.heard()

    def take_gone(self) -> None:
        codes = gone_from(self._memory)
        if len(codes):
            self._all.touched.append(self.shared(codes))

    @property
    def touched(self) -> list[Any]:
        return self._all.touched

    def end(self) -> None:
        self._all.end()

    def arcs_dropped(self, t: int) -> None:
        """Do nothing: `Directory` does it for all memories."""

    def loaded(self, codes: Any) -> None:
        self._all.loaded(self.shared(codes))
