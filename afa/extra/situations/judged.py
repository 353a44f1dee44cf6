"""The conditions of definitions, each with the time in which it is in force: which of them a reading satisfies.

    speeding     .. "speed > 70" .. | 40: "speed > 80" .. | 90: "speed > 70" ..       in force in [40, 90)

A reading is judged by what is in force at its LE. So a condition that changes from now on moves no past situation, and one with a
lifetime in the past moves those that it concerns.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from afa.conditions.condition import Condition
from afa.errors import AfaError, did_you_mean
from punctuation.time import BEGINNING, FOREVER


class InForce(NamedTuple):
    """A condition, and since when it is in force: until the next one is."""

    since: int
    condition: Condition


class Judged(NamedTuple):
    """The conditions of definitions over time; ``lines``: of each definition those that are in force one after the other.

    >>> from typing import NamedTuple
    >>> from afa.schema import Schema
    >>> class Car(NamedTuple):
    ...     speed: float
    >>> fast, faster = (Condition(f"speed > {x}", Schema.of(Car, "event")) for x in (70, 80))
    >>> judged = Judged.of(["speeding"], [fast]).changed("speeding", faster, 40, 90)
    >>> [judged.bits(Car(75.0), le) for le in (39, 40, 90)]
    [1, 0, 1]
    """

    names: tuple[str, ...]
    lines: tuple[tuple[InForce, ...], ...]

    @classmethod
    def of(cls, names: Sequence[str], conditions: Sequence[Condition]) -> Judged:
        """Return conditions that are always in force."""
        return cls(tuple(names), tuple((InForce(BEGINNING, each),) for each in conditions))

    def bits(self, payload: Any, le: int) -> int:
        """Return which definitions a reading at an LE satisfies, as bits. One on which a condition raises does not satisfy it."""
        found = 0
        for number, line in enumerate(self.lines):
            if self.at(line, le).condition.holds(payload):
                found |= 1 << number
        return found

    @staticmethod
    def at(line: Sequence[InForce], le: int) -> InForce:
        """Return what of a definition is in force at a time."""
        return line[0] if len(line) == 1 else line[bisect_right(line, le, key=lambda each: each.since) - 1]

    def changed(self, name: str, condition: Condition, le: int, re: int = FOREVER) -> Judged:
        """Return these, with another condition of one definition in force in ``[le, re)``; refuse a name that is no definition."""
        if name not in self.names:
            hint = did_you_mean(str(name), self.names)
            raise AfaError(f"expected the name of a definition, of {', '.join(self.names)}, but got {name!r}{hint}")
        number = self.names.index(name)
        line = self.lines[number]
        then = [] if re == FOREVER else [InForce(re, self.at(line, re).condition)]
        whole = [
            *(each for each in line if each.since < le),
            InForce(le, condition),
            *then,
            *(each for each in line if each.since > re),
        ]
        return self._replace(lines=(*self.lines[:number], _joined(whole), *self.lines[number + 1 :]))

    def settled(self, t: int) -> Judged:
        """Return what still counts of these for readings at or above a promise."""
        lines = []
        for line in self.lines:
            there = [each for each in line if each.since > t]
            lines.append((InForce(BEGINNING, self.at(line, t).condition), *there))
        return self._replace(lines=tuple(lines))


def _joined(line: Sequence[InForce]) -> tuple[InForce, ...]:
    """Return conditions over time without those that say what the one before says."""
    found: list[InForce] = []
    for each in line:
        if not found or found[-1].condition != each.condition:
            found.append(each)
    return tuple(found)
