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

from afa.compiled.kernel.record import COUNT as COUNT
from afa.compiled.kernel.record import Record
from afa.compiled.kernel.record import Slice as Slice

BEGINNING = -(2**63)
FOREVER = 2**63 - 1
ALONE = BEGINNING  # the end of a node that stands at its own step only
OPEN = FOREVER  # the end of a node that goes on
NOWHERE = -1

# -- m: control words --------------------------------------------------------------------------------------------------------
CLASSES = 160
CELLS = 68


class Memory(Record):
    """m: control words, then a heap of blocks, with a directory of keys."""

    m_at = Record.word("address of m; this and the next three words are set at each call of the kernels")
    w_at = Record.word("address of w")
    p_at = Record.word("address of p")
    limit = Record.word("one past the last word of the heap")
    top = Record.word("the first word of the heap that was never used")
    serial = Record.word("number of the call")
    dir = Record.word("where the directory begins")
    minima = Record.word("where the minima over its deadlines begin, see `DeadlineRow`")
    above = Record.word("where the minima over these minima begin")
    keys = Record.word("how many entries the directory has")
    events = Record.word("no event comes before this LE: the last punctuation of the event input")
    final = Record.word("nothing changes before this LE: the effective punctuation")
    now = Record.word("one past the latest LE that was seen")
    payload_words = Record.word("words of a payload")
    register_words = Record.word("words of a register")
    ordered = Record.word("0: no sequence; 1: its words are in order; 2: its words are strings, in the order of their ranks")
    seq = Record.word("which word of a payload is that of the sequence, unchanged; NOWHERE: none")
    gapless = Record.word("0: numbers may have gaps; BREAK or JOIN: what a gap does that can't close any more")
    longest = Record.word(
        "whether of partial matches of a state and register, and of matches with one LE and payload, the longest count"
    )
    told = Record.word("how many words of a register a match shows")
    looked = Record.word(
        "ONCE: Python has looked at the numbers of the next key task's records; ALWAYS: of all, as a snapshot is loaded"
    )
    ranks = Record.word("address of the ranks of strings")
    keyed = Record.word("whether there are many keys: each is cleaned when it is touched, not all at once")
    shards = Record.word("over how many stores the keys are spread: a key's entry is ``number // shards`` of its store's directory")
    shard = Record.word("which of them this one is: its keys are those with ``number % shards == shard``")
    record = Record.word("the record that LATE or CROWDED is about")
    numbered = Record.word("how many records at Scratch.index NUMBERS is about")
    instant = Record.word("LE at which an arc is taken: Python is told it, and ENDLESS is about it")
    endless = Record.word("where the rows of the closure stand in w that goes on for ever")
    endless_rows = Record.word("how many they are")
    late = Record.word("late records of this call")
    refuse = Record.word("whether a late record ends the call")
    stale = Record.word("how many punctuations promised nothing new")
    changes = Record.word("how many event changes were taken")
    arcs = Record.word("how many arc changes among the records were taken")
    asked = Record.word("how often Python was asked")
    general = Record.word("how many steps were derived arc by arc")
    looks = Record.word("how many partial matches were looked at, where lists were derived step by step")
    waiting = Record.word("of how many different events retractions wait")
    waited = Record.word("Memory.waiting when the call began")
    waiting_elsewhere = Record.word("of how many they wait in other stores")
    next = Record.word("where work on many keys goes on: the next key, or the next column of the batch")
    next_row = Record.word("where `forward_keys` goes on among the rows of a key")
    left = Record.word("how many rows it has left for another way")
    coming = Record.word("how many rows a key will get in this call; 0: not known")
    stopped = Record.word("the row at which FORWARD or ARRANGE stopped")
    unordered = Record.word("of ARRANGE: how many of the rows were out of order")
    behind = Record.word("of ARRANGE: how many of the events are not after the last step of the block")
    ties = Record.word("whether events that share a step are refused")
    tied = Record.word("where they are refused: whether a step got several")
    short = Record.word("whether `forward` stopped because the block was full")
    sample = Record.word("how many of the last steps tell whether a block should keep runs")
    soon = Record.word("where only the longest count: after how many steps behind a late event `replay` compares lists")
    rate = Record.words("how many rows of events, nodes and matches a step takes, in 64ths", 3)
    packed_limit = Record.word("how many words a packed record may have; 0: no key is packed")
    unpacked = Record.word("the unpack buffer, a block into which packed records are unpacked; 0: not made yet")
    draft = Record.word("where a packed record is written before it has a cell")
    small = Record.word("how many bits a word of a register has in PackedNode.form; 0: none")
    then = Record.word("all before is dropped at the end of the call, as far as that is known while rows in order are taken")
    known = Record.word("what is final for all keys: the effective punctuation; more may be final for the key at work")
    pages = Record.word("the first free page, chained by Page.next; 0: none")
    scans = Record.word("how a scan goes on behind a match: SCAN_PAST or another; 0: all matches are in force, see `scan_orbits`")
    held = Record.word("of scans: words of a register of a thread")
    measured = Record.word("of scans: words of a register of measures")
    all_rows = Record.word("of scans: whether each row of a match is shown")
    shares = Record.word("of scans: how many words of a register the row before gives, where it gives all; NOWHERE: it does not")
    shared = Record.word("of scans: the block of what rows of all keys share, `scan_layout.SharedClasses`; 0: not made yet")
    free = Record.words("by size class: the first free block", CLASSES)
    cells = Record.words("by size class of cells: the first page with room", CELLS)


