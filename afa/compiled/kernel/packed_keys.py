"""Packed keys: the state of a key that has little, as a record of a few words in a cell.

    [head | words of the header by flags | retractions that wait | step | step | ..]                        `PackedKey`
    step   [form | LE | sequence | REACH | events | nodes | matches]                        `PackedStep`
    event  [RE | copies | payload..]      node  [form | start | until | end | register..]      match  [T | until | register..]

    one event with its partial match, two fields, one word of register:
           [head][form  LE  price  change  [form  register]]                               7 words, 56 bytes

    the block   LE 10, RE 70, p (start 10, until 70)   form of the step: RE = LE + 60; of the node: start is here, until is RE

A packed key is opened in the *unpack buffer*, a block of its own kind, and packed anew from there. Its steps stand in their order;
it has only words that say something. A step is the last thing in it, so that another one can be written behind it.
"""

from __future__ import annotations

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.native_call import kernel

SHIFT = 10
"""By how many bits a long span is shifted; its lowest bit says so. Seconds in nanoseconds end in so many zeros."""


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
def first_end(m: Memory, step: PackedStep) -> int:
    """Return RE of the first event of the step at an address."""
    form, le = step.form, step.le
    forms = form >> STEP_FORMS
    if forms & SF_FOREVER:
        return FOREVER
    if forms & SF_SPAN:
        return span_end(form, le)
    return step.rest[(m.ordered != 0) + (forms & SF_REACH != 0)]


# -- writing -----------------------------------------------------------------------------------------------------------------


@kernel
def write_record(m: Memory, w: Scratch, b: Block, to: PackedKey, limit: int) -> int:
    """Write the state of a block as a packed key. Returns how many words, or 0 where they would be more than ``limit``.

    *Requires* room for ``limit`` words and those of a row.
    """
    first, last = b.first, b.last
    n, waiting = last - first, b.pending_top
    size, order, begin = PendingRow.payload + m.payload_words, b.order, 0
    if 2 * n + waiting * size >= limit or n > w.places:
        return 0
    # The header, as far as it says something; retractions; steps. w.order has the begin of each, for nodes that began there.
    stones = 0
    for place in range(first, last):
        stones += b.events_of[order[place]].count == 0
    flags = flags_of(m, b, stones)
    at = write_flags(m, b, to, flags)
    copy(m, b + b.pending, m, at, waiting * size)
    at += waiting * size
    for place in range(first, last):
        w[w.order + place - first] = begin = at - to
        at = write_step(m, w, b, order[place], to, at, limit, place - first)
        if at == 0 or at - to > limit:
            return 0
    if at - to > limit:
        return 0
    # INVARIANT: the head tells where the last step begins: `append_packed` appends behind it.
    to.head = (at - to) | n << HEAD_BITS | begin << 2 * HEAD_BITS | waiting << 3 * HEAD_BITS | flags << HEAD_FLAGS
    return at - to


@kernel
def flags_of(m: Memory, b: Block, stones: int) -> int:
    """Return which words of its header a packed key must have. ``stones``: how many steps have no event.

    Three of them spare work and change no output. Block.thinned: the key is not pruned again before it has grown. Block.cleaned
    without a stone: it is not cleaned again. Block.since of a cover that was loaded and not cleaned yet: time-outs before have
    fired, and would only make rows that are there. With stones Block.cleaned tells which of them is ``cover``.
    """
    flags = ZF_RUNS if b.runs else 0
    if stones or b.cleaned > m.known:
        flags |= ZF_CLEANED
    if stones and b.since != b.cleaned:
        flags |= ZF_SINCE
    if b.pruned != BEGINNING:
        flags |= ZF_PRUNED
    if b.thinned:
        flags |= ZF_THINNED
    if m.gapless:
        flags |= ZF_TOLD
        if b.gap != FOREVER:
            flags |= ZF_GAP
        if b.over:
            flags |= ZF_OVER
    return flags


@kernel
def write_flags(m: Memory, b: Block, to: int, flags: int) -> int:
    """Write the words of a header that flags name. Returns where they end."""
    at = to + PackedKey.rest
    if flags <= ZF_RUNS:
        return at
    for name in range(Block.cleaned, HEAD):
        if flags >> name - Block.runs & 1:
            m[at] = m[b + name]
            at += 1
    return at


