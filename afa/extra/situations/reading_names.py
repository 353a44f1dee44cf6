"""Where everything stands in the arrays of the kernel for readings; read it first.

    d   control words; what each definition and aggregate asks for; room for standings; the directory: a record for each key
    m   a heap (`afa.compiled.kernel.heap`) of blocks: the readings of one key, sorted by LE, an entry of E_* for each
    c   a batch of readings in columns: the number of a key, LE, BITS, two for each aggregate; but of tables UNTIL and SOURCE, too
    u   the undo log, read from its top      o   the output: a line for each thing that happens

A *standing* says how the situations of a key stand at a time, S_*. Two of each key are kept: behind all that a promise made final,
and behind all readings. Those between are worked out again from the readings, from where the situations begin that go on there.

A line of instants is the sign, the key, the time, then which definitions begin, end, have lasted and fail, as bits; one of records
the sign, the key, the number of the definition, when its situation begins and ends (FOREVER: it goes on), and two words of no
meaning. Behind them stand for each aggregate a value and how many values there are (ABSENT: there is no situation). A line without
a sign is no output: it tells of a row that comes where a reading is.

The undo log holds, by their last word:

    record.., r, OF_KEY                       the record of a key as it was when the call came to it
    entry.., at, n, now, stop, r, MERGED      the n entries that stood where ``now`` stand; ``at``: their place in the block,
                                              whose entries ended at ``stop`` then
    block, first, n, r, last such, REPLACED   the block that was too small
"""

from __future__ import annotations

from afa.compiled.kernel import layout

BEGINNING, FOREVER, DONE, NEED_HEAP = layout.BEGINNING, layout.FOREVER, layout.DONE, layout.NEED_HEAP
NEED_UNDO, NEED_OUTPUT = -3, -4
TAKE, SET, REMOVE, PROMISE, SETTLE, FIND, DUE, SUMS, COMMIT, ROLLBACK = range(10)
"""What may be asked of the kernel. TAKE leaves a reading that is there, SET replaces it."""

(
    UNDO_N,
    UNDO_SIZE,
    OUTPUT_N,
    OUTPUT_SIZE,
    DONE_N,  # how much of a batch, or of the keys, is done: what asks for room goes on there
    UNDER_WAY,  # whether rows of one key are
    PROMISED,
    CLOCK,  # the promise that is taken
    NEXT,  # no promise below tells anything
    SERIAL,
    LAST_REPLACED,
    FOUND,
    KEYS,
    DEFINITIONS,
    AGGREGATES,
    RECORDS,  # whether records are told
    WAITS,  # whether a definition has at_least
    TIMED,  # which definitions are not plain, as bits
    ENTRY,  # words of an entry, a standing, a record, a line; of the lines that one step may write
    STANDING,
    RECORD,
    LINE,
    BOUND,
    AGGREGATES_AT,
    OLD,  # room for standings
    NEW,
    PASSING,
    DIRECTORY,
    CLASHES,  # rows that came where a reading is
    FIRST_SOURCE,  # of the first row of a table: of the others it is one more each, and none has an RE; NOWHERE: the rows say both
    LARGE,  # two ints whose sum leaves int64
    LARGE_TOO,
    LEFT,  # whether a sum has left int64 in the call, if only until more readings came or went: SUMS says which it is
    SPEC,  # here begin four words for each definition, and for their end
) = range(34)
AT_LEAST, AT_MOST, PLAIN, FIRST = range(4)
"""Durations (0: none); whether only counts that it goes on; its first aggregate."""
SPEC_WORDS = 4

R_BLOCK, R_FIRST, R_N, R_TELLS, R_SERIAL, R_COVER = range(6)
"""The block; the first entry in it that counts, and how many do; the promise at which the clock tells something, as far as known;
the last call that changed it; the standing at the promise, and then the one behind all readings."""
S_UNTIL, S_BITS, S_GOING = range(3)
"""Until when, if no reading comes (FOREVER: nothing goes on); which situations go on, as bits; for each definition since when
(FOREVER: it does not; BEGINNING, where that does not count), and whether it is known to have lasted; then for each aggregate what
is held, and how many values."""
E_LE, E_BITS, E_UNTIL, E_SOURCE, E_VALUES = range(5)
"""The time, which definitions it satisfies, until when it holds, where its payload stands; for each aggregate a value, and whether
there is one."""
C_KEY, C_LE, C_BITS, C_VALUES = range(4)
L_SIGN, L_KEY, L_WORDS, L_VALUES = 0, 1, 2, 7
OF_KEY, MERGED, REPLACED = -1, -2, -3
LARGE_BLOCK, SMALL_PART = 1 << 12, 16
"""A block of so many words is given back when a promise leaves readings that need less than one in so many of them."""
NOWHERE, MANY = -1, -2
"""Sources: there is no reading; it is one of several that came for its place."""
ABSENT, LARGER = -2, -1
"""How many values: of no situation; a sum that has left int64."""
F_FIRST, F_LAST, F_COUNT, F_SUM, F_FLOAT_SUM, F_MEAN, F_LEAST, F_FLOAT_LEAST, F_MOST = range(9)
NAN_WORD = 0x7FF8000000000000
