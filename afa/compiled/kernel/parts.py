"""A long list in parts, of which an event that comes in order looks at those alone that it may move.

    part         nodes     state  m              event of kind b          event of kind c       event at 71
    of step 10   0, 1, 2   a      70, 70, 71     each becomes a row in b  pass, unseen          all over
    of step 12   3, 4      b      70, 71         pass, unseen             each becomes a match  both over
    of step 15   5         a      75             as those above           pass, unseen          passes

A part is what one step has of nodes in one state. The event alone tells of most states that all their rows stay, whatever their
registers (`unchanged_ir` of `afa.compiled.code.step_function`): nodes of such states are OPEN already, and nothing of them is read
but the least m of each state, and what is over (`afa.compiled.kernel.parts_by_state`). The others are brought together, in order of
start, and go through the step function as any list; what comes of them is written behind the nodes there are. So an event costs as
much as it moves and ends, and two comparisons a state. Between two events that move something, the loop over rows in order passes
over those that do not.

    W_CHAINS   by state its parts, in the order of their steps            W_SET      the rows that stand, by content: a new one that
    W_OLD      the numbers of nodes that the event may move               is the same as one that stays is not written
    W_READY    these nodes as rows, in order of start; W_NEW: what the step function makes of them

A list is in parts while `forward` takes rows, nowhere else: what it leaves are nodes of several steps, as everywhere.
Where most rows move with each event, whole lists are cheaper: parts are given up then (W_LOSS), for the next rows (W_WAIT).
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.derive import call_step
from afa.compiled.kernel.heap import room
from afa.compiled.kernel.lists import copy, equal, hash_of, sort_by_start
from afa.compiled.kernel.matches import accepted, set_matches
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call2, kernel
from afa.compiled.kernel.one_step import ASK, put_step
from afa.compiled.kernel.order import find_place
from afa.compiled.kernel.parts_by_state import add_to_part, end_chain, narrow_chain, no_parts, set_end, stands
from afa.compiled.kernel.step import over

LOSS, OVERHEAD = 16, 24
"""How many lists parts may lose before they are given up; what an event costs, in rows."""
UNFIT = -102
"""What `take_in_parts` returns where the list can't be in parts: a row that stays is in a final state."""


@kernel
def may_part(m: Any, w: Any, p: Any, n: int) -> bool:
    """Return whether a list of ``n`` rows is to be taken in parts."""
    return bool(n >= w[W_MANY] and w[W_WAIT] == 0 and m[C_RUNS] and m[C_GAPLESS] == 0 and p[P_UNCHANGED] != 0)


@kernel
def is_worth_it(w: Any) -> bool:
    """Return whether a list is to stay in parts."""
    return bool(w[W_STANDING] >= w[W_MANY] >> 2 and w[W_LOSS] <= LOSS * (w[W_STANDING] + w[W_MANY]))


@kernel
def give_up(w: Any) -> None:
    """Take no more lists in parts for a while, unless it is one that has become short."""
    short = w[W_STANDING] < w[W_MANY] >> 2 and w[W_LOSS] <= 0
    w[W_WAIT] = 0 if short else (w[W_MANY] - 1) << 8


@kernel
def read_parts(m: Any, w: Any, b: int, place: int) -> int:
    """Make parts of the list before a place; its nodes are OPEN from now on. O(steps back to ``reach`` + rows).

    Returns how many rows it has, or UNFIT, NEED_ROWS, NEED_UNDO.
    """
    cap, order, times = m[b + H_CAP], b + HEAD, b + HEAD + LE * m[b + H_CAP]
    no_parts(w)
    w[W_LOSS], w[W_FRESH] = 0, FOREVER
    new_rows(w)
    last = m[order + place - 1]
    le, reach = m[times + last], m[b + HEAD + REACH * cap + last]
    at = place - 1 if reach >= le else max(find_place(m, b, reach, 0), m[b + H_FIRST])
    while at < place:
        i = m[order + at]
        status = read_part(m, w, b, m[b + HEAD + ND * cap + i], m[times + i], le if at + 1 < place else BEGINNING)
        if status < 0:
            return int(status)
        at += 1
    return int(w[W_STANDING])


