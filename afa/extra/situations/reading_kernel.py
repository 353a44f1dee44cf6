"""The readings of each key in order, and what happens to its situations: the kernel. See `afa.extra.situations.reading_layout`.

readings       10: on      14: off     20: on      16: on comes late
old            14: ends    20: begins              told no longer: 20 begins, told: 16 begins
new            14: ends    16: begins              behind 20 both stand as before: all that follows is as it was
"""

from __future__ import annotations

from typing import Annotated, Any

from afa.compiled.kernel.heap import free_block, size_of, take_block
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.native_call import float_sum, kernel, wrapped
from afa.extra.situations.reading_layout import *


@kernel
def main(d: ReadingControl, m: Any, c: ReadingColumns, u: Any, o: Any, what: int, n: int) -> int:
    """Do the one thing that ``what`` names; ``n``: the rows of a batch. Returns its status; what asks for room goes on there."""
    if what in (TAKE, SET, REMOVE):
        return take(d, m, c, u, o, what, n)
    if what == PROMISE:
        return promise(d, m, u, o)
    if what == SETTLE:
        return settle(d, m, u, o)
    if what == FIND:
        d.found = source_of(d, m, c.key[0], c.le[0])
    elif what == DUE:
        d.found = due(d, m)
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
def next_of(d: ReadingControl, s: StandingWords) -> int:
    """Return when something happens next at a standing if no reading comes; FOREVER: never."""
    found = s.until
    if d.waits and s.bits:
        for number in range(d.definitions):
            going, spec = GoingWords(s.going + GoingWords.SIZE * number), DefinitionWords(d.specs + DefinitionWords.SIZE * number)
            if s.bits >> number & 1 and going.lasted == 0:
                found = min(found, after(going.since, spec.at_least))
    return int(found)


@kernel
def pass_until(d: ReadingControl, m: Any, o: Any, key: int, s: StandingWords, until: int, sign: int) -> None:
    """Bring a standing to a time, if no reading comes until then."""
    t = next_of(d, s)
    while t < until:
        step(d, m, o, key, s, 0 if t == s.until else NOWHERE, t, sign)
        t = next_of(d, s)


@kernel
def advance(d: ReadingControl, m: Any, o: Any, key: int, s: StandingWords, a: ReadingWords, sign: int) -> None:
    """Bring a standing behind the reading at ``a``."""
    pass_until(d, m, o, key, s, a.le, sign)
    step(d, m, o, key, s, a, a.le, sign)


@kernel
def step(d: ReadingControl, m: Any, o: Any, key: int, s: StandingWords, a: ReadingWords, t: int, sign: int) -> None:
    """Let a standing take a reading; or (``a`` 0) that the last one stops to hold; or (NOWHERE) that a situation has lasted.

    ``sign``: of the output; 0: there is none.
    """
    was = s.bits
    bits, until = was, s.until
    if a != NOWHERE:
        bits, until = 0, FOREVER
        if a != 0 and a.bits:
            bits, until = a.bits, a.until
    s.until = until
    if bits == was and d.waits == 0 and d.aggregates == 0:
        return
    begins, ends, lasts, fails, held = 0, 0, 0, 0, held_of(d, s)
    for number in range(d.definitions):
        bit, spec = 1 << number, DefinitionWords(d.specs + DefinitionWords.SIZE * number)
        going = GoingWords(s.going + GoingWords.SIZE * number)
        if bits & bit:
            first = was & bit == 0
            if first:
                begins = begins | bit
                going.since = BEGINNING if spec.plain else t
                going.lasted = 1 if spec.at_least == 0 else 0
            elif going.lasted == 0 and t >= after(going.since, spec.at_least):
                lasts = lasts | bit
                going.lasted = 1
            if a != NOWHERE:
                for k in range(spec.first, DefinitionWords(spec + DefinitionWords.SIZE).first):
                    fold(d, m, held + HeldWords.SIZE * k, d[d.functions + k], a.values + ValueWords.SIZE * k, first)
        elif was & bit:
            least, most = spec.at_least, spec.at_most
            if (least and t < after(going.since, least)) or (most and t > after(going.since, most)):
                fails = fails | bit
            else:
                ends = ends | bit
    s.bits = bits
    if sign and d.records:
        for number in range(d.definitions):
            if ends >> number & 1:
                since = GoingWords(s.going + GoingWords.SIZE * number).since
                tell(d, o, key, s, sign, number, since, t, 0, 0, 1 << number)
    elif sign and (begins or ends or lasts or fails):
        tell(d, o, key, s, sign, t, begins, ends, lasts, fails, bits | was)
    if was & ~bits:
        for number in range(d.definitions):
            if (was & ~bits) >> number & 1:
                ended(d, s, number)