CONTROL = -(-Memory.SIZE // 16) * 16 + 8
"""Where the heap begins: in the middle of a pair of cache lines. Size classes are whole pairs, so each block begins there, and most
words of a header that change (from MOVING on) stand in one pair. With many keys, rows are 5 to 8 % faster so."""


# -- m: an entry of the directory --------------------------------------------------------------------------------------------
class KeyEntry(Record, of="m"):
    """An entry of the directory: half a line of cache. The directory begins with a whole one."""

    block = Record.word("address of the key's block; 0: none; below 0: the key is packed, less the address of its record")
    act = Record.word("the smallest punctuation that makes the key speak")
    clean = Record.word("the smallest punctuation that makes its block smaller")
    changed = Record.word("the last call in which the key's part of a snapshot changed")


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
    free = Record.word("the first free cell that was used before, chained by first words; 0: none")
    top = Record.word("where the first cell that was never used begins, in words from the begin of the page")
    next = Record.word("the next page of the class with room, or the next free page")
    back = Record.word("the page before it")


CELL = 8
"""Where the cells of a page begin."""


# -- m: the record of a packed key, see `packed_keys` ----------------------------------------------------------------------------
class PackedKey(Record, of="m"):
    """The record of a packed key, see `packed_keys`."""

    head = Record.word("words used | steps | where the last step begins | retractions that wait: HEAD_BITS each | flags ZF_..")
    rest = Record.words("words of the header that are not as usual, by flags; retractions; steps")


HEAD_BITS = 10
HEAD_MASK = (1 << HEAD_BITS) - 1
HEAD_FLAGS = 4 * HEAD_BITS
ZF_RUNS, ZF_CLEANED, ZF_SINCE, ZF_PRUNED, ZF_THINNED, ZF_TOLD, ZF_GAP, ZF_OVER = 1, 2, 4, 8, 16, 32, 64, 128
"""Block.runs; then which words of the header behind it the key has, in their order. Block.since without a word is Block.cleaned."""


class PackedStep(Record, of="m"):
    """A step of a packed key."""

    form = Record.word("events | nodes | matches: STEP_BITS each | forms SF_.. | RE less LE, SPAN_BITS bits")
    le = Record.word("LE, ticks")
    rest = Record.words("sequence where steps have one; Block.reach by form; events; nodes; matches")


STEP_BITS = 7
STEP_COUNT = (1 << STEP_BITS) - 1
STEP_FORMS = 3 * STEP_BITS
SF_FOREVER, SF_SPAN, SF_COPIES, SF_REACH, SF_HERE = 1, 2, 4, 8, 16
"""Of all events RE is FOREVER; RE is LE + span; copies have a word. Reach is a word, else LE; matches have T = LE, no word."""
STEP_SPANS = STEP_FORMS + 5
SPAN_BITS = 62 - STEP_SPANS


class PackedNode(Record, of="m"):
    """A partial match of a packed step."""

    form = Record.word("state | offset of the step of its start in the record, 0: none | forms VF_.. | register, where it is small")
    rest = Record.words("start, m, end, those that forms name; words of the register")


NODE_STATES, NODE_BEGINS, NODE_FORMS = 16, 9, 4
"""Bits of the parts of a form."""
VF_M, VF_OPEN, VF_END, VF_SMALL = 1, 2, 4, 8
"""m is a word, else RE of the first event at its start; end is OPEN; end is a word, else ALONE; the register is in the form."""
NODE_SMALL = NODE_STATES + NODE_BEGINS + NODE_FORMS
MOST = (1 << NODE_BEGINS) - 1
"""The most words of a packed record: nodes have NODE_BEGINS bits for where in it a step begins."""


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
    pending = Record.word("where the waiting retractions begin")
    pending_cap = Record.word("room for waiting retractions")
    born = Record.word("the call in which the block was made")
    first = Record.word("first live place; this word and those behind it change with the state, those before it never do")
    last = Record.word("one past the last live place")
    steps = Record.word("how many steps were made")
    event_top = Record.word("how many rows of events are used")
    node_top = Record.word("how many rows of nodes are used")
    match_top = Record.word("how many rows of matches are used")
    pending_top = Record.word("how many retractions wait")
    shown_first = Record.word("of scans: the first live place of Block.shown")
    shown_last = Record.word("one past the last one")
    kept = Record.word("of scans: rows of nodes in which the `KeptPath` of the last long match stands; 0: none")
    runs = Record.word("where Program.ignorable: whether rows in order go through the loop for runs")
    cleaned = Record.word("the last punctuation by which the block was cleaned")
    since = Record.word("since when the list of a cover step waits")
    pruned = Record.word(
        "LE of the last step whose list does not follow from the one before, or is not enough for the next; BEGINNING: none"
    )
    thinned = Record.word("how many steps there were when the block was pruned last")
    told = Record.word("where numbers are gapless: gaps that end before this LE are final, and told")
    gap = Record.word("no gap that can still close ends before this LE")
    over = Record.word("RE of the event of cover, or the end of the last lifetime in its list, if that is later")
    order = Record.column("place -> step, sorted by LE (then sequence)")
    le = Record.column("step -> LE, ticks")
    seq = Record.column("step -> the word of its sequence, 0 without one")
    events_of = Record.slices("step -> slice of events; empty: the step is `cover`, or a stone")
    nodes_of = Record.slices("step -> slice of nodes: the partial matches stored there, by start")
    matches_of = Record.slices("step -> slice of matches: what its partial matches stand for")
    reach = Record.column("step -> no partial match that stands here was stored at a step before this LE")
    shown = Record.column("of scans: place -> step at which a match that is shown begins, in order")
    folds = Record.slices("of scans: by level and number -> the rows of nodes in which a `RowFold` stands; 0: it is not made")


MOVING = Block.first
HEAD, COLUMNS, NO_SCAN = Block.SIZE, Block.COLUMNS, Block.shown
"""Words of a header; how many columns a block has, and without those of scans, which are the last."""


# -- m: rows of a block ------------------------------------------------------------------------------------------------------
class NodeRow(Record, of="m"):
    """A node: a partial match."""

    start = Record.word("LE of the step at which its computation began")
    until = Record.word("smallest RE of its events")
    state = Record.word("number of its state")
    end = Record.word("ALONE, OPEN, or the first LE at which it does not stand any more; in a row buffer the number of its node")
    register = Record.words("words of the register")


class EventRow(Record, of="m"):
    """An event."""

    re = Record.word("RE, ticks")
    copies = Record.word("how many more times it was inserted than retracted")
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
        "1: the match comes into force; -1: it leaves; 0: another entry cancels this one; GAP: no match, but the ends of a gap"
    )
    t = Record.word("LE of the match")
    re = Record.word("RE of the match")
    register = Record.words("words of the register")