@kernel
def read_part(m: Any, w: Any, b: int, rows: int, since: int, until: int) -> int:
    """Make parts of the nodes of a step that end after ``until`` (BEGINNING: all). A status."""
    s, nodes = N_REG + m[C_R], b + m[b + H_NODES]
    for k in range(rows >> 24, (rows >> 24) + (rows & COUNT)):
        node = nodes + k * s
        if until != BEGINNING and m[node + N_END] <= until:
            continue
        if m[node + N_STATE] >= STATES:
            return UNFIT
        if w[W_STANDING] + 2 >= w[W_ROWS]:
            return NEED_ROWS
        if not room(w, 8):
            return NEED_UNDO
        set_end(m, w, node, k, OPEN)
        stands_already(m, w, nodes, k, k)
        add_to_part(m, w, node, k, since)
    return DONE


@kernel
def find_moved(m: Any, w: Any, p: Any, b: int, bits: int, le: int, re: int) -> int:
    """Write the numbers of nodes that an event may move to W_OLD, mark their parts, and end what is over at ``le``.

    ``bits``: which states the event leaves as they are. Returns how many nodes, or UNFIT.
    """
    n = kept = 0
    for j in range(w[W_HOLDS]):
        state = w[w[W_HELD] + j]
        chain, stays = w[W_CHAINS] + state * CHAIN_SIZE, (bits >> state) & 1
        if stays == 0 and p[p[P_FIRST] + state] == NOWHERE:
            end_chain(m, w, b, chain, le)
        elif w[chain + CHAIN_LOW] <= le:
            narrow_chain(m, w, b, chain, le, 0)
        if w[chain + CHAIN_FIRST] == NOWHERE:
            continue
        w[w[W_HELD] + kept] = state
        kept += 1
        if stays and p[p[P_NOW] + state]:
            return UNFIT
        w[chain + CHAIN_MOVES] = stays == 0 or re < w[chain + CHAIN_HIGH]
        if w[chain + CHAIN_MOVES]:
            n = mark_moved(m, w, b, chain, stays, re, n)
    w[W_HOLDS] = kept
    return n


@kernel
def mark_moved(m: Any, w: Any, b: int, chain: int, stays: int, re: int, n: int) -> int:
    """Mark the parts of a state whose nodes an event may move, and write the numbers of these behind the ``n`` at W_OLD.

    ``stays``: whether that depends on whether m is above ``re``. Returns how many numbers there are then.
    """
    s, nodes, index, part, high = N_REG + m[C_R], b + m[b + H_NODES], w[W_OLD], w[chain + CHAIN_FIRST], BEGINNING
    while part != NOWHERE:
        high = max(high, w[part + PART_HIGH])
        w[part + PART_MOVES] = stays == 0 or re < w[part + PART_HIGH]
        if w[part + PART_MOVES]:
            for k in range(w[part + PART_FIRST], w[part + PART_END]):
                if stands(m, w, part, nodes + k * s, k):
                    w[index + n] = k
                    n += 1
        part = w[part + PART_NEXT]
    w[chain + CHAIN_HIGH], w[chain + CHAIN_MOVES] = high, stays == 0 or re < high
    return n


@kernel
def move_rows(m: Any, w: Any, p: Any, b: int, n: int, le: int, re: int, words: int) -> int:
    """Write to W_NEW what the ``n`` nodes at W_OLD and the computation that begins become by an event at ``words``.

    Their numbers are in order of start then. Returns how many rows, or NEED_ROWS, ASK, UNFIT.
    """
    s, nodes, rows = N_REG + m[C_R], b + m[b + H_NODES], w[W_READY]
    index = sort_by_start(m, nodes, s, w, w[W_OLD], w[W_OTHER], n)
    if index != w[W_OLD]:
        w[W_OLD], w[W_OTHER] = w[W_OTHER], w[W_OLD]
    for k in range(n):
        copy(m, nodes + w[index + k] * s, w, rows + k * s, s)
    count = call_step(m, p, m[C_W], rows, n, True, le, re, words, m[C_W] + 8 * w[W_NEW], w[W_ROWS])
    if count < 0:
        return NEED_ROWS if count == -2 else ASK
    for k in range(count):
        row = w[W_NEW] + k * s
        state = w[row + N_STATE]
        if state >= STATES or (w[row + N_END] != ALONE and p[p[P_NOW] + state]):
            return UNFIT
    return count