@kernel
def ended(d: ReadingControl, s: StandingWords, number: int) -> None:
    """Let nothing of a definition go on."""
    going, spec = GoingWords(s.going + GoingWords.SIZE * number), DefinitionWords(d.specs + DefinitionWords.SIZE * number)
    going.since, going.lasted = FOREVER, 1
    for k in range(spec.first, DefinitionWords(spec + DefinitionWords.SIZE).first):
        held = HeldWords(held_of(d, s) + HeldWords.SIZE * k)
        held.value, held.count = 0, 0


@kernel
def held_of(d: ReadingControl, s: StandingWords) -> int:
    """Return where the aggregates of a standing begin."""
    return s.going + GoingWords.SIZE * d.definitions


@kernel
def fold(d: ReadingControl, m: Any, held: HeldWords, function: int, taken: ValueWords, first: int) -> None:
    """Let an aggregate take the value of a reading, the first one of its situation or a further one."""
    if first:
        held.value, held.count = 0, 0
    if taken.there == 0 or held.count == LARGER:
        return
    before, value, count = held.value, taken.value, held.count
    held.count = count + 1 if function in (F_COUNT, F_MEAN) else 1
    if count == 0 or function == F_LAST:
        held.value = value
    elif function == F_SUM:
        found = wrapped(int(before) + int(value))
        if (before ^ found) & (value ^ found) < 0:
            d.large, d.large_too, held.count, d.left = before, value, LARGER, 1
        else:
            held.value = found
    elif function in (F_FLOAT_SUM, F_MEAN):
        held.value = float_sum(before, value)
    elif function == F_LEAST or (function == F_FLOAT_LEAST and before != NAN_WORD and value != NAN_WORD):
        held.value = min(before, value)
    elif function == F_FLOAT_LEAST:
        held.value = NAN_WORD
    elif function == F_MOST:
        held.value = max(before, value)


@kernel
def tell(d: ReadingControl, o: Any, key: int, s: StandingWords, sign: int, p: int, q: int, x: int, y: int, z: int, of: int) -> None:
    """Write a line of output, with the aggregates of some definitions. *Requires* room."""
    line = LineWords(d.output_top)
    line.sign, line.key = sign, key
    line.told[0], line.told[1], line.told[2], line.told[3], line.told[4] = p, q, x, y, z
    if d.aggregates:
        for number in range(d.definitions):
            spec = DefinitionWords(d.specs + DefinitionWords.SIZE * number)
            for k in range(spec.first, DefinitionWords(spec + DefinitionWords.SIZE).first):
                held = HeldWords(held_of(d, s) + HeldWords.SIZE * k)
                line.values[2 * k] = held.value if of >> number & 1 else 0
                line.values[2 * k + 1] = held.count if of >> number & 1 else ABSENT
    d.output_top = line + d.line_words


@kernel
def tail(d: ReadingControl, m: Any, o: Any, key: int, r: KeyWords, clock: int, sign: int) -> int:
    """Tell what lies behind the last reading: what a clock has brought, and (of records) what goes on. Returns what comes next."""
    s = StandingWords(d.passing)
    copy(d, StandingWords(r.cover + d.standing_words), d, s, d.standing_words)
    pass_until(d, m, o, key, s, after(clock, 1), sign)
    if d.records:
        for number in range(d.definitions):
            going, spec = GoingWords(s.going + GoingWords.SIZE * number), DefinitionWords(d.specs + DefinitionWords.SIZE * number)
            if s.bits >> number & 1 and going.lasted and spec.at_most == 0:
                tell(d, o, key, s, sign, number, going.since, FOREVER, 0, 0, 1 << number)
    return next_of(d, s)


@kernel
def alike(d: ReadingControl, one: int, other: int) -> bool:
    """Return whether two standings are the same."""
    for i in range(d.standing_words):
        if d[one + i] != d[other + i]:
            return False
    return True


# -- what comes --------------------------------------------------------------------------------------------------------------------


@kernel
def room(d: ReadingControl) -> int:
    """Return what is asked for where a step may need more room than there is."""
    if d.output_top + 4 * d.bound * d.line_words > d.output_size:
        return NEED_OUTPUT
    return NEED_UNDO if d.undo_top + d.record_words + d.entry_words + 16 > d.undo_size else DONE


