"""Where everything stands. All memory is int64 words, in four arrays; a *block* is the state of one key.

    m   what lasts     control words C_* | heap of blocks, with a directory of keys, an entry D_* each
    p   the program    words P_* | arcs in force, constants, finals: rewritten when arcs change
    w   scratch        words W_* | undo log | output log | row buffers | marks, orders
    c   a batch        one row a column, see I_*, F_*, G_*; one column a record

A block (offsets from its first word; capacities in its header, so that it can grow and be moved as it is):

    header H_*  |  order  le  seq  ev  nd  mt  reach  |  events E_*  |  nodes N_*  |  matches M_*  |  pending Q_*
    HEAD words  |  columns of `cap` words each        |  rows, only appended                       |  rows

Steps are numbered as they are made. The live places of ``order`` are [H_FIRST, H_LAST). ``ev``, ``nd`` and ``mt`` hold slices:
``offset << 24 | count``, the offset in rows. Rows that nothing points to any more are left behind when the block is moved.

    order   [ 0  2  1 ]      places by LE: the steps 0, 2, 1
    le      [ 5  9  7 ]
    ev      [ 0:1  1:1  2:1 ] --> events  [re copies words..] [re copies words..] [re copies words..]
    nd      [ 0:1  1:2  - ]   --> nodes   [start m state end register..] ...

A node stands at its own step and, if ``end`` is not ALONE, at all later steps with LE < end: the itree of [AFA10] App. D. The
Ordering invariant and the meaning of a partial match are those of `afa.interpreted`.

Undo: ``m`` is written in place only after `save` has copied the old words, so that a call can be taken back at any point.

Each name below is an offset: the next word of its `Record`. A width is the offset of the words that end the record and their
number: ``N_REG + m[C_R]`` words a node, ``E_WORDS + m[C_V]`` an event.
"""

from afa.compiled.kernel.record import Record

BEGINNING = -(2**63)
FOREVER = 2**63 - 1
ALONE = BEGINNING  # the end of a node that stands at its own step only
OPEN = FOREVER  # the end of a node that goes on
NOWHERE = -1
COUNT = (1 << 24) - 1  # of a slice: how many rows