@kernel
def take_in_parts(m: Any, w: Any, p: Any, b: int, i: int, place: int, event: int, le: int, top: int) -> int:
    """Make step ``i`` of an event behind a list in parts, and tell the loop of the list then.

    Returns how many nodes the step has, or UNFIT or ASK, with nothing done; or NEED_UNDO, NEED_ROWS, NEED_NODES, NEED_TEMP,
    NEED_LOG, NEED_MATCHES, OVER.
    """
    x, at, standing = w[W_LOOP], b + m[b + H_EVENTS] + event * (E_WORDS + m[C_V]), w[W_STANDING]
    if not room(w, 64 + 6 * standing):
        return NEED_UNDO
    if w[x + X_OPEN]:
        w[W_FRESH] = FOREVER
    words, re, made = m[C_M] + 8 * (at + E_WORDS), m[at + E_RE], 0
    bits = call2(p[P_UNCHANGED], words, m[C_P] + 8 * p[P_SLOTS])
    n = find_moved(m, w, p, b, bits, le, re)
    if n < 0:
        return int(n)
    if n or (bits >> STATES) & 1 == 0:
        count = move_rows(m, w, p, b, n, le, re, words)
        if count < 0:
            return int(count)
        settle_parts(m, w, b, n, count, le)
        made = write_new(m, w, b, count, le, top)
        if made < 0:
            return int(made)
    else:
        settle_parts(m, w, b, 0, 0, le)
    w[W_LOSS] = max(w[W_LOSS] + 2 * n + OVERHEAD - standing, -LOSS * standing)
    put_step(m, b, i, place, event, le, top << 24 | made if made else 0, summarize_parts(m, w, p, b, le, top, made))
    w[W_FRESH] = top if made else FOREVER
    found = accepted(m, w, p, m, b + m[b + H_NODES] + top * (N_REG + m[C_R]), made, le, 0) if made else 0
    status = set_matches(m, w, p, b, i, found) if found > 0 else found
    return int(made if status >= 0 else status)


@kernel
def settle_parts(m: Any, w: Any, b: int, n: int, count: int, le: int) -> None:
    """Set the ends of the nodes there are: of the ``n`` at W_OLD those stay that the ``count`` rows at W_NEW say, of others all."""
    s, nodes, index, passed = N_REG + m[C_R], b + m[b + H_NODES], w[W_OLD], 0
    for k in range(count + 1):
        q = n if k == count else w[w[W_NEW] + k * s + N_END]
        if q < 0:
            continue
        w[W_STANDING] -= q - passed
        for j in range(passed, q):
            node = nodes + w[index + j] * s
            if m[node + N_END] == OPEN:
                set_end(m, w, node, w[index + j], le)
        if q < n:
            set_end(m, w, nodes + w[index + q] * s, w[index + q], OPEN)
        passed = q + 1
    kept = 0
    for j in range(w[W_HOLDS]):
        state = w[w[W_HELD] + j]
        chain = w[W_CHAINS] + state * CHAIN_SIZE
        open_fresh(m, w, b, chain)
        if w[chain + CHAIN_MOVES]:
            narrow_chain(m, w, b, chain, le, 1)
        if w[chain + CHAIN_FIRST] != NOWHERE:
            w[w[W_HELD] + kept] = state
            kept += 1
    w[W_HOLDS], w[W_FRESH] = kept, FOREVER


@kernel
def open_fresh(m: Any, w: Any, b: int, chain: int) -> None:
    """Let those nodes of a state be OPEN that are ALONE and stay."""
    s, nodes, part = N_REG + m[C_R], b + m[b + H_NODES], w[chain + CHAIN_LAST]
    if w[part + PART_FIRST] < w[W_FRESH] or (w[chain + CHAIN_MOVES] and w[part + PART_MOVES]):
        return
    for k in range(w[part + PART_FIRST], w[part + PART_END]):
        if stands(m, w, part, nodes + k * s, k):
            m[nodes + k * s + N_END] = OPEN