@kernel
def write_step(m: Memory, w: Scratch, b: Block, i: int, to: int, at: PackedStep, limit: int, before: int) -> int:
    """Write step ``i`` at an address; ``before``: how many stand before it. Returns where it ends, or 0: there is no room."""
    v, r, step = m.payload_words, m.register_words, at
    le, events, nodes = b.le[i], b.events_of[i], b.nodes_of[i]
    matches, reach = b.matches_of[i], b.reach[i]
    if events.count + nodes.count + matches.count > STEP_COUNT:
        return 0
    # Its form, LE, sequence, reach.
    form = event_forms(m, b, le, events)
    at.le = le
    at += PackedStep.rest
    if m.ordered:
        m[at] = b.seq[i]
        at += 1
    if reach != le:
        form |= SF_REACH << STEP_FORMS
        m[at] = reach
        at += 1
    # Its events: RE and copies where the form does not tell them.
    size = EventRow.payload + v
    for k in range(events.count):
        row = EventRow(b + b.events + (events.first + k) * size)
        if form & ((SF_FOREVER | SF_SPAN) << STEP_FORMS) == 0:
            m[at] = row.re
            at += 1
        if form & (SF_COPIES << STEP_FORMS):
            m[at] = row.copies
            at += 1
        copy(m, row.payload, m, at, v)
        at += v
        if at - to > limit:
            return 0
    # Its nodes; one that begins here looks for the form of the events.
    step.form = form | events.count
    at = PackedStep(write_nodes(m, w, b, nodes, to, at, limit, before))
    if at == 0 or matches == 0:
        step.form = form | events.count | nodes.count << STEP_BITS
        return at
    # Its matches: T, where not all have that of the step.
    here, width = True, MatchRow.register + r
    rows = b + b.matches + matches.first * width
    for k in range(matches.count):
        here = here and MatchRow(rows + k * width).t == le
    if here:
        form |= SF_HERE << STEP_FORMS
    for k in range(matches.count):
        if not here:
            m[at] = MatchRow(rows + k * width).t
            at += 1
        copy(m, rows + k * width + MatchRow.re, m, at, width - MatchRow.re)
        at += width - MatchRow.re
        if at - to > limit:
            return 0
    step.form = form | events.count | nodes.count << STEP_BITS | matches.count << 2 * STEP_BITS
    return at


@kernel
def event_forms(m: Memory, b: Block, le: int, events: Slice) -> int:
    """Return how a step stores RE and copies of its events: SF_.., and the span."""
    size, n = EventRow.payload + m.payload_words, events.count
    if n == 0:
        return 0
    row = EventRow(b + b.events + events.first * size)
    re, same, forms = row.re, True, 0
    for _ in range(n):
        same = same and row.re == re
        if row.copies != 1:
            forms = SF_COPIES
        row += size
    if same and re == FOREVER:
        forms |= SF_FOREVER
    elif same:
        span = span_of(le, re)
        if span >= 0:
            return (forms | SF_SPAN) << STEP_FORMS | span << STEP_SPANS
    return forms << STEP_FORMS


@kernel
def small_register(m: Memory, at: int) -> int:
    """Return the words of a register side by side, m.small bits each; NOWHERE if one of them needs more."""
    bits, found = m.small, 0
    half = 1 << bits >> 1
    if bits == 0:
        return NOWHERE
    for i in range(m.register_words):
        word = m[at + i]
        if word < -half or word >= half:
            return NOWHERE
        found |= (word + half) << i * bits
    return found


@kernel
def write_nodes(m: Memory, w: Scratch, b: Block, nodes: Slice, to: int, at: int, limit: int, before: int) -> int:
    """Write the nodes of a step, where ``before`` steps stand before it. Returns where they end, or 0: there is no room."""
    s, j, steps = NodeRow.register + m.register_words, 0, w.order
    row = NodeRow(b + b.nodes + nodes.first * s)
    # Nodes are in order of start, as steps are: one pass over both finds where the step of each start begins.
    for _ in range(nodes.count):
        start = row.start
        while j < before and PackedStep(to + w[steps + j]).le < start:
            j += 1
        begin = w[steps + j]
        at = write_node(m, row, at, begin if PackedStep(to + begin).le == start else 0, to + begin)
        row += s
        if at == 0 or at - to > limit:
            return 0
    return at


@kernel
def write_node(m: Memory, row: NodeRow, at: int, begin: int, step: PackedStep) -> int:
    """Write the row of a node. ``begin``: where the step of its start is, 0: not in the record; ``step``: where to read that step.

    Returns where it ends, or 0: no record can have it.
    """
    r, re, end, state, form_at, forms = m.register_words, row.until, row.end, row.state, PackedNode(at), 0
    at += PackedNode.rest
    if begin == 0:
        m[at] = row.start
        at += 1
    if begin == 0 or step.form & STEP_COUNT == 0 or first_end(m, step) != re:
        forms = VF_M
        m[at] = re
        at += 1
    if end == OPEN:
        forms |= VF_OPEN
    elif end != ALONE:
        forms |= VF_END
        m[at] = end
        at += 1
    # The register: in the form, where it is small.
    small = small_register(m, row.register)
    if small != NOWHERE:
        forms |= VF_SMALL | small << NODE_FORMS
    else:
        copy(m, row.register, m, at, r)
        at += r
    form_at.form = state | begin << NODE_STATES | forms << (NODE_STATES + NODE_BEGINS)
    return 0 if state >> NODE_STATES else at


