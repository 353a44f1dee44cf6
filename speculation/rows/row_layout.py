"""Where everything stands in the arrays of the kernels for rows; read it first.

    m    int64 (n,)           `RowControl`, then a heap: blocks of one key each, and regions that Python lays out
    r    int64 (rows, width)  `RowPool`; a row is written before kernels see it

The rows of a key stand in order in its block, which begins with its size class: an *entry* is twice the row's number, and one more
if it is a floor (`row_lasts`). The directory holds a `RowKey` for each key.

The undo log is a stack of records, read from its top:

    [entry.. from ``place`` on, place, n, key]   the entries of a key as they were
    [word.., row, NOTHING]                       the words of an event that change: copies, how many have left, the lasts
"""

from __future__ import annotations

from afa.compiled.kernel import layout
from afa.compiled.kernel.layout import Memory
from afa.compiled.kernel.record import Record

BEGINNING, FOREVER, DONE, NEED_HEAP = layout.BEGINNING, layout.FOREVER, layout.DONE, layout.NEED_HEAP
DIRECTORY, INDEX, OTHER, ACTIONS, UNDO, LOG, GONE, RANKS, SPEC, NOW = range(10)
"""The regions by number, in the order of `RowControl`."""


class RowControl(Memory, first=layout.CONTROL):
    """m: the control words of `afa.compiled.kernel.heap`, the regions, and the words of a call."""

    directory = Record.word("the regions, where each begins: entries of keys, `RowKey`")
    index = Record.word("rows of a batch")
    other = Record.word("room to sort them")
    actions = Record.word("what they do")
    undo = Record.word("the undo log")
    log = Record.word("output: lines of row, copies, lasts")
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
    revised = Record.word("how many events were revised")
    all = Record.word("whether all is forgotten")
    force = Record.word("1: all that may go goes, and not only where it is half of a key; 2: rows that others look at, too")
    promise = Record.word("the promise that lets rows go")
    retractions = Record.word("how many retractions wait for their events")
    first_open = Record.word("the LE of the first row below the promise whose successors are not all final")


HEAP_BEGIN = RowControl.SIZE + 4


class RowKey(Record, of="m"):
    """The entry of a key in the directory."""

    block = Record.word("the key's block; 0: it has none")
    n = Record.word("how many entries there are")
    due = Record.word("the smallest promise that lets some of them go")


class RowPool(Record, by="column"):
    """r: the rows, one a row of the array."""

    key = Record.line("the number of the key")
    diff = Record.line("how many copies come, or go")
    le = Record.line("LE, ticks")
    re = Record.line("RE, ticks")
    payload = Record.words("the payload's words, see `speculation.rows.row_words`")


class RowSpec(Record, of="m"):
    """How rows are compared, and what they hold."""

    order_n = Record.word("how many words order rows")
    place_n = Record.word("how many of these make a place: LE, and what orders events of one LE")
    window = Record.word("the window; 0: there is none")
    lasts = Record.word("how many conditions look back")
    looks = Record.word("how many words a row looks at: the lasts, and two of each neighbour, whether it is there and its value")
    previous = Record.word("how many steps back the farthest neighbour stands")
    following = Record.word("how many steps on")
    state = Record.word("the first of the words of a row that change: copies, how many have left, what it looks at")
    order = Record.words("pairs: column, kind; then triples of each neighbour: offset, column, column that says it is missing")


UP, TEXT, DOWN = 0, 1, 2

NEED_UNDO, NEED_LOG, NEED_GONE, NEED_RANKS, FAULT = -3, -4, -20, -21, -22
NOTHING = -1
NONE, SEVERAL = -1, -2
TAKE, SETTLE, ROLLBACK, COMMIT, OPEN = 1, 2, 3, 4, 5
COPIES, LEFT, LASTS = 0, 1, 2
TRUTH_BITS = 5
"""Behind what an event looks at stand the conditions that it satisfies, as bits: 32 = 1 << TRUTH_BITS of them a word."""
RUN = 8
