"""Where everything stands in the arrays of the kernel for readings; read it first.

    d   `ReadingControl`: control words, what is asked for, room for standings, then the directory: `KeyWords` for each key
    m   a heap (`afa.compiled.kernel.heap`) of blocks: the readings of one key, sorted by LE, `ReadingWords` for each
    c   a batch of readings in columns, `ReadingColumns`
    u   the undo log, read from its top      o   the output: `LineWords` for each thing that happens

A *standing* says how the situations of a key stand at a time, `StandingWords`. Two of each key are kept: behind all that a promise
made final, and behind all readings. Those between are worked out again from the readings, from where the situations begin that go
on there.

The undo log holds, by their last words:

    the record of a key as it was when the call came to it, then `KeptKey`
    entries that stood where others stand now, then `MergedEntries`
    `ReplacedBlock`: the block that was too small
"""

from __future__ import annotations

from afa.compiled.kernel import layout
from afa.compiled.kernel.record import Record

BEGINNING, FOREVER, DONE, NEED_HEAP, NAN_WORD = layout.BEGINNING, layout.FOREVER, layout.DONE, layout.NEED_HEAP, layout.NAN_WORD
NEED_UNDO, NEED_OUTPUT = -3, -4
TAKE, SET, REMOVE, PROMISE, SETTLE, FIND, DUE, SUMS, COMMIT, ROLLBACK = range(10)
"""What may be asked of the kernel. TAKE leaves a reading that is there, SET replaces it."""
NOWHERE, MANY = -1, -2
"""Sources: there is no reading; it is one of several that came for its place."""
ABSENT, LARGER = -2, -1
"""How many values: of no situation; a sum that has left int64."""
F_FIRST, F_LAST, F_COUNT, F_SUM, F_FLOAT_SUM, F_MEAN, F_LEAST, F_FLOAT_LEAST, F_MOST = range(9)
LARGE_BLOCK, SMALL_PART = 1 << 12, 16
"""A block of so many words is given back when a promise leaves readings that need less than one in so many of them."""
OF_KEY, MERGED, REPLACED = -1, -2, -3
"""The kinds of records of the undo log."""


class ReadingControl(Record):
    """d: words of a call, and of the whole."""

    undo_top = Record.word("how many words of the undo log are in use")
    undo_size = Record.word("how many it has")
    output_top = Record.word("how many words of the output are in use")
    output_size = Record.word("how many it has")
    done = Record.word("how much of a batch, or of the keys, is done: what asks for room goes on there")
    under_way = Record.word("whether rows of one key are")
    promised = Record.word("the promise so far")
    clock = Record.word("the promise that is taken")
    next = Record.word("no promise below tells anything")
    serial = Record.word("the number of the call")
    last_replaced = Record.word("where the last `ReplacedBlock` of the undo log ends; 0: there is none")
    found = Record.word("what FIND and DUE find")
    keys = Record.word("how many keys there are")
    definitions = Record.word("how many definitions")
    aggregates = Record.word("how many aggregates")
    records = Record.word("whether records are told, else instants")
    waits = Record.word("whether a definition has at_least")
    timed = Record.word("which definitions are not plain, as bits")
    entry_words = Record.word("how many words a reading has")
    standing_words = Record.word("how many words a standing has")
    record_words = Record.word("how many words the record of a key has")
    line_words = Record.word("how many words a line of output has")
    bound = Record.word("how many lines one step may write at most")
    functions = Record.word("where F_* of each aggregate stand")
    old = Record.word("room for a standing: as it was before rows came")
    new = Record.word("room for a standing: as it is with them")
    passing = Record.word("room for a standing: behind the last reading, as a clock goes on")
    directory = Record.word("where the records of keys begin")
    clashes = Record.word("how many rows came where a reading is")
    first_source = Record.word(
        "the source of the first row of a table: of the others it is one more each, and none has an RE; NOWHERE: the rows say both"
    )
    large = Record.word("of two ints whose sum leaves int64 the one")
    large_too = Record.word("the other")
    left = Record.word("whether a sum has left int64 in the call, if only until more readings came or went: SUMS says which it is")
    specs = Record.words("`DefinitionWords` of each definition, and one more for their end")


