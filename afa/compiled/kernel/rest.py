"""Keys at rest: the state of a key that holds little, as a record of a few words in a cell.

    [head | H_* by flags | retractions that wait | step | step | ..]                        words Z_*
    step   [form | LE | sequence | REACH | events | nodes | matches]                        words S_*, those that say something
    event  [RE | copies | payload..]      node  [form | start | m | end | register..]      match  [T | m | register..]

    one event with its partial match, two fields, one word of register:
           [head][form  LE  price  change  [form  register]]                               7 words, 56 bytes

    the block   LE 10, RE 70, p (start 10, m 70)      form of the step: RE = LE + 60; of the node: start is at this step, m is RE

A record is opened on a block of its own kind, the *desk*, and what becomes of it there is written down anew. Steps stand in their
order; only what stands for something is in it. A step is the last thing in it, so that another one can be written behind it.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel

SHIFT = 10
"""By how many bits a long span is shifted: its lowest bit says so. Spans of seconds in nanoseconds end in so many zeros."""


@kernel
def span_of(le: int, re: int) -> int:
    """Return RE less LE as a step's form has it, or NOWHERE."""
    d = re - le
    if d >= 0 and d < 1 << (SPAN_BITS - 1):
        return d << 1
    if d >= 0 and d & ((1 << SHIFT) - 1) == 0 and d >> SHIFT < 1 << (SPAN_BITS - 1):
        return d >> SHIFT << 1 | 1
    return NOWHERE


@kernel
def span_end(form: int, le: int) -> int:
    """Return RE by the span in a step's form."""
    span = form >> STEP_SPANS
    d = span >> 1
    if span & 1:
        d = d << SHIFT
    return le + d


@kernel
def first_end(m: Any, step: int) -> int:
    """Return RE of the first event of the step at an address."""
    form, le = m[step + S_FORM], m[step + S_LE]
    forms = form >> STEP_FORMS
    if forms & SF_FOREVER:
        return FOREVER
    if forms & SF_SPAN:
        return span_end(form, le)
    return int(m[step + S_WORDS + (m[C_ORDERED] != 0) + ((forms & SF_REACH) != 0)])


# -- writing -----------------------------------------------------------------------------------------------------------------


@kernel
def write_record(m: Any, w: Any, b: int, to: int, limit: int) -> int:
    """Write the state of a block as a record. Returns how many words, or 0 where they would be more than ``limit``.

    *Requires* room for so many words more as a row may have.
    """
    first, last, cap = m[b + H_FIRST], m[b + H_LAST], m[b + H_CAP]
    n, waiting = last - first, m[b + H_PENDING_TOP]
    size, order, begin = Q_WORDS + m[C_V], b + HEAD, 0
    if 2 * n + waiting * size >= limit or n > w[W_PLACES]:
        return 0
    stones = 0
    for place in range(first, last):
        stones += m[b + HEAD + EV * cap + m[order + place]] & COUNT == 0
    flags = flags_of(m, b, stones)
    at = write_flags(m, b, to, flags)
    copy(m, b + m[b + H_PENDING], m, at, waiting * size)
    at += waiting * size
    for place in range(first, last):
        w[w[W_ORDER] + place - first] = begin = at - to
        at = write_step(m, w, b, m[order + place], to, at, limit, place - first)
        if at == 0 or at - to > limit:
            return 0
    if at - to > limit:
        return 0
    m[to + Z_HEAD] = (at - to) | n << HEAD_BITS | begin << 2 * HEAD_BITS | waiting << 3 * HEAD_BITS | flags << HEAD_FLAGS
    return at - to


@kernel
def flags_of(m: Any, b: int, stones: int) -> int:
    """Return which words of a header a record must have. ``stones``: how many steps have no event.

    Three of them spare work and change no output: H_THINNED (the key is not pruned again before it has grown), H_CLEANED where
    there is no stone (it is not cleaned again), H_SINCE of a cover that was loaded and not cleaned yet (what was due before has
    been carried out, and would only make rows that are there). With stones H_CLEANED tells which of them is ``cover``.
    """
    flags = ZF_RUNS if m[b + H_RUNS] else 0
    if stones or m[b + H_CLEANED] > m[C_KNOWN]:
        flags |= ZF_CLEANED
    if stones and m[b + H_SINCE] != m[b + H_CLEANED]:
        flags |= ZF_SINCE
    if m[b + H_PRUNED] != BEGINNING:
        flags |= ZF_PRUNED
    if m[b + H_THINNED]:
        flags |= ZF_THINNED
    if m[C_GAPLESS]:
        flags |= ZF_TOLD
        if m[b + H_GAP] != FOREVER:
            flags |= ZF_GAP
        if m[b + H_OVER]:
            flags |= ZF_OVER
    return flags


