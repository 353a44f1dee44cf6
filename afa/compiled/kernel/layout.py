"""Where everything stands: every record of the engine's memory, and what each of its words means. Read it first.

All memory is int64 words, in four arrays; a *block* is the state of one key.

    m   what lasts     `Memory`   | heap of blocks, with a directory of keys, a `KeyEntry` each
    p   the program    `Program`  | arcs in force, constants, finals: rewritten when arcs change
    w   scratch        `Scratch`  | undo log | output log | row buffers | marks, orders
    c   a batch        `Arrivals`, one record a column; `TableWords`, `PruneTable`, `Beginnings`

A block (offsets from its first word; capacities in its header, so that it can grow and be moved as it is):

    header      |  order  le  seq  events_of  nodes_of  matches_of  reach  |  `EventRow`, `NodeRow`, `MatchRow`, `PendingRow`
    HEAD words  |  columns of `cap` words each                             |  rows, only appended

Steps are numbered as they are made. The live places of ``order`` are [first, last). ``events_of``, ``nodes_of`` and ``matches_of``
hold slices: ``first << 24 | count``, in rows. Rows that nothing points to any more are left behind when the block is moved.

    order        [ 0  2  1 ]      places by LE: the steps 0, 2, 1
    le           [ 5  9  7 ]
    events_of    [ 0:1  1:1  2:1 ] --> events  [re copies payload..] [re copies payload..] [re copies payload..]
    nodes_of     [ 0:1  1:2  - ]   --> nodes   [start until state end register..] ...

A node stands at its own step and, if ``end`` is not ALONE, at all later steps with LE < end: the itree of [AFA10] App. D. The
Ordering invariant and the meaning of a partial match are those of `afa.interpreted`.

Undo: ``m`` is written in place only after `save` has copied the old words, so that a call can be taken back at any point.

A kernel says ``b.node_top``, ``le[i]``, ``row.start``: `afa.compiled.kernel.record` lists the forms. All other code reads offsets
from the classes: ``m[b + Block.node_top]``. A row's width is the offset of the words that end it and their number:
``NodeRow.register + m.register_words``, ``EventRow.payload + m.payload_words``.
"""

from afa.compiled.kernel.record import Record
from afa.compiled.kernel.record import Slice as Slice

BEGINNING = -(2**63)
FOREVER = 2**63 - 1
ALONE = BEGINNING  # the end of a node that stands at its own step only
OPEN = FOREVER  # the end of a node that goes on
NOWHERE = -1
COUNT = (1 << 24) - 1  # of a slice: how many rows

# -- m: control words --------------------------------------------------------------------------------------------------------
CLASSES = 160
CELLS = 68