class DefinitionWords(Record, of="d"):
    """What a definition asks for."""

    at_least = Record.word("ticks; 0: any duration")
    at_most = Record.word("ticks; 0: any duration")
    plain = Record.word("whether only counts that it goes on")
    first = Record.word("its first aggregate; those up to the first one of the next definition are its")


class KeyWords(Record, of="d"):
    """The record of a key."""

    block = Record.word("the block of its readings; 0: it has none")
    first = Record.word("the first reading in it that counts")
    n = Record.word("how many count")
    tells = Record.word("the promise at which the clock tells something, as far as known")
    serial = Record.word("the last call that changed it")
    cover = Record.words("the standing at the promise, then the one behind all readings")


class StandingWords(Record, of="d"):
    """How the situations of a key stand at a time; behind `going` of all definitions `HeldWords` of each aggregate."""

    until = Record.word("until when, if no reading comes; FOREVER: nothing goes on")
    bits = Record.word("which situations go on")
    going = Record.words("`GoingWords` of each definition")


class GoingWords(Record, of="d"):
    """How a situation goes on."""

    since = Record.word("its beginning; FOREVER: it does not go on; BEGINNING: where that does not count")
    lasted = Record.word("whether it is known to have lasted")


class HeldWords(Record, of="d"):
    """What an aggregate holds."""

    value = Record.word("its value, an int or the bits of a float")
    count = Record.word("of how many values; LARGER: the sum has left int64")


class ReadingWords(Record, of="m"):
    """A reading in its block, or in the undo log."""

    le = Record.word("its time")
    bits = Record.word("which definitions it satisfies")
    until = Record.word("its RE: until when it holds, if no other comes; FOREVER: it has none")
    source = Record.word("where its payload stands")
    values = Record.words("`ValueWords` of each aggregate")


class ValueWords(Record, of="m"):
    """The value that an aggregate takes of a reading."""

    value = Record.word("an int or the bits of a float")
    there = Record.word("whether there is one")


class ReadingColumns(Record, by="row"):
    """c: a batch, a row of the array for each column; behind the values of events, but not of tables, `until` and `source`."""

    key = Record.line("the number of its key")
    le = Record.line("LE")
    bits = Record.line("which definitions it satisfies")
    values = Record.words("two for each aggregate, see `ValueWords`")


class LineWords(Record, of="o"):
    """A line of output. Without a sign it is none: it tells of a row that comes where a reading is."""

    sign = Record.word("1: it comes; -1: it goes")
    key = Record.word("the number of the key")
    told = Record.words(
        "of an instant: its time, then which definitions begin, end, have lasted and fail, as bits; of a record: the number of the "
        "definition, when its situation begins and ends (FOREVER: it goes on), and two words of no meaning",
        5,
    )
    values = Record.words("two for each aggregate: its value, and how many values there are (ABSENT: there is no situation)")


class KeptKey(Record, of="u"):
    """Ends the record of a key in the undo log."""

    key = Record.word("where the record stands")
    kind = Record.word("OF_KEY")


class MergedEntries(Record, of="u"):
    """Ends the entries in the undo log that stood where others stand now."""

    at = Record.word("their place in the block")
    n = Record.word("how many they were")
    now = Record.word("how many stand there now")
    stop = Record.word("where the entries of the block ended then")
    key = Record.word("the record of the key")
    kind = Record.word("MERGED")


class ReplacedBlock(Record, of="u"):
    """A block in the undo log in whose place another one stands."""

    block = Record.word("the block")
    first = Record.word("as of `KeyWords`")
    n = Record.word("as of `KeyWords`")
    key = Record.word("the record of the key")
    last = Record.word("where the record like this before it ends; 0: there is none")
    kind = Record.word("REPLACED")
