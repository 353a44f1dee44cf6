"""Where everything stands in the arrays of the kernels for rows; read it first.

    m    int64 (n,)           `RowControl`, then a heap: blocks of one key each, and regions that Python lays out
    r    int64 (rows, width)  `RowPool`; a row is written before kernels see it; of matches none ever changes

The rows of a key stand in order in its block, which begins with its size class: an *entry* is twice the row's number, and one more
if it is marked. The directory holds a `RowKey` for each key.

The undo log is a stack of records, read from its top:

    [entry.. from ``place`` on, place, n, key]   the entries of a key as they were
    [word.., row, NOTHING]                       the words of an event that change: copies, how many have left, the lasts
"""

from __future__ import annotations

from afa.compiled.kernel import layout
from afa.compiled.kernel.layout import Memory
from afa.compiled.kernel.record import Record

BEGINNING, FOREVER, DONE, NEED_HEAP, NAN_WORD = layout.BEGINNING, layout.FOREVER, layout.DONE, layout.NEED_HEAP, layout.NAN_WORD
DIRECTORY, INDEX, OTHER, ACTIONS, UNDO, LOG, GONE, RANKS, SPEC, NOW = range(10)
"""The regions by number, in the order of `RowControl`."""


class RowControl(Memory, first=layout.CONTROL):
    """m: the control words of `afa.compiled.kernel.heap`, the regions, and the words of a call."""

    directory = Record.word("the regions, where each begins: entries of keys, `RowKey`")
    index = Record.word("rows of a batch")
    other = Record.word("room to sort them")
    actions = Record.word("what they do")
    undo = Record.word("the undo log")
    log = Record.word("output: lines of row, and sign or copies, of an event with its lasts")
    gone = Record.word("rows that are no longer held")
    text_ranks = Record.word("the rank of each text")
    spec = Record.word("how rows are compared: `RowSpec`")
    last_events = Record.word("the last events so far")
    rooms = Record.words("by region: how many words it has room for", 10)
    key_count = Record.word("how many keys the directory has")
    undo_top = Record.word("how many words of the undo log are in use")
    log_top = Record.word("how many words of the output")
    gone_top = Record.word("how many rows are no longer held")
    ranked = Record.word("whether the ranks of texts are known")
    unranked = Record.word("whether they were asked for")
    done = Record.word("how much of a batch, or of the keys, is done: what asks for room goes on there")
    fault = Record.word("the row that does not fit")
    drawn = Record.word("links drawn, or events revised")
    forget_below = Record.word("what is forgotten: entries whose first word lies below this one")
    least = Record.word("what comes starts here or later")
    all = Record.word("whether all is forgotten")
    force = Record.word("whether all that may go goes, and not only where it is half of a key")
    promise = Record.word("the promise that lets rows go")
    retractions = Record.word("how many retractions wait for their events")


HEAP_BEGIN = RowControl.SIZE + 4


class RowKey(Record, of="m"):
    """The entry of a key in the directory."""

    block = Record.word("the key's block; 0: it has none")
    n = Record.word("how many entries there are")
    due = Record.word("the smallest promise that lets some of them go")


class RowPool(Record, by="column"):
    """r: the rows, one a row of the array."""

    key = Record.line("the number of the key")
    diff = Record.line("1: it comes; -1: it goes; of events copies")
    le = Record.line("LE, ticks")
    re = Record.line("RE, ticks")
    start = Record.line("of a match: where it starts")
    payload = Record.words("the payload's words, see `speculation.rows.row_words`")


PAIRS = 128
"""The most words that order matches."""


class RowSpec(Record, of="m"):
    """How rows are compared, and which columns are shown."""

    order_n = Record.word("how many words order rows")
    group_n = Record.word("how many of these make a group")
    point_n = Record.word("how many words a point has")
    mode = Record.word("where the next one may begin: PAST, NEXT, TO")
    first = Record.word("the column of the first word of the order")
    wait = Record.word("how far behind it a promise lets go")
    by_start = Record.word("whether groups are starts")
    logs = Record.word("whether links that are forgotten are told")
    shown_n = Record.word("how many columns are shown")
    window = Record.word("the window; 0: there is none")
    texts = Record.word("whether points have texts, so that their ranks must be known")
    lasts = Record.word("how many conditions look back; 0: these are matches")
    state = Record.word("the first of the words of a row that change: copies, how many have left, the lasts")
    log_n = Record.word("the words of a line")
    opens = Record.words("pairs: column, kind", 2 * PAIRS)
    closes = Record.words("columns", PAIRS)
    to = Record.words("columns", PAIRS)
    missing = Record.words("columns that say that a value of `to` is missing; -1: it never is", PAIRS)
    shown = Record.words("columns", PAIRS)
    order = Record.words("pairs: column, kind")


UP, DOWN, DOWN_FLOAT, TEXT, TEXT_DOWN = 0, 1, 2, 3, 4
PAST, NEXT, TO = 0, 1, 2

NEED_UNDO, NEED_LOG, NEED_GONE, NEED_RANKS, FAULT = -3, -4, -20, -21, -22
NOTHING = -1
TAKE, SETTLE, ROLLBACK, COMMIT = 1, 2, 3, 4
COPIES, LEFT, LASTS = 0, 1, 2
TRUTH_BITS = 5
"""Behind the lasts of an event stand the conditions that it satisfies, as bits: 32 = 1 << TRUTH_BITS of them a word."""
RUN = 8