@kernel
def take(d: ReadingControl, m: Any, c: ReadingColumns, u: Any, o: Any, what: int, n: int) -> int:
    """Take the rows of a batch, in order of arrival."""
    while d.done < n:
        i = d.done
        key = c.key[i]
        r = KeyWords(d.directory + key * d.record_words)
        last = StandingWords(r.cover + d.standing_words)
        status = room(d)
        if status != DONE:
            return status
        if d.under_way == 0:
            if r.serial != d.serial and r.first > r.n:  # nothing of this call stands in the block
                shift(m, entries(d, r), r.n * d.entry_words, -r.first * d.entry_words)
                r.first = 0
            keep(d, u, r)
            if d.records or next_of(d, last) <= d.promised:
                tail(d, m, o, key, r, d.promised, -1)
            d.under_way = 1
            continue
        i = appended(d, m, c, n, i, r) if what == TAKE else i
        d.done = i
        if i < n and c.key[i] == key:
            status = put(d, m, c, u, o, what, n, i, r)
            if status != DONE:
                return status
            if d.done < n and c.key[d.done] == key:
                continue
        d.under_way = 0
        tells = next_of(d, last)
        if d.records or tells <= d.promised:
            tells = tail(d, m, o, key, r, d.promised, 1)
        r.tells = tells
        d.next = min(d.next, tells)
    return DONE


@kernel
def entries(d: ReadingControl, r: KeyWords) -> int:
    """Return where the entries of a key begin."""
    return int(r.block + 1 + r.first * d.entry_words)


@kernel
def appended(d: ReadingControl, m: Any, c: ReadingColumns, n: int, i: int, r: KeyWords) -> int:
    """Append rows of one key at which nothing begins or ends, as most are. Returns the first row that is left. O(1) for each."""
    key, last, size = c.key[i], StandingWords(r.cover + d.standing_words), r.n
    if d.waits or d.aggregates or size == 0 or last.until != FOREVER or d.first_source == NOWHERE:
        return i
    a, end = ReadingWords(entries(d, r) + size * ReadingWords.SIZE), r.block + size_of(m[r.block])
    first, bits, source, le = i, last.bits, d.first_source, ReadingWords(a - ReadingWords.SIZE).le
    while i < n and c.key[i] == key and c.le[i] > le and c.bits[i] == bits and a + ReadingWords.SIZE <= end:
        le = c.le[i]
        a.le, a.bits, a.until, a.source = le, bits, FOREVER, source + i
        a += ReadingWords.SIZE
        i += 1
    r.n = size + i - first
    return i


@kernel
def put(d: ReadingControl, m: Any, c: ReadingColumns, u: Any, o: Any, what: int, n: int, i: int, r: KeyWords) -> int:
    """Take a row behind all readings of its key, or the next ones that are not. Where room is asked for, nothing was done."""
    e, size = d.entry_words, r.n
    if size and c.le[i] <= ReadingWords(entries(d, r) + (size - 1) * e).le:
        return merge(d, m, c, u, o, what, n, i, r)
    if what != REMOVE:
        if provide(d, m, c, u, n, i, r, 1) != DONE:
            return NEED_HEAP
        a = entries(d, r) + size * e
        fill(d, m, c, i, a)
        r.n = size + 1
        advance(d, m, o, c.key[i], StandingWords(r.cover + d.standing_words), a, 1)
    d.done = i + 1
    return DONE


