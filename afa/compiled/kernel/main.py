"""The one entry: what a caller may ask of the kernels, by number, so that there is one thing to compile and to cache.

A unit of work is one key: its block is cleaned as far as has been promised, takes its records, and its lists are brought up to
date. What fails for want of room is taken back to the unit's begin, and done again in a larger block; only what the caller must
provide (heap, scratch) ends the call with a status, after which the caller may ask for the same again.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.blocks import make, measure, move
from afa.compiled.kernel.call import kernel
from afa.compiled.kernel.carry import lists, suits
from afa.compiled.kernel.cleanup import clean, deadlines, expire, oldest, tick
from afa.compiled.kernel.forward import forward, may_go_forward
from afa.compiled.kernel.forward_runs import forward_runs
from afa.compiled.kernel.groups import group_rows
from afa.compiled.kernel.matches import held
from afa.compiled.kernel.memory import commit, give, own, rollback, room, save
from afa.compiled.kernel.names import (
    A_BOUNDCOUNT,
    A_CARRY,
    A_COUNTED,
    ALONE,
    ARRANGE,
    BEGINNING,
    C_ARCS,
    C_CHANGES,
    C_DIR,
    C_EVENTS,
    C_FINAL,
    C_KEYED,
    C_KEYS,
    C_LATE,
    C_NEXT,
    C_NOW,
    C_PLACE,
    C_R,
    C_RATE,
    C_REFUSE,
    C_RUNS,
    C_SAMPLE,
    C_SERIAL,
    C_STALE,
    C_STOPPED,
    C_V,
    C_W,
    C_WAITING,
    CLEAN,
    COLUMNS,
    COUNT,
    D_ACT,
    D_BLOCK,
    D_CLEAN,
    D_OWNED,
    DIRECTORY,
    DONE,
    DROP,
    DROPPED,
    E_COPIES,
    EV,
    EVENT,
    EXPIRE,
    F_INDEX,
    FOREVER,
    FORWARD,
    GROUPS,
    H_BORN,
    H_CAP,
    H_CLEANED,
    H_EVENT_CAP,
    H_EVENT_TOP,
    H_EVENTS,
    H_FIRST,
    H_LAST,
    H_MATCH_CAP,
    H_MATCH_TOP,
    H_MATCHES,
    H_NODE_CAP,
    H_NODE_TOP,
    H_NODES,
    H_PENDING,
    H_PENDING_CAP,
    H_PENDING_TOP,
    H_RUNS,
    H_SINCE,
    H_STEPS,
    HEAD,
    I_DIFF,
    I_KEY,
    I_KIND,
    I_LE,
    L_KEY,
    L_RE,
    L_SIGN,
    L_T,
    LATE,
    LE,
    MT,
    N_END,
    N_REG,
    ND,
    NEED_BLOCK,
    NEED_EVENTS,
    NEED_LISTS,
    NEED_MATCHES,
    NEED_NODES,
    NEED_PLACES,
    NEED_UNDO,
    NET,
    NOWHERE,
    P_COPIES,
    PUNCTUATION,
    PUSH,
    REACH,
    RESTORE,
    ROLLBACK,
    RUN,
    SCAN,
    SERVE,
    SIZES,
    SWAP,
    TAKEN,
    TICK,
    W_BATCH,
    W_EPOCH,
    W_FROM,
    W_HEADS,
    W_INDEX,
    W_KEY,
    W_LOG,
    W_LOG_TOP,
    W_MADE,
    W_NEXT,
    W_PLACES,
    W_SORT,
    W_TAKEN,
    W_TEMP,
    W_TOUCHED,
    W_UNDO_TOP,
    W_UNTIL,
)
from afa.compiled.kernel.order import arrange, arrange_rows, find, promise
from afa.compiled.kernel.records import append, merge
from afa.compiled.kernel.steps import mark
from afa.compiled.kernel.swap import drop_arcs, forget_arcs
from afa.compiled.kernel.sweep import sweep


@kernel
def replace(m: Any, w: Any, key: int, b: int) -> None:
    """Let a key have another block, or none; the old one is kept for as long as the call can be taken back."""
    entry = m[C_DIR] + key * DIRECTORY
    old = m[entry + D_BLOCK]
    if m[entry + D_OWNED] != m[C_SERIAL]:
        own(m, w, key)
        m[entry + D_OWNED] = m[C_SERIAL]
    elif old:
        give(m, old)
    m[entry + D_BLOCK] = b


@kernel
def grow(m: Any, w: Any, key: int, n: int, status: int) -> int:
    """Move a key's state to a block with room for ``n`` records more, or make its first one; the block, or a status.

    What `clean` is about to drop stays behind.
    ``status``: what the old block, which was made for the same records, was short of; DONE for another one.
    """
    if not room(w, 8):
        return NEED_UNDO
    b = m[m[C_DIR] + key * DIRECTORY + D_BLOCK]
    steps = events = nodes = matches = waiting = first = 0
    if b:
        first = oldest(m, b, m[C_FINAL]) if n and m[b + H_CLEANED] < m[C_FINAL] else m[b + H_FIRST]
        steps, events, nodes, matches = measure(m, b, first)
        waiting = m[b + H_PENDING_TOP]
        adjust(m, b)
    spare = n + n // 4 + steps // 2 + 3
    events += (spare * m[C_RATE] >> 6) + 1
    nodes += (spare * m[C_RATE + 1] >> 6) + 2
    matches += (spare * m[C_RATE + 2] >> 6) + 1
    if status != DONE:  # nothing may be smaller than it was, or two needs would take turns
        events = max(events, m[b + H_EVENT_CAP] << (status == NEED_EVENTS))
        nodes = max(nodes, m[b + H_NODE_CAP] << (status == NEED_NODES))
        matches = max(matches, m[b + H_MATCH_CAP] << (status == NEED_MATCHES))
    to = make(m, steps + spare, events, nodes, matches, 2 * waiting + 1 + (n if waiting or m[C_WAITING] else 0))
    if to < 0:
        return to
    m[to + H_RUNS] = 1
    if b:
        move(m, b, to, first)
    replace(m, w, key, to)
    return to


@kernel
def short(m: Any, b: int, n: int) -> bool:
    """Whether a block has hardly room for ``n`` records more."""
    if m[b + H_CAP] - m[b + H_STEPS] < n or m[b + H_EVENT_CAP] - m[b + H_EVENT_TOP] < n:
        return True
    return bool(m[b + H_NODE_CAP] - m[b + H_NODE_TOP] < n * m[C_RATE + 1] >> 6)


@kernel
def spread_out(m: Any, w: Any, key: int) -> int:
    """Move a key's state to a block in which each step has its whole list; the block, or a status."""
    if not room(w, 8):
        return NEED_UNDO
    b = m[m[C_DIR] + key * DIRECTORY + D_BLOCK]
    steps, events, nodes, matches = measure(m, b, m[b + H_FIRST])
    more = lists(m, w, b, 0)
    if more < 0:
        return more
    spare = steps // 2 + 3
    share = 2 + spare // max(steps, 1)
    pending = m[b + H_PENDING_CAP]
    to = make(m, steps + spare, events + spare, nodes + share * more + 2, matches * share + 1, pending)
    if to < 0:
        return to
    move(m, b, to, m[b + H_FIRST])
    lists(m, w, b, to)
    replace(m, w, key, to)
    return to


