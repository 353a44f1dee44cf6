"""Number the strings of an operator, and answer questions of fences about strings by tables over these numbers.

A number stays its string's for as long as the state holds it. Of strings that are no longer in use the numbers are given again, so
that a stream of ever new ones takes bounded memory; nothing in the state is rewritten for that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from afa.expression.evaluation import evaluate
from afa.state.value_numbers import ValueNumbers
from punctuation.time import FOREVER

MANY = 64
"""One new string in fewer than so many, and all are sorted again."""
MIDDLE, STEP = 1 << 62, 1 << 31
"""Below which the ranks of a sort stand, and how far behind all a new string: they may come in their order."""
_METHODS: dict[str, Callable[[str, tuple[Any, ...]], int]] = {
    "startswith": lambda text, consts: text.startswith(consts),
    "endswith": lambda text, consts: text.endswith(consts),
    "contains": lambda text, consts: any(const in text for const in consts),
    "number": lambda text, consts: evaluate(consts[0], TextEvent(text), None),
    "satisfies": lambda text, consts: bool(evaluate(consts[0], TextEvent(text), None)),
}
"""The questions about a str; ``satisfies``, ``number``: an expression over its one field, which never raises; a truth, an int."""


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
        self._ranks: Any = None  # by number; None: of no string
        self._unranked: list[int] = []
        self._sorted: list[str] = []
        self._words: list[int] = []  # the ranks of these
        super().__init__(["", *texts])

    def _place(self, text: str) -> int:
        number = super()._place(text)
        if self._ranks is not None:
            self._unranked.append(number)  # INVARIANT: no number is known that `ranks` gives no rank
        for (method, consts), table in self._tables.items():
            if number < len(table):
                table[number] = _METHODS[method](text, consts)
        return number

    def keep(self, used: Any) -> None:
        used[0], self._ranks, self._unranked = True, None, []
        super().keep(used)

    def text(self, number: int) -> str:
        return self.all[number]  # type: ignore[no-any-return]

    def texts(self, numbers: Iterable[int]) -> list[str]:
        return [self.all[number] for number in numbers]

    def table(self, method: str, consts: tuple[Any, ...]) -> tuple[int, int]:
        """Return address and length of a table by the numbers of strings: of truths as bytes, of ints as words."""
        known = self._tables.get((method, consts))
        done = 0 if known is None else len(known)
        if known is None or done < len(self.all):
            ask, kind = _METHODS[method], np.int64 if method == "number" else np.uint8
            more = np.fromiter((ask(text, consts) for text in self.all[done:]), kind, len(self.all) - done)
            known = more if known is None else np.concatenate([known, more])
            self._tables[method, consts], self.asked = known, True
        return known.ctypes.data, len(known)

    def given_away(self) -> list[Any]:
        """Return the tables that there are, and forget them: each stands where it does for as long as someone holds it."""
        found = list(self._tables.values())
        self._tables.clear()
        return found

    def numbers(self) -> list[Any]:
        """Return the strings and their numbers as plain data, for `take_numbers`."""
        return [self.all, self._free, self._bound]

    def take_numbers(self, found: list[Any]) -> None:
        self.all, self._free, self._bound = found
        free = set(self._free)
        self._numbers = {text: number for number, text in enumerate(self.all) if number not in free}
        self._tables.clear()
        self.asked, self._ranks, self._unranked = False, None, []

    def ranks(self) -> Any:
        """Return words that stand as the strings of all numbers do. O(log n), and a copy of the list, for one that is new."""
        new, self._unranked = self._unranked, []
        if self._ranks is None or MANY * len(new) > len(self._sorted) or not all(map(self._ranked, new)):
            order = sorted(range(len(self.all)), key=self.all.__getitem__)
            self._sorted = [self.all[number] for number in order]
            words = np.arange(1, len(order) + 1) * (MIDDLE // (len(order) + 1))
            self._ranks, self._words = np.empty(2 * len(order), np.int64), words.tolist()
            self._ranks[order] = words
        return self._ranks

    def _ranked(self, number: int) -> bool:
        """Give a new number a rank between its neighbours'; False: there is no room."""
        text = self.all[number]
        i, last = bisect_left(self._sorted, text), len(self._sorted)
        low, high = self._words[i - 1] if i else 0, self._words[i] if i < last else FOREVER
        if high - low < (STEP if i == last else 2) or number >= len(self._ranks):
            return False
        word = low + (STEP if i == last else (high - low) // 2)
        self._sorted.insert(i, text)
        self._words.insert(i, word)
        self._ranks[number] = word
        return True
