"""Where everything stands of the table of keys. The kernels of `key_table` work on arrays of their own, by the same four names:

    m   the table    control words K_* | slots: ``tag << 32 | number + 1``, 0 where none is; a key's slot is the first free one from
                     the place on that the first bits of its tag name
    w   the keys     by number, eight in a group: [eight kinds, a byte each] [value] .. [value]
    p   the arena    control words A_* | the records of keys that are no word, in whole words
    c   a call       rows D_*, OUT, LOG

A kind is ``class | named << 3``. The class says how equal keys are told, the rest what the key's name is:

    class        value                              named
    INT          the int                            AS_IS  AS_BOOL  AS_FLOAT: 1, True and 1.0 are one key      ODD
    REAL         the bits of a float that is none   AS_IS  AS_INT: 10**20                                      ODD
    TEXT         ``offset << LENGTH | bytes``       AS_IS                                                      ODD
    TUPLE        ``offset << LENGTH | words``       AS_IS                                                      ODD
    OBJECT       its hash                                  Python has it, and tells it from others             ODD

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
K = Record()
K_AT = K("addresses, as C_M, C_W, C_P and C_LIMIT have them", words=4)
K_BITS = K("there are 1 << K_BITS slots")
K_MASK = K("the bits of a tag that are used: all but in tests")
K_SECRET = K("the state of the hash to begin with", words=4)
K_COUNT = K("how many keys there are")
K_TOP = K("the first number that was never given")
K_ROOM = K("how many numbers there is room for")
K_FREE = K("one past the free number that is given next; 0: none")
K_NEXT = K("the row at which `insert` goes on")
K_LOGGED = K("how many numbers `insert` has given that were another key's before")
SLOTS = -(-K.size // 8) * 8
TAG = 31  # bits of a tag

# -- p: control words of the arena -------------------------------------------------------------------------------------------
A = Record()
A_AT = A("not used: an arena takes the place of the table while `compact` writes it", words=4)
A_TOP = A("the first word that was never used")
A_ROOM = A("one past the last word; behind it stands what is looked for")
A_FREED = A("how many words the free records take")
SIZES = 272
A_FREE = A("first free record of each size", words=SIZES)
ARENA = -(-A.size // 8) * 8

# -- c: what a call is about --------------------------------------------------------------------------------------------------
OUT, LOG = 1, 2  # rows: numbers; numbers given that were another key's before
D = Record()
D_TUPLE = D("whether a key is a tuple of its parts")
D_PARTS = D("how many columns make a key; 0: there is one row, and its record stands at D_AT")
D_ROWS = D("of how many rows each part is that is looked for by a thread of its own")
D_WIDTH = D("the records of rows are made behind A_ROOM; how many words the next part's records begin behind")
D_KIND = D("the kind of the only row's key")
D_LENGTH = D("the length of its record, as its value counts it")
D_COLUMNS = D("of each column the words V_*", words=0)
V = Record()
V_KIND = V("the kind of all values")
V_KINDS = V("address of the kinds of the values, a byte each; 0: all have V_KIND")
V_AT = V("address of the values; of texts, of where they begin and end, in bytes, one more than there are")
V_DATA = V("address of the bytes of texts")
V_SIZE = V.size

# -- statuses, and what `key_table.keys` does --------------------------------------------------------------------------------
NEED_SLOTS, NEED_NUMBERS, NEED_ARENA = -101, -102, -103
NONE_OF = -1  # of CELLS: no part, but each key as it is
FIRST = 64
FIND, INSERT, GIVE, REMOVE, REFILL, COMPACT, REBUILD, CELLS, PACK = range(FIRST, FIRST + 9)