@kernel
def adjust(m: Any, b: int) -> None:
    """Learn from a block that is full how many rows a step takes: no less than here, or with many keys about what most take."""
    steps = m[b + H_STEPS]
    if steps < 8:
        return
    for i in range(3):
        found = m[b + (H_EVENT_TOP, H_NODE_TOP, H_MATCH_TOP)[i]] * 72 // steps + 4
        if m[C_KEYED]:
            m[C_RATE + i] += (found - m[C_RATE + i]) // 8
        elif found > m[C_RATE + i]:
            m[C_RATE + i] = found
        elif 4 * found < m[C_RATE + i]:
            m[C_RATE + i] -= m[C_RATE + i] // 8


@kernel
def serve(m: Any, w: Any, p: Any, c: Any, key: int, n: int, what: int, low: int, high: int) -> int:
    """One unit: the ``n`` records at W_INDEX into a key's block, a change of arcs in ``[low, high)``, or what is due. A status."""
    entry = m[C_DIR] + key * DIRECTORY
    simple = arrange(m, w, c, n) if what == SERVE else True
    logged, taken = w[W_LOG_TOP], w[W_TAKEN]
    events, stale, changes, now = m[C_EVENTS], m[C_STALE], m[C_CHANGES], m[C_NOW]
    arcs, bounds, again = m[C_ARCS], p[A_BOUNDCOUNT], False
    b = m[entry + D_BLOCK]
    w[W_KEY] = key
    if b == 0:
        if n == 0:
            return DONE
        b = grow(m, w, key, n, DONE)
        if b < 0:
            return b
    elif n and short(m, b, n):
        b = grow(m, w, key, n, DONE)
        if b < 0:
            return b
    while True:
        start = w[W_UNDO_TOP]
        if not room(w, HEAD + 16):
            return NEED_UNDO
        save(m, w, b, HEAD)
        if m[b + H_BORN] != m[C_SERIAL]:
            save(m, w, entry, 3)
        status = unit(m, w, p, c, b, n, simple, what, low, high)
        if status >= 0:
            break
        rollback(m, w, start)
        w[W_LOG_TOP], w[W_TAKEN] = logged, taken
        m[C_EVENTS], m[C_STALE], m[C_CHANGES], m[C_NOW] = events, stale, changes, now
        m[C_ARCS] = arcs
        forget_arcs(p, bounds)
        if status != NEED_BLOCK and status > NEED_EVENTS:
            return status
        b = spread_out(m, w, key) if status == NEED_LISTS else grow(m, w, key, n, status if again else DONE)
        again = again or status != NEED_LISTS
        if b < 0:
            return b
    deadlines(m, p, b, entry)
    if m[b + H_BORN] == m[C_SERIAL]:
        w[W_UNDO_TOP] = start
    if m[b + H_FIRST] == m[b + H_LAST] and m[b + H_PENDING_TOP] == 0:
        if not room(w, 8):
            return NEED_UNDO
        replace(m, w, key, 0)
        m[entry + D_ACT] = m[entry + D_CLEAN] = FOREVER
    return DONE


