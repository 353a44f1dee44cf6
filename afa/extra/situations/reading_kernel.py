"""The readings of each key in order, and what happens to its situations: the kernel. See `afa.extra.situations.reading_names`.

readings       10: on      14: off     20: on      16: on comes late
old            14: ends    20: begins              told no longer: 20 begins, told: 16 begins
new            14: ends    16: begins              behind 20 both stand as before: all that follows is as it was
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.heap import free_block, size_of, take_block
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.native_call import float_sum, kernel, wrapped
from afa.extra.situations.reading_names import *


@kernel
def main(d: Any, m: Any, c: Any, u: Any, o: Any, what: int, n: int) -> int:
    """Do the one thing that ``what`` names; ``n``: the rows of a batch. Returns its status; what asks for room goes on there."""
    if what in (TAKE, SET, REMOVE):
        return take(d, m, c, u, o, what, n)
    if what == PROMISE:
        return promise(d, m, u, o)
    if what == SETTLE:
        return settle(d, m, u, o)
    if what == FIND:
        d[FOUND] = source_of(d, m, c[0], c[1])
    elif what == DUE:
        d[FOUND] = due(d, m)
    elif what == SUMS:
        sums(d, m, o)
    elif what == COMMIT:
        commit(d, m, u)
    else:
        rollback(d, m, u)
    return DONE


# -- how situations stand ----------------------------------------------------------------------------------------------------------


@kernel
def after(t: int, span: int) -> int:
    """Return the time so long after another one, at most FOREVER."""
    return FOREVER if t > FOREVER - span else t + span


@kernel
def next_of(d: Any, s: int) -> int:
    """Return when something happens next at a standing if no reading comes; FOREVER: never."""
    found = d[s + S_UNTIL]
    if d[WAITS] and d[s + S_BITS]:
        for number in range(d[DEFINITIONS]):
            going = s + S_GOING + 2 * number
            if d[s + S_BITS] >> number & 1 and d[going + 1] == 0:
                found = min(found, after(d[going], d[SPEC + SPEC_WORDS * number + AT_LEAST]))
    return int(found)


@kernel
def pass_until(d: Any, m: Any, o: Any, key: int, s: int, until: int, sign: int) -> None:
    """Bring a standing to a time, if no reading comes until then."""
    t = next_of(d, s)
    while t < until:
        step(d, m, o, key, s, 0 if t == d[s + S_UNTIL] else NOWHERE, t, sign)
        t = next_of(d, s)


@kernel
def advance(d: Any, m: Any, o: Any, key: int, s: int, a: int, sign: int) -> None:
    """Bring a standing behind the reading at ``a``."""
    pass_until(d, m, o, key, s, m[a + E_LE], sign)
    step(d, m, o, key, s, a, m[a + E_LE], sign)


@kernel
def step(d: Any, m: Any, o: Any, key: int, s: int, a: int, t: int, sign: int) -> None:
    """Let a standing take a reading; or (``a`` 0) that the last one stops to hold; or (NOWHERE) that a situation has lasted.

    ``sign``: of the output; 0: there is none.
    """
    was = d[s + S_BITS]
    bits, until = was, d[s + S_UNTIL]
    if a != NOWHERE:
        bits, until = 0, FOREVER
        if a != 0 and m[a + E_BITS]:
            bits, until = m[a + E_BITS], m[a + E_UNTIL]
    d[s + S_UNTIL] = until
    if bits == was and d[WAITS] == 0 and d[AGGREGATES] == 0:
        return
    begins, ends, lasts, fails = 0, 0, 0, 0
    for number in range(d[DEFINITIONS]):
        bit, going, spec = 1 << number, s + S_GOING + 2 * number, SPEC + SPEC_WORDS * number
        if bits & bit:
            first = was & bit == 0
            if first:
                begins = begins | bit
                d[going] = BEGINNING if d[spec + PLAIN] else t
                d[going + 1] = 1 if d[spec + AT_LEAST] == 0 else 0
            elif d[going + 1] == 0 and t >= after(d[going], d[spec + AT_LEAST]):
                lasts = lasts | bit
                d[going + 1] = 1
            if a != NOWHERE:
                for k in range(d[spec + FIRST], d[spec + SPEC_WORDS + FIRST]):
                    fold(d, m, s + S_GOING + 2 * d[DEFINITIONS] + 2 * k, d[d[AGGREGATES_AT] + k], a + E_VALUES + 2 * k, first)
        elif was & bit:
            least, most = d[spec + AT_LEAST], d[spec + AT_MOST]
            if (least and t < after(d[going], least)) or (most and t > after(d[going], most)):
                fails = fails | bit
            else:
                ends = ends | bit
    d[s + S_BITS] = bits
    if sign and d[RECORDS]:
        for number in range(d[DEFINITIONS]):
            if ends >> number & 1:
                tell(d, o, key, s, sign, number, d[s + S_GOING + 2 * number], t, 0, 0, 1 << number)
    elif sign and (begins or ends or lasts or fails):
        tell(d, o, key, s, sign, t, begins, ends, lasts, fails, bits | was)
    if was & ~bits:
        for number in range(d[DEFINITIONS]):
            if (was & ~bits) >> number & 1:
                ended(d, s, number)


@kernel
def ended(d: Any, s: int, number: int) -> None:
    """Let nothing of a definition go on."""
    d[s + S_GOING + 2 * number], d[s + S_GOING + 2 * number + 1] = FOREVER, 1
    at, spec = s + S_GOING + 2 * d[DEFINITIONS], SPEC + SPEC_WORDS * number
    for k in range(d[spec + FIRST], d[spec + SPEC_WORDS + FIRST]):
        d[at + 2 * k], d[at + 2 * k + 1] = 0, 0


@kernel
def fold(d: Any, m: Any, at: int, function: int, value_at: int, first: int) -> None:
    """Let an aggregate take the value of a reading, the first one of its situation or a further one."""
    if first:
        d[at], d[at + 1] = 0, 0
    if m[value_at + 1] == 0 or d[at + 1] == LARGER:
        return
    held, value, count = d[at], m[value_at], d[at + 1]
    d[at + 1] = count + 1 if function in (F_COUNT, F_MEAN) else 1
    if count == 0 or function == F_LAST:
        d[at] = value
    elif function == F_SUM:
        found = wrapped(int(held) + int(value))
        if (held ^ found) & (value ^ found) < 0:
            d[LARGE], d[LARGE_TOO], d[at + 1], d[LEFT] = held, value, LARGER, 1
        else:
            d[at] = found
    elif function in (F_FLOAT_SUM, F_MEAN):
        d[at] = float_sum(held, value)
    elif function == F_LEAST or (function == F_FLOAT_LEAST and held != NAN_WORD and value != NAN_WORD):
        d[at] = min(held, value)
    elif function == F_FLOAT_LEAST:
        d[at] = NAN_WORD
    elif function == F_MOST:
        d[at] = max(held, value)


@kernel
def tell(d: Any, o: Any, key: int, s: int, sign: int, p: int, q: int, x: int, y: int, z: int, of: int) -> None:
    """Write a line of output, with the aggregates of some definitions. *Requires* room."""
    top = d[OUTPUT_N]
    o[top], o[top + 1], o[top + 2], o[top + 3], o[top + 4], o[top + 5], o[top + 6] = sign, key, p, q, x, y, z
    at = s + S_GOING + 2 * d[DEFINITIONS]
    if d[AGGREGATES]:
        for number in range(d[DEFINITIONS]):
            spec = SPEC + SPEC_WORDS * number
            for k in range(d[spec + FIRST], d[spec + SPEC_WORDS + FIRST]):
                o[top + L_VALUES + 2 * k] = d[at + 2 * k] if of >> number & 1 else 0
                o[top + L_VALUES + 2 * k + 1] = d[at + 2 * k + 1] if of >> number & 1 else ABSENT
    d[OUTPUT_N] = top + d[LINE]


@kernel
def tail(d: Any, m: Any, o: Any, key: int, r: int, clock: int, sign: int) -> int:
    """Tell what lies behind the last reading: what a clock has brought, and (of records) what goes on. Returns what comes next."""
    s = d[PASSING]
    copy(d, r + R_COVER + d[STANDING], d, s, d[STANDING])
    pass_until(d, m, o, key, s, after(clock, 1), sign)
    if d[RECORDS]:
        for number in range(d[DEFINITIONS]):
            going = s + S_GOING + 2 * number
            if d[s + S_BITS] >> number & 1 and d[going + 1] and d[SPEC + SPEC_WORDS * number + AT_MOST] == 0:
                tell(d, o, key, s, sign, number, d[going], FOREVER, 0, 0, 1 << number)
    return next_of(d, s)


@kernel
def alike(d: Any, one: int, other: int) -> bool:
    """Return whether two standings are the same."""
    for i in range(d[STANDING]):
        if d[one + i] != d[other + i]:
            return False
    return True


# -- what comes --------------------------------------------------------------------------------------------------------------------


@kernel
def room(d: Any) -> int:
    """Return what is asked for where a step may need more room than there is."""
    if d[OUTPUT_N] + 4 * d[BOUND] * d[LINE] > d[OUTPUT_SIZE]:
        return NEED_OUTPUT
    return NEED_UNDO if d[UNDO_N] + d[RECORD] + d[ENTRY] + 16 > d[UNDO_SIZE] else DONE


@kernel
def take(d: Any, m: Any, c: Any, u: Any, o: Any, what: int, n: int) -> int:
    """Take the rows of a batch, in order of arrival."""
    while d[DONE_N] < n:
        i = d[DONE_N]
        key = c[i]
        r = d[DIRECTORY] + key * d[RECORD]
        last = r + R_COVER + d[STANDING]
        status = room(d)
        if status != DONE:
            return status
        if d[UNDER_WAY] == 0:
            if d[r + R_SERIAL] != d[SERIAL] and d[r + R_FIRST] > d[r + R_N]:  # nothing of this call stands in the block
                shift(m, entries(d, r), d[r + R_N] * d[ENTRY], -d[r + R_FIRST] * d[ENTRY])
                d[r + R_FIRST] = 0
            keep(d, u, r)
            if d[RECORDS] or next_of(d, last) <= d[PROMISED]:
                tail(d, m, o, key, r, d[PROMISED], -1)
            d[UNDER_WAY] = 1
            continue
        i = appended(d, m, c, n, i, r) if what == TAKE else i
        d[DONE_N] = i
        if i < n and c[i] == key:
            status = put(d, m, c, u, o, what, n, i, r)
            if status != DONE:
                return status
            if d[DONE_N] < n and c[d[DONE_N]] == key:
                continue
        d[UNDER_WAY] = 0
        tells = next_of(d, last)
        if d[RECORDS] or tells <= d[PROMISED]:
            tells = tail(d, m, o, key, r, d[PROMISED], 1)
        d[r + R_TELLS] = tells
        d[NEXT] = min(d[NEXT], tells)
    return DONE


@kernel
def entries(d: Any, r: int) -> int:
    """Return where the entries of a key begin."""
    return int(d[r + R_BLOCK] + 1 + d[r + R_FIRST] * d[ENTRY])


@kernel
def appended(d: Any, m: Any, c: Any, n: int, i: int, r: int) -> int:
    """Append rows of one key at which nothing begins or ends, as most are. Returns the first row that is left. O(1) for each."""
    key, last, size = c[i], r + R_COVER + d[STANDING], d[r + R_N]
    if d[WAITS] or d[AGGREGATES] or size == 0 or d[last + S_UNTIL] != FOREVER or d[FIRST_SOURCE] == NOWHERE:
        return i
    a, end, first, bits = entries(d, r) + size * E_VALUES, d[r + R_BLOCK] + size_of(m[d[r + R_BLOCK]]), i, d[last + S_BITS]
    le = m[a - E_VALUES + E_LE]
    at_le, at_bits, source = C_LE * n, C_BITS * n, d[FIRST_SOURCE]
    while i < n and c[i] == key and c[at_le + i] > le and c[at_bits + i] == bits and a + E_VALUES <= end:
        le = c[at_le + i]
        m[a + E_LE], m[a + E_BITS], m[a + E_UNTIL], m[a + E_SOURCE] = le, bits, FOREVER, source + i
        a += E_VALUES
        i += 1
    d[r + R_N] = size + i - first
    return i


@kernel
def put(d: Any, m: Any, c: Any, u: Any, o: Any, what: int, n: int, i: int, r: int) -> int:
    """Take a row behind all readings of its key, or the next ones that are not. Where room is asked for, nothing was done."""
    e, size, a = d[ENTRY], d[r + R_N], entries(d, r)
    if size and c[C_LE * n + i] <= m[a + (size - 1) * e + E_LE]:
        return merge(d, m, c, u, o, what, n, i, r)
    if what != REMOVE:
        if provide(d, m, c, u, n, i, r, 1) != DONE:
            return NEED_HEAP
        a = entries(d, r) + size * e
        fill(d, m, c, n, i, a)
        d[r + R_N] = size + 1
        advance(d, m, o, c[i], r + R_COVER + d[STANDING], a, 1)
    d[DONE_N] = i + 1
    return DONE


@kernel
def merge(d: Any, m: Any, c: Any, u: Any, o: Any, what: int, n: int, i: int, r: int) -> int:
    """Take the rows of a key that come next in order of LE and do not lie behind all its readings.

    held   10 20 30 40 50        20 30 go to the undo log, 40 50 move; then 20 and 30 come again, and rows among them
    rows       15  .  35
    """
    e, size, a, at_le, end = d[ENTRY], d[r + R_N], entries(d, r), C_LE * n, i + 1
    while end < n and c[end] == c[i] and c[at_le + end - 1] <= c[at_le + end] and c[at_le + end] <= m[a + (size - 1) * e + E_LE]:
        end += 1
    first, last = place_of(d, m, a, size, c[at_le + i]), place_of(d, m, a, size, c[at_le + end - 1] + 1)
    more = surplus(d, m, c, what, n, i, end, a + first * e)
    if provide(d, m, c, u, n, i, r, max(more, 0)) != DONE:
        return NEED_HEAP
    a, top, told, clashes = entries(d, r), d[UNDO_N], d[OUTPUT_N], d[CLASHES]
    stood = (last - first) * e
    if top + stood + 16 > d[UNDO_SIZE]:
        return NEED_UNDO
    stand_before(d, m, o, c[i], r, first)
    copy(d, d[OLD], d, d[NEW], d[STANDING])
    copy(m, a + first * e, u, top, stood)
    shift(m, a + last * e, (size - last) * e, more * e)
    d[r + R_N] = size + more
    top += stood
    u[top], u[top + 1], u[top + 2] = d[r + R_FIRST] + first, last - first, last - first + more
    u[top + 3], u[top + 4], u[top + 5] = d[r + R_FIRST] + size + more, r, MERGED
    d[UNDO_N] = top + 6
    if weave(d, m, c, u, o, what, n, i, end, r, top - stood, top, a + first * e) != DONE:
        unmerge(d, m, u)
        d[OUTPUT_N], d[CLASHES] = told, clashes
        return NEED_OUTPUT
    d[DONE_N] = end
    return DONE


@kernel
def surplus(d: Any, m: Any, c: Any, what: int, n: int, i: int, end: int, a: int) -> int:
    """Return how many more entries there are when rows in order were taken; ``a``: the first that does not lie before them."""
    more, at_le = 0, C_LE * n
    for x in range(i, end):
        while m[a + E_LE] < c[at_le + x]:
            a += d[ENTRY]
        if m[a + E_LE] == c[at_le + x]:
            more -= 1 if what == REMOVE else 0
        elif what != REMOVE and (x == i or c[at_le + x - 1] < c[at_le + x]):
            more += 1
    return more


@kernel
def weave(
    d: Any, m: Any, c: Any, u: Any, o: Any, what: int, n: int, i: int, end: int, r: int, held: int, until: int, to: int
) -> int:
    """Write the entries that stood there, those at ``held`` in the undo log, and rows, in order of LE, and tell what changes.

    Returns DONE, or NEED_OUTPUT. INVARIANT: the log begins with the record of a key, so that no entry stands at 0 there.
    """
    e, old, new, x, at_le = d[ENTRY], d[OLD], d[NEW], i, C_LE * n
    while held < until or x < end:
        if room(d) == NEED_OUTPUT:
            return NEED_OUTPUT
        at_held, at_row = u[held + E_LE] if held < until else FOREVER, c[at_le + x] if x < end else FOREVER
        stood, comes = at_held <= at_row, at_row <= at_held
        if what == TAKE and comes and (stood or (x > i and c[at_le + x - 1] == at_row)):
            tell(d, o, c[i], old, 0, x, 0, 0, 0, 0, 0)
            d[CLASHES] += 1
            x += 1
            continue
        stays = stood and not comes
        if stays:
            copy(u, held, m, to, e)
        elif what != REMOVE:
            fill(d, m, c, n, x, to)
        if stays and alike(d, old, new):
            advance(d, u, o, c[i], old, held, 0)
            copy(d, old, d, new, d[STANDING])
        else:
            if stood:
                advance(d, u, o, c[i], old, held, -1)
            if stays or what != REMOVE:
                advance(d, m, o, c[i], new, to, 1)
        to += e if stays or what != REMOVE else 0
        held += e if stood else 0
        x += 1 if comes else 0
    stop = entries(d, r) + d[r + R_N] * e
    while to < stop and not alike(d, old, new):
        if room(d) == NEED_OUTPUT:
            return NEED_OUTPUT
        advance(d, m, o, c[i], old, to, -1)
        advance(d, m, o, c[i], new, to, 1)
        to += e
    if to == stop:
        copy(d, new, d, r + R_COVER + d[STANDING], d[STANDING])
    return DONE


@kernel
def unmerge(d: Any, m: Any, u: Any) -> None:
    """Restore the entries of the record at the top of the undo log.

    INVARIANT: those that came behind afterwards do not move: where entries went, they may fill the block to its end.
    """
    top, e = d[UNDO_N], d[ENTRY]
    r, more, held = u[top - 2], u[top - 4] - u[top - 5], u[top - 5] * e
    begin = d[r + R_BLOCK] + 1
    at, behind, stop = begin + u[top - 6] * e, begin + (u[top - 6] + u[top - 4]) * e, begin + u[top - 3] * e
    shift(m, behind, stop - behind, -more * e)
    d[UNDO_N] = top - 6 - held
    copy(u, d[UNDO_N], m, at, held)
    d[r + R_N] -= more


@kernel
def fill(d: Any, m: Any, c: Any, n: int, i: int, at: int) -> None:
    """Write a row of a batch as an entry."""
    values = d[ENTRY] - E_VALUES
    m[at + E_LE], m[at + E_BITS] = c[C_LE * n + i], c[C_BITS * n + i]
    m[at + E_UNTIL], m[at + E_SOURCE] = FOREVER, d[FIRST_SOURCE] + i
    for k in range(values):
        m[at + E_VALUES + k] = c[(C_VALUES + k) * n + i]
    if d[FIRST_SOURCE] == NOWHERE:
        m[at + E_UNTIL], m[at + E_SOURCE] = c[(C_VALUES + values) * n + i], c[(C_VALUES + values + 1) * n + i]


@kernel
def place_of(d: Any, m: Any, a: int, n: int, le: int) -> int:
    """Return the first of n entries that does not lie before an LE: looked for from the end."""
    e, low, high, far = d[ENTRY], 0, n, 1
    while high > 0 and m[a + (high - 1) * e + E_LE] >= le:
        high -= far
        far = 2 * far
    low, high = max(high, 0), min(n, max(high, 0) + far)
    while low < high:
        middle = (low + high) >> 1
        if m[a + middle * e + E_LE] < le:
            low = middle + 1
        else:
            high = middle
    return int(low)


@kernel
def stand_before(d: Any, m: Any, o: Any, key: int, r: int, place: int) -> None:
    """Work out, into OLD, how a key stands before an entry: from where nothing goes on that goes on there, or from the promise."""
    e, a, i, going, s = d[ENTRY], entries(d, r), place, d[TIMED], d[OLD]
    while i > 0 and (going or i == place):
        i -= 1
        going = going & m[a + i * e + E_BITS]
        if i + 1 < place and m[a + i * e + E_UNTIL] < m[a + (i + 1) * e + E_LE]:
            going = 0
    if i == 0:
        copy(d, r + R_COVER, d, s, d[STANDING])
    else:
        d[s + S_UNTIL], d[s + S_BITS] = FOREVER, 0
        for number in range(d[DEFINITIONS]):
            ended(d, s, number)
    for k in range(i, place):
        advance(d, m, o, key, s, a + k * e, 0)


@kernel
def shift(m: Any, at: int, words: int, by: int) -> None:
    """Move words within the heap."""
    if by > 0:
        for k in range(at + words - 1, at - 1, -1):
            m[k + by] = m[k]
    else:
        for k in range(at, at + words):
            m[k + by] = m[k]


@kernel
def provide(d: Any, m: Any, c: Any, u: Any, n: int, i: int, r: int, more: int) -> int:
    """Let the block of a key have room for so many more entries; a new one for all rows of the key. Returns DONE, or NEED_HEAP.

    *Requires* room in the undo log.
    """
    e, size, end = d[ENTRY], d[r + R_N], i
    if more == 0 or (d[r + R_BLOCK] and (d[r + R_FIRST] + size + more) * e < size_of(m[d[r + R_BLOCK]])):
        return DONE
    while end < n and c[end] == c[i]:
        end += 1
    block = take_block(m, 2 + (2 * size + end - i + 4) * e)
    if block == NEED_HEAP:
        return NEED_HEAP
    replace(d, m, u, r, block)
    return DONE


@kernel
def replace(d: Any, m: Any, u: Any, r: int, block: int) -> None:
    """Let the readings of a key stand in another block; 0: in none, as there are none. *Requires* room in the undo log."""
    top = d[UNDO_N]
    copy(m, entries(d, r), m, block + 1, d[r + R_N] * d[ENTRY])
    u[top], u[top + 1], u[top + 2], u[top + 3] = d[r + R_BLOCK], d[r + R_FIRST], d[r + R_N], r
    u[top + 4], u[top + 5] = d[LAST_REPLACED], REPLACED
    d[UNDO_N] = top + 6
    d[LAST_REPLACED] = d[UNDO_N]
    d[r + R_BLOCK], d[r + R_FIRST] = block, 0


@kernel
def slim(d: Any, m: Any, u: Any, r: int) -> None:
    """Let a key that needs a small part of a large block have a small one, or none. *Requires* room in the undo log."""
    if d[r + R_BLOCK] == 0:
        return
    words, needed = size_of(m[d[r + R_BLOCK]]), d[r + R_N] * d[ENTRY]
    if words < LARGE_BLOCK or SMALL_PART * needed > words:
        return
    block = take_block(m, 2 + 2 * needed) if needed else 0
    if block != NEED_HEAP:  # else another time
        replace(d, m, u, r, block)


# -- promises ----------------------------------------------------------------------------------------------------------------------


@kernel
def promise(d: Any, m: Any, u: Any, o: Any) -> int:
    """Tell what a clock brings."""
    if d[CLOCK] < d[NEXT]:
        return DONE
    while d[DONE_N] < d[KEYS]:
        r = d[DIRECTORY] + d[DONE_N] * d[RECORD]
        if d[r + R_TELLS] <= d[CLOCK]:
            status = room(d)
            if status != DONE:
                return status
            keep(d, u, r)
            tail(d, m, o, d[DONE_N], r, d[PROMISED], -1)
            d[r + R_TELLS] = tail(d, m, o, d[DONE_N], r, d[CLOCK], 1)
        d[DONE_N] += 1
    d[NEXT] = FOREVER
    for key in range(d[KEYS]):
        d[NEXT] = min(d[NEXT], d[d[DIRECTORY] + key * d[RECORD] + R_TELLS])
    return DONE


@kernel
def settle(d: Any, m: Any, u: Any, o: Any) -> int:
    """Forget what lies below a promise."""
    while d[DONE_N] < d[KEYS]:
        key, t = d[DONE_N], d[CLOCK]
        r = d[DIRECTORY] + key * d[RECORD]
        cover = r + R_COVER
        if (d[r + R_N] and m[entries(d, r) + E_LE] < t) or next_of(d, cover) < t:
            status = room(d)
            if status != DONE:
                return status
            keep(d, u, r)
            place = place_of(d, m, entries(d, r), d[r + R_N], t)
            stand_before(d, m, o, key, r, place)
            pass_until(d, m, o, key, d[OLD], t, 0)
            copy(d, d[OLD], d, cover, d[STANDING])
            d[r + R_FIRST] += place
            d[r + R_N] -= place
            if d[r + R_N] == 0:
                copy(d, cover, d, cover + d[STANDING], d[STANDING])
            slim(d, m, u, r)
        d[DONE_N] += 1
    return DONE


@kernel
def due(d: Any, m: Any) -> int:
    """Return the smallest promise at which something is told or forgotten; FOREVER: none."""
    found = FOREVER
    for key in range(d[KEYS]):
        r = d[DIRECTORY] + key * d[RECORD]
        found = min(found, d[r + R_TELLS], next_of(d, r + R_COVER))
        if d[r + R_N]:
            found = min(found, m[entries(d, r) + E_LE] + 1)
    return int(found)


@kernel
def sums(d: Any, m: Any, o: Any) -> None:
    """Work out whether a sum leaves int64 by the readings that the call leaves. O(readings of the keys to which it came)."""
    d[LEFT] = 0
    for key in range(d[KEYS]):
        r, s = d[DIRECTORY] + key * d[RECORD], d[OLD]
        if d[r + R_SERIAL] == d[SERIAL]:
            copy(d, r + R_COVER, d, s, d[STANDING])
            for i in range(d[r + R_N]):
                advance(d, m, o, key, s, entries(d, r) + i * d[ENTRY], 0)


@kernel
def source_of(d: Any, m: Any, key: int, le: int) -> int:
    """Return the source of the reading of a key at an LE, or NOWHERE."""
    r = d[DIRECTORY] + key * d[RECORD]
    a, n = entries(d, r), d[r + R_N]
    place = place_of(d, m, a, n, le)
    return int(m[a + place * d[ENTRY] + E_SOURCE] if place < n and m[a + place * d[ENTRY] + E_LE] == le else NOWHERE)


# -- calls -------------------------------------------------------------------------------------------------------------------------


@kernel
def keep(d: Any, u: Any, r: int) -> None:
    """Note the record of a key, once in a call. *Requires* room in the undo log."""
    if d[r + R_SERIAL] == d[SERIAL]:
        return
    top, n = d[UNDO_N], d[RECORD]
    copy(d, r, u, top, n)
    u[top + n], u[top + n + 1] = r, OF_KEY
    d[UNDO_N] = top + n + 2
    d[r + R_SERIAL] = d[SERIAL]


@kernel
def commit(d: Any, m: Any, u: Any) -> None:
    """Forget how to undo the call."""
    while d[LAST_REPLACED]:
        top = d[LAST_REPLACED]
        d[LAST_REPLACED] = u[top - 2]
        if u[top - 6]:
            free_block(m, u[top - 6])
    d[UNDO_N], d[OUTPUT_N], d[LEFT] = 0, 0, 0
    d[SERIAL] += 1


@kernel
def rollback(d: Any, m: Any, u: Any) -> None:
    """Restore what was there before the call."""
    while d[UNDO_N]:
        top = d[UNDO_N]
        kind = u[top - 1]
        if kind == OF_KEY:
            d[UNDO_N] = top - 2 - d[RECORD]
            copy(u, d[UNDO_N], d, u[top - 2], d[RECORD])
        elif kind == REPLACED:
            r = u[top - 3]
            if d[r + R_BLOCK]:
                free_block(m, d[r + R_BLOCK])
            d[r + R_BLOCK], d[r + R_FIRST], d[r + R_N] = u[top - 6], u[top - 5], u[top - 4]
            d[UNDO_N] = top - 6
        else:
            unmerge(d, m, u)
    d[LAST_REPLACED], d[OUTPUT_N], d[UNDER_WAY], d[CLASHES], d[LEFT], d[NEXT] = 0, 0, 0, 0, 0, BEGINNING
    d[SERIAL] += 1
