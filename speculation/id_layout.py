"""Where everything stands in the arrays of the kernel for ids; read it first.

    m    int64 (n,)         `IdCall`
    c    int64 (rows, 6)    `IdMessage`: the messages of a call, in order of arrival
    r    int64 (ids, 2|4)   `IdEntry`: by the number of an id (`afa.compiled.key_numbers`); of ids that were never met all 0

A number has a line in ``r`` as long as its id is known. A line whose ``until`` lies below ``m.horizon`` is forgotten: it counts as
ABSENT until it is cleared.
"""

from __future__ import annotations

from afa.compiled.kernel.record import Record

ABSENT, IN_FORCE, RETRACTED, WAITING = range(4)
"""What is known of an id: nothing; its event is in force; was retracted; its retraction has come, and no event yet."""
STATE = 3
"""The bits of `IdEntry.held` that hold the state; the place of the content stands above them."""
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


class IdCall(Record):
    """m: the words of a call."""

    promise = Record.word("the promise: what lies below it is late")
    horizon = Record.word("ids whose entry ends below it are forgotten")
    versioned = Record.word("whether messages carry versions")
    next = Record.word("the place of the next content that is kept")
    waiting = Record.word("how many retractions wait")


class IdMessage(Record, by="column"):
    """c: a message."""

    number = Record.line("the number of its id")
    sign = Record.line("1: an insertion; -1: a retraction")
    le = Record.line("its LE; of a retraction without one the latest that was seen")
    version = Record.line("its version, as a word that orders")
    verdict = Record.line("what it does")
    old = Record.line("the place of the content that it takes out, or is compared with")


class IdEntry(Record, by="column"):
    """r: what is known of an id. Without versions the last two are not there."""

    held = Record.line("place << 2 | state")
    until = Record.line("the largest LE that its messages have said")
    version = Record.line("the largest version")
    le = Record.line("the LE of the event in force")
