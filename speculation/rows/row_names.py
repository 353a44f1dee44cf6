"""Where everything stands in the arrays of the kernels for rows; read it first.

    m    int64 (n,)           control words, then a heap: blocks of one key each, and regions that Python lays out
    r    int64 (rows, width)  the pool of rows; a row is written before kernels see it; of matches none ever changes

A row, by columns:

    R_KEY  R_DIFF  R_LE  R_RE  R_START  the payload's words, see `speculation.rows.row_words`

The rows of a key stand in order in its block, which begins with its size class: an *entry* is twice the row's number, and one more
if it is marked. The directory holds D_SIZE words for each key. The first control words are those of `afa.compiled.kernel.heap`.

The undo log is a stack of records, read from its top:

    [entry.. from ``place`` on, place, n, key]   the entries of a key as they were
    [word.., row, NOTHING]                       the words of an event that change: copies, how many have left, the lasts
"""

from __future__ import annotations

from afa.compiled.kernel import names

R_KEY, R_DIFF, R_LE, R_RE, R_START, R_WORDS = 0, 1, 2, 3, 4, 5
D_BLOCK, D_N, D_DUE, D_CHANGED = 0, 1, 2, 3
"""A key's block (0: it has none), how many entries there are, the smallest promise that lets some of them go, the call of its last
change."""
D_SIZE = 4

BEGINNING, FOREVER, DONE, NEED_HEAP = names.BEGINNING, names.FOREVER, names.DONE, names.NEED_HEAP

REGIONS = names.CONTROL
"""Of each region three words: where it begins, how many words it has, how many are in use."""
DIRECTORY, INDEX, OTHER, ACTIONS, UNDO, LOG, GONE, RANKS, SPEC, NOW = range(10)
"""Entries of keys; rows of a batch, and room to sort them; what they do; the undo log; output (row, key, sign); rows that are no
longer held; the rank of each text; how rows are compared; the last events so far."""
PLACES = 10


def _region(number: int) -> int:
    return REGIONS + 3 * number


DIR_AT, DIR_N = _region(DIRECTORY), _region(DIRECTORY) + 2
INDEX_AT, OTHER_AT, ACTIONS_AT = _region(INDEX), _region(OTHER), _region(ACTIONS)
UNDO_AT, UNDO_SIZE, UNDO_N = _region(UNDO), _region(UNDO) + 1, _region(UNDO) + 2
LOG_AT, LOG_SIZE, LOG_N = _region(LOG), _region(LOG) + 1, _region(LOG) + 2
GONE_AT, GONE_SIZE, GONE_N = _region(GONE), _region(GONE) + 1, _region(GONE) + 2
RANKS_AT = _region(RANKS)
SPEC_AT = _region(SPEC)
NOW_AT = _region(NOW)

WORDS = REGIONS + 3 * PLACES
W_RANKED = WORDS + 0  # whether the ranks of texts are known
W_UNRANKED = WORDS + 1  # whether they were asked for
W_DONE = WORDS + 2  # how much of a batch, or of the keys, is done: what asks for room goes on there
W_FAULT = WORDS + 3  # the row that does not fit
W_DRAWN = WORDS + 4  # links drawn, or events revised
W_FIRST = WORDS + 5  # what is forgotten: entries whose first word lies below this one
W_LEAST = WORDS + 6  # what comes starts here or later
W_ALL = WORDS + 7  # whether all is forgotten
W_FORCE = WORDS + 8  # whether all that may go goes, and not only where it is half of a key
W_PROMISE = WORDS + 9
W_SERIAL = WORDS + 10  # the number of the call
W_WAITING = WORDS + 11  # how many retractions wait for their events
W_HEAP = WORDS + 16  # where the heap begins

# Words of SPEC.
S_ORDER_N, S_GROUP_N, S_POINT_N, S_MODE, S_FIRST, S_WAIT, S_BY_START, S_LOGS, S_SHOWN_N = range(9)
"""How many words order rows, and how many of these make a group; how many words a point has; where the next one may begin; the
column of the first word of the order; how far behind it a promise lets go; whether groups are starts; whether links that are
forgotten are told; how many columns are shown."""
S_WINDOW, S_TEXTS, S_LASTS, S_STATE, S_LOG_N = 9, 10, 11, 12, 13
"""The window (0: there is none); whether points have texts, so that their ranks must be known; how many conditions look back (0:
these are matches), and the first of the words of a row that change: copies, how many have left, the lasts; the words of a line."""
S_ORDER = 16  # pairs: column, kind
S_PAIRS = 128
S_OPENS = S_ORDER + 2 * S_PAIRS  # pairs: column, kind
S_CLOSES = S_OPENS + 2 * S_PAIRS  # columns
S_TO = S_CLOSES + S_PAIRS
S_MISSING = S_TO + S_PAIRS  # columns that say that a value of `to` is missing; -1: it never is
S_SHOWN = S_MISSING + S_PAIRS
S_SIZE = S_SHOWN + S_PAIRS

UP, DOWN, DOWN_FLOAT, TEXT, TEXT_DOWN, BITS = 0, 1, 2, 3, 4, 5
PAST, NEXT, TO = 0, 1, 2
NAN_WORD = 0x7FF8000000000000
TOP_BIT = 1 << 62

NEED_UNDO, NEED_LOG, NEED_GONE, NEED_RANKS, FAULT = -3, -4, -20, -21, -22
NOTHING = -1
TAKE, SETTLE, ROLLBACK, COMMIT, HELD, FLOORS = 1, 2, 3, 4, 5, 6
COPIES, LEFT, LASTS = 0, 1, 2
R_HOLDS = R_START
"""Of an event: which conditions it satisfies, as bits."""
MOST = names.FOREVER
RUN = 8
