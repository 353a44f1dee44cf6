"""Where everything stands. All memory is int64 words, in four arrays; a *block* is the state of one key.

    m   what lasts     control words | heap of blocks, with a directory of keys
    p   the program    arcs in force, constants, finals: rewritten when arcs change
    w   scratch        undo log | output log | row buffers | marks, orders
    c   a batch        one row a column, see I_*; one column a record

A block (offsets from its first word; capacities in its header, so that it can grow and be moved as it is):

    header   HEAD words, the names H_* below
    order    (cap)      place -> step, sorted by LE (then sequence); the live places are [H_FIRST, H_LAST)
    le       (cap)      step -> LE, ticks
    seq      (cap)      step -> the word of its sequence, 0 without one
    ev       (cap)      step -> slice of events; empty: the step is ``cover`` and has none any more
    nd       (cap)      step -> slice of nodes: the partial matches stored there
    mt       (cap)      step -> slice of matches
    reach    (cap)      step -> no partial match that stands here was stored at a step before this LE
    events   rows       [re, copies, words of the payload..]
    nodes    rows       [start, m, state, end, words of the register..]   in increasing order of start within a step
    matches  rows       [T, m, words of the register..]                   what the partial matches of a step stand for
    pending  rows       [le, re, copies, words..]                         retractions that wait for their insertion

A slice is ``offset << 24 | count``, the offset in rows. Rows are only appended; what is no longer pointed to is left behind when
the block is moved. A node stands at its own step and, if ``end`` is not ALONE, at all later steps with LE < end: the itree of
[AFA10] App. D. The Ordering invariant and the meaning of a partial match are those of `afa.interpreted`.

Undo: ``m`` is written in place only after `save` has copied the old words, so that a call can be taken back at any point.
"""

BEGINNING = -(2**63)
FOREVER = 2**63 - 1
ALONE = BEGINNING  # the end of a node that stands at its own step only
OPEN = FOREVER  # the end of a node that goes on
NOWHERE = -1

# -- m: control words
C_M, C_W, C_P = 0, 1, 2  # addresses of the arrays, and C_LIMIT: set anew whenever the kernels are called
C_TOP, C_LIMIT = 3, 4  # of the heap
C_SERIAL = 5  # the call
C_DIR, C_KEYS = 6, 7  # the directory, and how many entries it has
C_EVENTS, C_FINAL, C_NOW = 8, 9, 10  # promises; one past all that was seen
C_V, C_R = 11, 12  # words of a payload, of a register
C_ORDERED = 13  # 0: no sequence; 1: its words are in order; 2: ranks of strings
C_SEQ = 39  # which word of a payload is the sequence's as it stands; NOWHERE: none
C_ARC, C_PLACE, C_NEED = 14, 15, 16  # what a status is about
C_COMING = 19  # rows that a key is about to get in this call; 0: not known
C_KEYED = 17  # keys are cleaned when they are touched, not at once
C_LATE, C_REFUSE = 18, 22  # late records of this call; whether one ends it
C_STALE, C_CHANGES = 23, 24  # punctuations that promised nothing new; event changes taken
C_ARCS = 25  # arc changes among the records taken
C_GENERAL = 29  # how many steps were derived arc by arc
C_NEXT = 28  # the key at which `everyone` goes on
C_WAITING = 27  # how many blocks may hold retractions that wait
C_WAITED = 26  # the same when the call began
C_ASKED = 20  # how often Python was asked
C_RANKS = 21  # address of the ranks of strings
C_STOPPED = 34  # where `forward` stopped
C_RUNS = 35  # whether the block at work keeps runs
C_SHORT = 37  # whether `forward` stopped because the block was full
C_FROM = 38  # where `groups` goes on among the rows of a key
C_SAMPLE = 36  # from how many steps it is seen whether it should
C_RATE = 30  # rows of events, nodes and matches that a step takes, in 64ths: three words
C_FREE = 40  # heads of the free lists, by size class
CLASSES = 160
CONTROL = C_FREE + CLASSES

# -- directory entries
D_BLOCK, D_ACT, D_CLEAN = 0, 1, 2  # its block; the smallest punctuation that makes it speak; that makes it smaller
D_OWNED = 3  # the call in which its old block was last noted
D_CHANGED = 4  # the call in which what a snapshot holds of it last changed
DIRECTORY = 5