# -- p: the program ----------------------------------------------------------------------------------------------------------
class Program(Record):
    """p: the arcs in force, constants, finals; rewritten when arcs change."""

    states = Record.word("how many states; the start state is number 0")
    ignorable = Record.word("whether any arc was ignorable so far: lists are stored as runs")
    epsilon = Record.word("whether there are epsilon arcs")
    timeout = Record.word("whether there are time-outs")
    step = Record.word("address of the step function; like the next four, 0: none")
    unchanged = Record.word("address of the function that tells which states an event leaves as they are")
    loop = Record.word("address of the loop over rows in order, for whole lists")
    loop_runs = Record.word("address of the loop over rows in order, for runs")
    best_step = Record.word("address of the function that takes one event where only the best rows of a list count")
    kept = Record.word("words of a register, as bits, that the function at Program.best_step expects to be initial ones; -1: all")
    keeping = Record.word("the states, as bits, where it expects that")
    orders = Record.word(
        "by state: the word of the register that orders its skyline, `word << 2 | floats << 1 | falls`; NOWHERE: none"
    )
    python = Record.word("address by which native code calls the user's functions")
    finals = Record.word("by state: whether it is always final")
    now = Record.word("by state: whether it is final now")
    marks = Record.word("by state: how many arcs now make it final")
    first = Record.word("by state: the first of its arcs now, chained by ArcRow.next")
    waits = Record.word("by state: its first time-out among all arc events, chained by ArcRow.next")
    codes = Record.word("the arcs, `ArcWords`")
    rows = Record.word("arc events, `ArcRow`")
    count = Record.word("how many arc events")
    rowcap = Record.word("room for arc events")
    places = Record.word("by arc event: where it goes when others are dropped")
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
    counted = Record.word("whether two steps may stand for one match, as bits: OF_ONE_LE, with a sequence; BY_TIMEOUTS")
    plain = Record.word("whether `change_arc` serves: each arc has a name of its own, and no end is known beforehand")
    pattern = Record.word("of scans: how many places the pattern has")
    measures = Record.word("by state of the measures, place, and whether the match ends: `Measure`")
    measure_begin = Record.word("the first register of measures")
    finish = Record.word(
        "the arc that makes of the last row's register of measures, and that of a row, what it shows; NOWHERE: none"
    )
    lands = Record.word("by place: whether a scan goes on at its row")
    hidden = Record.word("by place: whether its rows are not shown, where all rows are")
    before = Record.word("by word of a register: which word of the payload of the row before it is; NOWHERE: it is 1")
    ahead = Record.word("of scans: what rows look at that come behind them, `LookAhead`")
    aheadcount = Record.word("how many these are")
    farthest = Record.word("how many rows on the farthest of them stands")
    window = Record.word("how near they must be: LE of such a row is below the own LE + window; 0: there is none")
    asks = Record.word("of scans: each condition once, `AskedOnce`")
    askcount = Record.word("how many these are")
    asked = Record.word("whether they say which arcs in force now ask them: 0, ASKED, or TOO_MANY_ARCS, of which some have no bit")


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
    latest = Record.word("the last arc event of it to begin that still lasts, where Program.plain")
    rank = Record.word("of scans: the arcs of a state are tried in this order; NOWHERE: it is never taken")
    place = Record.word("of scans: the place of the pattern that takes the event")
    way = Record.word("of scans: its bit among those that say which arcs take a row")
    same = Record.word("of scans: which condition it asks, of those at Program.asks")


