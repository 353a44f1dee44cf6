"""Things that are made once: a copy of one is the thing itself."""

from __future__ import annotations

from typing import Any


class Frozen:
    """What sets its attributes by ``object.__setattr__``, as it is made; nothing sets them later."""

    __slots__ = ()
    _instead = ""
    """What to do in place of setting one."""

    def __setattr__(self, field: str, value: Any) -> None:
        raise AttributeError(f"{_one(self)} is frozen: {field} can't be set{self._instead}")

    def __delattr__(self, field: str) -> None:
        raise AttributeError(f"{_one(self)} is frozen: {field} can't be deleted")

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self


def _one(thing: Frozen) -> str:
    name = type(thing).__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
