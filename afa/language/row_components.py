"""Which component took each row of a match, from what choosing asks of it (`afa.language.choosing`): counts, or bits.

    (a | b+) c*    alternative, -count of b, -count of c      1, -2, -1      b b c

The choices of a pattern from left to right say all that it did; so they tell the rows of a match that takes each row, one after the
other. A component is told by its place among those of the pattern.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from afa.language.pattern import Component, Either, Pattern, Repeat, Seq, rebuilt
from afa.language.positions import Positions
from afa.language.preference import END, Preference

Rows = Callable[[Sequence[int]], list[int]]
"""From the values of the choices to the components of the rows, one after the other."""


def rows_by_counts(pattern: Pattern) -> Rows:
    """Returns a reader of counts.

    >>> from afa.language.row_pattern import read_pattern
    >>> rows_by_counts(read_pattern("(a | b+) c*", str))((1, -2, -1))
    [1, 1, 2]
    """
    numbered = _numbered(pattern)
    return lambda values: list(_taken(numbered, iter(values)))


def rows_by_bits(pattern: Pattern) -> Rows:
    """Returns a reader of an int of bits behind a first 1.

    >>> from afa.language.row_pattern import read_pattern
    >>> rows_by_bits(read_pattern("(a b)+ c", str))([0b101])
    [0, 1, 0, 1, 2]
    """
    preference, component = Preference(_numbered(pattern)), places_of(pattern)

    def rows(values: Sequence[int]) -> list[int]:
        bits, at, found = iter(f"{values[0]:b}"[1:]), -1, []
        while (at := preference.chosen(at, bits)) != END:
            found.append(component[at])
        return found

    return rows


def places_of(pattern: Pattern) -> list[int]:
    """Return which component of a pattern each of its positions is, as a repetition writes out copies."""
    return [int(each.name) for each in Positions.of(_numbered(pattern)).components]


def _numbered(pattern: Pattern) -> Pattern:
    """Return a pattern whose components have their places as names."""
    places = itertools.count()
    return rebuilt(pattern, lambda _: Component(str(next(places))))


def _taken(pattern: Pattern, values: Iterator[int]) -> Iterator[int]:
    """Yield the components of the rows; a part that took none has values, too."""
    match pattern:
        case Component(name):
            yield int(name)
        case Seq(items):
            for item in items:
                yield from _taken(item, values)
        case Either(items):
            alternative = next(values)
            for i, item in enumerate(items):
                rows = list(_taken(item, values))
                if i == alternative:
                    yield from rows
        case Repeat(Component(name), low, high):
            yield from [int(name)] * (low if low == high else abs(next(values)))
        case Repeat(item, low, high, _, greedy) if high == 1:
            there = (next(values) == 0) is greedy
            rows = list(_taken(item, values))
            if there or low == 1:
                yield from rows
        case Repeat(item, low):
            for _ in range(low):
                yield from _taken(item, values)