@kernel
def merge(d: ReadingControl, m: Any, c: ReadingColumns, u: Any, o: Any, what: int, n: int, i: int, r: KeyWords) -> int:
    """Take the rows of a key that come next in order of LE and do not lie behind all its readings.

    held   10 20 30 40 50        20 30 go to the undo log, 40 50 move; then 20 and 30 come again, and rows among them
    rows       15  .  35
    """
    e, size, a, end = d.entry_words, r.n, entries(d, r), i + 1
    latest = ReadingWords(a + (size - 1) * e).le
    while end < n and c.key[end] == c.key[i] and c.le[end - 1] <= c.le[end] and c.le[end] <= latest:
        end += 1
    first, last = place_of(d, m, a, size, c.le[i]), place_of(d, m, a, size, c.le[end - 1] + 1)
    more = surplus(d, m, c, what, i, end, a + first * e)
    if provide(d, m, c, u, n, i, r, max(more, 0)) != DONE:
        return NEED_HEAP
    a, top, told, clashes = entries(d, r), d.undo_top, d.output_top, d.clashes
    stood = (last - first) * e
    if top + stood + 16 > d.undo_size:
        return NEED_UNDO
    stand_before(d, m, o, c.key[i], r, first)
    copy(d, d.old, d, d.new, d.standing_words)
    copy(m, a + first * e, u, top, stood)
    shift(m, a + last * e, (size - last) * e, more * e)
    r.n = size + more
    merged = MergedEntries(top + stood)
    merged.at, merged.n, merged.now = r.first + first, last - first, last - first + more
    merged.stop, merged.key, merged.kind = r.first + size + more, r, MERGED
    d.undo_top = merged + MergedEntries.SIZE
    if weave(d, m, c, u, o, what, i, end, r, top, merged, a + first * e) != DONE:
        unmerge(d, m, u)
        d.output_top, d.clashes = told, clashes
        return NEED_OUTPUT
    d.done = end
    return DONE


@kernel
def surplus(d: ReadingControl, m: Any, c: ReadingColumns, what: int, i: int, end: int, a: ReadingWords) -> int:
    """Return how many more entries there are when rows in order were taken; ``a``: the first that does not lie before them."""
    more = 0
    for x in range(i, end):
        while a.le < c.le[x]:
            a += d.entry_words
        if a.le == c.le[x]:
            more -= 1 if what == REMOVE else 0
        elif what != REMOVE and (x == i or c.le[x - 1] < c.le[x]):
            more += 1
    return more


@kernel
def weave(
    d: ReadingControl,
    m: Any,
    c: ReadingColumns,
    u: Any,
    o: Any,
    what: int,
    i: int,
    end: int,
    r: KeyWords,
    held: Annotated[ReadingWords, "u"],
    until: int,
    to: int,
) -> int:
    """Write the entries that stood there, those at ``held`` in the undo log, and rows, in order of LE, and tell what changes.

    Returns DONE, or NEED_OUTPUT. INVARIANT: the log begins with the record of a key, so that no entry stands at 0 there.
    """
    e, old, new, x = d.entry_words, d.old, d.new, i
    while held < until or x < end:
        if room(d) == NEED_OUTPUT:
            return NEED_OUTPUT
        at_held, at_row = held.le if held < until else FOREVER, c.le[x] if x < end else FOREVER
        stood, comes = at_held <= at_row, at_row <= at_held
        if what == TAKE and comes and (stood or (x > i and c.le[x - 1] == at_row)):
            tell(d, o, c.key[i], old, 0, x, 0, 0, 0, 0, 0)
            d.clashes += 1
            x += 1
            continue
        stays = stood and not comes
        if stays:
            copy(u, held, m, to, e)
        elif what != REMOVE:
            fill(d, m, c, x, to)
        if stays and alike(d, old, new):
            advance(d, u, o, c.key[i], old, held, 0)
            copy(d, old, d, new, d.standing_words)
        else:
            if stood:
                advance(d, u, o, c.key[i], old, held, -1)
            if stays or what != REMOVE:
                advance(d, m, o, c.key[i], new, to, 1)
        to += e if stays or what != REMOVE else 0
        held += e if stood else 0
        x += 1 if comes else 0
    stop = entries(d, r) + r.n * e
    while to < stop and not alike(d, old, new):
        if room(d) == NEED_OUTPUT:
            return NEED_OUTPUT
        advance(d, m, o, c.key[i], old, to, -1)
        advance(d, m, o, c.key[i], new, to, 1)
        to += e
    if to == stop:
        copy(d, new, d, StandingWords(r.cover + d.standing_words), d.standing_words)
    return DONE


@kernel
def unmerge(d: ReadingControl, m: Any, u: Any) -> None:
    """Restore the entries of the record at the top of the undo log.

    INVARIANT: those that came behind afterwards do not move: where entries went, they may fill the block to its end.
    """
    merged, e = MergedEntries(d.undo_top - MergedEntries.SIZE), d.entry_words
    r, more, held = KeyWords(merged.key), merged.now - merged.n, merged.n * e
    begin = r.block + 1
    at, behind, stop = begin + merged.at * e, begin + (merged.at + merged.now) * e, begin + merged.stop * e
    shift(m, behind, stop - behind, -more * e)
    d.undo_top = merged - held
    copy(u, d.undo_top, m, at, held)
    r.n -= more


