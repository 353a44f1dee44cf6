"""The journal: the inverses of all writes of a call, so that a call that fails can be undone.

A user's function can raise in the middle of a batch, and a late event can be refused after others were applied. Every write to
state therefore leaves its inverse here first; a call that fails plays the inverses backwards. An interrupt can come between any two
lines, within a write and during the undo as well: an inverse restores the old value, whether its write was made or not.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Protocol

from sortedcontainers import SortedDict

_NOTHING: Any = object()


class Mends(Protocol):
    """A structure of several parts that can be remade from one of them."""

    def mend(self) -> None:
        """Make all parts anew from the one that says what is in the structure."""


class Journal:
    """The inverses of one call's writes.

    >>> journal, table = Journal(), {"a": 1}
    >>> journal.put(table, "a", 2)
    >>> journal.put(table, "b", 3)
    >>> journal.rollback()
    >>> table
    {'a': 1}
    """

    __slots__ = ("_undo", "_writing", "serial")

    def __init__(self) -> None:
        self._undo: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self._writing: Any = None  # a structure of several parts that is being written
        self.serial = 0

    def note(self, undo: Callable[..., Any], *args: Any) -> None:
        """Note that ``undo(*args)`` undoes the next write. It must also work if that write was not made, and a second time."""
        self._undo.append((undo, args))

    def put(self, table: Any, key: Hashable, value: Any) -> None:
        """Write ``table[key] = value``."""
        self._undo.append((self._put_back, (table, key, table.get(key, _NOTHING))))
        self._writing = table
        table[key] = value
        self._writing = None

    def drop(self, table: Any, key: Hashable) -> None:
        """Delete ``table[key]``."""
        self._undo.append((self._put_back, (table, key, table[key])))
        self._writing = table
        del table[key]
        self._writing = None

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Write ``owner.name = value``."""
        self._undo.append((setattr, (owner, name, getattr(owner, name))))
        setattr(owner, name, value)

    def write(self, structure: Mends, change: Callable[[Any], Any], item: Any) -> None:
        """Carry out ``change(item)``, which writes several parts of a structure. After an interrupt, `rollback` mends it first."""
        self._writing = structure
        change(item)
        self._writing = None

    def commit(self) -> None:
        """Forget the inverses, as the call has worked. The next call copies entries anew before it writes them."""
        self._undo.clear()
        self._writing = None
        self.serial += 1

    def rollback(self) -> None:
        """Play the inverses backwards. Can be repeated from where it was interrupted."""
        while self._undo or self._writing is not None:
            if self._writing is not None:
                self._mend()
                continue
            undo, args = self._undo[-1]
            undo(*args)
            self._undo.pop()
        self.serial += 1

    def _put_back(self, table: Any, key: Hashable, value: Any) -> None:
        self._writing = table
        if value is not _NOTHING:
            table[key] = value
        else:
            table.pop(key, None)
        self._writing = None

    def _mend(self) -> None:
        """Mend a structure whose write was interrupted; for a sorted dictionary, make the order of its keys anew."""
        torn = self._writing
        if isinstance(torn, SortedDict):
            torn._list_clear()
            torn._list_update(list(dict.keys(torn)))
        elif not isinstance(torn, dict):
            torn.mend()
        self._writing = None


def forget_places(table: SortedDict) -> None:
    """Drop a sorted list's index of positions, which may be half made; it is made again when needed."""
    table._list._index.clear()
