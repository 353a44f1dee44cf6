"""Aggregates of the readings of one situation as words: the kernel takes values and gives what they have come to.

    first last count sum avg min max      None is left out; without a value there is none

A sum of floats is added up from the first reading on, one after the other, so that it depends on the readings alone, and not on
which of them came in which batch, or which a promise has made final.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from afa.compiled.code.strings import Strings
from afa.extra.situations import reading_layout as k
from afa.schema import NAN
from afa.state.states import Column

_SIGN = 0x7FFFFFFFFFFFFFFF
_CODES = {
    "first": k.F_FIRST,
    "last": k.F_LAST,
    "count": k.F_COUNT,
    "sum": k.F_SUM,
    "avg": k.F_MEAN,
    "min": k.F_LEAST,
    "max": k.F_MOST,
}
_OF_FLOATS = {"sum": k.F_FLOAT_SUM, "min": k.F_FLOAT_LEAST}


class Fold:
    """An aggregate of a field, or (None) of readings.

    Floats are their bits; where they are compared, as ints in the order of the floats, NaN above all. Texts are their numbers.
    """

    def __init__(self, function: str, field: str | None, kind: Any, strings: Strings) -> None:
        self.function, self.field = function, field
        floats = kind is float and function != "count"
        self.code = _OF_FLOATS.get(function, _CODES[function]) if floats else _CODES[function]
        self._floats = floats or function == "avg"
        self._sorted = floats and function in ("min", "max")
        self._bools = kind is bool and function != "count"
        self.texts = kind is str and function != "count"
        self._strings = strings

    def word(self, value: Any) -> tuple[int, int]:
        """Return a value as a word, and whether there is one."""
        if value is None:
            return 0, 0
        if self._floats:
            (word,) = struct.unpack("q", struct.pack("d", value))
            return (word ^ _SIGN if self._sorted and word < 0 else word), 1
        if self.texts:
            return self._strings.number(value), 1
        return (0 if self.function == "count" else int(value)), 1

    def words(self, column: Column | None, n: int) -> tuple[Any, Any]:
        """Return n values as words, and which of them there are."""
        there = 1 if column is None or column.present is None else column.present
        if column is None or self.function == "count":
            return 0, there
        values = column.values
        if self._floats:
            words: Any = np.array(values, np.float64)
            words[np.isnan(words)] = NAN
            words = words.view(np.int64)
            return np.where(words < 0, words ^ _SIGN, words) if self._sorted else words, there
        if column.texts is not None:
            values = self._strings.numbers_of(column.texts)[values] if len(column.texts) else 0
        return values, there

    def value(self, word: int, count: int) -> Any:
        """Return what is told of a word, and of how many values it is."""
        if self.function == "count":
            return None if count == k.ABSENT else count
        if count <= 0:
            return None
        if self._floats:
            (found,) = struct.unpack("d", struct.pack("q", word ^ _SIGN if self._sorted and word < 0 else word))
            found = found / count if self.function == "avg" else found
            return NAN if found != found else found
        if self.texts:
            return self._strings.text(word)
        return word != 0 if self._bools else word

    def values(self, words: Any, counts: Any) -> tuple[Any, Any]:
        """Return what is told of words, and which of them there are."""
        if self.function == "count":
            return counts, counts != k.ABSENT
        there = counts > 0
        if self._floats:
            words = np.where(words < 0, words ^ _SIGN, words) if self._sorted else np.ascontiguousarray(words)
            words = words.view(np.float64)
            return words / np.maximum(counts, 1) if self.function == "avg" else words, there
        if self.texts:
            return np.array(self._strings.texts(np.where(there, words, 0).tolist()), object), there
        return words.astype(np.bool_) if self._bools else words, there

    def held(self, word: int, count: int) -> Any:
        """Return what a snapshot says of a word; None: there was no value."""
        if self.function != "avg":
            return self.value(word, count) if count else None
        return (self.value(word, 1), count) if count else None

    def of_held(self, held: Any) -> tuple[int, int]:
        """Return the word, and of how many values it is, that a snapshot has told."""
        if held is None or self.function == "count":
            return 0, held or 0
        return (self.word(held[0])[0], held[1]) if self.function == "avg" else self.word(held)