class Memory(Record):
    """m: control words, then a heap of blocks, with a directory of keys."""

    m_at = Record.word("address of m; like the next three, set whenever the kernels are called")
    w_at = Record.word("address of w")
    p_at = Record.word("address of p")
    limit = Record.word("one past the last word of the heap")
    top = Record.word("the first word of the heap that was never used")
    serial = Record.word("number of the call")
    dir = Record.word("where the directory begins")
    minima = Record.word("where the minima over its deadlines begin, see `DeadlineRow`")
    above = Record.word("where the minima over those begin")
    keys = Record.word("how many entries the directory has")
    events = Record.word("no event comes before: the last punctuation of the event input")
    final = Record.word("nothing changes before: the effective punctuation")
    now = Record.word("one past all that was seen")
    payload_words = Record.word("words of a payload")
    register_words = Record.word("words of a register")
    ordered = Record.word("0: no sequence; 1: its words are in order; 2: its words are strings, in the order of their ranks")
    seq = Record.word("which word of a payload is the sequence's as it stands; NOWHERE: none")
    gapless = Record.word("0: numbers may have gaps; BREAK or JOIN: what becomes of one that can't close any more")
    longest = Record.word(
        "whether of partial matches of a state and register, and of matches with one LE and payload, the longest count"
    )
    told = Record.word("how many words of a register a match shows")
    looked = Record.word(
        "ONCE: Python has looked at the numbers of the next unit's records; ALWAYS: of all, as a snapshot is loaded"
    )
    ranks = Record.word("address of the ranks of strings")
    keyed = Record.word("whether there are many keys: they are cleaned when they are touched, not at once")
    shards = Record.word("over how many memories the keys are spread")
    shard = Record.word("which of them this one is: its keys are those whose number leaves it as the rest, see `own` of `many`")
    arc = Record.word("what a status is about: the arc")
    place = Record.word("what a status is about: the record, or the time")
    need = Record.word("what a status is about: where the rows stand")
    late = Record.word("late records of this call")
    refuse = Record.word("whether a late record ends the call")
    stale = Record.word("punctuations that promised nothing new")
    changes = Record.word("event changes taken")
    arcs = Record.word("arc changes among the records taken")
    asked = Record.word("how often Python was asked")
    general = Record.word("how many steps were derived arc by arc")
    looks = Record.word("how many partial matches were looked at, where lists were derived step by step")
    waiting = Record.word("how many retractions wait, of different events")
    waited = Record.word("Memory.waiting when the call began")
    next = Record.word("where work on many keys goes on: the next key, or column of the batch")
    next_row = Record.word("where `forward_keys` goes on among the rows of a key")
    left = Record.word("how many rows it has left to another way")
    coming = Record.word("rows that a key is about to get in this call; 0: not known")
    stopped = Record.word("the row at which `forward` stopped")
    ties = Record.word("whether events that share a step are refused")
    tied = Record.word("where they are: whether a step came to hold several")
    short = Record.word("whether `forward` stopped because the block was full")
    runs = Record.word("whether the block at work keeps runs")
    sample = Record.word("how many last steps tell whether a block should keep runs")
    soon = Record.word(
        "after how many steps behind a late event `replay` goes on, and compares lists; where only the longest count"
    )
    rate = Record.words("rows of events, nodes and matches that a step takes, in 64ths", 3)
    rest = Record.word("how many words a record may have; 0: no key is at rest")
    unpacked = Record.word("the block on which records are opened; 0: not made yet")
    draft = Record.word("where a record is written before it has a cell")
    small = Record.word("how many bits a word of a register has in the form of a node of a record; 0: none")
    then = Record.word("all before is dropped by the end of the call, as far as that is known while rows in order are taken")
    known = Record.word("what is final for all keys, though more may be for the key at work: the effective punctuation")
    pages = Record.word("the first free page, chained by Page.next; 0: none")
    free = Record.words("first free block of each size class", CLASSES)
    cells = Record.words("first page with room of each size class of cells", CELLS)