@kernel
def write_new(m: Any, w: Any, b: int, count: int, le: int, top: int) -> int:
    """Write those of the ``count`` rows at W_NEW that are new as nodes from ``top`` on, in parts of the step at ``le``.

    Returns how many, or NEED_ROWS, NEED_NODES, OVER.
    """
    s, nodes, made = N_REG + m[C_R], b + m[b + H_NODES], 0
    if w[W_STANDING] + count + 2 >= w[W_ROWS]:
        return NEED_ROWS
    if 4 * (w[W_SET_USED] + count) > 3 * w[W_HASHES]:
        set_rows_anew(m, w, b)
    for j in range(count):
        row, k = w[W_NEW] + j * s, top + made
        if w[row + N_END] != ALONE:
            continue
        if k >= m[b + H_NODE_CAP]:
            return NEED_NODES
        copy(w, row, m, nodes + k * s, s)
        if not stands_already(m, w, nodes, k, top):
            add_to_part(m, w, nodes + k * s, k, le)
            made += 1
    return made if w[W_STANDING] <= w[W_BUDGET] else over(w, le, w[W_STANDING], NOWHERE, False)


@kernel
def new_rows(w: Any) -> None:
    """Begin a new set of the rows that stand."""
    w[W_STAMP] += 1
    w[W_SET_STAMP], w[W_SET_USED] = w[W_STAMP], 0


@kernel
def set_rows_anew(m: Any, w: Any, b: int) -> None:
    """Make the set of the rows that stand anew, without those that stand no more. O(rows)."""
    s, nodes = N_REG + m[C_R], b + m[b + H_NODES]
    new_rows(w)
    for j in range(w[W_HOLDS]):
        part = w[w[W_CHAINS] + w[w[W_HELD] + j] * CHAIN_SIZE + CHAIN_FIRST]
        while part != NOWHERE:
            for k in range(w[part + PART_FIRST], w[part + PART_END]):
                if stands(m, w, part, nodes + k * s, k):
                    stands_already(m, w, nodes, k, k)
            part = w[part + PART_NEXT]


@kernel
def stands_already(m: Any, w: Any, nodes: int, k: int, first: int) -> bool:
    """Return whether a row like node ``k`` stands, OPEN or among the nodes from ``first`` on; else put it into the set. O(1)."""
    s, places, table = N_REG + m[C_R], w[W_HASHES], w[W_SET]
    row, at = nodes + k * s, hash_of(m, w, nodes + k * s, s, N_END, 0)
    while w[table + 2 * at] == w[W_SET_STAMP]:
        q = w[table + 2 * at + 1]
        if equal(m, row, m, nodes + q * s, s):
            if q != k and (m[nodes + q * s + N_END] == OPEN or first <= q < k):
                return True
            w[table + 2 * at + 1] = k
            return False
        at = (at + 1) & (places - 1)
    w[table + 2 * at], w[table + 2 * at + 1] = w[W_SET_STAMP], k
    w[W_SET_USED] += 1
    return False


@kernel
def summarize_parts(m: Any, w: Any, p: Any, b: int, le: int, top: int, made: int) -> int:
    """Tell the loop when the list stays as it is, and which of its nodes are ALONE. Returns REACH of the step at ``le``."""
    x, states, low, high, reach = w[W_LOOP], 1 << STATES, FOREVER, BEGINNING, le
    for j in range(w[W_HOLDS]):
        state = w[w[W_HELD] + j]
        chain = w[W_CHAINS] + state * CHAIN_SIZE
        states |= -1 if p[p[P_NOW] + state] else 1 << state
        low, high = min(low, w[chain + CHAIN_LOW]), max(high, w[chain + CHAIN_HIGH])
        reach = min(reach, w[w[chain + CHAIN_FIRST] + PART_SINCE])
    w[x + X_WANTED], w[x + X_LOWEST], w[x + X_HIGHEST], w[x + X_REACH] = states, low, high, reach
    w[x + X_SRC], w[x + X_N] = m[C_M] + 8 * (b + m[b + H_NODES] + top * (N_REG + m[C_R])), made
    w[x + X_OPEN] = made == 0
    return int(reach)