CONSUME, EPSILON, TIMEOUT, SKIP = 0, 1, 2, 3


class Measure(Record, of="p"):
    """How a row of a match changes the register of measures."""

    code = Record.word("number of the arc; NOWHERE: there is none")
    dst = Record.word("the state of the measures behind the row")


class LookAhead(Record, of="p"):
    """What a row looks at of one that comes behind it: a word of its payload. Words of a payload by their numbers."""

    offset = Record.word("how many rows on it stands")
    there = Record.word("the word that says whether there is one")
    value = Record.word("the word that has it")
    source = Record.word("the word that it is; NOWHERE: LE")
    missing = Record.word("the word of the other row that says whether it is there; NOWHERE: it always is")


class AskedOnce(Record, of="p"):
    """A condition that arcs of a scan ask."""

    code = Record.word("ArcWords.code of one of them")
    constants = Record.word("ArcWords.constants")
    begins = Record.word("whether they leave the start state: there is no row before")
    ways = Record.word("the arcs in force now that ask it, as bits")


ASKED, TOO_MANY_ARCS = 1, 2


class ArcRow(Record, of="p"):
    """An arc event: an arc with a lifetime."""

    code = Record.word("number of the arc")
    begin = Record.word("begin of the lifetime")
    end = Record.word("end of the lifetime")
    next = Record.word("the next arc event now of the same source state")
    back = Record.word("the one before it")
    before = Record.word("the arc event that was ArcWords.latest before")
    slot = Record.word("the slot that it has while it is in force; NOWHERE: none")


class BoundRow(Record, of="p"):
    """A bound of a lifetime."""

    t = Record.word("the time")
    row = Record.word("the arc event")
    sign = Record.word("1: it begins; -1: it ends")


