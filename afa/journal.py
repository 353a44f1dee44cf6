"""All or nothing: what a call has changed so far, and the way back.

A user's function can raise in the middle of a batch, and a late event can be refused after others were applied. Every write to
state therefore leaves its inverse here first; a call that fails plays them backwards. An interrupt can come between any two lines,
within a write and on the way back too: an inverse says what was there, so that it holds whether its write was made or not.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Protocol

from sortedcontainers import SortedDict

_NOTHING: Any = object()


class Mends(Protocol):
    """A structure of several parts, one of which says what is in it."""

    def mend(self) -> None:
        """Make the others anew from that one."""


class Journal:
    """The inverses of one call's writes.

    Examples
    --------
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
        """Note that ``undo(*args)`` takes the coming write back: whether it was made or not, and once more if it was undone."""
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
        """Carry out ``change(item)``, which writes several parts of a structure; interrupted, it is mended before all goes back."""
        self._writing = structure
        change(item)
        self._writing = None

    def commit(self) -> None:
        """Forget the inverses; entries that were copied in this call are copied again in the next."""
        self._undo.clear()
        self._writing = None
        self.serial += 1

    def rollback(self) -> None:
        """Play the inverses backwards. May be done again from where it was interrupted."""
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
        """Make whole what was interrupted in the midst of a write: of a sorted dictionary the order, by its keys."""
        torn = self._writing
        if isinstance(torn, SortedDict):
            torn._list_clear()
            torn._list_update(list(dict.keys(torn)))
        elif not isinstance(torn, dict):
            torn.mend()
        self._writing = None


def forget_places(table: SortedDict) -> None:
    """Forget by which places keys are known: the index of them, made when one is first asked for, may be half made."""
    table._list._index.clear()