@kernel
def fill(d: ReadingControl, m: Any, c: ReadingColumns, i: int, a: ReadingWords) -> None:
    """Write a row of a batch as an entry."""
    values = d.entry_words - ReadingWords.SIZE
    a.le, a.bits, a.until, a.source = c.le[i], c.bits[i], FOREVER, d.first_source + i
    for k in range(values):
        a.values[k] = c.values[k, i]
    if d.first_source == NOWHERE:
        a.until, a.source = c.values[values, i], c.values[values + 1, i]


@kernel
def place_of(d: ReadingControl, m: Any, a: ReadingWords, n: int, le: int) -> int:
    """Return the first of n entries that does not lie before an LE: looked for from the end."""
    e, low, high, far = d.entry_words, 0, n, 1
    while high > 0 and ReadingWords(a + (high - 1) * e).le >= le:
        high -= far
        far = 2 * far
    low, high = max(high, 0), min(n, max(high, 0) + far)
    while low < high:
        middle = (low + high) >> 1
        if ReadingWords(a + middle * e).le < le:
            low = middle + 1
        else:
            high = middle
    return int(low)


@kernel
def stand_before(d: ReadingControl, m: Any, o: Any, key: int, r: KeyWords, place: int) -> None:
    """Work out, into OLD, how a key stands before an entry: from where nothing goes on that goes on there, or from the promise."""
    e, i, going, s, a = d.entry_words, place, d.timed, StandingWords(d.old), ReadingWords(entries(d, r))
    while i > 0 and (going or i == place):
        i -= 1
        reading = ReadingWords(a + i * e)
        going = going & reading.bits
        if i + 1 < place and reading.until < ReadingWords(reading + e).le:
            going = 0
    if i == 0:
        copy(d, StandingWords(r.cover), d, s, d.standing_words)
    else:
        s.until, s.bits = FOREVER, 0
        for number in range(d.definitions):
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
def provide(d: ReadingControl, m: Any, c: ReadingColumns, u: Any, n: int, i: int, r: KeyWords, more: int) -> int:
    """Let the block of a key have room for so many more entries; a new one for all rows of the key. Returns DONE, or NEED_HEAP.

    *Requires* room in the undo log.
    """
    e, size, end = d.entry_words, r.n, i
    if more == 0 or (r.block and (r.first + size + more) * e < size_of(m[r.block])):
        return DONE
    while end < n and c.key[end] == c.key[i]:
        end += 1
    block = take_block(m, 2 + (2 * size + end - i + 4) * e)
    if block == NEED_HEAP:
        return NEED_HEAP
    replace(d, m, u, r, block)
    return DONE


@kernel
def replace(d: ReadingControl, m: Any, u: Any, r: KeyWords, block: int) -> None:
    """Let the readings of a key stand in another block; 0: in none, as there are none. *Requires* room in the undo log."""
    copy(m, entries(d, r), m, block + 1, r.n * d.entry_words)
    replaced = ReplacedBlock(d.undo_top)
    replaced.block, replaced.first, replaced.n, replaced.key = r.block, r.first, r.n, r
    replaced.last, replaced.kind = d.last_replaced, REPLACED
    d.undo_top = replaced + ReplacedBlock.SIZE
    d.last_replaced = d.undo_top
    r.block, r.first = block, 0


@kernel
def slim(d: ReadingControl, m: Any, u: Any, r: KeyWords) -> None:
    """Let a key that needs a small part of a large block have a small one, or none. *Requires* room in the undo log."""
    if r.block == 0:
        return
    words, needed = size_of(m[r.block]), r.n * d.entry_words
    if words < LARGE_BLOCK or SMALL_PART * needed > words:
        return
    block = take_block(m, 2 + 2 * needed) if needed else 0
    if block != NEED_HEAP:  # else another time
        replace(d, m, u, r, block)


# -- promises ----------------------------------------------------------------------------------------------------------------------


@kernel
def promise(d: ReadingControl, m: Any, u: Any, o: Any) -> int:
    """Tell what a clock brings."""
    if d.clock < d.next:
        return DONE
    while d.done < d.keys:
        r = KeyWords(d.directory + d.done * d.record_words)
        if r.tells <= d.clock:
            status = room(d)
            if status != DONE:
                return status
            keep(d, u, r)
            tail(d, m, o, d.done, r, d.promised, -1)
            r.tells = tail(d, m, o, d.done, r, d.clock, 1)
        d.done += 1
    d.next = FOREVER
    for key in range(d.keys):
        d.next = min(d.next, KeyWords(d.directory + key * d.record_words).tells)
    return DONE