# -- block header
H_CLASS, H_CAP = 0, 1
H_EVENTS, H_EVENT_CAP = 2, 3  # offset of the section in words; capacity in rows
H_NODES, H_NODE_CAP = 4, 5
H_MATCHES, H_MATCH_CAP = 6, 7
H_PENDING, H_PENDING_CAP = 8, 9
H_BORN = 10  # the call in which the block was made
MOVING = 11  # from here on the header changes with the state; what stands before is the block's for ever
H_FIRST, H_LAST, H_STEPS = 11, 12, 13
H_EVENT_TOP, H_NODE_TOP, H_MATCH_TOP, H_PENDING_TOP = 14, 15, 16, 17  # in rows
H_SINCE = 18  # since when the list of a cover step waits
H_CLEANED = 19  # the punctuation that was carried out last
H_RUNS = 20  # whether partial matches that stay are kept as runs; else each step has its whole list. Where A_CARRY is
H_PRUNED = (
    21  # the LE of the last step whose list is not what the one before it gives, or not what the next one needs; BEGINNING: none
)
H_THINNED = 22  # how many steps there were when the block was pruned last
HEAD = 23
COLUMNS = 7
ORDER, LE, SEQ, EV, ND, MT, REACH = range(7)

# -- rows
N_START, N_M, N_STATE, N_END, N_REG = 0, 1, 2, 3, 4
E_RE, E_COPIES, E_WORDS = 0, 1, 2
M_T, M_RE, M_REG = 0, 1, 2
P_LE, P_RE, P_COPIES, P_WORDS = 0, 1, 2, 3
L_KEY, L_SIGN, L_T, L_RE = 0, 1, 2, 3  # the register follows
COUNT = (1 << 24) - 1

# -- p: the program
A_STATES, A_CARRY, A_EPSILON, A_TIMEOUT = 0, 2, 3, 4  # the start state is number 0
A_STEP, A_QUIET, A_PYTHON = 5, 6, 7  # addresses of native functions; 0: none
A_FINALS, A_NOW, A_MARKS, A_FIRST = 8, 9, 10, 11  # by state: always final; final now; marks now; first arc now
A_CODES = 12  # records of arcs
A_ROWS, A_COUNT, A_ROWCAP = 13, 14, 15  # arc events
A_BOUNDS, A_BOUNDCOUNT = 16, 17  # where lifetimes begin and end, in order
A_SLOTS = 18  # slots of the step function: [dst, address of constants]
A_FREE = 19  # by the first slot of a class, the first of its slots that is free; then by slot the next one
A_NEXT = 20  # the next bound
A_LOW, A_HIGH = 21, 22  # the arcs now are those of [low, high)
A_SPILL = 23  # how many arcs now have no slot
A_BEGIN = 24  # the row of a computation that begins
A_WAITS = 25  # by state: its first time-out among all arc events, chained by R_NEXT
A_COUNTED = 26  # whether two steps may stand for one match: OF_ONE_LE, with a sequence; BY_TIMEOUTS
OF_ONE_LE, BY_TIMEOUTS = 1, 2
A_SLOTCOUNT = 27
A_PLAIN = 28  # whether arcs change by `change_arc`: each has a name of its own, and no end is known beforehand
A_BOUNDCAP = 29
A_PLACES = 30  # where rows go when others are dropped
A_AHEAD, A_RUNS = 31, 32  # addresses of the loops of `afa.compiled.code.ahead`; 0: none
PROGRAM = 34
# record of an arc
K_KIND, K_SRC, K_DST, K_IGNORABLE, K_FINAL, K_CODE, K_CONSTANTS, K_SLOT, K_SLOTS = range(9)
K_LATEST = 9  # the row of it that began last and still lasts, where the program is A_PLAIN
RECORD = 12
CONSUME, EPSILON, TIMEOUT = 0, 1, 2
# arc event
R_CODE, R_BEGIN, R_END, R_NEXT, R_BACK = 0, 1, 2, 3, 4  # the arcs now of one source state are a list
R_BEFORE = 5  # the row of the same arc that was K_LATEST before
R_SLOT = 6  # which it has while it is in force; NOWHERE: none
ROW = 7
# bound
B_T, B_ROW, B_SIGN = 0, 1, 2
BOUND = 3

# -- w: scratch
W_UNDO, W_UNDO_TOP, W_UNDO_CAP = 0, 1, 2
W_LOG, W_LOG_TOP, W_LOG_CAP = 3, 4, 5  # rows
W_MARK, W_ORDER, W_PLACES = 6, 7, 8  # marks and a new order; capacity in places
W_INDEX, W_SORT, W_BATCH = 9, 10, 11  # records in order, and room to sort them; capacity
W_NEW, W_SOURCE, W_OLD, W_OTHER, W_ROWS = 12, 13, 14, 15, 16  # row buffers; capacity in rows
# A row buffer has two columns behind its rows: the LE of the step where each row is stored, and the end that it had.
W_TEMP, W_TEMP_CAP = 17, 18  # matches, alternatives
W_HASH, W_HASHES, W_STAMP = 19, 24, 25  # a set of rows; how many places it has; which are of this set
W_READY = 26  # one more row buffer: what time-outs and epsilon arcs make ready
SCRATCH = 40

