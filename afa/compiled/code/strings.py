"""Number the strings of an operator, and answer questions of fences about strings by tables over these numbers.

A number stays its string's for as long as the state holds it. Of strings that are no longer in use the numbers are given again, so
that a stream of ever new ones takes bounded memory; nothing in the state is rewritten for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.expression.evaluation import evaluate

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


LEAST = 4096
"""Below so many strings, nobody asks which of them are in use."""


class Strings:
    """The numbers of strings.

    >>> strings = Strings()
    >>> strings.number("N1"), strings.number("N2"), strings.number("N1"), strings.text(2)
    (1, 2, 1, 'N2')
    >>> strings.keep(np.array([True, False, True]))
    >>> strings.text(1), strings.number("N3"), strings.text(1), len(strings)
    ('N1', 1, 'N3', 3)
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = [""]
        self._numbers = {"": 0}
        self._free: list[int] = []
        self._bound = LEAST
        self.asked = False  # whether any table was made: their addresses change when strings come
        self.many = False  # whether it is time to ask which are in use: there are twice as many as there were then
        self._tables: dict[tuple[str, tuple[Any, ...]], Any] = {}
        self._ranks: Any = None
        for text in texts:
            self.number(text)

    def __len__(self) -> int:
        return len(self._texts)

    def number(self, text: str) -> int:
        found = self._numbers.get(text)
        if found is None:
            self._ranks = None  # INVARIANT: no number is known that has no rank
            found = self._numbers[text] = self._place(text)
            self.many = len(self._numbers) > self._bound
        return found

    def known(self, text: str) -> int | None:
        """Return the number of a string; None: it has none."""
        return self._numbers.get(text)

    def numbers_of(self, texts: Sequence[str]) -> Any:
        return np.fromiter(map(self.number, texts), np.int64, len(texts))

    def _place(self, text: str) -> int:
        if not self._free:
            self._texts.append(text)
            return len(self._texts) - 1
        number = self._free.pop()
        self._texts[number] = text
        for (method, consts), table in self._tables.items():
            if number < len(table):
                table[number] = _METHODS[method](text, consts)
        return number

    def keep(self, used: Any) -> None:
        """Give the numbers of all other strings again; ``used``: an array of bools, one a number.

        Until that happens a number still reads as its old string: output that was not decoded yet may hold it.
        """
        gone = [(text, number) for text, number in self._numbers.items() if number and not used[number]]
        for text, number in gone:
            del self._numbers[text]
            self._free.append(number)
        self._bound, self.many = max(LEAST, 2 * len(self._numbers)), False

    def text(self, number: int) -> str:
        return self._texts[number]

    @property
    def all(self) -> list[str]:
        """The string of each number; of numbers that are not in use any."""
        return self._texts

    def texts(self, numbers: Iterable[int]) -> list[str]:
        return [self._texts[number] for number in numbers]

    def table(self, method: str, consts: tuple[Any, ...]) -> tuple[int, int]:
        """Return address and length of a table of bytes: 1 where the method is true of the string of that number."""
        known = self._tables.get((method, consts))
        done = 0 if known is None else len(known)
        if known is None or done < len(self._texts):
            ask = _METHODS[method]
            more = np.fromiter((ask(text, consts) for text in self._texts[done:]), np.uint8, len(self._texts) - done)
            known = more if known is None else np.concatenate([known, more])
            self._tables[method, consts], self.asked = known, True
        return known.ctypes.data, len(known)

    def numbers(self) -> list[Any]:
        """Return the strings and their numbers as plain data, for `take_numbers`."""
        return [self._texts, self._free, self._bound]

    def take_numbers(self, found: list[Any]) -> None:
        self._texts, self._free, self._bound = found
        free = set(self._free)
        self._numbers = {text: number for number, text in enumerate(self._texts) if number not in free}
        self._tables.clear()
        self.asked, self.many, self._ranks = False, len(self._numbers) > self._bound, None

    def ranks(self) -> Any:
        """Return the place of each string in the order of all, by number."""
        if self._ranks is None:
            order = sorted(range(len(self._texts)), key=self._texts.__getitem__)
            self._ranks = np.empty(len(order), np.int64)
            self._ranks[order] = np.arange(len(order))
        return self._ranks