# -- w: scratch --------------------------------------------------------------------------------------------------------------
class Scratch(Record):
    """w: the working memory of a call; nothing of it lasts."""

    undo = Record.word("the undo log, see `heap`")
    undo_top = Record.word("how many words of it are used")
    undo_cap = Record.word("room, in words")
    owed = Record.word(
        "how many more words `save_in_full` would take; NOWHERE: all are saved, and from now on records are saved in full"
    )
    replaced = Record.word(
        "where the last record of a replaced block ends in it, which says where the one before ends; 0: none; for `commit`"
    )
    gone = Record.word("after a call: the numbers of the keys that lost all they had in it")
    gones = Record.word("how many")
    log = Record.word("the output log")
    log_top = Record.word("how many rows of it are used")
    log_cap = Record.word("room, in rows")
    taken = Record.word("how many entries of the output log take a match back")
    mark = Record.word("by place: the epoch in which it was marked")
    epoch = Record.word("of marks")
    marked_from = Record.word("all places from here on are marked")
    begins = Record.word("of `append_packed`: of how many steps Scratch.ready says where they begin in the record")
    listed = Record.word("of `append_packed`: how many rows the list of the last step has")
    order = Record.word("a new order")
    places = Record.word("room of Scratch.mark and Scratch.order, in places")
    index = Record.word("numbers of records, in order")
    sort = Record.word("room to sort them, twice as long")
    pairs = Record.word("keys and their records, see `by_key`")
    touched = Record.word("the keys of the records")
    batch = Record.word("room of Scratch.index, Scratch.pairs, Scratch.touched, in records")
    counts = Record.word("by digit of a key: where the next record with that digit goes")
    # A row buffer has two columns behind its rows: the LE of the step where each row is stored, and the end that it had.
    new = Record.word("row buffer: what a step's list becomes")
    source = Record.word("row buffer: the list before a step")
    old = Record.word("row buffer: the list before a step as it was")
    other = Record.word("row buffer: the list of a step; it becomes Scratch.source of the next one")
    ready = Record.word("row buffer: rows that time-outs and epsilon arcs reach")
    rows = Record.word("room of a row buffer, in rows")
    temp = Record.word("matches of a step, or events of a step")
    temp_cap = Record.word("room, in words")
    hash = Record.word("a set of rows")
    hashes = Record.word("how many places the set has")
    stamp = Record.word("which places are of this set")
    made = Record.word("the first step that is new since work on the key began: its words need no undo")
    key = Record.word("the number of the key at work, the same in all stores")
    until = Record.word(
        "up to the first step at or after this LE lists differ from what they were: a deleted step's nodes ended here"
    )
    whole = Record.word("from this LE on the list before a step gives its list, whatever Block.pruned says")
    low = Record.word("of the list at Scratch.source, as `summarize` found: the least `until`")
    high = Record.word("the greatest `until`")
    reach = Record.word("the LE of its earliest node")
    soonest = Record.word("the first end among its nodes")
    many = Record.word("lists of so many rows or more are taken in parts, see `parts`")
    parts = Record.word("the parts of a list, `PartRow`")
    parted = Record.word("how many of them were ever used")
    spare = Record.word("the first part that is free again, chained by PartRow.next; NOWHERE: none")
    chains = Record.word("by state: its chain of parts, `StateChain`")
    held = Record.word("the states that have parts")
    holds = Record.word("how many states have")
    standing = Record.word("how many rows stand in parts")
    fresh = Record.word("nodes of these rows from this one on are ALONE, all others OPEN")
    own = Record.word("nodes from this one on need no undo")
    parts_of = Record.word("the block whose last list these parts are, for the next call, see `kept_parts`; 0: none")
    long = Record.word("the block whose list had many rows in the call before; 0: none")
    set = Record.word("the set of these rows, places of two words: stamp, node")
    set_stamp = Record.word("which places are of this set")
    set_used = Record.word("how many of its places are used")
    loss = Record.word("by how many rows parts have cost more than whole lists")
    wait = Record.word("how many rows come before lists are taken in parts again")
    loop = Record.word("the words of the loops over rows in order, `Loop`")
    shown_low = Record.word("of scans: the positions of Block.shown from here on are saved, or were not in use when the call began")
    match_from = Record.word("LE of the first row of the match whose measures are at work")
    match_to = Record.word("LE of its last row")
    budget = Record.word("how many partial matches of a key may stand at one step; FOREVER: any number")
    over = Record.words("what OVER is about: LE of the step, how many would stand there, where their rows stand, whether in m", 4)