CONTROL = -(-Memory.SIZE // 16) * 16 + 8
"""Where the heap begins: in the middle of a pair of cache lines. Size classes are whole pairs, so that each block does: most words
of a header that change (from MOVING on) stand in one pair. Many keys take rows 5 to 8 % faster than from the begin of a pair."""


# -- m: an entry of the directory --------------------------------------------------------------------------------------------
class KeyEntry(Record, of="m"):
    """An entry of the directory: half a line of cache; the directory begins at a whole one."""

    block = Record.word("address of the key's block; 0: none; below 0: less the address of its record, the key is at rest")
    act = Record.word("the smallest punctuation that makes the key speak")
    clean = Record.word("the smallest punctuation that makes its block smaller")
    changed = Record.word("the call in which what a snapshot holds of it last changed")


class DeadlineRow(Record, of="m"):
    """A lower bound of the deadlines of some keys, see `due_keys`."""

    act = Record.word("of KeyEntry.act")
    clean = Record.word("of KeyEntry.clean")


LEVEL = 6
"""A minimum is over 2**LEVEL keys, or minima."""
# -- m: a page of cells, see `slabs` -------------------------------------------------------------------------------------------
PAGE = 4096


class Page(Record, of="m"):
    """A page of cells, see `slabs`."""

    size_class = Record.word("size class of its cells")
    used = Record.word("how many cells are in use")
    free = Record.word("the first cell that was used and is free, chained by its first word; 0: none")
    top = Record.word("where the cells begin that were never used, in words from the page's first")
    next = Record.word("the next page of the class with room, or the next free page")
    back = Record.word("the one before it")


CELL = 8
"""Where the cells of a page begin."""


# -- m: a record: a key at rest, see `rest` --------------------------------------------------------------------------------------
class PackedKey(Record, of="m"):
    """A record: a key at rest, see `rest`."""

    head = Record.word("words used | steps | where the last step begins | retractions that wait: HEAD_BITS each | flags ZF_..")
    rest = Record.words("what is not as usual, by flags; retractions; steps")


HEAD_BITS = 10
HEAD_MASK = (1 << HEAD_BITS) - 1
HEAD_FLAGS = 4 * HEAD_BITS
ZF_RUNS, ZF_CLEANED, ZF_SINCE, ZF_PRUNED, ZF_THINNED, ZF_TOLD, ZF_GAP, ZF_OVER = 1, 2, 4, 8, 16, 32, 64, 128
"""Block.runs; then of which names of the header a word follows, in this order. Block.since without a word is Block.cleaned."""


class PackedStep(Record, of="m"):
    """A step of such a key."""

    form = Record.word("events | nodes | matches: STEP_BITS each | forms SF_.. | RE less LE, SPAN_BITS bits")
    le = Record.word("LE, ticks")
    rest = Record.words("sequence where steps have one; REACH by form; events; nodes; matches")


STEP_BITS = 7
STEP_COUNT = (1 << STEP_BITS) - 1
STEP_FORMS = 3 * STEP_BITS
SF_FOREVER, SF_SPAN, SF_COPIES, SF_REACH, SF_HERE = 1, 2, 4, 8, 16
"""All events have RE FOREVER; LE and the span; a word of copies; REACH is a word, not LE; all matches have T = LE, no word."""
STEP_SPANS = STEP_FORMS + 5
SPAN_BITS = 62 - STEP_SPANS


class PackedNode(Record, of="m"):
    """A partial match of such a step."""

    form = Record.word(
        "state | where the step of its start begins in the record, 0: not there | forms VF_.. | register, where it is small"
    )
    rest = Record.words("start, m, end, as far as forms say so; words of the register")


NODE_STATES, NODE_BEGINS, NODE_FORMS = 16, 9, 4
"""Bits of the parts of a form."""
VF_M, VF_OPEN, VF_END, VF_SMALL = 1, 2, 4, 8
"""m is not RE of the first event of its start's step; end is OPEN; end is a word, else it is ALONE; the register is in the form."""
NODE_SMALL = NODE_STATES + NODE_BEGINS + NODE_FORMS
MOST = (1 << NODE_BEGINS) - 1
"""The most words of a record: nodes say by NODE_BEGINS bits where in it a step begins."""


# -- m: header of a block ----------------------------------------------------------------------------------------------------
class Block(Record, of="m"):
    """The state of one key: the header, then the columns, then rows."""

    size_class = Record.word("size class")
    cap = Record.word("how many steps the columns have room for")
    events = Record.word("where the events begin, in words from the block's first")
    event_cap = Record.word("room for events, in rows")
    nodes = Record.word("where the nodes begin")
    node_cap = Record.word("room for nodes")
    matches = Record.word("where the matches begin")
    match_cap = Record.word("room for matches")
    pending = Record.word("where the retractions begin that wait")
    pending_cap = Record.word("room for them")
    born = Record.word("the call in which the block was made")
    first = Record.word("first live place; from this word on the header changes with the state, what is before it never does")
    last = Record.word("one past the last live place")
    steps = Record.word("how many steps were made")
    event_top = Record.word("how many rows of events are used")
    node_top = Record.word("how many rows of nodes")
    match_top = Record.word("how many rows of matches")
    pending_top = Record.word("how many retractions wait")
    since = Record.word("since when the list of a cover step waits")
    cleaned = Record.word("the punctuation that was carried out last")
    runs = Record.word(
        "whether partial matches that stay are kept as runs; else each step has its whole list. Where Program.ignorable is"
    )
    pruned = Record.word(
        "LE of the last step whose list is not what the one before it gives, or not what the next one needs; BEGINNING: none"
    )
    thinned = Record.word("how many steps there were when the block was pruned last")
    told = Record.word("where numbers are gapless: gaps that end before are final, and told")
    gap = Record.word("no gap that can still close ends before this LE")
    over = Record.word("RE of the event of cover, or until when its list lives, if that is later")
    order = Record.column("place -> step, sorted by LE (then sequence)")
    le = Record.column("step -> LE, ticks")
    seq = Record.column("step -> the word of its sequence, 0 without one")
    events_of = Record.slices("step -> slice of events; empty: the step is `cover`, or a stone")
    nodes_of = Record.slices("step -> slice of nodes: the partial matches stored there, by start")
    matches_of = Record.slices("step -> slice of matches: what its partial matches stand for")
    reach = Record.column("step -> no partial match that stands here was stored at a step before this LE")


MOVING = Block.first
HEAD, COLUMNS = Block.SIZE, Block.COLUMNS


# -- m: rows of a block ------------------------------------------------------------------------------------------------------
class NodeRow(Record, of="m"):
    """A node: a partial match."""

    start = Record.word("LE of the step at which its computation began")
    until = Record.word("smallest RE of its events")
    state = Record.word("number of its state")
    end = Record.word("ALONE, OPEN, or the LE from which on it does not stand any more; in a row buffer the number of its node")
    register = Record.words("words of the register")


class EventRow(Record, of="m"):
    """An event."""

    re = Record.word("RE, ticks")
    copies = Record.word("how often it was inserted more than retracted")
    payload = Record.words("words of the payload")


class MatchRow(Record, of="m"):
    """A match."""

    t = Record.word("LE of the match")
    re = Record.word("RE of the match")
    register = Record.words("words of the register")


class PendingRow(Record, of="m"):
    """A retraction that waits for its insertion."""

    le = Record.word("LE of the event")
    re = Record.word("RE of the event")
    copies = Record.word("how many copies wait")
    payload = Record.words("words of the payload")


# -- w: an entry of the output log -------------------------------------------------------------------------------------------
class LogRow(Record, of="w"):
    """An entry of the output log."""

    key = Record.word("number of the key")
    sign = Record.word(
        "1: the match comes into force; -1: it leaves; 0: cancelled by another entry; GAP: none, but the ends of a gap"
    )
    t = Record.word("LE of the match")
    re = Record.word("RE of the match")
    register = Record.words("words of the register")


# -- p: the program ----------------------------------------------------------------------------------------------------------
class Program(Record):
    """p: the arcs in force, constants, finals; rewritten when arcs change."""

    states = Record.word("how many states; the start state is number 0")
    ignorable = Record.word("whether any arc is ignorable, so that blocks may keep runs")
    epsilon = Record.word("whether there are epsilon arcs")
    timeout = Record.word("whether there are time-outs")
    step = Record.word("address of the step function; like the next four, 0: none")
    unchanged = Record.word("address of the function that tells which states an event leaves as they are")
    loop = Record.word("address of the loop over rows in order, for whole lists")
    loop_runs = Record.word("address of the loop over rows in order, for runs")
    columns = Record.word("address of the function that takes one event against a list in columns")
    kept = Record.word(
        "the words of a register, as bits, which the function at Program.columns expects to be the initial ones; -1: all"
    )
    keeping = Record.word("in which states, as bits")
    orders = Record.word(
        "by state: the word of the register by which its rows are in order, `word << 2 | floats << 1 | falls`; NOWHERE: none"
    )
    stairs = Record.word(
        "by state: the number of its stairs; behind them how many states have stairs; 0: the function never asks for ranges"
    )
    python = Record.word("address of the way back to the user's functions")
    finals = Record.word("by state: whether it is always final")
    now = Record.word("by state: whether it is final now")
    marks = Record.word("by state: how many arcs now make it final")
    first = Record.word("by state: the first of its arcs now, chained by ArcRow.next")
    waits = Record.word("by state: its first time-out among all arc events, chained by ArcRow.next")
    codes = Record.word("records of arcs, `ArcWords`")
    rows = Record.word("arc events, `ArcRow`")
    count = Record.word("how many arc events")
    rowcap = Record.word("room for arc events")
    places = Record.word("where arc events go when others are dropped")
    bounds = Record.word("where lifetimes begin and end, in order, `BoundRow`")
    boundcount = Record.word("how many bounds")
    boundcap = Record.word("room for bounds")
    next = Record.word("the next bound")
    low = Record.word("the arcs now are those of [Program.low, Program.high)")
    high = Record.word("see Program.low")
    slots = Record.word("slots of the step function: [dst, address of constants]")
    slotcount = Record.word("how many slots")
    free = Record.word("by the first slot of a class, the first of its slots that is free; then by slot the next one")
    spill = Record.word("how many arcs now have no slot")
    begin = Record.word("the row of a computation that begins")
    counted = Record.word("whether two steps may stand for one match: OF_ONE_LE, with a sequence; BY_TIMEOUTS")
    plain = Record.word("whether arcs change by `change_arc`: each has a name of its own, and no end is known beforehand")


PROGRAM = Program.SIZE
OF_ONE_LE, BY_TIMEOUTS = 1, 2


class ArcWords(Record, of="p"):
    """An arc."""

    kind = Record.word("CONSUME, EPSILON, TIMEOUT or SKIP")
    src = Record.word("number of the state that it leaves")
    dst = Record.word("number of the state that it reaches")
    ignorable = Record.word("whether it is ignorable")
    final = Record.word("whether it makes its state final")
    code = Record.word("address of its native function; 0: none")
    constants = Record.word("address of its constants")
    slot = Record.word("the first slot of its class")
    slots = Record.word("how many slots its class has")
    latest = Record.word("the arc event of it that began last and still lasts, where the program is Program.plain")


CONSUME, EPSILON, TIMEOUT, SKIP = 0, 1, 2, 3


class ArcRow(Record, of="p"):
    """An arc event: an arc with a lifetime."""

    code = Record.word("number of the arc")
    begin = Record.word("begin of the lifetime")
    end = Record.word("end of the lifetime")
    next = Record.word("the next arc event now of the same source state")
    back = Record.word("the one before it")
    before = Record.word("the arc event that was ArcWords.latest of the arc before")
    slot = Record.word("the slot that it has while it is in force; NOWHERE: none")


class BoundRow(Record, of="p"):
    """A bound of a lifetime."""

    t = Record.word("the time")
    row = Record.word("the arc event")
    sign = Record.word("1: it begins; -1: it ends")


# -- w: scratch --------------------------------------------------------------------------------------------------------------
class Scratch(Record):
    """w: what a call works with, none of which lasts."""

    undo = Record.word("the undo log, see `heap`")
    undo_top = Record.word("how many words of it are used")
    undo_cap = Record.word("room, in words")
    owed = Record.word("how many words more `spell_out` would take; NOWHERE: it was done, and records are noted whole")
    loose = Record.word(
        "where the last record of it ends that `commit` is to see, which says where the one before it does; 0: none"
    )
    gone = Record.word("after a call: where the numbers of the keys stand that lost all they had in it")
    gones = Record.word("how many")
    log = Record.word("the output log")
    log_top = Record.word("how many rows of it are used")
    log_cap = Record.word("room, in rows")
    taken = Record.word("how many entries of the output log take a match back")
    mark = Record.word("by place: the epoch in which it was marked")
    epoch = Record.word("of marks")
    marked_from = Record.word("all places from here on are marked")
    order = Record.word("a new order")
    places = Record.word("room of Scratch.mark and Scratch.order, in places")
    index = Record.word("numbers of records, in order")
    sort = Record.word("room to sort them, twice as long")
    pairs = Record.word("keys and their records, see `by_key`")
    touched = Record.word("the keys of the records")
    batch = Record.word("room of Scratch.index, Scratch.pairs, Scratch.touched, in records")
    counts = Record.word("by digit of a key, where the next record goes that has it")
    # A row buffer has two columns behind its rows: the LE of the step where each row is stored, and the end that it had.
    new = Record.word("row buffer: what a step's list becomes")
    source = Record.word("row buffer: the list before a step")
    old = Record.word("row buffer: the list before a step as it was")
    other = Record.word("row buffer: the list of a step, which is Scratch.source of the next one")
    ready = Record.word("row buffer: what time-outs and epsilon arcs make ready")
    rows = Record.word("room of a row buffer, in rows")
    temp = Record.word("matches of a step, or events of a step")
    temp_cap = Record.word("room, in words")
    hash = Record.word("a set of rows")
    hashes = Record.word("how many places the set has")
    stamp = Record.word("which places are of this set")
    made = Record.word("the first step that is new since the block's part of the call began: its words need no undo")
    key = Record.word("the key at work")
    until = Record.word(
        "lists can't be as they were up to the first step at or after this LE: one was deleted whose nodes ended here"
    )
    whole = Record.word("from this LE on each list is what the one before it gives, wherever Block.pruned is")
    low = Record.word("of the list at Scratch.source, as `summarize` found: the earliest m")
    high = Record.word("the latest m")
    reach = Record.word("the LE of its earliest node")
    soonest = Record.word("the first end among its nodes")
    many = Record.word("lists of so many rows or more are taken in parts, see `parts`")
    parts = Record.word("a list in parts, `PartRow`")
    parted = Record.word("how many parts there were at one time, so far")
    spare = Record.word("the first part of those that are free again, chained by PartRow.next; NOWHERE: none")
    chains = Record.word("by state: its parts, `StateChain`")
    held = Record.word("the states that have parts")
    holds = Record.word("how many they are")
    standing = Record.word("how many rows")
    fresh = Record.word("of its nodes those from this one on are ALONE, all others OPEN")
    own = Record.word("nodes from this one on need no undo")
    set = Record.word("a set of its rows, places of two words: stamp, node")
    set_stamp = Record.word("which places are of this set")
    set_used = Record.word("how many")
    loss = Record.word("what parts have cost more than they have saved, in rows")
    wait = Record.word("so many rows are to come before lists are taken in parts again")
    loop = Record.word("what the loops over rows in order work on, `Loop`")
    budget = Record.word("how many partial matches of a key may stand at one step; FOREVER: any number")
    over = Record.words("what OVER is about: LE of the step, how many would stand there, where their rows stand, whether in m", 4)


SCRATCH = -(-Scratch.SIZE // 8) * 8


class PartRow(Record, of="w"):
    """What one step has of nodes in one state, that stand now."""

    state = Record.word("number of the state")
    first = Record.word("the first of the nodes; there may be others among them, and some that stand no more")
    end = Record.word("one past the last")
    low = Record.word("no m of them is below")
    high = Record.word("no m of them is above")
    rises = Record.word("whether each m is at or above that of the node before")
    since = Record.word("LE of the step")
    moves = Record.word("whether the event at work may move them, where StateChain.moves")
    next = Record.word("the part of the same state of the next step that has one; NOWHERE: there is none")


class StateChain(Record, of="w"):
    """The parts of one state, in the order of their steps."""

    first = Record.word("the first of them; NOWHERE: there is none")
    last = Record.word("the last")
    low = Record.word("the least of their PartRow.low")
    high = Record.word("no m of their nodes is above")
    rises = Record.word("whether each PartRow.low is at or above that of the part before")
    before = Record.word("PartRow.low of the part before the last, when that began")
    moves = Record.word("whether the event at work may move any of their nodes")


# -- c: records of a batch, a row of the array each --------------------------------------------------------------------------
class Arrivals(Record, by="row"):
    """c: the records of a batch, a column each."""

    le = Record.line("LE")
    re = Record.line("RE")
    diff = Record.line("copies, or an arc's diff")
    key = Record.line("number of the key")
    seq = Record.line("word of the sequence")
    kind = Record.line("EVENT, ARC, PUNCTUATION, DROPPED or TAKEN")
    arc = Record.line("number of the arc; of EACH: where the output log ends behind the record")
    payload = Record.words("words of the payload")


EVENT, ARC, PUNCTUATION, DROPPED, TAKEN = range(5)  # kinds of records: as given, late, carried out


# -- c: columns of a table, where `forward` reads: their addresses, 0 for those that are not there -----------------------------
class TableWords(Record, by="one"):
    """c: where the columns of a table stand, which `forward` reads; 0 for those that are not there."""

    le = Record.word("LE")
    re = Record.word("RE")
    window = Record.word("the window: RE - LE of each row where there is no column")
    kind = Record.word("kinds, bytes")
    arc = Record.word("rows in TableWords.codes")
    codes = Record.word("numbers of arcs")
    diff = Record.word("diff of arcs")
    key = Record.word("numbers of keys")
    index = Record.word("the rows to take")
    counts = Record.word("by key: how many rows it has in the call")
    others = Record.word("the rows that are no events, `OtherRow`, in order")
    count = Record.word("how many they are; of OTHERS, how many rows there are")
    least = Record.word("the least LE of an event, of so many rows each")
    payload = Record.words("of each word of the payload: address of its column, and of what kind it is")


WORD, FLOAT, BYTE, OPTIONAL = 0, 1, 2, 4
"""Words; floats; bytes, 0 or not; values of which those count that the column before it, of bytes, has."""


class OtherRow(Record, of="c", by="one"):
    """A row that is no event."""

    row = Record.word("four times its number, and what it is: PROMISED, COMES, GOES or UNFIT")
    value = Record.word("LE of the promise; of an arc its number among those of the batch")


PROMISED, COMES, GOES, UNFIT = range(4)  # a promise; an arc comes, goes in the default mode; what goes another way
UNKNOWN, SINGLE, OWN = 1, 2, 4  # what OTHERS finds out


# -- c: what PRUNE is told of a key ---------------------------------------------------------------------------------------------
class PruneWords(Record):
    """The words of the row `begins` of `PruneTable`."""

    start = Record.word("before this time no computation begins")
    arcs = Record.word("before this time an event may be of no use")
    count = Record.word("how many arcs")
    finals = Record.word("whether arcs make states final")


class PruneTable(Record, by="row"):
    """c, for PRUNE."""

    begins = Record.nested(PruneWords, "what concerns the key as a whole")
    idle = Record.line("by state: before which time nothing continues it")
    use = Record.line("by arc: before which time `first_use` says that it is not taken")
    test = Record.line("by arc: address of its test of an event")
    constants = Record.line("by arc: address of their constants")


# -- w: what a loop over rows in order works on; masks are 0 or -1: whether the row's number, or its LE, counts ----------------
class Loop(Record, of="w"):
    """What a loop over rows in order works on; masks are 0 or -1: whether the row's number, or its LE, counts."""

    record = Record.word("the next row; the loop goes on while Loop.record < Loop.high, LE > Loop.latest, LE < Loop.bound")
    high = Record.word("one past the last row")
    room = Record.word("one past the last row that the block has room for")
    latest = Record.word("LE of the last step")
    bound = Record.word("from this LE on the loop may not go")
    le_at = Record.word("address of the column of LE")
    re_at = Record.word("address of the column of RE, or of Loop.constant_re")
    re_mask = Record.word("whether there is a column of RE")
    le_mask = Record.word("whether RE counts from LE")
    order = Record.word("address of the next place")
    times = Record.word("address of the LE of the next step")
    cap = Record.word("Block.cap")
    step = Record.word("number of the next step")
    event = Record.word("address of the next event")
    slice = Record.word("its slice")
    out = Record.word("address of the next node")
    last = Record.word("address of the end of the room for nodes")
    top = Record.word("row of the next node")
    src = Record.word("address of the list before")
    n = Record.word("how many rows it has")
    begin = Record.word("address of the row of a computation that begins")
    slots = Record.word("address of the slots")
    now = Record.word("address of what is final now")
    wanted = Record.word("the bits that the function at Program.unchanged must give while the list stays; -1: it can't")
    lowest = Record.word("least m of the list")
    highest = Record.word("greatest m of the list")
    reach = Record.word("LE of its first node")
    open = Record.word("whether all its nodes are OPEN")
    most = Record.word(
        "with so many rows or more the list can only stay; 0: it is not the loop's own, which may not write to it at all"
    )
    rows = Record.word("how many rows Scratch.source has, where the list stands there")
    parted = Record.word("whether the list stands in parts, see `parts`")
    made = Record.word("how many rows the step has that has to be looked at")
    constant_re = Record.word("what Loop.re_at points to where there is no column: the window, or FOREVER")
    none = Record.word("0, for Loop.index_at")
    index_at = Record.word("address of the numbers of the rows to take")
    index_mask = Record.word("whether there are any")
    plain_mask = Record.word("whether there are none")
    ahead = Record.word("whether memory is asked for row by row: FAR, as rows stand far apart; MIXED, as some do; 0: not")
    stride = Record.word("of a list in columns: how many words one has")
    set = Record.word("the stamp of the set of its rows")
    used = Record.word("how many places of the set are used")
    finals = Record.word("how many of its rows are in a state that is final")
    sums = Record.word(
        "address of what is known of its rows, eight by eight: of the best its m and start, the least m, states as bits"
    )
    sums_span = Record.word("how many words each of these takes")
    overs = Record.word("address of the same of eight times eight rows")
    overs_span = Record.word("how many words each of these takes")
    hints = Record.word("address of the row that came last, by state")
    gone = Record.word("address of bits, eight a byte: which of its rows do not stay")
    ended = Record.word("whether there are such rows")
    quick = Record.word(
        "whether events may ask for ranges: rows stand in stairs, see `best_stairs`; else what is at Loop.sums and Loop.overs holds"
    )
    credit = Record.word("how many more events may be refused before rows are looked at in groups for good")
    there = Record.word("as bits: the states of its rows; and whether any is UNUSUAL")
    passing = Record.word("as bits: the states whose rows all came with the last step")
    leave = Record.word("as bits: the states of which all rows leave")
    farthest = Record.word("no m of its rows is above")
    fresh = Record.word("the first row that came with the last step")
    unusuals = Record.word("how many rows are UNUSUAL")
    stairs = Record.word("address of stairs: words of the order, m, start, Loop.stride words each")
    stair_room = Record.word("room for the stairs of one state")
    next_look = Record.word("when rows that are over are taken out: before this step")
    state_rows = Record.words("by state: how many rows are in it", 62)
    stair_count = Record.words("by state: how many stairs it has", 62)
    best_m = Record.words("by state: m of its best row; BEGINNING: it has none", 62)
    best_start = Record.words("by state: when that began", 62)
    change = Record.word("where other arcs come into force")
    match = Record.word("address of the next match")
    match_last = Record.word("address of the end of the room for matches")
    mtop = Record.word("row of the next match")
    log = Record.word("address of the next entry of the output log")
    log_last = Record.word("address of the end of its room")
    key = Record.word("the key at work")
    final = Record.word("Memory.final")
    budget = Record.word("Scratch.budget")
    payload = Record.words("addresses of the columns of the payload")


LARGE_STATE, UNUSUAL = 61, 62
"""Bits of Loop.sums beside those of states: of states from here on; of rows whose words at p.kept are not the initial ones."""
REFUSED = -3  # of the function at p.columns: the event asks for more than ranges
FAR, MIXED = 1, 2  # see Loop.ahead
LOOP_STOP, LOOP_LOOK = 0, 1  # why a loop ended

# -- statuses ------------------------------------------------------------------------------------------------------------------
DONE = 0
NEED_BLOCK, NEED_HEAP, NEED_UNDO, NEED_LOG, NEED_PLACES, NEED_ROWS, NEED_TEMP = -1, -2, -3, -4, -5, -6, -7
NEED_EVENTS, NEED_NODES, NEED_MATCHES = -12, -13, -14
FAULT, ENDLESS = -8, -9
CROWDED = -10  # more copies of one event than int64 counts
LATE = -11
TIED = -17  # where ties are refused: records of a unit share a step, or come to one that has an event
OVER = -18  # more partial matches at a step than w.budget, see w.over
NUMBERS = -16  # Python is to look at the numbers of the m.need records at w.index
ASK = -100  # a step that only arc by arc can be taken
INSTANT = -2  # less the number of a time-out: asks Python for its instant, read off its expression
YES, NO = 0x0AFA_0001, 0x0AFA_0002  # what Python answers of an arc; all else is a fault, an answer that was lost among it


# -- c: beginnings, for ENDS ------------------------------------------------------------------------------------------------------
class Beginnings(Record, by="row"):
    """c, for ENDS: one a column."""

    stamp = Record.line("one more than the number of the key; another number: the column is free")
    start = Record.line("LE at which it began")
    until = Record.line("the LE from which on none of its partial matches stands")
    latest = Record.line("the latest RE bound of those that stood last")
    past = Record.line("whether a time-out of one of them comes past that")


# -- what `main` does ------------------------------------------------------------------------------------------------------------
RUN, SERVE, TICK, CLEAN, SWAP, NET, ROLLBACK, COMMIT, EXPIRE, SCAN, RESTORE, SIZES, FORWARD, PUSH, DROP, ARRANGE = range(16)
GROUPS, SAVE, PRUNE, RESTORE_STEPS, EACH, ENDS, WAITS, OPENED, HEADS_OF, SET_HEADS, STRINGS, SOUND, OTHERS = range(16, 29)
BEGIN_ARC, END_ARC, PATHS_TO = 29, 30, 31
LIVING = 39
RESTORE_CHANGES = 40
BY_STATE = 41
ALL_KEYS, CHANGED_KEYS, IDLE_KEYS, FULL_KEYS = 1, 2, 3, 4  # of CLEAN: whom else it concerns
HEADS, COVERS, CHANGES = 0, 1, 2  # what SAVE writes
BREAK, JOIN = 1, 2  # of m.gapless
DIGIT = 11  # bits of a digit, see w.counts
ONCE, ALWAYS = 1, 2  # of m.looked
GAP = 2  # of LogRow.sign
STATES = 62  # bits of what the function at p.unchanged gives, by state; one more says that no computation begins
BUSY = -1  # a list of which no event is known to leave it as it is
CLOSURE_LIMIT = 10_000