@kernel
def unit(m: Any, w: Any, p: Any, c: Any, b: int, n: int, simple: bool, what: int, low: int, high: int) -> int:
    """The work of a unit, in the block as it is. A status."""
    w[W_MADE] = m[b + H_STEPS]
    w[W_EPOCH] += 1
    w[W_FROM] = FOREVER
    w[W_UNTIL] = BEGINNING
    if m[b + H_CAP] > w[W_PLACES]:
        return NEED_PLACES
    if p[A_CARRY] and n >= m[C_SAMPLE] and m[b + H_LAST] - m[b + H_FIRST] > m[C_SAMPLE] and not suits(m, b):
        return NEED_LISTS
    m[C_RUNS] = p[A_CARRY] and m[b + H_RUNS]
    if what == EXPIRE:
        return expire(m, w, b, low)
    if what == TICK:
        return tick(m, w, p, b)
    if m[b + H_CLEANED] < m[C_FINAL]:
        status = clean(m, w, p, b, m[C_FINAL])
        if status < 0:
            return status
    if what == SWAP:
        return sweep(m, w, p, b, affected(m, w, b, low, high))
    if what == FORWARD:
        m[C_STOPPED] = low
        if may_go_forward(m, p, b):
            low = forward_runs(m, w, p, c, b, low, high) if m[C_RUNS] else forward(m, w, p, c, b, low, high)
            m[C_STOPPED] = low
        return low
    if n == 0:
        return DONE
    last = m[b + H_LAST]
    if (
        simple
        and (last == m[b + H_FIRST] or m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + last - 1]] < c[I_LE, w[w[W_INDEX]]])
        and m[b + H_PENDING_TOP] == 0
    ):
        place = append(m, w, c, b, n)
    else:
        place = merge(m, w, p, c, b, n)
    return place if place < 0 else sweep(m, w, p, b, place)


