"""What users' functions raised, where an operator goes on: an arc does not serve where one of its functions raises."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple


class Raised(NamedTuple):
    """What a function raised.

    Parameters
    ----------
    key : hashable
    le : int
        Of the event; of a function without one the instant at which it was asked.
    payload : object
        The event; None: the function sees none.
    arc : str
        The arc in words; of an endless closure the text of its error.
    role : str
        Which function: fence, transfer, at; of an endless closure "closure".
    error : str
        Type and text.
    """

    key: Hashable
    le: int
    payload: Any
    arc: str
    role: str
    error: str


class Faults:
    """Collects what functions raise, each fault once until they are taken out.

    It holds no exception, whose traceback would hold the engine.
    """

    def __init__(self) -> None:
        self._found: dict[Raised, str] = {}

    def take(self, fault: Raised, where: str) -> None:
        """Note a fault; ``where``: in words, with the register of the first time."""
        self._found.setdefault(fault, where)

    def taken(self) -> dict[Raised, str]:
        """What was raised since the last time, with where."""
        found, self._found = self._found, {}
        return found

    @staticmethod
    def check(register: Any) -> None:
        """Refuse a register whose texts are none: no output holds them.

        Raises
        ------
        UnicodeEncodeError
        """
        for value in register:
            if type(value) is str and not value.isascii():
                value.encode()


def in_words(error: BaseException) -> str:
    """Type and text of an exception."""
    return f"{type(error).__name__}: {error}"