W_FROM = 20  # all places from here on are marked
W_MADE = 21  # the first step that is new since the block's part of the call began: its row needs no undo
W_TAKEN = 22  # how many entries of the output log take a match back
W_KEY = 23  # the key at work
W_UNTIL = 27  # lists can't be as they were up to the first step at or after this LE: one was deleted whose nodes ended here
W_EPOCH = 28  # of marks
W_AHEAD = 36  # what the loops of `afa.compiled.code.ahead` work on
W_WHOLE = 37  # from this LE on each list is what the one before it gives, wherever H_PRUNED is
# What `summary` says of the list at W_SOURCE: its earliest and latest m, its earliest node, the first end among its nodes.
W_LOW, W_HIGH, W_REACH, W_SOONEST = 29, 30, 31, 32
W_HEADS, W_NEXT, W_TOUCHED = 33, 34, 35  # records by key: one past the first of each key, 0: none; the next one; the keys
# -- c: rows of a batch
# Where `forward` reads: addresses of the columns of a batch, 0 for those that are not there; then of each word, and what it is.
# F_INDEX: the rows to take; F_COUNTS: how many rows each key has in the call.
F_LE, F_RE, F_WINDOW, F_KIND, F_ARC, F_CODES, F_DIFF, F_KEY, F_INDEX, F_COUNTS, F_WORDS = range(11)
WORD, FLOAT = 0, 1
I_LE, I_RE, I_DIFF, I_KEY, I_SEQ, I_KIND, I_ARC, I_WORDS = 0, 1, 2, 3, 4, 5, 6, 7

# -- what a loop of `afa.compiled.code.ahead` works on; masks are 0 or -1: whether the row's number, or its LE, counts
X_RECORD, X_HIGH, X_LATEST, X_BOUND = 0, 1, 2, 3  # it goes on while X_RECORD < X_HIGH, LE > X_LATEST, LE < X_BOUND
X_LE_AT, X_RE_AT, X_RE_MASK, X_LE_MASK, X_KIND_AT, X_KIND_MASK = 4, 5, 6, 7, 8, 9
X_ORDER, X_TIMES, X_CAP, X_STEP = 10, 11, 12, 13  # addresses of the next place and of its LE; the next step
X_EVENT, X_SLICE = 14, 15  # address of the next event; its slice
X_OUT, X_LAST, X_TOP = 16, 17, 18  # address of the next node and of the end of their room; its row
X_SRC, X_N = 19, 20  # address of the list before, and how many rows it has
X_BEGIN, X_SLOTS, X_NOW = 21, 22, 23
X_WANTED, X_LOWEST, X_HIGHEST = 24, 25, 26  # the bits that `quiet` must have while the list stays; its least and greatest m
X_REACH, X_OPEN = 27, 28  # the LE of its first node; whether all of them are OPEN
X_FIXED = 29  # whether the list is none that the loop may write to, so that it can only stay
X_MADE = 30  # how many rows the step has that has to be looked at
X_WORD, X_NONE = 31, 32  # what X_RE_AT points to where there is no column; 0, for X_KIND_AT
X_INDEX_AT, X_INDEX_MASK, X_PLAIN_MASK = 33, 34, 35  # which row of the columns a record is
X_CHANGE = 36  # where other arcs come into force
X_WORDS = 37  # addresses of the columns of the payload
AHEAD_STOP, AHEAD_LOOK = 0, 1

# -- statuses
DONE = 0
NEED_BLOCK, NEED_HEAP, NEED_UNDO, NEED_LOG, NEED_PLACES, NEED_ROWS, NEED_TEMP = -1, -2, -3, -4, -5, -6, -7
NEED_EVENTS, NEED_NODES, NEED_MATCHES = -12, -13, -14
NEED_LISTS = -15  # the block is to be one without runs
FAULT, ENDLESS = -8, -9
CROWDED = -10  # more copies of one event than int64 counts
LATE = -11
YES, NO = 0x0AFA_0001, 0x0AFA_0002  # what Python answers of an arc; all else is a fault, an answer that was lost among it
# -- what `main` does
RUN, SERVE, TICK, CLEAN, SWAP, NET, ROLLBACK, COMMIT, EXPIRE, SCAN, RESTORE, SIZES, FORWARD, PUSH, DROP, ARRANGE, GROUPS, SAVE = (
    range(18)
)
PRUNE, RESTORE_STEPS, EACH = 18, 19, 20
ALL_KEYS, CHANGED_KEYS = 1, 2  # of CLEAN: whom else it concerns
HEADS, COVERS, CHANGES = 0, 1, 2  # what SAVE writes
EVENT, ARC, PUNCTUATION, DROPPED, TAKEN = 0, 1, 2, 3, 4  # kinds of records: as given, late, carried out

BUSY = -1  # a list that no event leaves as it is
# -- c: what PRUNE is told of a key: one row of numbers; of each state, before what it is idle; of each arc, what `of_use` says of
# it, and the addresses of its test of an event and of its constants
G_BEGINS, G_IDLE, G_USE, G_TEST, G_CONSTANTS = 0, 1, 2, 3, 4
G_START, G_ARCS, G_COUNT, G_FINALS = 0, 1, 2, 3
CLOSURE_LIMIT = 10_000
