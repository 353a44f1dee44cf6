"""All or nothing: what a call has changed so far, and the way back.

A user's function can raise in the middle of a batch, and a late event can be refused after others were applied. Every write to
state therefore leaves its inverse here first; a call that fails plays them backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any


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

    __slots__ = ("_undo", "serial")

    def __init__(self) -> None:
        self._undo: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self.serial = 0

    def note(self, undo: Callable[..., Any], *args: Any) -> None:
        """Note that ``undo(*args)`` takes the coming write back."""
        self._undo.append((undo, args))

    def put(self, table: Any, key: Hashable, value: Any) -> None:
        """Write ``table[key] = value``."""
        if key in table:
            self._undo.append((table.__setitem__, (key, table[key])))
        else:
            self._undo.append((table.__delitem__, (key,)))
        table[key] = value

    def drop(self, table: Any, key: Hashable) -> None:
        """Delete ``table[key]``."""
        self._undo.append((table.__setitem__, (key, table[key])))
        del table[key]

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Write ``owner.name = value``."""
        self._undo.append((setattr, (owner, name, getattr(owner, name))))
        setattr(owner, name, value)

    def commit(self) -> None:
        """Forget the inverses; entries that were copied in this call are copied again in the next."""
        self._undo.clear()
        self.serial += 1

    def rollback(self) -> None:
        """Play the inverses backwards."""
        while self._undo:
            undo, args = self._undo.pop()
            undo(*args)
        self.serial += 1