@kernel
def settle(d: ReadingControl, m: Any, u: Any, o: Any) -> int:
    """Forget what lies below a promise."""
    while d.done < d.keys:
        key, t = d.done, d.clock
        r = KeyWords(d.directory + key * d.record_words)
        cover = StandingWords(r.cover)
        if (r.n and ReadingWords(entries(d, r)).le < t) or next_of(d, cover) < t:
            status = room(d)
            if status != DONE:
                return status
            keep(d, u, r)
            place = place_of(d, m, entries(d, r), r.n, t)
            stand_before(d, m, o, key, r, place)
            pass_until(d, m, o, key, d.old, t, 0)
            copy(d, d.old, d, cover, d.standing_words)
            r.first += place
            r.n -= place
            if r.n == 0:
                copy(d, cover, d, cover + d.standing_words, d.standing_words)
            slim(d, m, u, r)
        d.done += 1
    return DONE


@kernel
def due(d: ReadingControl, m: Any) -> int:
    """Return the smallest promise at which something is told or forgotten; FOREVER: none."""
    found = FOREVER
    for key in range(d.keys):
        r = KeyWords(d.directory + key * d.record_words)
        found = min(found, r.tells, next_of(d, StandingWords(r.cover)))
        if r.n:
            found = min(found, ReadingWords(entries(d, r)).le + 1)
    return int(found)


@kernel
def sums(d: ReadingControl, m: Any, o: Any) -> None:
    """Work out whether a sum leaves int64 by the readings that the call leaves. O(readings of the keys to which it came)."""
    d.left = 0
    for key in range(d.keys):
        r, s = KeyWords(d.directory + key * d.record_words), d.old
        if r.serial == d.serial:
            copy(d, StandingWords(r.cover), d, s, d.standing_words)
            for i in range(r.n):
                advance(d, m, o, key, s, entries(d, r) + i * d.entry_words, 0)


@kernel
def source_of(d: ReadingControl, m: Any, key: int, le: int) -> int:
    """Return the source of the reading of a key at an LE, or NOWHERE."""
    r = KeyWords(d.directory + key * d.record_words)
    place = place_of(d, m, entries(d, r), r.n, le)
    reading = ReadingWords(entries(d, r) + place * d.entry_words)
    return int(reading.source if place < r.n and reading.le == le else NOWHERE)


# -- calls -------------------------------------------------------------------------------------------------------------------------


@kernel
def keep(d: ReadingControl, u: Any, r: KeyWords) -> None:
    """Note the record of a key, once in a call. *Requires* room in the undo log."""
    if r.serial == d.serial:
        return
    kept = KeptKey(d.undo_top + d.record_words)
    copy(d, r, u, d.undo_top, d.record_words)
    kept.key, kept.kind = r, OF_KEY
    d.undo_top = kept + KeptKey.SIZE
    r.serial = d.serial


@kernel
def commit(d: ReadingControl, m: Any, u: Any) -> None:
    """Forget how to undo the call."""
    while d.last_replaced:
        replaced = ReplacedBlock(d.last_replaced - ReplacedBlock.SIZE)
        d.last_replaced = replaced.last
        if replaced.block:
            free_block(m, replaced.block)
    d.undo_top, d.output_top, d.left = 0, 0, 0
    d.serial += 1


@kernel
def rollback(d: ReadingControl, m: Any, u: Any) -> None:
    """Restore what was there before the call."""
    while d.undo_top:
        kept, replaced = KeptKey(d.undo_top - KeptKey.SIZE), ReplacedBlock(d.undo_top - ReplacedBlock.SIZE)
        if kept.kind == OF_KEY:
            d.undo_top = kept - d.record_words
            copy(u, d.undo_top, d, kept.key, d.record_words)
        elif kept.kind == REPLACED:
            r = KeyWords(replaced.key)
            if r.block:
                free_block(m, r.block)
            r.block, r.first, r.n = replaced.block, replaced.first, replaced.n
            d.undo_top = replaced
        else:
            unmerge(d, m, u)
    d.last_replaced, d.output_top, d.under_way, d.clashes, d.left, d.next = 0, 0, 0, 0, 0, BEGINNING
    d.serial += 1
