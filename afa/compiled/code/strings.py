"""Number the strings of an operator, and answer questions of fences about strings by tables over these numbers.

A number stays its string's for as long as the state holds it. Of strings that are no longer in use the numbers are given again, so
that a stream of ever new ones takes bounded memory; nothing in the state is rewritten for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from afa.expression.evaluation import evaluate
from afa.state.value_numbers import ValueNumbers

_METHODS: dict[str, Callable[[str, tuple[Any, ...]], bool]] = {
    "startswith": lambda text, consts: text.startswith(consts),
    "endswith": lambda text, consts: text.endswith(consts),
    "contains": lambda text, consts: any(const in text for const in consts),
    "satisfies": lambda text, consts: bool(evaluate(consts[0], TextEvent(text), None)),
}
"""The questions about a str; ``satisfies``: an expression over its one field, which never raises."""


class TextEvent(NamedTuple):
    """A str as the event of an expression."""

    text: str


class Strings(ValueNumbers):
    """The numbers of strings; "" is 0.

    >>> strings = Strings()
    >>> strings.number("N1"), strings.number("N2"), strings.number("N1"), strings.text(2)
    (1, 2, 1, 'N2')
    >>> strings.keep(np.array([True, False, True]))
    >>> strings.text(1), strings.number("N3"), strings.text(1), len(strings)
    ('N1', 1, 'N3', 3)
    """

    least = 4096

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.asked = False  # whether any table was made: their addresses change when strings come
        self._tables: dict[tuple[str, tuple[Any, ...]], Any] = {}
        self._ranks: Any = None
        super().__init__(["", *texts])

    def _place(self, text: str) -> int:
        self._ranks = None  # INVARIANT: no number is known that has no rank
        number = super()._place(text)
        for (method, consts), table in self._tables.items():
            if number < len(table):
                table[number] = _METHODS[method](text, consts)
        return number

    def keep(self, used: Any) -> None:
        used[0] = True
        super().keep(used)

    def text(self, number: int) -> str:
        return self.all[number]  # type: ignore[no-any-return]

    def texts(self, numbers: Iterable[int]) -> list[str]:
        return [self.all[number] for number in numbers]

    def table(self, method: str, consts: tuple[Any, ...]) -> tuple[int, int]:
        """Return address and length of a table of bytes: 1 where the method is true of the string of that number."""
        known = self._tables.get((method, consts))
        done = 0 if known is None else len(known)
        if known is None or done < len(self.all):
            ask = _METHODS[method]
            more = np.fromiter((ask(text, consts) for text in self.all[done:]), np.uint8, len(self.all) - done)
            known = more if known is None else np.concatenate([known, more])
            self._tables[method, consts], self.asked = known, True
        return known.ctypes.data, len(known)

    def numbers(self) -> list[Any]:
        """Return the strings and their numbers as plain data, for `take_numbers`."""
        return [self.all, self._free, self._bound]

    def take_numbers(self, found: list[Any]) -> None:
        self.all, self._free, self._bound = found
        free = set(self._free)
        self._numbers = {text: number for number, text in enumerate(self.all) if number not in free}
        self._tables.clear()
        self.asked, self._ranks = False, None

    def ranks(self) -> Any:
        """Return the place of each string in the order of all, by number."""
        if self._ranks is None:
            order = sorted(range(len(self.all)), key=self.all.__getitem__)
            self._ranks = np.empty(len(order), np.int64)
            self._ranks[order] = np.arange(len(order))
        return self._ranks
