"""The table that the kernel of lineages fills, kept from one question to the next; see `afa.compiled.kernel.path_layout`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from afa.compiled.kernel import path_layout as y
from afa.compiled.memory import WordArray
from afa.compiled.program import ArcProgram

COLUMNS, LIMBS = 1 << 10, 3
"""To begin with; limbs are of 30 bits."""


class KnownArcs(NamedTuple):
    """The components for which the arcs of a program take their events."""

    program: ArcProgram
    many: int  # arcs that it had then
    components: list[str]
    numbers: list[int]  # by arc, the number of its component; NOWHERE: none
    forms: list[int]  # by arc, BY_EVENT and KEEPS
    takes: int  # bits of the states that take an event by an ignorable arc


class PathTable:
    """A table that the kernel fills, with all that it must know of the arcs; one an engine."""

    def __init__(self) -> None:
        self.batch = WordArray(np.zeros((y.PathRows.SIZE, COLUMNS), np.int64))
        self.arcs: KnownArcs | None = None
        self.told: KnownArcs | None = None  # those that the table tells of
        self.limbs = LIMBS  # of sums, as many as were enough the last time

    def grow(self, least: int = 0) -> None:
        """Make the table anew with twice as many columns, or as many as are asked for."""
        n = 2 * self.batch.n
        while n < least:
            n *= 2
        self.batch, self.told = WordArray(np.empty((y.PathRows.SIZE, n), np.int64)), None
