"""Where everything stands in the arrays of the kernel for units, pairs of a rule and a key; read it first.

    m    int64 (n,)         `UnitCall`
    c    int64 (10, n)      `UnitPair`: pairs of an event and a rule, in order
    t    int64 (slots, 7)   `Unit`: a table by open addressing; an empty slot has the name 0
    o    the same           a table from which ``t`` is filled
    y    int64 (slots, 3)   `KeyUnits`: another one, of keys: the units of each

What the store has of a unit: events with an LE in ``[low, high)`` or ``[low2, high2)``, and those by which a match may begin.
"""

from __future__ import annotations

from afa.compiled.kernel.record import Record

BEGIN, ASK, MOVE, UNDO, REFILL = range(5)
ROUND = 32
"""So many slots are fetched side by side."""


class UnitCall(Record):
    """m: the words of a call."""

    t_at = Record.word("the address of t")
    slots = Record.word("how many slots there are")
    used = Record.word("how many slots are not empty")
    promise = Record.word("units that are over by then are forgotten")
    keys = Record.word("how many slots y has")


class UnitPair(Record, by="row"):
    """c: an event that concerns a rule, and the unit of its key."""

    name = Record.line("the unit")
    le = Record.line("LE of the event")
    high = Record.line("a begin: up to where its events are sent")
    over = Record.line("a begin, or an event that moves a clock: from which promise on the unit is forgotten")
    since = Record.line("a begin: the least LE that was not sent before; FOREVER: none. ASK: whether the event is to be sent")
    low = Record.line("a begin: what stood there before it, and the next four")
    end = Record.line("`Unit.high`")
    low2 = Record.line("`Unit.low2`")
    end2 = Record.line("`Unit.high2`")
    was_over = Record.line("`Unit.over`")


class Unit(Record, by="column"):
    """t: what is known of a unit."""

    name = Record.line("a word, not 0")
    low = Record.line("the least LE by which a match may have begun")
    high = Record.line("the latest end of these; FOREVER: each event is sent from then on, as it moves a clock")
    low2 = Record.line("the same of matches that ended before these began")
    high2 = Record.line("the latest end of those")
    over = Record.line("the latest end, or one past the last event that has moved the clock")
    next = Record.line("one past the slot of the next unit of its key; 0: none")


class KeyUnits(Record, by="column"):
    """y: a key, and its units; those that are forgotten stand among them until ``t`` is filled anew."""

    name = Record.line("twice the key's word, and 1; 0: an empty slot")
    first = Record.line("one past the slot of its first unit")
    count = Record.line("how many there are")
