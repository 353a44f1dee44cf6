"""What one event makes of a list of which only the best rows count; where only the longest count.

    e.val >= r.last    rows of state b, by r.last    2   5   7   11      e.val 7: those up to 7
                       of them the best so far       x   x       x       the skyline: the last one up to 7 is the best of the range
    e.val != r.last    rows as they stand            7   2   11   5      looked at, where they would be better than the best so far

All rows that an arc takes by an event have one register then, so one row is made of them, with the start and m of the best: found
by bisection where the fence is a range, which costs O(log n) whatever the list; else by a look at each row. The order of rows is
kept by `skyline`; it does not serve an event that is over before any row is.

The names in capitals and the functions without a body are *holes*: `afa.compiled.linked_best` fills them with the code of one
automaton, which LLVM inlines. Where an arc's function has no answer in machine code, all go row by row.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel, peek, poke

SLOTS: tuple[tuple[int, int, int], ...] = ()
"""Of each slot: its number, the source state, how it is asked."""
MAKERS: tuple[tuple[int, int, int, int], ...] = ()
"""The same of those by which rows are made; and the word of the register that its range is of."""
ROW_WORDS = 0
"""Words of a row of the list."""
STAYS, SKIPS, BEST, RANGE, ALL, BEGINS = 1, 2, 4, 8, 16, 32
"""How a slot is asked, as bits: its event lets all rows of its state stay, by a skip; one row is made of the best, of a range or
of all rows of its state; a computation may begin by it. One that is neither STAYS nor BEST is taken row by row."""


def may_take(slot: int, event: int, constants: int) -> int:
    """Hole: return whether an arc may take an event, for all that the event alone says."""
    raise NotImplementedError


def takes(slot: int, event: int, constants: int, register: int) -> int:
    """Hole: return whether the rest of its fence holds of a register, or -1."""
    raise NotImplementedError


def transfer(slot: int, event: int, constants: int, register: int, out: int) -> int:
    """Hole: write the register that it makes of a register. Returns 1, or -1."""
    raise NotImplementedError


@kernel
def best_step(w: Any, x: Loop, here: int, event: int, re: int, le: int) -> int:
    """Write rows to Loop.out, in no order, and to Loop.leave the states of which all rows go. Returns how many, or a status.

    It is BY_ARCS, NO_ROOM, or REFUSED: the event ends rows which did not come with the last step, shortens rows that stay, or takes
    an arc of another kind.
    """
    slots, there, shorter = x.slots, x.there, re < x.farthest
    # What the event alone says of each arc.
    asked, others, kept = 0, 0, 1 << UNUSUAL
    for slot, state, form in SLOTS:
        if peek(slots + 16 * slot) >= 0 and may_take(slot, event, peek(slots + 16 * slot + 8)) != 0:
            asked |= 1 << slot
            if form & BEST:
                kept &= ~(1 << UNUSUAL)
            elif form & STAYS:
                kept |= 1 << state
                others |= int(shorter and form & SKIPS == 0) << state
            else:
                others |= 1 << state
    leaving = there & ~kept
    if there & others or leaving & ~x.passing:
        return REFUSED
    x.leave = leaving
    # A row of the best ones that an arc takes, and one of a computation that begins.
    begin, out = x.begin + 8 * NodeRow.register, x.out
    for slot, state, form, word in MAKERS:
        if asked >> slot & 1:
            constants = peek(slots + 16 * slot + 8)
            if form & BEST:
                if shorter or form & (RANGE | ALL) == 0:
                    until, start = best_of_each(w, x, slot, state, event, constants, re, le)
                else:
                    until, start = best_of(w, x, slot, state, form, word, event, constants)
                if until > le:
                    out = put_row(w, x, slot, event, constants, out, start, until)
                    if out < 0:
                        return out
            if form & BEGINS:
                holds = takes(slot, event, constants, begin)
                if holds < 0:
                    return BY_ARCS
                if holds:
                    out = put_row(w, x, slot, event, constants, out, le, re)
                    if out < 0:
                        return out
    return (out - x.out) // (8 * ROW_WORDS)


@kernel
def best_of(w: Any, x: Loop, slot: int, state: int, form: int, word: int, event: int, constants: int) -> tuple[int, int]:
    """Return until and start of the best row of a state that an arc takes; until BEGINNING: there is none. O(log n)."""
    # The last row of the skyline, or of its part that the fence holds of; by halves.
    words, low, high = x.skyline + 8 * x.skyline_at[state], 0, x.skyline_rows[state]
    if form & ALL:
        low = high
    while low < high:
        middle = (low + high) >> 1
        if takes(slot, event, constants, words + 8 * (middle - word)):
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return BEGINNING, 0
    at = words + 8 * (low - 1 + x.stride)
    return peek(at), peek(at + 8 * x.stride)


@kernel
def best_of_each(w: Any, x: Loop, slot: int, state: int, event: int, constants: int, re: int, le: int) -> tuple[int, int]:
    """The same, if it lasts longer than ``le``, by a look at each row; none lasts longer than the event. O(n)."""
    until, start, row, end = le, BEGINNING, x.src, x.src + 8 * ROW_WORDS * x.n
    while row < end:
        m, begun = min(peek(row + 8 * NodeRow.until), re), peek(row + 8 * NodeRow.start)
        better = m > until or (m == until and begun > start)
        if better and peek(row + 8 * NodeRow.state) == state and takes(slot, event, constants, row + 8 * NodeRow.register):
            until, start = m, begun
        row += 8 * ROW_WORDS
    return until, start


@kernel
def put_row(w: Any, x: Loop, slot: int, event: int, constants: int, out: int, start: int, until: int) -> int:
    """Write the row that an arc makes, at an address. Returns where the next one goes, or BY_ARCS, NO_ROOM."""
    if out >= x.last:
        return NO_ROOM
    poke(out + 8 * NodeRow.start, start)
    poke(out + 8 * NodeRow.until, until)
    poke(out + 8 * NodeRow.state, peek(x.slots + 16 * slot))
    poke(out + 8 * NodeRow.end, ALONE)
    done = transfer(slot, event, constants, x.begin + 8 * NodeRow.register, out + 8 * NodeRow.register)
    return out + 8 * ROW_WORDS if done > 0 else BY_ARCS