@kernel
def write_flags(m: Any, b: int, to: int, flags: int) -> int:
    """Write the words of a header that flags name. Returns what follows on them."""
    at = to + Z_WORDS
    if flags <= ZF_RUNS:
        return at
    flag = ZF_CLEANED
    for name in (H_CLEANED, H_SINCE, H_PRUNED, H_THINNED, H_TOLD, H_GAP, H_OVER):
        if flags & flag:
            m[at] = m[b + name]
            at += 1
        flag = flag << 1
    return at


@kernel
def write_step(m: Any, w: Any, b: int, i: int, to: int, at: int, limit: int, before: int) -> int:
    """Write step ``i`` at an address; ``before``: how many stand before it. Returns what follows, or 0: there is no room."""
    cap, v, r, step = m[b + H_CAP], m[C_V], m[C_R], at
    le, events, nodes = m[b + HEAD + LE * cap + i], m[b + HEAD + EV * cap + i], m[b + HEAD + ND * cap + i]
    matches, reach = m[b + HEAD + MT * cap + i], m[b + HEAD + REACH * cap + i]
    if (events & COUNT) + (nodes & COUNT) + (matches & COUNT) > STEP_COUNT:
        return 0
    form = event_forms(m, b, le, events)
    m[at + S_LE] = le
    at += S_WORDS
    if m[C_ORDERED]:
        m[at] = m[b + HEAD + SEQ * cap + i]
        at += 1
    if reach != le:
        form |= SF_REACH << STEP_FORMS
        m[at] = reach
        at += 1
    size = E_WORDS + v
    for k in range(events & COUNT):
        row = b + m[b + H_EVENTS] + ((events >> 24) + k) * size
        if form & ((SF_FOREVER | SF_SPAN) << STEP_FORMS) == 0:
            m[at] = m[row + E_RE]
            at += 1
        if form & (SF_COPIES << STEP_FORMS):
            m[at] = m[row + E_COPIES]
            at += 1
        copy(m, row + E_WORDS, m, at, v)
        at += v
        if at - to > limit:
            return 0
    m[step + S_FORM] = form | (events & COUNT)  # nodes that begin here look for it
    at = write_nodes(m, w, b, nodes, to, at, limit, before)
    if at == 0 or matches == 0:
        m[step + S_FORM] = form | (events & COUNT) | (nodes & COUNT) << STEP_BITS
        return at
    here, width = True, M_REG + r
    rows = b + m[b + H_MATCHES] + (matches >> 24) * width
    for k in range(matches & COUNT):
        here = here and m[rows + k * width + M_T] == le
    if here:
        form |= SF_HERE << STEP_FORMS
    for k in range(matches & COUNT):
        if not here:
            m[at] = m[rows + k * width + M_T]
            at += 1
        copy(m, rows + k * width + M_RE, m, at, width - M_RE)
        at += width - M_RE
        if at - to > limit:
            return 0
    m[step + S_FORM] = form | (events & COUNT) | (nodes & COUNT) << STEP_BITS | (matches & COUNT) << 2 * STEP_BITS
    return at


@kernel
def event_forms(m: Any, b: int, le: int, events: int) -> int:
    """Return how a step writes down RE and copies of its events: SF_*, and the span."""
    size, n = E_WORDS + m[C_V], events & COUNT
    if n == 0:
        return 0
    row = b + m[b + H_EVENTS] + (events >> 24) * size
    re, same, forms = m[row + E_RE], True, 0
    for k in range(n):
        same = same and m[row + k * size + E_RE] == re
        if m[row + k * size + E_COPIES] != 1:
            forms = SF_COPIES
    if same and re == FOREVER:
        forms |= SF_FOREVER
    elif same:
        span = span_of(le, re)
        if span >= 0:
            return (forms | SF_SPAN) << STEP_FORMS | span << STEP_SPANS
    return forms << STEP_FORMS