SCRATCH = -(-Scratch.SIZE // 8) * 8


class PartRow(Record, of="w"):
    """A part: the nodes of one step in one state that stand."""

    state = Record.word("number of the state")
    first = Record.word("the first of the nodes; others may stand among them, of another state or over")
    end = Record.word("one past the last")
    low = Record.word("each `until` of them is at or above this one")
    high = Record.word("each `until` of them is at or below this one")
    rises = Record.word("whether each `until` is at or above that of the node before")
    since = Record.word("LE of the step")
    moves = Record.word("whether the event at work may move them, where StateChain.moves")
    next = Record.word("the next part of the state, of a later step; NOWHERE: none")


class StateChain(Record, of="w"):
    """The parts of one state, in the order of their steps."""

    first = Record.word("its first part; NOWHERE: none")
    last = Record.word("its last part")
    low = Record.word("the least of their PartRow.low")
    high = Record.word("each `until` of their nodes is at or below this one")
    rises = Record.word("whether each PartRow.low is at or above that of the part before")
    before = Record.word("PartRow.low, at that time, of the last part but one")
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
    arc = Record.line("number of the arc; of an event NOWHERE, or LAST_ROW; after EACH: the end of the output log after the record")
    payload = Record.words("words of the payload")


EVENT, ARC, PUNCTUATION, DROPPED, TAKEN = range(5)  # kinds of records: as given, late, carried out
LAST_ROW = -2
"""Of an event that stands behind all rows of its key from before the batch: the last of these look at it, see `scan_orbits`."""


# -- c: columns of a table, where `forward` reads ------------------------------------------------------------------------------
class TableWords(Record, by="one"):
    """c: the addresses of the columns that `forward` reads; 0: there is no such column."""

    le = Record.word("LE")
    re = Record.word("RE")
    window = Record.word("the window: RE - LE of each row, where there is no column of RE")
    kind = Record.word("kinds, bytes")
    arc = Record.word("by row: number of its arc in TableWords.codes")
    codes = Record.word("numbers of arcs")
    diff = Record.word("diff of arcs")
    key = Record.word("numbers of keys")
    index = Record.word("the rows to take")
    counts = Record.word("by key: how many rows it has in the call")
    others = Record.word("the rows that are no events, `OtherRow`, in order")
    count = Record.word("how many they are; for OTHERS, how many rows there are")
    least = Record.word("the least LE of an event, of each so many rows")
    payload = Record.words("of each word of the payload: the address of its column, and its kind")


WORD, FLOAT, BYTE, OPTIONAL = 0, 1, 2, 4
"""Kinds: words; floats; bytes, 0 or not; values that count only where the column before, of bytes, is not 0."""


class OtherRow(Record, of="c", by="one"):
    """A row that is no event."""

    row = Record.word("four times its number, plus its kind: PROMISED, COMES, GOES or UNFIT")
    value = Record.word("LE of the promise; number of the arc among those of the batch")


PROMISED, COMES, GOES, UNFIT = range(4)  # a promise; an arc comes, or goes, in the default mode; any other change
UNKNOWN, SINGLE, OWN = 1, 2, 4  # the answers of OTHERS, as bits


# -- c: of PRUNE, about a key --------------------------------------------------------------------------------------------------
class PruneWords(Record):
    """The words of the row `begins` of `PruneTable`."""

    start = Record.word("before this time no computation begins")
    arcs = Record.word("before this time an event may be of no use")
    count = Record.word("how many arcs")
    finals = Record.word("whether arcs make states final")


class PruneTable(Record, by="row"):
    """c, for PRUNE."""

    begins = Record.nested(PruneWords, "words of the key as a whole")
    idle = Record.line("by state: nothing continues it before this time")
    use = Record.line("by arc: it is not taken before this time, as `first_use` found")
    test = Record.line("by arc: address of its test of an event")
    constants = Record.line("by arc: address of the constants of that test")


# -- w: the words of a loop over rows in order ---------------------------------------------------------------------------------
class Loop(Record, of="w"):
    """The words of a loop over rows in order. Masks are 0 or -1: whether the row's number, or its LE, counts."""

    record = Record.word("the next row; the loop goes on while Loop.record < Loop.high, LE > Loop.latest, LE < Loop.bound")
    high = Record.word("one past the last row")
    room = Record.word("one past the last row that the block has room for")
    latest = Record.word("LE of the last step")
    bound = Record.word("the loop ends before a row at or after this LE")
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
    n = Record.word("how many rows the list before has")
    begin = Record.word("address of the row of a computation that begins")
    slots = Record.word("address of the slots")
    now = Record.word("by state, at this address: whether it is final now")
    wanted = Record.word("the bits that the function at Program.unchanged gives if the list stays; -1: the list never stays")
    lowest = Record.word("least `until` of the list")
    highest = Record.word("greatest `until` of the list")
    reach = Record.word("LE of its first node")
    open = Record.word("whether all its nodes are OPEN")
    most = Record.word("lists of this many rows or more are read-only for the loop; 0: every list is")
    rows = Record.word("how many rows Scratch.source has, where the list stands there")
    parted = Record.word("whether the list stands in parts, see `parts`")
    made = Record.word("how many rows the step has that has to be looked at")
    own = Record.word("of a list in columns: the first node that the call has made; older ones need undo")
    newest = Record.word("of a list in columns: the first node of the last step; FOREVER: none of them stands on")
    constant_re = Record.word("the word at Loop.re_at where there is no column: the window, or FOREVER")
    none = Record.word("0, the word at Loop.index_at where there are no numbers of rows")
    index_at = Record.word("address of the numbers of the rows to take")
    index_mask = Record.word("whether there are any")
    plain_mask = Record.word("whether there are none")
    ahead = Record.word("whether lines are fetched row by row: FAR, rows stand far apart; MIXED, some do; 0: they are not")
    stride = Record.word("of skylines: how many words lie between two of their columns")
    set = Record.word("the stamp of the set of its rows")
    used = Record.word("how many places of the set are used")
    finals = Record.word("how many of its rows are in a state that is final")
    quick = Record.word("whether best rows may suffice: skylines are kept")
    credit = Record.word("how many more events may be refused until all go row by row for good")
    there = Record.word("states of its rows, as bits; and UNUSUAL, if any row is")
    passing = Record.word("states, as bits, all of whose rows came with the last step")
    leave = Record.word("states, as bits, all of whose rows leave")
    farthest = Record.word("each `until` of its rows is at or below this one")
    fresh = Record.word("the first row that came with the last step")
    unusuals = Record.word("how many rows are UNUSUAL")
    skyline = Record.word("address of the skylines: words of the register, until, start, Loop.stride words each")
    next_look = Record.word("before this step rows that are over are looked for")
    state_rows = Record.words("by state: how many rows are in it", 62)
    skyline_at = Record.words("by state: where its skyline begins; then where the last one ends", 63)
    skyline_rows = Record.words("by state: how many rows its skyline has", 62)
    change = Record.word("the LE at which other arcs come into force")
    match = Record.word("address of the next match")
    match_last = Record.word("address of the end of the room for matches")
    mtop = Record.word("row of the next match")
    log = Record.word("address of the next entry of the output log")
    log_last = Record.word("address of the end of its room")
    key = Record.word("the key at work")
    final = Record.word("Memory.final")
    budget = Record.word("Scratch.budget")
    payload = Record.words("addresses of the columns of the payload")


UNUSUAL = 62  # the bit of Loop.there beside those of states: of rows whose words at Program.kept are not the initial ones
REFUSED = -3  # of the function at Program.best_step: best rows do not suffice
FAR, MIXED = 1, 2  # see Loop.ahead
LOOP_STOP, LOOP_LOOK = 0, 1  # why a loop ended
BY_ARCS, NO_ROOM = -1, -2  # of step functions and loops: the step can only be derived arc by arc; its rows find no room

# -- statuses ------------------------------------------------------------------------------------------------------------------
DONE = 0
NEED_BLOCK, NEED_HEAP, NEED_UNDO, NEED_LOG, NEED_PLACES, NEED_ROWS, NEED_TEMP = -1, -2, -3, -4, -5, -6, -7
NEED_EVENTS, NEED_NODES, NEED_MATCHES = -12, -13, -14
FAULT, ENDLESS = -8, -9
CROWDED = -10  # more copies of one event than int64 counts
LATE = -11
TIED = -17  # where ties are refused: records of a key share a step, or come to one that has an event
OVER = -18  # more partial matches at a step than w.budget, see w.over
NUMBERS = -16  # Python is to look at the numbers of the m.numbered records at w.index
ASK = -100  # the step must be taken arc by arc
INSTANT = -2  # less the number of a time-out: asks Python for its instant, by its expression
YES, NO = 0x0AFA_0001, 0x0AFA_0002  # Python's answer of an arc; any other word is a fault, as is a lost answer


# -- c: beginnings, for ENDS ------------------------------------------------------------------------------------------------------
class Beginnings(Record, by="row"):
    """c, for ENDS: one a column."""

    stamp = Record.line("one more than the number of the key; any other number: the column is free")
    start = Record.line("LE at which it began")
    until = Record.line("none of its partial matches stands from this LE on")
    latest = Record.line("the latest RE bound of those that stood last")
    past = Record.line("whether a time-out of one of them comes after that bound")


# -- what `main` does ------------------------------------------------------------------------------------------------------------
RUN, SERVE, TICK, CLEAN, SWAP, NET, ROLLBACK, COMMIT, EXPIRE, SCAN, RESTORE, SIZES, FORWARD, PUSH, DROP, ARRANGE = range(16)
GROUPS, SAVE, PRUNE, RESTORE_STEPS, EACH, ENDS, WAITS, OPENED, HEADS_OF, SET_HEADS, STRINGS, SOUND, OTHERS = range(16, 29)
BEGIN_ARC, END_ARC, PATHS_TO = 29, 30, 31
LIVING = 39
RESTORE_CHANGES = 40
BY_STATE, BY_KEY = 41, 42
ALL_KEYS, CHANGED_KEYS, IDLE_KEYS, FULL_KEYS = 1, 2, 3, 4  # of CLEAN: which other keys it takes
HEADS, COVERS, CHANGES = 0, 1, 2  # of SAVE: the words that it writes
BREAK, JOIN = 1, 2  # of m.gapless
SCAN_PAST, SCAN_NEXT, SCAN_FIRST, SCAN_LAST = 1, 2, 3, 4  # of m.scans
DIGIT = 11  # bits of a digit, see w.counts
ONCE, ALWAYS = 1, 2  # of m.looked
GAP = 2  # of LogRow.sign
STATES = 62  # bits that the function at Program.unchanged gives, one a state; one more: no computation begins
BUSY = -1  # a list that no event is known to leave as it is
CLOSURE_LIMIT = 10_000
NAN_WORD = 0x7FF8000000000000  # the one NaN


class Lane(Record, of="w"):
    """The words of `afa.compiled.kernel.lane_loop`: rows of history, key by key. Masks as those of `Loop`."""

    lane = Record.word("the lane at work")
    end = Record.word("one past the last lane")
    slots = Record.word("address of the slots")
    now = Record.word("by state, at this address: whether it is final")
    begin = Record.word("address of the row of a computation that begins")
    le_at = Record.word("address of the column of LE")
    re_at = Record.word("address of the column of RE, or of Lane.constant_re")
    re_mask = Record.word("whether there is a column of RE")
    le_mask = Record.word("whether RE counts from LE")
    constant_re = Record.word("the word at Lane.re_at where there is no column: the window, or FOREVER")
    seq_at = Record.word("address of the ranks by which rows of one LE follow each other, or of Lane.none")
    seq_mask = Record.word("whether there are any")
    index_at = Record.word("address of the numbers of the rows, lane by lane")
    index_mask = Record.word("whether there are any")
    plain_mask = Record.word("whether there are none")
    none = Record.word("0, the word at Lane.index_at where there are no numbers of rows, and at Lane.seq_at")
    bounds = Record.word("address of the bounds of lanes, `LaneBounds`")
    status = Record.word("address of what has become of each lane: LANE_DONE, or why the operator has to take it")
    event = Record.word("address of room for an event")
    left = Record.word("address of room for a list")
    right = Record.word("address of room for another one")
    room = Record.word("how many words a list may take")
    row = Record.word("the next row of the lane at work; NOWHERE: it has not begun")
    src = Record.word("address of its list")
    n = Record.word("how many rows that has")
    begun = Record.word("where the matches of the lane begin")
    matches = Record.word("how many matches there are, of all lanes")
    counts = Record.word("address of how many matches each lane has")
    write = Record.word("whether matches are written; else they are counted")
    out = Record.word("address of the next match, a `LogRow`")
    out_end = Record.word("address of the end of the room for matches")
    stop = Record.word("how many more rows to take in this call")
    tied = Record.word("whether matches of one step were not in the order of their ends")
    before = Record.word("LE of the step before")
    clock = Record.word("time-outs fire up to this instant behind the last row")
    waits = Record.word("by state, at this address: address of its first time-out, a `LaneWait`; 0: none")
    spare = Record.word("address of room for a row")
    payload = Record.words("addresses of the columns of the payload")


class LaneBounds(Record, of="w"):
    """Which rows a lane has: runs begin in [first, begins), rows are read before `end`."""

    first = Record.word("its first row")
    begins = Record.word("one past the last row at which a run may begin")
    end = Record.word("one past its last row")


class LaneWait(Record, of="w"):
    """A time-out of a state, whose match comes at once, or behind an epsilon arc."""

    code = Record.word("address of the code that tells its instant")
    constants = Record.word("address of its constants")
    then = Record.word("address of the code of the epsilon arc; 0: none")
    then_constants = Record.word("address of its constants")
    next = Record.word("address of the next one of the state; 0: none")


LANE_DONE, LANE_ASKS, LANE_LONG = 0, 2, 3  # what became of a lane: it is done; an arc asks Python; its lists are long


class RadixPass(Record, of="w"):
    """The words of `afa.compiled.kernel.radix_sort`."""

    rows = Record.word("address of the rows")
    out = Record.word("address of room for as many")
    n = Record.word("how many they are")
    place = Record.word("which word of a row counts")
    low = Record.word("the least of these words")
    shift = Record.word("how many bits stand below the digit")
    counts = Record.word("address of room for a count of each digit")