@kernel
def listed_events(w: Any, c: Any, low: int, high: int) -> int:
    """Put the events among records ``low`` to ``high`` at W_INDEX; how many."""
    index, n = w[W_INDEX], 0
    for x in range(low, high):
        if c[I_KIND, x] == EVENT:
            w[index + n] = x
            n += 1
    return n


@kernel
def affected(m: Any, w: Any, b: int, low: int, high: int) -> int:
    """Mark the steps that an arc with lifetime ``[low, high)`` serves; the first of them.

    One step past the lifetime belongs to them, and with time-outs the one before them: what fires within it feeds that step.
    """
    begin = place = find(m, b, low, 0)
    while begin > m[b + H_FIRST] and m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + begin - 1]] >= low:
        begin -= 1
    place = begin
    mark(m, w, b, begin - 1)
    while place < m[b + H_LAST]:
        mark(m, w, b, place)
        if m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + place]] >= high:
            break
        place += 1
    return max(begin - 1, m[b + H_FIRST])


@kernel
def everyone(m: Any, w: Any, p: Any, c: Any, what: int, low: int, high: int) -> int:
    """A unit for each key that a punctuation (TICK, CLEAN) or a change of arcs (SWAP) concerns, from key C_NEXT on. A status.

    CLEAN with ``low`` = 0 leaves those keys alone that it would only make smaller.
    """
    key = m[C_NEXT]
    while key < m[C_KEYS]:
        entry = m[C_DIR] + key * DIRECTORY
        due = m[entry + D_BLOCK] != 0
        if what != SWAP:
            due = due and (m[entry + D_ACT] <= m[C_EVENTS] or (low != 0 and m[entry + D_CLEAN] <= m[C_FINAL]))
        if due:
            status = serve(m, w, p, c, key, 0, what, low, high)
            if status < 0:
                return status
        key += 1
        m[C_NEXT] = key
    return DONE


@kernel
def group(m: Any, w: Any, c: Any, low: int, high: int) -> int:
    """Chain the events among records ``low`` to ``high`` by key, in order of arrival; how many keys they have."""
    heads, links, touched = w[W_HEADS], w[W_NEXT], w[W_TOUCHED]
    count = 0
    for x in range(high - 1, low - 1, -1):
        if c[I_KIND, x] != EVENT:
            continue
        key = c[I_KEY, x]
        if w[heads + key] == NOWHERE:
            w[touched + count] = key
            count += 1
        w[links + x - low] = w[heads + key]
        w[heads + key] = x
    return count


@kernel
def scan(m: Any, c: Any, low: int, high: int) -> int:
    """Take records in order of arrival until ``high``, or the first that needs what came before it carried out; where it stopped.

    Late events are told apart, and what is seen moves the present.
    """
    safe = m[C_WAITING] == 0
    latest, started = BEGINNING, False
    x = low
    while x < high:
        kind = c[I_KIND, x]
        if kind == EVENT:
            le = c[I_LE, x]
            if le < m[C_EVENTS]:
                m[C_LATE] += 1
                m[C_PLACE] = x
                if m[C_REFUSE]:
                    return LATE
                c[I_KIND, x] = DROPPED
            else:
                started = True
                latest = max(latest, le)
                m[C_CHANGES] += abs(c[I_DIFF, x])
                safe = safe and c[I_DIFF, x] > 0
        elif kind != PUNCTUATION or not safe:
            break
        else:
            promise(m, c[I_LE, x])
        x += 1
    if started:
        m[C_NOW] = max(m[C_NOW], latest + 1)
    return x