@kernel
def small_register(m: Any, at: int) -> int:
    """Return the words of a register side by side, C_SMALL bits each, or NOWHERE if one of them has more."""
    bits, found = m[C_SMALL], 0
    half = 1 << bits >> 1
    if bits == 0:
        return NOWHERE
    for i in range(m[C_R]):
        word = m[at + i]
        if word < -half or word >= half:
            return NOWHERE
        found |= (word + half) << i * bits
    return found


@kernel
def write_nodes(m: Any, w: Any, b: int, nodes: int, to: int, at: int, limit: int, before: int) -> int:
    """Write the nodes of a step, where ``before`` steps stand before it. Returns what follows, or 0: there is no room."""
    r, j, steps = m[C_R], 0, w[W_ORDER]
    s = N_REG + r
    row = b + m[b + H_NODES] + (nodes >> 24) * s
    for _ in range(nodes & COUNT):
        start = m[row + N_START]
        while j < before and m[to + w[steps + j] + S_LE] < start:
            j += 1
        begin = w[steps + j]
        at = write_node(m, row, at, begin if m[to + begin + S_LE] == start else 0, to + begin)
        row += s
        if at == 0 or at - to > limit:
            return 0
    return at


@kernel
def write_node(m: Any, row: int, at: int, begin: int, step: int) -> int:
    """Write the row of a node; ``begin``: where the step of its start is in the record, 0: not there; it is to be read at ``step``.

    Returns what follows, or 0: no record has it.
    """
    r, re, end, state, form_at, forms = m[C_R], m[row + N_M], m[row + N_END], m[row + N_STATE], at, 0
    at += V_WORDS
    if begin == 0:
        m[at] = m[row + N_START]
        at += 1
    if begin == 0 or m[step + S_FORM] & STEP_COUNT == 0 or first_end(m, step) != re:
        forms = VF_M
        m[at] = re
        at += 1
    if end == OPEN:
        forms |= VF_OPEN
    elif end != ALONE:
        forms |= VF_END
        m[at] = end
        at += 1
    small = small_register(m, row + N_REG)
    if small != NOWHERE:
        forms |= VF_SMALL | small << NODE_FORMS
    else:
        copy(m, row + N_REG, m, at, r)
        at += r
    m[form_at + V_FORM] = state | begin << NODE_STATES | forms << (NODE_STATES + NODE_BEGINS)
    return 0 if state >> NODE_STATES else at


# -- reading -----------------------------------------------------------------------------------------------------------------


@kernel
def read_record(m: Any, at: int, b: int) -> None:
    """Make what a record says the state of a block that has room for it."""
    head = m[at + Z_HEAD]
    n, waiting, flags = head >> HEAD_BITS & HEAD_MASK, head >> 3 * HEAD_BITS & HEAD_MASK, head >> HEAD_FLAGS
    size = Q_WORDS + m[C_V]
    x = read_flags(m, at, b, flags)
    copy(m, x, m, b + m[b + H_PENDING], waiting * size)
    x += waiting * size
    m[b + H_PENDING_TOP] = waiting
    m[b + H_EVENT_TOP] = m[b + H_NODE_TOP] = m[b + H_MATCH_TOP] = 0
    if n and flags & ZF_CLEANED == 0 and m[x + S_LE] < m[C_FINAL]:
        m[b + H_CLEANED] = BEGINNING  # what comes before that is to be dropped
    for i in range(n):
        x = read_step(m, at, x, b, i)
    m[b + H_FIRST], m[b + H_LAST], m[b + H_STEPS] = 0, n, n


@kernel
def read_flags(m: Any, at: int, b: int, flags: int) -> int:
    """Set the words of a header that a record has, or does not have. Returns what follows on them."""
    x = at + Z_WORDS
    m[b + H_RUNS] = flags & ZF_RUNS
    m[b + H_CLEANED], m[b + H_SINCE], m[b + H_PRUNED], m[b + H_THINNED] = m[C_FINAL], BEGINNING, BEGINNING, 0
    m[b + H_TOLD], m[b + H_GAP], m[b + H_OVER] = m[C_EVENTS], FOREVER, 0
    if flags <= ZF_RUNS:
        return x
    flag = ZF_CLEANED
    for name in (H_CLEANED, H_SINCE, H_PRUNED, H_THINNED, H_TOLD, H_GAP, H_OVER):
        if flags & flag:
            m[b + name] = m[x]
            x += 1
        flag = flag << 1
    if flags & (ZF_CLEANED | ZF_SINCE) == ZF_CLEANED:
        m[b + H_SINCE] = m[b + H_CLEANED]
    return x