# -- reading -----------------------------------------------------------------------------------------------------------------


@kernel
def read_record(m: Memory, at: PackedKey, b: Block) -> None:
    """Read a packed key into an empty block that has room for it."""
    # The same order as `write_record`: header, retractions, steps.
    head = at.head
    n, waiting, flags = head >> HEAD_BITS & HEAD_MASK, head >> 3 * HEAD_BITS & HEAD_MASK, head >> HEAD_FLAGS
    size = PendingRow.payload + m.payload_words
    x = PackedStep(read_flags(m, at, b, flags))
    copy(m, x, m, b + b.pending, waiting * size)
    x += waiting * size
    b.pending_top = waiting
    if n and flags & ZF_CLEANED == 0 and x.le < m.final:
        b.cleaned = BEGINNING  # steps before m.final are yet to be dropped
    for i in range(n):
        x = PackedStep(read_step(m, at, x, b, i))
    b.last = b.steps = n


@kernel
def read_flags(m: Memory, at: int, b: Block, flags: int) -> int:
    """Set the words of an empty header that a packed key has. Returns where those of the key end."""
    x = at + PackedKey.rest
    b.runs, b.cleaned = flags & ZF_RUNS, m.final
    if flags <= ZF_RUNS:
        return x
    for name in range(Block.cleaned, HEAD):
        if flags >> name - Block.runs & 1:
            m[b + name] = m[x]
            x += 1
    if flags & (ZF_CLEANED | ZF_SINCE) == ZF_CLEANED:
        b.since = b.cleaned
    return x


@kernel
def read_step(m: Memory, at: int, x: PackedStep, b: Block, i: int) -> int:
    """Read the step at ``x`` of the record at ``at`` as step ``i``. Returns where it ends."""
    v, r, form, le = m.payload_words, m.register_words, x.form, x.le
    forms, n = form >> STEP_FORMS, form & STEP_COUNT
    x += PackedStep.rest
    b.order[i], b.le[i] = i, le
    b.seq[i], b.reach[i] = 0, le
    if m.ordered:
        b.seq[i] = m[x]
        x += 1
    if forms & SF_REACH:
        b.reach[i] = m[x]
        x += 1
    # Its events.
    top = b.event_top
    row, re = EventRow(b + b.events + top * (EventRow.payload + v)), FOREVER
    if forms & SF_SPAN:
        re = span_end(form, le)
    for _ in range(n):
        if forms & (SF_FOREVER | SF_SPAN) == 0:
            re = m[x]
            x += 1
        row.re, row.copies = re, 1
        if forms & SF_COPIES:
            row.copies = m[x]
            x += 1
        copy(m, x, m, row.payload, v)
        x += v
        row += EventRow.payload + v
    b.events_of[i] = Slice(top, n) if n else 0
    b.event_top = top + n
    # Its nodes.
    n, top = form >> STEP_BITS & STEP_COUNT, b.node_top
    b.nodes_of[i] = Slice(top, n) if n else 0
    b.node_top = top + n
    x = PackedStep(read_nodes(m, at, x, b + b.nodes + top * (NodeRow.register + r), n))
    # Its matches.
    n, top = form >> 2 * STEP_BITS & STEP_COUNT, b.match_top
    b.matches_of[i] = Slice(top, n) if n else 0
    b.match_top = top + n
    match = MatchRow(b + b.matches + top * (MatchRow.register + r))
    for _ in range(n):
        match.t = le
        if forms & SF_HERE == 0:
            match.t = m[x]
            x += 1
        copy(m, x, m, match + MatchRow.re, MatchRow.register + r - MatchRow.re)
        x += MatchRow.register + r - MatchRow.re
        match += MatchRow.register + r
    return x


@kernel
def read_nodes(m: Memory, at: int, x: PackedNode, row: NodeRow, n: int) -> int:
    """Read ``n`` nodes at ``x`` of the record at ``at`` into rows. Returns where they end."""
    r = m.register_words
    for _ in range(n):
        form = x.form
        begin, forms = form >> NODE_STATES & MOST, form >> (NODE_STATES + NODE_BEGINS)
        x += PackedNode.rest
        row.state, row.end = form & ((1 << NODE_STATES) - 1), ALONE
        if begin:
            row.start = PackedStep(at + begin).le
        else:
            row.start = m[x]
            x += 1
        if forms & VF_M:
            row.until = m[x]
            x += 1
        else:
            row.until = first_end(m, at + begin)
        if forms & VF_OPEN:
            row.end = OPEN
        elif forms & VF_END:
            row.end = m[x]
            x += 1
        if forms & VF_SMALL:
            small, bits = form >> NODE_SMALL, m.small
            for i in range(r):
                row.register[i] = (small >> i * bits & ((1 << bits) - 1)) - (1 << bits >> 1)
        else:
            copy(m, x, m, row.register, r)
            x += r
        row += NodeRow.register + r
    return x
