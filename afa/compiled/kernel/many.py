"""Records of a batch, and all keys that a punctuation or a change of arcs concerns: a unit of work each.

    records  x      0   1   2   3   4          w.pairs    a:1 a:4 | b:0 b:2 b:3      side by side by key, see `by_key`
    key             b   a   b   b   a          w.index    [ 1 4 ] then [ 0 2 3 ]      the records of one key, served as one unit

    rows in columns, many keys (`group_rows`)
                                               w.index    [ 1 4 | 0 2 3 ]             all keys side by side, each by LE
                                               ends       [ 2, 5 ]                    then each part through `forward`

Nothing of a record is copied but its number.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.append_packed import append_packed, may_append_packed
from afa.compiled.kernel.by_key import LATER, RECORD, SOON, digits_of, fetch_ahead, fetch_row, pairs_at, sort_pairs
from afa.compiled.kernel.due_keys import next_due
from afa.compiled.kernel.heap import save_in_full
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel, peek, peek_byte
from afa.compiled.kernel.one_key import serve
from afa.compiled.kernel.order import promise, sort
from afa.compiled.kernel.unpacked import block_of_key

LONG = 64
"""The words of a record that is opened only if much of it goes."""


@kernel
def serve_due(m: Memory, w: Scratch, p: Program, c: Any, what: int, low: int, high: int) -> int:
    """Serve each key that a punctuation (TICK, CLEAN) or a change of arcs (SWAP) concerns, from key m.next on. Returns a status.

    CLEAN leaves those keys alone that it would only make smaller, but with ``low`` = ALL_KEYS; with CHANGED_KEYS it takes those of
    them that have changed since the call ``high``, with IDLE_KEYS those that a punctuation at ``high`` would have made smaller.
    With IDLE_KEYS and FULL_KEYS records stay of which little would go.
    """
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
    """Return whether a key has a long record, of whose span of time less is final than a quarter of what is not.

    To open it for each step that goes took five times as long as the step, where 40 rows of each key are held.
    """
    at = PackedKey(-entry.block)
    if at <= 0 or at.head & HEAD_MASK < LONG:
        return False
    latest = PackedStep(at + (at.head >> 2 * HEAD_BITS & HEAD_MASK)).le
    return bool(m.final < entry.clean + (latest - m.final >> 2))


@kernel
def next_waiting(m: Memory, t: int) -> int:
    """Return the first key from m.next on that has retractions waiting for insertions before ``t``; m.keys: there is none."""
    key = next_due(m, m.next, t, BEGINNING)
    while key < m.keys and Block(block_of_key(m, key)).pending_top == 0:
        key = next_due(m, key + 1, t, BEGINNING)
    m.next = key + 1
    return key


@kernel
def own(m: Memory, key: int) -> int:
    """Return the number that a key of a record has in this memory; NOWHERE: it is in another one.

    Records number the keys of all memories: with three, key 7 is key 2 of memory 1.
    """
    shards = m.shards
    if shards == 1:
        return key
    return key // shards if key % shards == m.shard else NOWHERE


@kernel
def listed_events(w: Scratch, c: Arrivals, low: int, high: int) -> int:
    """Put the events among records ``low`` to ``high`` at w.index. Returns how many."""
    index, n = w.index, 0
    for x in range(low, high):
        if c.kind[x] == EVENT:
            w[index + n] = x
            n += 1
    return n


@kernel
def events_by_key(m: Memory, w: Scratch, c: Arrivals, low: int, high: int) -> int:
    """Put the events among records ``low`` to ``high`` side by side by key, in order of arrival, at w.pairs. Returns how many."""
    most, n, before, rises = 0, 0, NOWHERE, True
    for x in range(low, high):
        key = own(m, c.key[x]) if c.kind[x] == EVENT else NOWHERE
        if key != NOWHERE:
            rises = rises and key >= before
            most, before = max(most, key), key
    rounds, bits = digits_of(0 if rises else most)
    pairs = pairs_at(w, rounds)
    for x in range(low, high):
        key = own(m, c.key[x]) if c.kind[x] == EVENT else NOWHERE
        if key != NOWHERE:
            w[pairs + n] = key << RECORD | x - low
            n += 1
    sort_pairs(w, pairs, n, rounds, bits)
    return n


@kernel
def scan(m: Memory, c: Arrivals, low: int, high: int) -> int:
    """Take records in order of arrival until ``high``, or the first that needs what came before it carried out.

    Late events are told apart, and what is seen moves the present. Returns where it stopped, or LATE.
    """
    safe = m.waiting == 0 and (m.gapless == 0 or m.keyed == 0)
    latest, started = BEGINNING, False
    x = low
    while x < high:
        kind = c.kind[x]
        if kind == EVENT:
            le = c.le[x]
            if le < m.events:
                m.late += 1
                m.place = x
                if m.refuse:
                    return LATE
                c.kind[x] = DROPPED
            else:
                started = True
                latest = max(latest, le)
                m.changes += abs(c.diff[x])
                safe = safe and c.diff[x] > 0
        elif kind != PUNCTUATION or not safe:
            break
        else:
            promise(m, c.le[x])
        x += 1
    if started:
        m.now = max(m.now, latest + 1)
    return x


@kernel
def serve_records(m: Memory, w: Scratch, p: Program, c: Arrivals, low: int, high: int) -> int:
    """Serve the events among records ``low`` to ``high``, key by key, but those that are TAKEN. Returns a status."""
    index = w.index
    if m.keyed == 0:
        n = listed_events(w, c, low, high)
        return serve(m, w, p, c, 0, n, SERVE, 0, 0) if n else DONE
    count, pairs, first = events_by_key(m, w, c, low, high), w.pairs, 0
    while first < count:
        key, n = w[pairs + first] >> RECORD, 0
        while first + n < count and w[pairs + first + n] >> RECORD == key:
            w[index + n] = low + (w[pairs + first + n] & (1 << RECORD) - 1)
            n += 1
        fetch_ahead(m, w[pairs + min(first + SOON, count - 1)] >> RECORD, w[pairs + min(first + LATER, count - 1)] >> RECORD)
        status = serve(m, w, p, c, key, n, SERVE, 0, 0)
        if status < 0:
            return status
        for i in range(n):
            c.kind[w[index + i]] = TAKEN
        first += n
    return DONE


@kernel
def rows_to_come(m: Memory, c: TableWords, key: int) -> int:
    """Return about how many rows of a key are still to come in this call; 0: no more than are at work."""
    if c.counts == 0:
        return 0
    b = Block(KeyEntry(m.dir + key * KeyEntry.SIZE).block)
    held = b.last - b.first if b > 0 else m[-b] >> HEAD_BITS & HEAD_MASK if b < 0 else 0
    return int(peek(c.counts + 8 * (key * m.shards + m.shard)) - held)


@kernel
def serve_each(m: Memory, w: Scratch, p: Program, c: Arrivals, low: int, high: int) -> int:
    """Serve the events among records ``low`` to ``high`` one by one, but those that are TAKEN. Returns a status.

    At Arrivals.arc of each stands where the output log ends after it.
    """
    for x in range(low, high):
        key = own(m, c.key[x]) if c.kind[x] == EVENT else NOWHERE
        if key == NOWHERE:
            continue
        w[w.index] = x
        status = serve(m, w, p, c, key, 1, SERVE, 0, 0)
        if status < 0:
            return status
        if m.tied:
            return TIED
        c.kind[x], c.arc[x] = TAKEN, w.log_top
    return DONE


@kernel
def group_rows(m: Memory, w: Scratch, c: Any, low: int, high: int) -> int:
    """Put rows ``low`` to ``high`` of the columns at ``c`` at w.index, those of a key side by side by LE.

    Ends (m.place) at the first row that is no event, or late. At w.touched stand the keys; behind the first half of w.sort where
    the rows of each of them end. Returns how many keys.
    """
    n, most, together, ascends = rows_at_hand(m, w, c, low, high)
    count = place_few(w, low, n) if most < 1 << DIGIT else place_many(w, low, n, 0 if together else most)
    if not ascends:
        sort_each(m, w, c, count)
    return int(count)


@kernel
def rows_at_hand(m: Memory, w: Scratch, c: TableWords, low: int, high: int) -> tuple[int, int, bool, bool]:
    """Put the rows that `group_rows` is about, with their keys, at w.pairs, and where they end at m.place.

    At w.counts stands how many of them each of the first keys has. Returns how many rows; the greatest key; whether keys never fall
    from one row to the next; whether LE does not. Without a branch on whose a row is: of rows of two memories by chance half the
    guesses are wrong.
    """
    le_at, kind_at, key_at, counts, promised = c.le, c.kind, c.key, w.counts, m.events
    pairs, shards, shard, first = w.pairs, m.shards, m.shard, 1 << DIGIT
    shift = shift_of(shards)
    for digit in range(first):
        w[counts + digit] = 0
    n, most, before, latest, falls, ascends, x = 0, 0, 0, BEGINNING, 0, True, low
    while x < high:
        if kind_at != 0 and peek_byte(kind_at + x) != EVENT:
            break
        le = peek(le_at + 8 * x)
        if le < promised:
            break
        ascends = ascends and le >= latest
        latest = le
        code = peek(key_at + 8 * x)
        key = code >> shift if shift >= 0 else code // shards
        mine = int(code - key * shards == shard)
        w[pairs + n] = key << RECORD | x - low
        w[counts + min(key, first - 1)] += mine
        n += mine
        key = key * mine + before * (1 - mine)
        falls |= int(key < before)
        most, before = max(most, key), key
        x += 1
    m.place = x
    return n, most, falls == 0, ascends


@kernel
def shift_of(shards: int) -> int:
    """Return by how many bits to shift a number to divide it by so many; NOWHERE: they are no power of two."""
    shift = 0
    while 1 << shift < shards:
        shift += 1
    return shift if 1 << shift == shards else NOWHERE


@kernel
def place_few(w: Scratch, low: int, n: int) -> int:
    """Put the ``n`` rows at w.pairs, of keys that are all counted, at w.index; see `group_rows`."""
    counts, touched, ends, pairs = w.counts, w.touched, w.sort + w.batch, w.pairs
    count, at = 0, w.index
    for key in range(1 << DIGIT):
        many = w[counts + key]
        if many:
            w[counts + key] = at
            at += many
            w[touched + count], w[ends + count] = key, at - w.index
            count += 1
    for k in range(n):
        key = w[pairs + k] >> RECORD
        w[w[counts + key]] = low + (w[pairs + k] & (1 << RECORD) - 1)
        w[counts + key] += 1
    return int(count)


@kernel
def place_many(w: Scratch, low: int, n: int, most: int) -> int:
    """Put the ``n`` rows at w.pairs, of keys up to ``most``, at w.index, see `group_rows`; 0: they stand side by side."""
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
    return int(count)


@kernel
def sort_each(m: Memory, w: Scratch, c: TableWords, count: int) -> None:
    """Bring the rows of each of ``count`` keys at w.index into the order of LE, where they are not."""
    index, ends, le_at, first = w.index, w.sort + w.batch, c.le, 0
    for each in range(count):
        end, before, rises = w[ends + each], BEGINNING, True
        for k in range(first, end):
            le = peek(le_at + 8 * w[index + k])
            rises = rises and le >= before
            before = le
        if not rises and m.gapless == 0:  # of two rows with one number the one that came first takes effect
            sort(m, w, c, le_at, index + first, w.sort, end - first)
        first = end


@kernel
def forward_keys(m: Memory, w: Scratch, p: Program, c: TableWords, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` key by key, from m.next and m.next_row on.

    Those that it does not take stand in ``c[1]``, m.left of them. Returns where it stopped, or a status. See `group_rows`.
    """
    count = group_rows(m, w, c, low, high)
    stopped = m.place
    c.index = m.w_at + 8 * w.index
    fast, touched, ends = may_append_packed(m, w, p), w.touched, w.sort + w.batch
    while m.next < count:
        end, key = w[ends + m.next], w[touched + m.next]
        m.coming = rows_to_come(m, c, key)
        soon, later = min(m.next + SOON, count - 1), min(m.next + LATER, count - 1)
        fetch_ahead(m, w[touched + soon], w[touched + later])
        fetch_row(m, c, w[w.index + w[ends + max(soon, 1) - 1]])
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
        if m.short:
            m.next_row = m.stopped
            continue
        for k in range(m.stopped, end):
            c[1, m.left] = w[w.index + k]
            m.left += 1
        m.next_row = end
        m.next += 1
    return int(stopped)
