"""Records of a batch, and all keys that a punctuation or a change of arcs concerns: served key by key.

    records         0   1   2   3   4          w.pairs    a:1 a:4 | b:0 b:2 b:3      side by side by key, see `by_key`
    key             b   a   b   b   a          w.index    [ 1 4 ] then [ 0 2 3 ]      the records of one key, served at once

    rows in columns, many keys (`group_rows`)
                                               w.index    [ 1 4 | 0 2 3 ]             all keys side by side, each by LE
                                               ends       [ 2, 5 ]                    then each part through `forward`

Only the number of a record is copied.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.append_packed import append_packed
from afa.compiled.kernel.by_key import LATER, RECORD, SOON, digits_of, fetch_ahead, pairs_at, sort_pairs
from afa.compiled.kernel.dispatch import may_append_packed
from afa.compiled.kernel.due_keys import next_due
from afa.compiled.kernel.heap import save_in_full
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel, peek, peek_byte
from afa.compiled.kernel.one_key import serve
from afa.compiled.kernel.order import promise, sort
from afa.compiled.kernel.unpacked import block_of_key

LONG = 64
"""A packed key of so many words is unpacked only if much of it goes."""


@kernel
def serve_due(m: Memory, w: Scratch, p: Program, c: Any, what: int, low: int, high: int) -> int:
    """Serve each key that a punctuation (TICK, CLEAN) or a change of arcs (SWAP) concerns, from key m.next on. Returns a status.

    CLEAN leaves keys alone that it would only make smaller, unless ``low`` says otherwise. ALL_KEYS: it takes all of them.
    CHANGED_KEYS: those that have changed since the call ``high``. IDLE_KEYS: those that a punctuation at ``high`` would have made
    smaller. With IDLE_KEYS and FULL_KEYS a packed key stays of which little would go.
    """
    # Which deadlines of keys have come: the minima over them lead to the keys.
    act = clean = FOREVER
    if what != SWAP:
        act, clean = m.events, m.final if low else BEGINNING
        clean = min(clean, high) if low == IDLE_KEYS else clean
    key = next_due(m, m.next, act, clean)
    while key < m.keys:
        entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
        concerns = what == SWAP or entry.act <= act
        if not concerns:
            concerns = entry.changed >= high if low == CHANGED_KEYS else low < IDLE_KEYS or not little_goes(m, entry)
        if concerns:
            status = serve(m, w, p, c, key, 0, what, low, high)
            if status < 0:
                m.next = key
                return status
        key = next_due(m, key + 1, act, clean)
    return DONE


@kernel
def little_goes(m: Memory, entry: KeyEntry) -> bool:
    """Return whether a key is packed and long, and less of its span of time is final than a quarter of the rest.

    Unpacking it for each step that goes took five times as long as the step, with 40 rows of each key.
    """
    at = PackedKey(-entry.block)
    if at <= 0 or at.head & HEAD_MASK < LONG:
        return False
    latest = PackedStep(at + (at.head >> 2 * HEAD_BITS & HEAD_MASK)).le
    return m.final < entry.clean + (latest - m.final >> 2)


@kernel
def next_waiting(m: Memory, t: int) -> int:
    """Return the first key from m.next on with retractions that wait for insertions before ``t``; m.keys: there is none."""
    key = next_due(m, m.next, t, BEGINNING)
    while key < m.keys and Block(block_of_key(m, key)).pending_top == 0:
        key = next_due(m, key + 1, t, BEGINNING)
    m.next = key + 1
    return key


@kernel
def local_number(m: Memory, key: int) -> int:
    """Return which entry of the directory a key of a record has; NOWHERE: the key is in another store.

    Records number the keys of all stores: with three, key 7 has entry 2 of store 1.
    """
    shards = m.shards
    if shards == 1:
        return key
    return key // shards if key % shards == m.shard else NOWHERE


@kernel
def events_by_key(m: Memory, w: Scratch, c: Arrivals, low: int, high: int) -> int:
    """Put the events among records ``low`` to ``high`` side by side by key, in order of arrival, at w.pairs. Returns how many."""
    # The greatest key, and whether keys come in order already: how many rounds of the sort that takes.
    most, n, before, rises = 0, 0, NOWHERE, True
    for record in range(low, high):
        key = local_number(m, c.key[record]) if c.kind[record] == EVENT else NOWHERE
        if key != NOWHERE:
            rises = rises and key >= before
            most, before = max(most, key), key
    rounds, bits = digits_of(0 if rises else most)
    pairs = pairs_at(w, rounds)
    for record in range(low, high):
        key = local_number(m, c.key[record]) if c.kind[record] == EVENT else NOWHERE
        if key != NOWHERE:
            w[pairs + n] = key << RECORD | record - low
            n += 1
    sort_pairs(w, pairs, n, rounds, bits)
    return n


@kernel
def scan(m: Memory, c: Arrivals, low: int, high: int) -> int:
    """Take records in order of arrival until ``high``, or the first that needs the earlier ones carried out.

    Late events are dropped, or refused; m.now moves behind all that was seen. Returns where it stopped, or LATE.
    """
    # A promise can be taken at once only where nothing waits for it: no retraction, no gap of many keys.
    safe = m.waiting + m.waiting_elsewhere == 0 and (m.gapless == 0 or m.keyed == 0)
    latest, started = BEGINNING, False
    record = low
    while record < high:
        kind = c.kind[record]
        if kind == EVENT:
            le = c.le[record]
            if le < m.events:
                m.late += 1
                m.record = record
                if m.refuse:
                    return LATE
                c.kind[record] = DROPPED
            else:
                started = True
                latest = max(latest, le)
                m.changes += abs(c.diff[record])
                safe = safe and c.diff[record] > 0
        elif kind != PUNCTUATION or not safe:
            break
        else:
            promise(m, c.le[record])
        record += 1
    if started:
        m.now = max(m.now, latest + 1)
    return record


@kernel
def serve_records(m: Memory, w: Scratch, p: Program, c: Arrivals, low: int, high: int) -> int:
    """Serve the events among records ``low`` to ``high`` that are not TAKEN, key by key. Returns a status."""
    # Records of one key side by side; what later keys need is fetched ahead.
    index, count, pairs, first = w.index, events_by_key(m, w, c, low, high), w.pairs, 0
    while first < count:
        key, n = w[pairs + first] >> RECORD, 0
        while first + n < count and w[pairs + first + n] >> RECORD == key:
            w[index + n] = low + (w[pairs + first + n] & (1 << RECORD) - 1)
            n += 1
        fetch_ahead(m, w[pairs + min(first + SOON, count - 1)] >> RECORD, w[pairs + min(first + LATER, count - 1)] >> RECORD)
        status = serve(m, w, p, c, key, n, SERVE, 0, 0)
        if status < 0:
            return status
        for i in range(n):  # INVARIANT: a call that is asked for again does not serve them twice
            c.kind[w[index + i]] = TAKEN
        first += n
    return DONE


@kernel
def rows_to_come(m: Memory, c: TableWords, key: int) -> int:
    """Return about how many rows of a key are still to come in this call; 0: only those at work."""
    if c.counts == 0:
        return 0
    b = Block(KeyEntry(m.dir + key * KeyEntry.SIZE).block)
    held = b.last - b.first if b > 0 else m[-b] >> HEAD_BITS & HEAD_MASK if b < 0 else 0
    return peek(c.counts + 8 * (key * m.shards + m.shard)) - held


@kernel
def serve_each(m: Memory, w: Scratch, p: Program, c: Arrivals, low: int, high: int) -> int:
    """Serve the events among records ``low`` to ``high`` that are not TAKEN, one by one. Returns a status.

    Arrivals.arc of each record becomes the end of the output log after it.
    """
    for record in range(low, high):
        key = local_number(m, c.key[record]) if c.kind[record] == EVENT else NOWHERE
        if key == NOWHERE:
            continue
        w[w.index] = record
        status = serve(m, w, p, c, key, 1, SERVE, 0, 0)
        if status < 0:
            return status
        if m.tied:
            return TIED
        c.kind[record], c.arc[record] = TAKEN, w.log_top
    return DONE


@kernel
def group_rows(m: Memory, w: Scratch, c: TableWords, low: int, high: int) -> tuple[int, int]:
    """Put rows ``low`` to ``high`` of the columns at ``c`` at w.index, those of a key side by side by LE.

    Ends at the first row that is no event, or late. Writes the keys to w.touched, and behind the first half of w.sort where the
    rows of each end. Returns how many keys, and the row at which it ends.
    """
    # Pairs of key and row. This does not branch on the memory of a row: with two memories half the guesses would be wrong.
    le_at, kind_at, key_at, promised, pairs, shards, shard = c.le, c.kind, c.key, m.events, w.pairs, m.shards, m.shard
    n, most, before, latest, falls, ascends, row = 0, 0, 0, BEGINNING, 0, True, low
    while row < high:
        if kind_at != 0 and peek_byte(kind_at + row) != EVENT:
            break
        le = peek(le_at + 8 * row)
        if le < promised:
            break
        ascends = ascends and le >= latest
        latest = le
        code = peek(key_at + 8 * row)
        key = code // shards if shards > 1 else code
        mine = int(code - key * shards == shard)
        w[pairs + n] = key << RECORD | row - low
        n += mine
        key = key * mine + before * (1 - mine)
        falls |= int(key < before)
        most, before = max(most, key), key
        row += 1
    count = place_rows(w, low, n, most if falls else 0)
    if not ascends:
        sort_each(m, w, c, count)
    return count, row


@kernel
def place_rows(w: Scratch, low: int, n: int, most: int) -> int:
    """Put the ``n`` rows at w.pairs, of keys up to ``most``, at w.index; 0: they stand side by side. See `group_rows`."""
    touched, index, ends = w.touched, w.index, w.sort + w.batch
    rounds, bits = digits_of(most)
    pairs = sort_pairs(w, w.pairs, n, rounds, bits)
    count = k = 0
    while k < n:
        key = w[pairs + k] >> RECORD
        while k < n and w[pairs + k] >> RECORD == key:
            w[index + k] = low + (w[pairs + k] & (1 << RECORD) - 1)
            k += 1
        w[touched + count], w[ends + count] = key, k
        count += 1
    return count


@kernel
def sort_each(m: Memory, w: Scratch, c: TableWords, count: int) -> None:
    """Bring the rows of each of ``count`` keys at w.index into the order of LE."""
    index, ends, le_at, first = w.index, w.sort + w.batch, c.le, 0
    for each in range(count):
        end, before, rises = w[ends + each], BEGINNING, True
        for k in range(first, end):
            le = peek(le_at + 8 * w[index + k])
            rises = rises and le >= before
            before = le
        if not rises and m.gapless == 0:  # of two rows with one number the first to come takes effect
            sort(m, w, c, le_at, index + first, w.sort, end - first)
        first = end


@kernel
def forward_keys(m: Memory, w: Scratch, p: Program, c: TableWords, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` key by key, from m.next and m.next_row on.

    Rows that it does not take stand in ``c[1]``, m.left of them. Returns where it stopped, or a status. See `group_rows`.
    """
    # The call goes on where it stopped for want of room: grouping again gives the same groups.
    count, stopped = group_rows(m, w, c, low, high)
    c.index = m.w_at + 8 * w.index
    fast, touched, ends = may_append_packed(m, w, p), w.touched, w.sort + w.batch
    while m.next < count:
        end, key = w[ends + m.next], w[touched + m.next]
        # What the keys after the next few need is fetched ahead.
        m.coming = rows_to_come(m, c, key)
        soon, later = min(m.next + SOON, count - 1), min(m.next + LATER, count - 1)
        fetch_ahead(m, w[touched + soon], w[touched + later])
        # A packed key is appended to as it is; any other, or one whose list changes otherwise, is served in its block.
        status = append_packed(m, w, p, c, key, m.next_row, end) if fast else 0
        if status > 0:
            m.next_row = end
            m.next += 1
            continue
        if status == 0:
            if w.owed > 0 and KeyEntry(m.dir + key * KeyEntry.SIZE).changed == m.serial:
                save_in_full(m, w)
            status = serve(m, w, p, c, key, end - m.next_row, FORWARD, m.next_row, end)
        if status < 0:
            return status
        # A block that was full has grown meanwhile: the same key again. Rows that it refused are left to another way.
        if m.short:
            m.next_row = m.stopped
            continue
        for k in range(m.stopped, end):
            c[1, m.left] = w[w.index + k]
            m.left += 1
        m.next_row = end
        m.next += 1
    return stopped
