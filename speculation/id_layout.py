"""Where everything stands in the arrays of the kernel for ids; read it first.

    m    int64 (n,)           `IdCall`
    c    int64 (10, n)        `IdMessage`: messages, in order of arrival
    t    int64 (slots, 3|4)   `IdSlot`: a table of ids by open addressing; an empty slot is all 0
    o    the same             a table from which ``t`` is filled

The slot of a word is the first one from its home on that has it, or is empty. Homes are in the order of hashes, so that a table is
made anew from end to end. What lies below `IdCall.horizon` is forgotten: it holds its slot until the table is made anew.
"""

from __future__ import annotations

from afa.compiled.kernel.record import Record

JUDGE, UNDO, REFILL, FIND = range(4)
EMPTY, IN_FORCE, RETRACTED, WAITING = range(4)
"""What is known of an id: nothing; its event is in force; was retracted; its retraction has come, and no event yet."""
STATE = 3
"""The bits of `IdSlot.held` that hold the state; the place of the content stands above them."""
NEW, GONE, REVISED, MET, SAME, REPEATED, SUPERSEDED, LATE, CLASHES, QUIET = range(10)
"""What a message does.

NEW         its event comes into force
GONE        the event in force, at `IdMessage.old`, is retracted
REVISED     that event goes, and the message's own comes in its place
MET         its event has met the retraction that waited; its content is kept
SAME        it is a repeat if its content is that at ``old``, else a fault
REPEATED    a retraction that has come before
SUPERSEDED  a newer one has come before
LATE        a part of it lies below the promise
CLASHES     its version is that of a message of the other kind: a fault
QUIET       it is noted, and nothing leaves
"""
ROUND = 32
"""So many slots are fetched side by side."""


class IdCall(Record):
    """m: the words of a call."""

    t_at = Record.word("the address of t")
    width = Record.word("how many words a slot has")
    promise = Record.word("the promise: what lies below it is late")
    horizon = Record.word("ids that are remembered until an instant below it are forgotten")
    versioned = Record.word("whether messages carry versions")
    next = Record.word("the place of the next content that is kept")
    waiting = Record.word("how many retractions wait")
    first_waiting = Record.word("no retraction waits until an instant below it")
    used = Record.word("how many slots are not empty")
    slots = Record.word("how many slots there are")
    secret = Record.word("what hashes begin with")


class IdMessage(Record, by="row"):
    """c: a message."""

    name = Record.line("its id, as a word")
    sign = Record.line("1: an insertion; -1: a retraction")
    le = Record.line("its LE; of a retraction without one the latest that was seen")
    version = Record.line("its version, as a word that orders")
    verdict = Record.line("what it does")
    old = Record.line("the place of the content that it takes out, or is compared with")
    slot = Record.line("the slot of its id, and what stood there before: the next three")
    held = Record.line("`IdSlot.held`")
    until = Record.line("`IdSlot.until`")
    before = Record.line("`IdSlot.version`")


class IdSlot(Record, by="column"):
    """t: what is known of an id."""

    name = Record.line("the id, as a word")
    held = Record.line("place << 2 | state")
    until = Record.line("the LE of the event in force; else of the one that was, or up to which its retraction waits")
    version = Record.line("the largest version; without versions it is not there")