@kernel
def chunk(m: Any, w: Any, p: Any, c: Any, low: int, high: int) -> int:
    """Carry out the events among records ``low`` to ``high``, but those that are TAKEN. A status."""
    index = w[W_INDEX]
    if m[C_KEYED] == 0:
        n = listed_events(w, c, low, high)
        return serve(m, w, p, c, 0, n, SERVE, 0, 0) if n else DONE
    count = group(m, w, c, low, high)
    status = DONE
    for k in range(count):
        key = w[w[W_TOUCHED] + k]
        x, n = w[w[W_HEADS] + key], 0
        w[w[W_HEADS] + key] = NOWHERE
        while x != NOWHERE:
            w[index + n] = x
            n += 1
            x = w[w[W_NEXT] + x - low]
        if status < 0:
            continue
        status = serve(m, w, p, c, key, n, SERVE, 0, 0)
        if status >= 0:
            for i in range(n):
                c[I_KIND, w[index + i]] = TAKEN
    return status


@kernel
def groups(m: Any, w: Any, p: Any, c: Any, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` key by key, from touched key C_NEXT on; where it stopped, or a status.

    ``c[1, row - low]`` says of each whether it was not taken. See `group_rows`.
    """
    count = group_rows(m, w, c, low, high)
    stopped = m[C_PLACE]
    first = 0 if m[C_NEXT] == 0 else w[w[W_SORT] + w[W_BATCH] + m[C_NEXT] - 1]
    c[0, F_INDEX] = m[C_W] + 8 * w[W_INDEX]
    while m[C_NEXT] < count:
        end = w[w[W_SORT] + w[W_BATCH] + m[C_NEXT]]
        status = serve(m, w, p, c, w[w[W_TOUCHED] + m[C_NEXT]], end - first, FORWARD, first, end)
        if status < 0:
            return status
        for k in range(m[C_STOPPED], end):
            c[1, w[w[W_INDEX] + k] - low] = 1
        first = end
        m[C_NEXT] += 1
    return int(stopped)


@kernel
def net(w: Any, order: Any, n: int, r: int) -> int:
    """Let entries of the output log that cancel each other have the sign 0; ``order[0]`` sorts them by T. How many are left."""
    s, log = 4 + r, w[W_LOG]
    left = n
    for k in range(n):
        x = log + order[0, k] * s
        j = k - 1
        while j >= 0:
            y = log + order[0, j] * s
            if w[y + L_T] != w[x + L_T]:
                break
            if w[y + L_SIGN] == -w[x + L_SIGN] and w[x + L_SIGN] != 0 and w[y + L_KEY] == w[x + L_KEY]:
                twins = True
                for i in range(L_RE, s):
                    twins = twins and w[x + i] == w[y + i]
                if twins:
                    w[x + L_SIGN] = w[y + L_SIGN] = 0
                    left -= 2
                    break
            j -= 1
    return left


@kernel
def restore(m: Any, w: Any, p: Any, c: Any, key: int, n: int) -> int:
    """A key's first block, with a cover step of ``n`` partial matches: ``c[:, i]`` is ``[start, m, state, register..]``. A status.

    Behind them stands ``[LE, since, 0, ..]``.
    """
    b = grow(m, w, key, n, DONE)
    if b < 0:
        return b
    s, cap = 4 + m[C_R], m[b + H_CAP]
    for column in range(COLUMNS):
        m[b + HEAD + column * cap] = 0
    m[b + HEAD + LE * cap] = m[b + HEAD + REACH * cap] = c[0, n]
    m[b + H_SINCE], m[b + H_CLEANED] = c[1, n], m[C_FINAL]
    for k in range(n):
        row = b + m[b + H_NODES] + k * s
        for i in range(3):
            m[row + i] = c[i, k]
        m[row + N_END] = ALONE
        for i in range(s - N_REG):
            m[row + N_REG + i] = c[3 + i, k]
    m[b + HEAD + ND * cap] = n
    m[b + H_NODE_TOP] = n
    m[b + H_STEPS] = m[b + H_LAST] = 1
    return DONE


@kernel
def sizes(m: Any, w: Any, p: Any) -> int:
    """At W_TEMP: events, partial matches, intervals, matches, pending retractions and keys held, over all keys. O(what is held)."""
    at = w[W_TEMP]
    for i in range(6):
        w[at + i] = 0
    for key in range(m[C_KEYS]):
        b = m[m[C_DIR] + key * DIRECTORY + D_BLOCK]
        if b == 0:
            continue
        size_up(m, w, p, b)
        for row in range(m[b + H_PENDING_TOP]):
            w[at + 4] += m[b + m[b + H_PENDING] + row * (3 + m[C_V]) + P_COPIES]
        w[at + 5] += 1
    return DONE


@kernel
def size_up(m: Any, w: Any, p: Any, b: int) -> None:
    """Add the events, partial matches, intervals and matches of a block to those at W_TEMP."""
    at, v, r, cap, first = w[W_TEMP], m[C_V], m[C_R], m[b + H_CAP], m[b + H_FIRST]
    for place in range(first, m[b + H_LAST]):
        i = m[b + HEAD + place]
        events, nodes, matches = m[b + HEAD + EV * cap + i], m[b + HEAD + ND * cap + i], m[b + HEAD + MT * cap + i]
        for k in range(events & COUNT):
            w[at] += m[b + m[b + H_EVENTS] + ((events >> 24) + k) * (2 + v) + E_COPIES]
        w[at + 1] += nodes & COUNT
        for k in range(nodes & COUNT):
            w[at + 2] += m[b + m[b + H_NODES] + ((nodes >> 24) + k) * (4 + r) + N_END] != ALONE
        m[b + H_FIRST] = place + 1  # of the steps that hold one match the last one counts
        for k in range(matches & COUNT):
            match = b + m[b + H_MATCHES] + ((matches >> 24) + k) * (2 + r)
            w[at + 3] += not (p[A_COUNTED] and held(m, b, i, m, match))
    m[b + H_FIRST] = first


@kernel
def main(m: Any, w: Any, p: Any, c: Any, what: int, low: int, high: int) -> int:
    """Do one thing; see each."""
    if what == RUN:
        return chunk(m, w, p, c, low, high)
    if what == FORWARD:
        return serve(m, w, p, c, 0, high - low, FORWARD, low, high)
    if what == ARRANGE:
        return arrange_rows(m, w, c, m[m[C_DIR] + D_BLOCK], low, high)
    if what == GROUPS:
        return groups(m, w, p, c, low, high)
    if what == DROP:
        drop_arcs(p, low)
        return DONE
    if what == PUSH:
        w[w[W_INDEX]] = 0
        status = serve(m, w, p, c, low, 1, SERVE, 0, 0)
        if status < 0:
            return status
        commit(m, w)
        m[C_SERIAL] += 1
        return int(w[W_LOG_TOP])
    if what == SERVE:
        for k in range(high):
            w[w[W_INDEX] + k] = k
        return serve(m, w, p, c, low, high, SERVE, 0, 0)
    if what in (TICK, CLEAN, SWAP):
        return everyone(m, w, p, c, what, low, high)
    if what == SCAN:
        return scan(m, c, low, high)
    if what == NET:
        return net(w, c, low, high)
    if what == EXPIRE:
        return serve(m, w, p, c, low, 0, EXPIRE, high, 0)
    if what == RESTORE:
        return restore(m, w, p, c, low, high)
    if what == SIZES:
        return sizes(m, w, p)
    if what == ROLLBACK:
        rollback(m, w, 0)
    else:
        commit(m, w)
    return DONE