# -- m: control words --------------------------------------------------------------------------------------------------------
C = Record()
C_M = C("address of m; like the next three, set whenever the kernels are called")
C_W = C("address of w")
C_P = C("address of p")
C_LIMIT = C("one past the last word of the heap")
C_TOP = C("the first word of the heap that was never used")
C_SERIAL = C("number of the call")
C_DIR = C("where the directory begins")
C_MINIMA = C("where the minima over its deadlines begin, MIN_*")
C_ABOVE = C("where the minima over those begin")
C_KEYS = C("how many entries the directory has")
C_EVENTS = C("no event comes before: the last punctuation of the event input")
C_FINAL = C("nothing changes before: the effective punctuation")
C_NOW = C("one past all that was seen")
C_V = C("words of a payload")
C_R = C("words of a register")
C_ORDERED = C("0: no sequence; 1: its words are in order; 2: its words are strings, in the order of their ranks")
C_SEQ = C("which word of a payload is the sequence's as it stands; NOWHERE: none")
C_GAPLESS = C("0: numbers may have gaps; BREAK or JOIN: what becomes of one that can't close any more")
C_LONGEST = C("whether of partial matches of a state and register, and of matches with one LE and payload, the longest count")
C_TOLD = C("how many words of a register a match shows")
C_LOOKED = C("ONCE: Python has looked at the numbers of the next unit's records; ALWAYS: of all, as a snapshot is loaded")
C_RANKS = C("address of the ranks of strings")
C_KEYED = C("whether there are many keys: they are cleaned when they are touched, not at once")
C_SHARDS = C("over how many memories the keys are spread")
C_SHARD = C("which of them this one is: its keys are those whose number leaves it as the rest, see `own` of `many`")
C_ARC = C("what a status is about: the arc")
C_PLACE = C("what a status is about: the record, or the time")
C_NEED = C("what a status is about: where the rows stand")
C_LATE = C("late records of this call")
C_REFUSE = C("whether a late record ends the call")
C_STALE = C("punctuations that promised nothing new")
C_CHANGES = C("event changes taken")
C_ARCS = C("arc changes among the records taken")
C_ASKED = C("how often Python was asked")
C_GENERAL = C("how many steps were derived arc by arc")
C_WAITING = C("how many retractions wait, of different events")
C_WAITED = C("C_WAITING when the call began")
C_NEXT = C("where work on many keys goes on: the next key, or column of the batch")
C_FROM = C("where `forward_keys` goes on among the rows of a key")
C_LEFT = C("how many rows it has left to another way")
C_COMING = C("rows that a key is about to get in this call; 0: not known")
C_STOPPED = C("the row at which `forward` stopped")
C_TIES = C("whether events that share a step are refused")
C_TIED = C("where they are: whether a step came to hold several")
C_SHORT = C("whether `forward` stopped because the block was full")
C_RUNS = C("whether the block at work keeps runs")
C_SAMPLE = C("how many last steps tell whether a block should keep runs")
C_SOON = C("after how many steps behind a late event `replay` goes on, and compares lists; where only the longest count")
C_RATE = C("rows of events, nodes and matches that a step takes, in 64ths", words=3)
C_REST = C("how many words a record may have; 0: no key is at rest")
C_DESK = C("the block on which records are opened; 0: not made yet")
C_DRAFT = C("where a record is written before it has a cell")
C_SMALL = C("how many bits a word of a register has in the form of a node of a record; 0: none")
C_KNOWN = C("what is final for all keys, though more may be for the key at work: the effective punctuation")
C_PAGES = C("the first free page, chained by A_NEXT; 0: none")
CLASSES = 160
C_FREE = C("first free block of each size class", words=CLASSES)
CELLS = 68
C_CELLS = C("first page with room of each size class of cells", words=CELLS)
CONTROL = -(-C.size // 16) * 16 + 8
"""Where the heap begins: in the middle of a pair of cache lines. Size classes are whole pairs, so that each block does: most words
of a header that change (from MOVING on) stand in one pair. Many keys take rows 5 to 8 % faster than from the begin of a pair."""

# -- m: an entry of the directory --------------------------------------------------------------------------------------------
D = Record()
D_BLOCK = D("address of the key's block; 0: none; below 0: less the address of its record, the key is at rest")
D_ACT = D("the smallest punctuation that makes the key speak")
D_CLEAN = D("the smallest punctuation that makes its block smaller")
D_CHANGED = D("the call in which what a snapshot holds of it last changed")
D_SIZE = D.size  # half a line of cache; the directory begins at a whole one

MIN_ = Record()  # a lower bound of the deadlines of some keys, see `due_keys`
MIN_ACT = MIN_("of D_ACT")
MIN_CLEAN = MIN_("of D_CLEAN")
MIN_SIZE = MIN_.size
LEVEL = 6
"""A minimum is over 2**LEVEL keys, or minima."""
# -- m: a page of cells, see `slabs` -------------------------------------------------------------------------------------------
PAGE = 4096
A = Record()
A_CLASS = A("size class of its cells")
A_USED = A("how many cells are in use")
A_FREE = A("the first cell that was used and is free, chained by its first word; 0: none")
A_TOP = A("where the cells begin that were never used, in words from the page's first")
A_NEXT = A("the next page of the class with room, or the next free page")
A_BACK = A("the one before it")
CELL = 8
"""Where the cells of a page begin."""

# -- m: a record: a key at rest, see `rest` --------------------------------------------------------------------------------------
Z = Record()
Z_HEAD = Z("words used | steps | where the last step begins | retractions that wait: HEAD_BITS each | flags ZF_*")
Z_WORDS = Z("what is not as usual, by flags; retractions; steps", words=0)
HEAD_BITS = 10
HEAD_MASK = (1 << HEAD_BITS) - 1
HEAD_FLAGS = 4 * HEAD_BITS
ZF_RUNS, ZF_CLEANED, ZF_SINCE, ZF_PRUNED, ZF_THINNED, ZF_TOLD, ZF_GAP, ZF_OVER = 1, 2, 4, 8, 16, 32, 64, 128
"""H_RUNS; then of which names of the header a word follows, in this order. H_SINCE without a word is H_CLEANED."""
S = Record()
S_FORM = S("events | nodes | matches: STEP_BITS each | forms SF_* | RE less LE, SPAN_BITS bits")
S_LE = S("LE, ticks")
S_WORDS = S("sequence where steps have one; REACH by form; events; nodes; matches", words=0)
STEP_BITS = 7
STEP_COUNT = (1 << STEP_BITS) - 1
STEP_FORMS = 3 * STEP_BITS
SF_FOREVER, SF_SPAN, SF_COPIES, SF_REACH, SF_HERE = 1, 2, 4, 8, 16
"""All events have RE FOREVER; LE and the span; a word of copies; REACH is a word, not LE; all matches have T = LE, no word."""
STEP_SPANS = STEP_FORMS + 5
SPAN_BITS = 62 - STEP_SPANS
V = Record()
V_FORM = V("state | where the step of its start begins in the record, 0: not there | forms VF_* | register, where it is small")
V_WORDS = V("start, m, end, as far as forms say so; words of the register", words=0)
NODE_STATES, NODE_BEGINS, NODE_FORMS = 16, 9, 4
"""Bits of the parts of a form."""
VF_M, VF_OPEN, VF_END, VF_SMALL = 1, 2, 4, 8
"""m is not RE of the first event of its start's step; end is OPEN; end is a word, else it is ALONE; the register is in the form."""
NODE_SMALL = NODE_STATES + NODE_BEGINS + NODE_FORMS
MOST = (1 << NODE_BEGINS) - 1
"""The most words of a record: nodes say by NODE_BEGINS bits where in it a step begins."""

# -- m: header of a block ----------------------------------------------------------------------------------------------------
H = Record()
H_CLASS = H("size class")
H_CAP = H("how many steps the columns have room for")
H_EVENTS = H("where the events begin, in words from the block's first")
H_EVENT_CAP = H("room for events, in rows")
H_NODES = H("where the nodes begin")
H_NODE_CAP = H("room for nodes")
H_MATCHES = H("where the matches begin")
H_MATCH_CAP = H("room for matches")
H_PENDING = H("where the retractions begin that wait")
H_PENDING_CAP = H("room for them")
H_BORN = H("the call in which the block was made")
MOVING = H_FIRST = H("first live place; from this word on the header changes with the state, what is before it never does")
H_LAST = H("one past the last live place")
H_STEPS = H("how many steps were made")
H_EVENT_TOP = H("how many rows of events are used")
H_NODE_TOP = H("how many rows of nodes")
H_MATCH_TOP = H("how many rows of matches")
H_PENDING_TOP = H("how many retractions wait")
H_SINCE = H("since when the list of a cover step waits")
H_CLEANED = H("the punctuation that was carried out last")
H_RUNS = H("whether partial matches that stay are kept as runs; else each step has its whole list. Where P_IGNORABLE is")
H_PRUNED = H("LE of the last step whose list is not what the one before it gives, or not what the next one needs; BEGINNING: none")
H_THINNED = H("how many steps there were when the block was pruned last")
H_TOLD = H("where numbers are gapless: gaps that end before are final, and told")
H_GAP = H("no gap that can still close ends before this LE")
H_OVER = H("RE of the event of cover, or until when its list lives, if that is later")
HEAD = H.size

# -- m: columns of a block, `cap` words each ---------------------------------------------------------------------------------
COLUMN = Record()
ORDER = COLUMN("place -> step, sorted by LE (then sequence)")
LE = COLUMN("step -> LE, ticks")
SEQ = COLUMN("step -> the word of its sequence, 0 without one")
EV = COLUMN("step -> slice of events; empty: the step is `cover`, or a stone")
ND = COLUMN("step -> slice of nodes: the partial matches stored there, by start")
MT = COLUMN("step -> slice of matches: what its partial matches stand for")
REACH = COLUMN("step -> no partial match that stands here was stored at a step before this LE")
COLUMNS = COLUMN.size

# -- m: rows of a block ------------------------------------------------------------------------------------------------------
N = Record()  # a node: a partial match
N_START = N("LE of the step at which its computation began")
N_M = N("smallest RE of its events")
N_STATE = N("number of its state")
N_END = N("ALONE, OPEN, or the LE from which on it does not stand any more; in a row buffer the number of its node")
N_REG = N("words of the register", words=0)

E = Record()  # an event
E_RE = E("RE, ticks")
E_COPIES = E("how often it was inserted more than retracted")
E_WORDS = E("words of the payload", words=0)

M = Record()  # a match
M_T = M("LE of the match")
M_RE = M("RE of the match")
M_REG = M("words of the register", words=0)

Q = Record()  # a retraction that waits for its insertion
Q_LE = Q("LE of the event")
Q_RE = Q("RE of the event")
Q_COPIES = Q("how many copies wait")
Q_WORDS = Q("words of the payload", words=0)

# -- w: an entry of the output log -------------------------------------------------------------------------------------------
L = Record()
L_KEY = L("number of the key")
L_SIGN = L("1: the match comes into force; -1: it leaves; 0: cancelled by another entry; GAP: none, but the ends of a gap")
L_T = L("LE of the match")
L_RE = L("RE of the match")
L_REG = L("words of the register", words=0)

# -- p: the program ----------------------------------------------------------------------------------------------------------
P = Record()
P_STATES = P("how many states; the start state is number 0")
P_IGNORABLE = P("whether any arc is ignorable, so that blocks may keep runs")
P_EPSILON = P("whether there are epsilon arcs")
P_TIMEOUT = P("whether there are time-outs")
P_STEP = P("address of the step function; like the next four, 0: none")
P_UNCHANGED = P("address of the function that tells which states an event leaves as they are")
P_LOOP = P("address of the loop over rows in order, for whole lists")
P_LOOP_RUNS = P("address of the loop over rows in order, for runs")
P_COLUMNS = P("address of the function that takes one event against a list in columns")
P_KEPT = P("the words of a register, as bits, which the function at P_COLUMNS expects to be the initial ones; -1: all")
P_KEEPING = P("in which states, as bits")
P_ORDERS = P("by state: the word of the register by which its rows are in order, `word << 2 | floats << 1 | falls`; NOWHERE: none")
P_STAIRS = P("by state: the number of its stairs; behind them how many states have stairs; 0: the function never asks for ranges")
P_PYTHON = P("address of the way back to the user's functions")
P_FINALS = P("by state: whether it is always final")
P_NOW = P("by state: whether it is final now")
P_MARKS = P("by state: how many arcs now make it final")
P_FIRST = P("by state: the first of its arcs now, chained by R_NEXT")
P_WAITS = P("by state: its first time-out among all arc events, chained by R_NEXT")
P_CODES = P("records of arcs, ARC_*")
P_ROWS = P("arc events, R_*")
P_COUNT = P("how many arc events")
P_ROWCAP = P("room for arc events")
P_PLACES = P("where arc events go when others are dropped")
P_BOUNDS = P("where lifetimes begin and end, in order, B_*")
P_BOUNDCOUNT = P("how many bounds")
P_BOUNDCAP = P("room for bounds")
P_NEXT = P("the next bound")
P_LOW = P("the arcs now are those of [P_LOW, P_HIGH)")
P_HIGH = P("see P_LOW")
P_SLOTS = P("slots of the step function: [dst, address of constants]")
P_SLOTCOUNT = P("how many slots")
P_FREE = P("by the first slot of a class, the first of its slots that is free; then by slot the next one")
P_SPILL = P("how many arcs now have no slot")
P_BEGIN = P("the row of a computation that begins")
P_COUNTED = P("whether two steps may stand for one match: OF_ONE_LE, with a sequence; BY_TIMEOUTS")
P_PLAIN = P("whether arcs change by `change_arc`: each has a name of its own, and no end is known beforehand")
PROGRAM = P.size
OF_ONE_LE, BY_TIMEOUTS = 1, 2

ARC_ = Record()  # an arc
ARC_KIND = ARC_("CONSUME, EPSILON, TIMEOUT or SKIP")
ARC_SRC = ARC_("number of the state that it leaves")
ARC_DST = ARC_("number of the state that it reaches")
ARC_IGNORABLE = ARC_("whether it is ignorable")
ARC_FINAL = ARC_("whether it makes its state final")
ARC_CODE = ARC_("address of its native function; 0: none")
ARC_CONSTANTS = ARC_("address of its constants")
ARC_SLOT = ARC_("the first slot of its class")
ARC_SLOTS = ARC_("how many slots its class has")
ARC_LATEST = ARC_("the arc event of it that began last and still lasts, where the program is P_PLAIN")
ARC_SIZE = ARC_.size
CONSUME, EPSILON, TIMEOUT, SKIP = 0, 1, 2, 3

R = Record()  # an arc event: an arc with a lifetime
R_CODE = R("number of the arc")
R_BEGIN = R("begin of the lifetime")
R_END = R("end of the lifetime")
R_NEXT = R("the next arc event now of the same source state")
R_BACK = R("the one before it")
R_BEFORE = R("the arc event that was ARC_LATEST of the arc before")
R_SLOT = R("the slot that it has while it is in force; NOWHERE: none")
R_SIZE = R.size

B = Record()  # a bound of a lifetime
B_T = B("the time")
B_ROW = B("the arc event")
B_SIGN = B("1: it begins; -1: it ends")
B_SIZE = B.size

# -- w: scratch --------------------------------------------------------------------------------------------------------------
W = Record()
W_UNDO = W("the undo log, see `heap`")
W_UNDO_TOP = W("how many words of it are used")
W_UNDO_CAP = W("room, in words")
W_OWED = W("how many words more `spell_out` would take; NOWHERE: it was done, and records are noted whole")
W_LOOSE = W("where the last record of it ends that `commit` is to see, which says where the one before it does; 0: none")
W_GONE = W("after a call: where the numbers of the keys stand that lost all they had in it")
W_GONES = W("how many")
W_LOG = W("the output log")
W_LOG_TOP = W("how many rows of it are used")
W_LOG_CAP = W("room, in rows")
W_TAKEN = W("how many entries of the output log take a match back")
W_MARK = W("by place: the epoch in which it was marked")
W_EPOCH = W("of marks")
W_FROM = W("all places from here on are marked")
W_ORDER = W("a new order")
W_PLACES = W("room of W_MARK and W_ORDER, in places")
W_INDEX = W("numbers of records, in order")
W_SORT = W("room to sort them, twice as long")
W_PAIRS = W("keys and their records, see `by_key`")
W_TOUCHED = W("the keys of the records")
W_BATCH = W("room of W_INDEX, W_PAIRS, W_TOUCHED, in records")
W_COUNTS = W("by digit of a key, where the next record goes that has it")
# A row buffer has two columns behind its rows: the LE of the step where each row is stored, and the end that it had.
W_NEW = W("row buffer: what a step's list becomes")
W_SOURCE = W("row buffer: the list before a step")
W_OLD = W("row buffer: the list before a step as it was")
W_OTHER = W("row buffer: the list of a step, which is W_SOURCE of the next one")
W_READY = W("row buffer: what time-outs and epsilon arcs make ready")
W_ROWS = W("room of a row buffer, in rows")
W_TEMP = W("matches of a step, or events of a step")
W_TEMP_CAP = W("room, in words")
W_HASH = W("a set of rows")
W_HASHES = W("how many places the set has")
W_STAMP = W("which places are of this set")
W_MADE = W("the first step that is new since the block's part of the call began: its words need no undo")
W_KEY = W("the key at work")
W_UNTIL = W("lists can't be as they were up to the first step at or after this LE: one was deleted whose nodes ended here")
W_WHOLE = W("from this LE on each list is what the one before it gives, wherever H_PRUNED is")
W_LOW = W("of the list at W_SOURCE, as `summarize` found: the earliest m")
W_HIGH = W("the latest m")
W_REACH = W("the LE of its earliest node")
W_SOONEST = W("the first end among its nodes")
W_MANY = W("lists of so many rows or more are taken in parts, see `parts`")
W_PARTS = W("a list in parts, PART_*")
W_PARTED = W("how many parts there were at one time, so far")
W_SPARE = W("the first part of those that are free again, chained by PART_NEXT; NOWHERE: none")
W_CHAINS = W("by state: its parts, CHAIN_*")
W_HELD = W("the states that have parts")
W_HOLDS = W("how many they are")
W_STANDING = W("how many rows")
W_FRESH = W("of its nodes those from this one on are ALONE, all others OPEN")
W_OWN = W("nodes from this one on need no undo")
W_SET = W("a set of its rows, places of two words: stamp, node")
W_SET_STAMP = W("which places are of this set")
W_SET_USED = W("how many")
W_LOSS = W("what parts have cost more than they have saved, in rows")
W_WAIT = W("so many rows are to come before lists are taken in parts again")
W_LOOP = W("what the loops over rows in order work on, X_*")
W_BUDGET = W("how many partial matches of a key may stand at one step; FOREVER: any number")
W_OVER = W("what OVER is about: LE of the step, how many would stand there, where their rows stand, whether in m", words=4)
SCRATCH = -(-W.size // 8) * 8

PART = Record()  # what one step has of nodes in one state, that stand now
PART_STATE = PART("number of the state")
PART_FIRST = PART("the first of the nodes; there may be others among them, and some that stand no more")
PART_END = PART("one past the last")
PART_LOW = PART("no m of them is below")
PART_HIGH = PART("no m of them is above")
PART_RISES = PART("whether each m is at or above that of the node before")
PART_SINCE = PART("LE of the step")
PART_MOVES = PART("whether the event at work may move them, where CHAIN_MOVES")
PART_NEXT = PART("the part of the same state of the next step that has one; NOWHERE: there is none")
PART_SIZE = PART.size

CHAIN = Record()  # the parts of one state, in the order of their steps
CHAIN_FIRST = CHAIN("the first of them; NOWHERE: there is none")
CHAIN_LAST = CHAIN("the last")
CHAIN_LOW = CHAIN("the least of their PART_LOW")
CHAIN_HIGH = CHAIN("no m of their nodes is above")
CHAIN_RISES = CHAIN("whether each PART_LOW is at or above that of the part before")
CHAIN_BEFORE = CHAIN("PART_LOW of the part before the last, when that began")
CHAIN_MOVES = CHAIN("whether the event at work may move any of their nodes")
CHAIN_SIZE = CHAIN.size

# -- c: records of a batch, a row of the array each --------------------------------------------------------------------------
I = Record()  # noqa: E741 - one letter for each kind of word
I_LE = I("LE")
I_RE = I("RE")
I_DIFF = I("copies, or an arc's diff")
I_KEY = I("number of the key")
I_SEQ = I("word of the sequence")
I_KIND = I("EVENT, ARC, PUNCTUATION, DROPPED or TAKEN")
I_ARC = I("number of the arc; of EACH: where the output log ends behind the record")
I_WORDS = I("words of the payload", words=0)
EVENT, ARC, PUNCTUATION, DROPPED, TAKEN = range(5)  # kinds of records: as given, late, carried out

# -- c: columns of a table, where `forward` reads: their addresses, 0 for those that are not there -----------------------------
F = Record()
F_LE = F("LE")
F_RE = F("RE")
F_WINDOW = F("the window: RE - LE of each row where there is no column")
F_KIND = F("kinds, bytes")
F_ARC = F("rows in F_CODES")
F_CODES = F("numbers of arcs")
F_DIFF = F("diff of arcs")
F_KEY = F("numbers of keys")
F_INDEX = F("the rows to take")
F_COUNTS = F("by key: how many rows it has in the call")
F_OTHERS = F("the rows that are no events, O_*, in order")
F_COUNT = F("how many they are; of OTHERS, how many rows there are")
F_LEAST = F("the least LE of an event, of so many rows each")
F_WORDS = F("of each word of the payload: address of its column, and of what kind it is", words=0)
WORD, FLOAT, BYTE, OPTIONAL = 0, 1, 2, 4
"""Words; floats; bytes, 0 or not; values of which those count that the column before it, of bytes, has."""

O = Record()  # noqa: E741  # a row that is no event
O_ROW = O("four times its number, and what it is: PROMISED, COMES, GOES or UNFIT")
O_VALUE = O("LE of the promise; of an arc its number among those of the batch")
O_SIZE = O.size
PROMISED, COMES, GOES, UNFIT = range(4)  # a promise; an arc comes, goes in the default mode; what goes another way
UNKNOWN, SINGLE, OWN = 1, 2, 4  # what OTHERS finds out

# -- c: what PRUNE is told of a key: the number of the row of the array --------------------------------------------------------
G_BEGINS = 0  # one row of numbers, see below
G_IDLE = 1  # by state: before which time nothing continues it
G_USE = 2  # by arc: before which time `first_use` says that it is not taken
G_TEST = 3  # by arc: address of its test of an event
G_CONSTANTS = 4  # by arc: address of their constants
G = Record()  # the words of row G_BEGINS
G_START = G("before this time no computation begins")
G_ARCS = G("before this time an event may be of no use")
G_COUNT = G("how many arcs")
G_FINALS = G("whether arcs make states final")

# -- w: what a loop over rows in order works on; masks are 0 or -1: whether the row's number, or its LE, counts ----------------
X = Record()
X_RECORD = X("the next row; the loop goes on while X_RECORD < X_HIGH, LE > X_LATEST, LE < X_BOUND")
X_HIGH = X("one past the last row")
X_ROOM = X("one past the last row that the block has room for")
X_LATEST = X("LE of the last step")
X_BOUND = X("from this LE on the loop may not go")
X_LE_AT = X("address of the column of LE")
X_RE_AT = X("address of the column of RE, or of X_WORD")
X_RE_MASK = X("whether there is a column of RE")
X_LE_MASK = X("whether RE counts from LE")
X_ORDER = X("address of the next place")
X_TIMES = X("address of the LE of the next step")
X_CAP = X("H_CAP")
X_STEP = X("number of the next step")
X_EVENT = X("address of the next event")
X_SLICE = X("its slice")
X_OUT = X("address of the next node")
X_LAST = X("address of the end of the room for nodes")
X_TOP = X("row of the next node")
X_SRC = X("address of the list before")
X_N = X("how many rows it has")
X_BEGIN = X("address of the row of a computation that begins")
X_SLOTS = X("address of the slots")
X_NOW = X("address of what is final now")
X_WANTED = X("the bits that the function at P_UNCHANGED must give while the list stays; -1: it can't")
X_LOWEST = X("least m of the list")
X_HIGHEST = X("greatest m of the list")
X_REACH = X("LE of its first node")
X_OPEN = X("whether all its nodes are OPEN")
X_MOST = X("with so many rows or more the list can only stay; 0: it is not the loop's own, which may not write to it at all")
X_ROWS = X("how many rows W_SOURCE has, where the list stands there")
X_PARTED = X("whether the list stands in parts, see `parts`")
X_MADE = X("how many rows the step has that has to be looked at")
X_WORD = X("what X_RE_AT points to where there is no column: the window, or FOREVER")
X_NONE = X("0, for X_INDEX_AT")
X_INDEX_AT = X("address of the numbers of the rows to take")
X_INDEX_MASK = X("whether there are any")
X_PLAIN_MASK = X("whether there are none")
X_AHEAD = X("whether memory is asked for row by row: FAR, as rows stand far apart; MIXED, as some do; 0: not")
X_STRIDE = X("of a list in columns: how many words one has")
X_SET = X("the stamp of the set of its rows")
X_USED = X("how many places of the set are used")
X_FINALS = X("how many of its rows are in a state that is final")
X_SUMS = X("address of what is known of its rows, eight by eight: of the best its m and start, the least m, states as bits")
X_SUMS_SPAN = X("how many words each of these takes")
X_OVERS = X("address of the same of eight times eight rows")
X_OVERS_SPAN = X("how many words each of these takes")
X_HINTS = X("address of the row that came last, by state")
X_GONE = X("address of bits, eight a byte: which of its rows do not stay")
X_ENDED = X("whether there are such rows")
X_QUICK = X("whether events may ask for ranges: rows stand in stairs, see `best_stairs`; else what is at X_SUMS and X_OVERS holds")
X_CREDIT = X("how many more events may be refused before rows are looked at in groups for good")
X_THERE = X("as bits: the states of its rows; and whether any is UNUSUAL")
X_PASSING = X("as bits: the states whose rows all came with the last step")
X_LEAVE = X("as bits: the states of which all rows leave")
X_FARTHEST = X("no m of its rows is above")
X_FRESH = X("the first row that came with the last step")
X_UNUSUALS = X("how many rows are UNUSUAL")
X_STAIRS = X("address of stairs: words of the order, m, start, X_STRIDE words each")
X_STAIR_ROOM = X("room for the stairs of one state")
X_NEXT_LOOK = X("when rows that are over are taken out: before this step")
X_STATE_ROWS = X("by state: how many rows are in it", words=62)
X_STAIR_COUNT = X("by state: how many stairs it has", words=62)
X_BEST_M = X("by state: m of its best row; BEGINNING: it has none", words=62)
X_BEST_START = X("by state: when that began", words=62)
X_CHANGE = X("where other arcs come into force")
X_MATCH = X("address of the next match")
X_MATCH_LAST = X("address of the end of the room for matches")
X_MTOP = X("row of the next match")
X_LOG = X("address of the next entry of the output log")
X_LOG_LAST = X("address of the end of its room")
X_KEY = X("the key at work")
X_FINAL = X("C_FINAL")
X_BUDGET = X("W_BUDGET")
X_WORDS = X("addresses of the columns of the payload", words=0)
LARGE_STATE, UNUSUAL = 61, 62
"""Bits of X_SUMS beside those of states: of states from here on; of rows whose words at P_KEPT are not the initial ones."""
REFUSED = -3  # of the function at P_COLUMNS: the event asks for more than ranges
FAR, MIXED = 1, 2  # see X_AHEAD
LOOP_STOP, LOOP_LOOK = 0, 1  # why a loop ended

# -- statuses ------------------------------------------------------------------------------------------------------------------
DONE = 0
NEED_BLOCK, NEED_HEAP, NEED_UNDO, NEED_LOG, NEED_PLACES, NEED_ROWS, NEED_TEMP = -1, -2, -3, -4, -5, -6, -7
NEED_EVENTS, NEED_NODES, NEED_MATCHES = -12, -13, -14
NEED_LISTS = -15  # the block is to be one without runs
FAULT, ENDLESS = -8, -9
CROWDED = -10  # more copies of one event than int64 counts
LATE = -11
TIED = -17  # where ties are refused: records of a unit share a step, or come to one that has an event
OVER = -18  # more partial matches at a step than W_BUDGET, see W_OVER
NUMBERS = -16  # Python is to look at the numbers of the C_NEED records at W_INDEX
ASK = -100  # a step that only arc by arc can be taken
INSTANT = -2  # less the number of a time-out: asks Python for its instant, read off its expression
YES, NO = 0x0AFA_0001, 0x0AFA_0002  # what Python answers of an arc; all else is a fault, an answer that was lost among it

# -- c: a beginning, for ENDS -------------------------------------------------------------------------------------------------
T_STAMP, T_START, T_UNTIL, T_M, T_PAST, T_WORDS = range(6)

# -- what `main` does ------------------------------------------------------------------------------------------------------------
RUN, SERVE, TICK, CLEAN, SWAP, NET, ROLLBACK, COMMIT, EXPIRE, SCAN, RESTORE, SIZES, FORWARD, PUSH, DROP, ARRANGE = range(16)
GROUPS, SAVE, PRUNE, RESTORE_STEPS, EACH, ENDS, WAITS, OPENED, HEADS_OF, SET_HEADS, STRINGS, SOUND, OTHERS = range(16, 29)
BEGIN_ARC, END_ARC, WAYS = 29, 30, 31
LIVING = 39
RESTORE_CHANGES = 40
BY_STATE = 41
ALL_KEYS, CHANGED_KEYS, IDLE_KEYS, FULL_KEYS = 1, 2, 3, 4  # of CLEAN: whom else it concerns
HEADS, COVERS, CHANGES = 0, 1, 2  # what SAVE writes
BREAK, JOIN = 1, 2  # of C_GAPLESS
DIGIT = 11  # bits of a digit, see W_COUNTS
ONCE, ALWAYS = 1, 2  # of C_LOOKED
GAP = 2  # of L_SIGN
STATES = 62  # bits of what the function at P_UNCHANGED gives, by state; one more says that no computation begins
BUSY = -1  # a list of which no event is known to leave it as it is
CLOSURE_LIMIT = 10_000
