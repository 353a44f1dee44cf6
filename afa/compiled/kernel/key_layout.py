"""The memory of the key table. Its kernels work on arrays of their own, by the same four names:

    m   the table    `KeyTable`     | slots: ``tag << 32 | number + 1``, 0: free; a key takes the first free slot from the one on
                     that the first bits of its tag name
    w   the keys     by number, eight in a group: [eight kinds, a byte each] [value] .. [value]
    p   the arena    `KeyArena`     | records of keys that are no word, in whole words
    c   a call       `KeyCall`; rows OUT, LOG

A kind is ``class | named << 3``. The class says how keys are compared, the rest how the key's name differs from its value:

    class        value                              named
    INT          the int                            AS_IS  AS_BOOL  AS_FLOAT: 1, True and 1.0 are one key      ODD
    REAL         the bits of a float that is none   AS_IS  AS_INT: 10**20                                      ODD
    TEXT         ``offset << LENGTH | bytes``       AS_IS                                                      ODD
    TUPLE        ``offset << LENGTH | words``       AS_IS                                                      ODD
    OBJECT       its hash                                  Python has it, and compares it                      ODD

``named << 3`` is ODD where Python has the name. The record of a text is its UTF-8 bytes, filled up with 0. The record of a tuple:

    [parts, kind, kind, ..] filled up with 0   | INT, REAL: value | TEXT: bytes, record | NONE: nothing | ..

A free number has the kind 0; its value is one past the next free number, 0 at the end.
"""

from afa.compiled.kernel.record import Record

INT, REAL, TEXT, TUPLE, OBJECT, NONE = 1, 2, 3, 4, 5, 6
AS_IS, AS_BOOL, AS_FLOAT, AS_INT, ODD = 0, 1 << 3, 2 << 3, 1 << 3, 3 << 3
CLASS = 7  # the bits of a kind that are the class
KINDS = 0x0707070707070707  # those of the classes of eight kinds
HEADS = 0x07070707070707FF  # the same of the first word of a tuple's record
GROUP = 9  # words of eight keys
LENGTH = 28  # bits of a length
LONGEST = (1 << LENGTH) - 1
PARTS = 200  # the most parts of a tuple in the table


# -- m: control words of the table -------------------------------------------------------------------------------------------
class KeyTable(Record):
    """m: control words of the table."""

    m_at = Record.word("address of m; like the next three, set whenever the kernels are called, as in `Memory`")
    w_at = Record.word("address of w")
    p_at = Record.word("address of p")
    limit = Record.word("not used: set like them")
    bits = Record.word("there are 1 << KeyTable.bits slots")
    mask = Record.word("the bits of a tag that are used: all but in tests")
    secret = Record.words("the state of the hash to begin with", 4)
    count = Record.word("how many keys there are")
    top = Record.word("the first number that was never given")
    room = Record.word("how many numbers there is room for")
    free = Record.word("one past the free number that is given next; 0: none")
    next = Record.word("the row at which `insert` goes on")
    logged = Record.word("how many numbers `insert` has given again")


SLOTS = -(-KeyTable.SIZE // 8) * 8
TAG = 31  # bits of a tag

SIZES = 272


# -- p: control words of the arena -------------------------------------------------------------------------------------------
class KeyArena(Record):
    """p: control words of the arena."""

    unused = Record.words("not used: an arena takes the place of the table while `compact` writes it", 4)
    top = Record.word("the first word that was never used")
    room = Record.word("one past the last word; behind it stands the record that is looked for")
    freed = Record.word("how many words the free records take")
    free = Record.words("first free record of each size", SIZES)


ARENA = -(-KeyArena.SIZE // 8) * 8

# -- c: what a call is about --------------------------------------------------------------------------------------------------
OUT, LOG = 1, 2  # rows: numbers; numbers given again


class KeyCall(Record, by="one"):
    """c: what a call is about."""

    tuple = Record.word("whether a key is a tuple of its parts")
    parts = Record.word("how many columns make a key; 0: there is one row, and its record stands behind `room` of the arena")
    rows = Record.word("how many rows each part has that one thread looks for")
    width = Record.word("each part makes the records of its rows behind KeyArena.room, so many words behind the part before")
    kind = Record.word("the kind of the only row's key")
    length = Record.word("the length of its record, as its value counts it")
    columns = Record.words("of each column a `KeyColumnWords`")


class KeyColumnWords(Record, of="c", by="one"):
    """A column of keys."""

    kind = Record.word("the kind of all values")
    kinds = Record.word("address of the kinds of the values, a byte each; 0: all have KeyColumnWords.kind")
    at = Record.word("address of the values; of texts, of where they begin and end, in bytes, one more than there are")
    data = Record.word("address of the bytes of texts")


# -- statuses, and what `key_table.keys` does --------------------------------------------------------------------------------
NEED_SLOTS, NEED_NUMBERS, NEED_ARENA = -101, -102, -103
NONE_OF = -1  # of CELLS: no part, but each key as it is
FIRST = 64
FIND, INSERT, REMOVE, REFILL, COMPACT, REBUILD, CELLS, PACK = range(FIRST, FIRST + 8)
