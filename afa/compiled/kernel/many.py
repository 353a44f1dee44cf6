"""Records of a batch, and all keys that a punctuation or a change of arcs concerns: a unit of work each.

    records  x      0   1   2   3   4          W_PAIRS    a:1 a:4 | b:0 b:2 b:3      side by side by key, see `by_key`
    key             b   a   b   b   a          W_INDEX    [ 1 4 ] then [ 0 2 3 ]      the records of one key, served as one unit

    rows in columns, many keys (`group_rows`)
                                               W_INDEX    [ 1 4 | 0 2 3 ]             all keys side by side, each by LE
                                               ends       [ 2, 5 ]                    then each part through `forward`

Nothing of a record is copied but its number.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.by_key import LATER, RECORD, SOON, digits_of, fetch_ahead, fetch_row, pairs_at, sort_pairs
from afa.compiled.kernel.desk import held_block
from afa.compiled.kernel.due_keys import next_due
from afa.compiled.kernel.go_on import go_on, goes_on
from afa.compiled.kernel.heap import spell_out
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel, peek, peek_byte
from afa.compiled.kernel.one_key import serve
from afa.compiled.kernel.order import promise, sort

LONG = 64
"""The words of a record that is opened only if much of it goes."""


@kernel
def serve_due(m: Any, w: Any, p: Any, c: Any, what: int, low: int, high: int) -> int:
    """Serve each key that a punctuation (TICK, CLEAN) or a change of arcs (SWAP) concerns, from key C_NEXT on. Returns a status.

    CLEAN leaves those keys alone that it would only make smaller, but with ``low`` = ALL_KEYS; with CHANGED_KEYS it takes those of
    them that have changed since the call ``high``, with IDLE_KEYS those that a punctuation at ``high`` would have made smaller.
    With IDLE_KEYS and FULL_KEYS records stay of which little would go.
    """
    act = clean = FOREVER
    if what != SWAP:
        act, clean = m[C_EVENTS], m[C_FINAL] if low else BEGINNING
        clean = min(clean, high) if low == IDLE_KEYS else clean
    key = next_due(m, m[C_NEXT], act, clean)
    while key < m[C_KEYS]:
        entry = m[C_DIR] + key * D_SIZE
        concerns = what == SWAP or m[entry + D_ACT] <= act
        if not concerns:
            concerns = m[entry + D_CHANGED] >= high if low == CHANGED_KEYS else low < IDLE_KEYS or not little_goes(m, entry)
        if concerns:
            status = serve(m, w, p, c, key, 0, what, low, high)
            if status < 0:
                m[C_NEXT] = key
                return status
        key = next_due(m, key + 1, act, clean)
    return DONE


@kernel
def little_goes(m: Any, entry: int) -> bool:
    """Return whether a key has a long record, of whose span of time less is final than a quarter of what is not.

    To open it for each step that goes took five times as long as the step, where 40 rows of each key are held.
    """
    at = -m[entry + D_BLOCK]
    if at <= 0 or m[at + Z_HEAD] & HEAD_MASK < LONG:
        return False
    latest = m[at + (m[at + Z_HEAD] >> 2 * HEAD_BITS & HEAD_MASK) + S_LE]
    return bool(m[C_FINAL] < m[entry + D_CLEAN] + (latest - m[C_FINAL] >> 2))


@kernel
def next_waiting(m: Any, t: int) -> int:
    """Return the first key from C_NEXT on that has retractions waiting for insertions before ``t``; C_KEYS: there is none."""
    key = next_due(m, m[C_NEXT], t, BEGINNING)
    while key < m[C_KEYS] and m[held_block(m, key) + H_PENDING_TOP] == 0:
        key = next_due(m, key + 1, t, BEGINNING)
    m[C_NEXT] = key + 1
    return key


@kernel
def own(m: Any, key: int) -> int:
    """Return the number that a key of a record has in this memory; NOWHERE: it is in another one.

    Records number the keys of all memories: with three, key 7 is key 2 of memory 1.
    """
    shards = m[C_SHARDS]
    if shards == 1:
        return key
    return key // shards if key % shards == m[C_SHARD] else NOWHERE


@kernel
def listed_events(w: Any, c: Any, low: int, high: int) -> int:
    """Put the events among records ``low`` to ``high`` at W_INDEX. Returns how many."""
    index, n = w[W_INDEX], 0
    for x in range(low, high):
        if c[I_KIND, x] == EVENT:
            w[index + n] = x
            n += 1
    return n


@kernel
def events_by_key(m: Any, w: Any, c: Any, low: int, high: int) -> int:
    """Put the events among records ``low`` to ``high`` side by side by key, in order of arrival, at W_PAIRS. Returns how many."""
    most, n, before, rises = 0, 0, NOWHERE, True
    for x in range(low, high):
        key = own(m, c[I_KEY, x]) if c[I_KIND, x] == EVENT else NOWHERE
        if key != NOWHERE:
            rises = rises and key >= before
            most, before = max(most, key), key
    rounds, bits = digits_of(0 if rises else most)
    pairs = pairs_at(w, rounds)
    for x in range(low, high):
        key = own(m, c[I_KEY, x]) if c[I_KIND, x] == EVENT else NOWHERE
        if key != NOWHERE:
            w[pairs + n] = key << RECORD | x - low
            n += 1
    sort_pairs(w, pairs, n, rounds, bits)
    return n


@kernel
def scan(m: Any, c: Any, low: int, high: int) -> int:
    """Take records in order of arrival until ``high``, or the first that needs what came before it carried out.

    Late events are told apart, and what is seen moves the present. Returns where it stopped, or LATE.
    """
    safe = m[C_WAITING] == 0 and (m[C_GAPLESS] == 0 or m[C_KEYED] == 0)
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
def serve_records(m: Any, w: Any, p: Any, c: Any, low: int, high: int) -> int:
    """Serve the events among records ``low`` to ``high``, key by key, but those that are TAKEN. Returns a status."""
    index = w[W_INDEX]
    if m[C_KEYED] == 0:
        n = listed_events(w, c, low, high)
        return serve(m, w, p, c, 0, n, SERVE, 0, 0) if n else DONE
    count, pairs, first = events_by_key(m, w, c, low, high), w[W_PAIRS], 0
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
            c[I_KIND, w[index + i]] = TAKEN
        first += n
    return DONE


@kernel
def rows_to_come(m: Any, c: Any, key: int) -> int:
    """Return about how many rows of a key are still to come in this call; 0: no more than are at work."""
    if c[0, F_COUNTS] == 0:
        return 0
    b = m[m[C_DIR] + key * D_SIZE + D_BLOCK]
    held = m[b + H_LAST] - m[b + H_FIRST] if b > 0 else m[-b] >> HEAD_BITS & HEAD_MASK if b < 0 else 0
    return int(peek(c[0, F_COUNTS] + 8 * (key * m[C_SHARDS] + m[C_SHARD])) - held)


@kernel
def serve_each(m: Any, w: Any, p: Any, c: Any, low: int, high: int) -> int:
    """Serve the events among records ``low`` to ``high`` one by one, but those that are TAKEN. Returns a status.

    At I_ARC of each stands where the output log ends after it.
    """
    for x in range(low, high):
        key = own(m, c[I_KEY, x]) if c[I_KIND, x] == EVENT else NOWHERE
        if key == NOWHERE:
            continue
        w[w[W_INDEX]] = x
        status = serve(m, w, p, c, key, 1, SERVE, 0, 0)
        if status < 0:
            return status
        if m[C_TIED]:
            return TIED
        c[I_KIND, x], c[I_ARC, x] = TAKEN, w[W_LOG_TOP]
    return DONE


@kernel
def group_rows(m: Any, w: Any, c: Any, low: int, high: int) -> int:
    """Put rows ``low`` to ``high`` of the columns at ``c`` (F_*) at W_INDEX, those of a key side by side by LE.

    Ends (C_PLACE) at the first row that is no event, or late. At W_TOUCHED stand the keys; behind the first half of W_SORT where
    the rows of each of them end. Returns how many keys.
    """
    n, most, together, ascends = rows_at_hand(m, w, c, low, high)
    count = place_few(w, low, n) if most < 1 << DIGIT else place_many(w, low, n, 0 if together else most)
    if not ascends:
        sort_each(m, w, c, count)
    return int(count)


@kernel
def rows_at_hand(m: Any, w: Any, c: Any, low: int, high: int) -> tuple[int, int, bool, bool]:
    """Put the rows that `group_rows` is about, with their keys, at W_PAIRS, and where they end at C_PLACE.

    At W_COUNTS stands how many of them each of the first keys has. Returns how many rows; the greatest key; whether keys never fall
    from one row to the next; whether LE does not. Without a branch on whose a row is: of rows of two memories by chance half the
    guesses are wrong.
    """
    le_at, kind_at, key_at, counts, promised = c[0, F_LE], c[0, F_KIND], c[0, F_KEY], w[W_COUNTS], m[C_EVENTS]
    pairs, shards, shard, first = w[W_PAIRS], m[C_SHARDS], m[C_SHARD], 1 << DIGIT
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
    m[C_PLACE] = x
    return n, most, falls == 0, ascends


@kernel
def shift_of(shards: int) -> int:
    """Return by how many bits to shift a number to divide it by so many; NOWHERE: they are no power of two."""
    shift = 0
    while 1 << shift < shards:
        shift += 1
    return shift if 1 << shift == shards else NOWHERE


@kernel
def place_few(w: Any, low: int, n: int) -> int:
    """Put the ``n`` rows at W_PAIRS, of keys that are all counted, at W_INDEX; see `group_rows`."""
    counts, touched, ends, pairs = w[W_COUNTS], w[W_TOUCHED], w[W_SORT] + w[W_BATCH], w[W_PAIRS]
    count, at = 0, w[W_INDEX]
    for key in range(1 << DIGIT):
        many = w[counts + key]
        if many:
            w[counts + key] = at
            at += many
            w[touched + count], w[ends + count] = key, at - w[W_INDEX]
            count += 1
    for k in range(n):
        key = w[pairs + k] >> RECORD
        w[w[counts + key]] = low + (w[pairs + k] & (1 << RECORD) - 1)
        w[counts + key] += 1
    return int(count)


@kernel
def place_many(w: Any, low: int, n: int, most: int) -> int:
    """Put the ``n`` rows at W_PAIRS, of keys up to ``most``, at W_INDEX, see `group_rows`; 0: they stand side by side."""
    touched, index, ends = w[W_TOUCHED], w[W_INDEX], w[W_SORT] + w[W_BATCH]
    rounds, bits = digits_of(most)
    pairs = sort_pairs(w, w[W_PAIRS], n, rounds, bits)
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
def sort_each(m: Any, w: Any, c: Any, count: int) -> None:
    """Bring the rows of each of ``count`` keys at W_INDEX into the order of LE, where they are not."""
    index, ends, le_at, first = w[W_INDEX], w[W_SORT] + w[W_BATCH], c[0, F_LE], 0
    for each in range(count):
        end, before, rises = w[ends + each], BEGINNING, True
        for k in range(first, end):
            le = peek(le_at + 8 * w[index + k])
            rises = rises and le >= before
            before = le
        if not rises and m[C_GAPLESS] == 0:  # of two rows with one number the one that came first takes effect
            sort(m, w, c, le_at, index + first, w[W_SORT], end - first)
        first = end


@kernel
def forward_keys(m: Any, w: Any, p: Any, c: Any, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` key by key, from C_NEXT and C_FROM on.

    Those that it does not take stand in ``c[1]``, C_LEFT of them. Returns where it stopped, or a status. See `group_rows`.
    """
    count = group_rows(m, w, c, low, high)
    stopped = m[C_PLACE]
    c[0, F_INDEX] = m[C_W] + 8 * w[W_INDEX]
    fast, touched, ends = goes_on(m, w, p), w[W_TOUCHED], w[W_SORT] + w[W_BATCH]
    while m[C_NEXT] < count:
        end, key = w[ends + m[C_NEXT]], w[touched + m[C_NEXT]]
        m[C_COMING] = rows_to_come(m, c, key)
        soon, later = min(m[C_NEXT] + SOON, count - 1), min(m[C_NEXT] + LATER, count - 1)
        fetch_ahead(m, w[touched + soon], w[touched + later])
        fetch_row(m, c, w[w[W_INDEX] + w[ends + max(soon, 1) - 1]])
        status = go_on(m, w, p, c, key, m[C_FROM], end) if fast else 0
        if status > 0:
            m[C_FROM] = end
            m[C_NEXT] += 1
            continue
        if status == 0:
            if w[W_OWED] > 0 and m[m[C_DIR] + key * D_SIZE + D_CHANGED] == m[C_SERIAL]:
                spell_out(m, w)
            status = serve(m, w, p, c, key, end - m[C_FROM], FORWARD, m[C_FROM], end)
        if status < 0:
            return status
        if m[C_SHORT]:
            m[C_FROM] = m[C_STOPPED]
            continue
        for k in range(m[C_STOPPED], end):
            c[1, m[C_LEFT]] = w[w[W_INDEX] + k]
            m[C_LEFT] += 1
        m[C_FROM] = end
        m[C_NEXT] += 1
    return int(stopped)