@kernel
def read_step(m: Any, at: int, x: int, b: int, i: int) -> int:
    """Read the step at ``x`` of the record at ``at`` as step ``i``. Returns what follows on it."""
    cap, v, r, form, le = m[b + H_CAP], m[C_V], m[C_R], m[x + S_FORM], m[x + S_LE]
    forms, n = form >> STEP_FORMS, form & STEP_COUNT
    x += S_WORDS
    m[b + HEAD + i], m[b + HEAD + LE * cap + i] = i, le
    m[b + HEAD + SEQ * cap + i], m[b + HEAD + REACH * cap + i] = 0, le
    if m[C_ORDERED]:
        m[b + HEAD + SEQ * cap + i] = m[x]
        x += 1
    if forms & SF_REACH:
        m[b + HEAD + REACH * cap + i] = m[x]
        x += 1
    top = m[b + H_EVENT_TOP]
    row, re = b + m[b + H_EVENTS] + top * (E_WORDS + v), FOREVER
    if forms & SF_SPAN:
        re = span_end(form, le)
    for _ in range(n):
        if forms & (SF_FOREVER | SF_SPAN) == 0:
            re = m[x]
            x += 1
        m[row + E_RE], m[row + E_COPIES] = re, 1
        if forms & SF_COPIES:
            m[row + E_COPIES] = m[x]
            x += 1
        copy(m, x, m, row + E_WORDS, v)
        x += v
        row += E_WORDS + v
    m[b + HEAD + EV * cap + i] = top << 24 | n if n else 0
    m[b + H_EVENT_TOP] = top + n
    n, top = form >> STEP_BITS & STEP_COUNT, m[b + H_NODE_TOP]
    m[b + HEAD + ND * cap + i] = top << 24 | n if n else 0
    m[b + H_NODE_TOP] = top + n
    x = read_nodes(m, at, x, b + m[b + H_NODES] + top * (N_REG + r), n)
    n, top = form >> 2 * STEP_BITS & STEP_COUNT, m[b + H_MATCH_TOP]
    m[b + HEAD + MT * cap + i] = top << 24 | n if n else 0
    m[b + H_MATCH_TOP] = top + n
    row = b + m[b + H_MATCHES] + top * (M_REG + r)
    for _ in range(n):
        m[row + M_T] = le
        if forms & SF_HERE == 0:
            m[row + M_T] = m[x]
            x += 1
        copy(m, x, m, row + M_RE, M_REG + r - M_RE)
        x += M_REG + r - M_RE
        row += M_REG + r
    return x


@kernel
def read_nodes(m: Any, at: int, x: int, row: int, n: int) -> int:
    """Read ``n`` nodes at ``x`` of the record at ``at`` into rows. Returns what follows on them."""
    r = m[C_R]
    for _ in range(n):
        form = m[x + V_FORM]
        begin, forms = form >> NODE_STATES & MOST, form >> (NODE_STATES + NODE_BEGINS)
        x += V_WORDS
        m[row + N_STATE], m[row + N_END] = form & ((1 << NODE_STATES) - 1), ALONE
        if begin:
            m[row + N_START] = m[at + begin + S_LE]
        else:
            m[row + N_START] = m[x]
            x += 1
        if forms & VF_M:
            m[row + N_M] = m[x]
            x += 1
        else:
            m[row + N_M] = first_end(m, at + begin)
        if forms & VF_OPEN:
            m[row + N_END] = OPEN
        elif forms & VF_END:
            m[row + N_END] = m[x]
            x += 1
        if forms & VF_SMALL:
            small, bits = form >> NODE_SMALL, m[C_SMALL]
            for i in range(r):
                m[row + N_REG + i] = (small >> i * bits & ((1 << bits) - 1)) - (1 << bits >> 1)
        else:
            copy(m, x, m, row + N_REG, r)
            x += r
        row += N_REG + r
    return x
