"""Faults: what users' functions raised in an operator that goes on. An arc does not serve where one of its functions raises."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from punctuation.base_errors import AfaError


class Raised(NamedTuple):
    """A fault: an exception that a user's function raised."""

    key: Hashable
    le: int  # of the event; of a function that sees no event, the instant at which it was called
    payload: Any  # the event; None: the function sees none
    arc: str  # in words; empty for a closure without an end
    role: str  # which function: "fence", "transfer" or "at"; "closure": one without an end
    error: str  # type and text


class Faults:
    """Collects faults, each one once until they are taken out.

    It keeps texts, not exceptions: a traceback would keep the engine alive.
    """

    def __init__(self) -> None:
        self._found: dict[Raised, str] = {}

    def take(self, fault: Raised, where: str) -> None:
        """Take note of a fault. ``where`` describes the place in words, with the register of the first time."""
        self._found.setdefault(fault, where)

    def taken(self) -> dict[Raised, str]:
        """Remove and return the faults since the last time, each with its place."""
        found, self._found = self._found, {}
        return found

    @staticmethod
    def check(register: Any) -> None:
        """Refuse a register with text that no UTF-8 holds (`UnicodeEncodeError`), as no output could hold it."""
        for value in register:
            if type(value) is str and not value.isascii():
                value.encode()


def in_words(error: BaseException) -> str:
    """Return type and text of an exception."""
    return f"{type(error).__name__}: {_said(error)}"


def text_of(error: BaseException) -> str:
    """Returns the text of an exception with its notes, and its type where it is no `AfaError`."""
    said = _said(error) if isinstance(error, AfaError) else in_words(error)
    return "; ".join(dict.fromkeys([said, *map(str, getattr(error, "__notes__", ()))]))


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as raised:  # of a class of the user's
        return f"(its text can't be told: {type(raised).__name__})"


def shortened(text: str) -> str:
    """Return a text without its middle, if it is long: payloads may be."""
    return text if len(text) <= 1000 else f"{text[:500]} .. {text[-500:]}"
