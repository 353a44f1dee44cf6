"""When code is compiled, and how rows of a batch go to the kernels; which body takes them there: `afa.compiled.kernel.dispatch`.

    code                 compiled when                                                      serves
    step function        WARM steps were derived arc by arc, or as many records come        whatever derives a list
    `longest_best`       with it                                                            only the longest count
    the same anew        AGAIN times as many were, of arcs without a slot in it
    loops over rows      LONG rows were taken without them, or as much was looked at        rows in order

    route of rows        when
    SORTED               without keys, rows before these were out of order: all that are, are brought into order first
    BY_KEY               of many keys
    IN_ORDER             without keys: as they stand, until one is out of order
    AS_RECORDS           there is no loop, or columns that no loop reads: copied, scanned, and merged into steps

Work is counted in rows: without loops a row takes 0.1 to 0.5 us where lists are short, and so do LOOKS partial matches looked at.
"""

from __future__ import annotations

import enum

from afa.compiled.kernel import layout as k

WARM = 256
"""After so many steps derived arc by arc, a step function is compiled: for a few events it would not pay."""
AGAIN = 16
"""After so many times as many steps, it is compiled again for arcs that have no slot in it."""
LONG = 200_000
"""After so much work in batches, the loops are compiled too, which takes 0.2 s: a process that comes after has them at hand."""
LOOKS = 32
"""So many partial matches that were looked at count as a row."""
COLD = 1 << 10
"""The rows of the first part that is carried out without them: if each of them waits, three million are looked at."""
LEAST = 256
"""The fewest rows that are carried out at once, or brought into order."""
SAMPLE = 64
"""How many steps of a block are looked at to decide whether runs suit it, and how many records must have come before."""
SOON = 2
"""After so many steps behind a late event that were derived with whole lists, where only the longest count, `replay` begins."""
PARTS = 64
"""How many rows a list has that is taken in parts: a shorter one is written anew for less than the look at rows that stay costs."""


class Route(enum.Enum):
    """How the rows of a batch go to the kernels."""

    SORTED = enum.auto()
    BY_KEY = enum.auto()
    IN_ORDER = enum.auto()
    AS_RECORDS = enum.auto()


def route_of(straight: bool, keyed: bool, late: bool, rows: int) -> Route:
    """Return the route of the next rows; ``straight``: loops can read their columns, ``late``: those before were out of order."""
    if not straight:
        return Route.AS_RECORDS
    if keyed:
        return Route.BY_KEY
    return Route.SORTED if late and rows >= LEAST else Route.IN_ORDER


def step_pays(records: int, general: int, again: bool) -> bool:
    """Return whether to compile a step function for so many records, and steps that were derived arc by arc."""
    return records + general >= (WARM * AGAIN if again else WARM)


def loops_pay(rows: int, looks: int) -> bool:
    """Return whether to compile the loops, after so many rows, and partial matches that were looked at."""
    return rows + looks // LOOKS >= LONG


def rows_before_loops(rows: int, looks: int, part: int, each: int) -> int:
    """Return how many rows to carry out until `loops_pay` is asked again, after ``part`` that have looked at ``each`` a row.

    Lists may grow with each row: so where they are short the next part is twice as long, and where not what is left for it decides.
    """
    if each < PARTS:
        return max(2 * part, COLD)
    left = max(LONG - rows, 0) * LOOKS - looks
    return min(max(left // (2 * each), LEAST), COLD)


def has_loops(words: list[int], longest: bool) -> bool:
    """Return whether a program has loops that may be used; of a block says that `may_go_forward`."""
    code = words[k.Program.step] and (words[k.Program.loop] or longest)
    return bool(code and not words[k.Program.timeout] and words[k.Program.counted] < k.BY_TIMEOUTS)
