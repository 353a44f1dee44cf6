"""The kernel of `afa.rules.index`: which entries are true of a row.

A row walks over the entries of its values. Where these are many, and its key has few units of which the store has events, it walks
over these units in their place, and over the entries of their rules: so a later step of a thousand rules costs what is begun.

t    int64 (slots, 4)     `IndexSlot`: by open addressing, of a list and a value the first entry; an empty one is all 0
e    int64 (n, 13)        `IndexEntry`: those of a slot stand in the order of `low`, each with the next; free ones likewise
d    int64 (lists, 4)     `ListWords`: which fields the entries of a list ask
k    int64 (n, 3)         further conditions: a field, and its least and greatest word
w    int64 (fields, n)    the rows' words, and their LEs in the row behind
o    int64 (4, n)         `PairWords`
r    int64 (rules, 3)     `RuleWords`
u v y                     of `afa.rules.unit_layout`
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.native_call import kernel, prefetch, wrapped
from afa.compiled.kernel.record import Record
from afa.rules.unit_kernel import has, home, slot_of_key
from afa.rules.unit_kernel import slot_of as slot_of_unit
from afa.rules.unit_layout import KeyUnits, Unit, UnitCall

MEET, ADD, CUT, REFILL = range(4)
ALL, BEGINS, SENT = range(3)
"""Which pairs are met: all; by a bit that begins something; of which the store has the row's instant."""
NONE, SPREAD, HALF = -1, 0x9E3779B97F4A7C15 - (1 << 64), (1 << 31) - 1
MISSING = -(1 << 63)
ROUND = 16
"""The units of so many rows are fetched side by side."""
RULES = (1 << 23) - 1
"""The bits of a rule's number in the name of a unit, behind the last one."""


class IndexControl(Record):
    """m: the words of a call."""

    slots = Record.word("how many slots there are, a power of two")
    used = Record.word("how many of them are not empty")
    lists = Record.word("how many lists there are")
    le = Record.word("in which row of w LEs stand")
    which = Record.word("which pairs are met")
    room = Record.word("how many pairs have room")
    pairs = Record.word("how many pairs were written, from the front")
    asking = Record.word("and how many that something is asked beside, from the back")
    keys = Record.word("how many keys rules have; their words stand in the rows of w behind the LEs")
    many = Record.word("more entries of a value than these are passed over for the units of a row's keys")
    times = Record.word("where these are so many times fewer")


class IndexSlot(Record, by="column"):
    """t: a list and a value."""

    name = Record.line("the number of the list, from 1 on")
    value = Record.line("the value")
    first = Record.line("the first entry; NONE: there is none any more")
    count = Record.line("how many entries there are")


class IndexEntry(Record, by="column"):
    """e: an alternative of a condition of a rule."""

    next = Record.line("the next entry of its slot, or NONE")
    low = Record.line("the least word of the field that has a range; of a list that is turned, the greatest one, inverted")
    high = Record.line("the greatest word, or the least one, inverted")
    since = Record.line("the least LE of events that it serves")
    until = Record.line("one past the greatest")
    rule = Record.line("the rule")
    bit = Record.line("its bit that is true")
    asks = Record.line("the number of the condition that is asked beside, or NONE")
    checks = Record.line("the first of its further conditions")
    count = Record.line("how many of them there are")
    list = Record.line("the number of its list, from 1 on")
    value = Record.line("the value of its slot")
    also = Record.line("the next entry of its rule, or NONE")


class ListWords(Record, by="column"):
    """d: a list of entries."""

    equal = Record.line("the field whose value is looked up, or NONE")
    wide = Record.line("the field whose range is looked up, or NONE")
    turned = Record.line("whether words are inverted")
    begins = Record.line("whether a bit of these entries begins something")


class PairWords(Record, by="row"):
    """o: a row and a rule."""

    row = Record.line("the row")
    rule = Record.line("the rule")
    bits = Record.line("the bits of the rule that are true of the row")
    asks = Record.line("of a pair that something is asked beside: the number of the condition; else, of SENT, its unit")


class RuleWords(Record, by="column"):
    """r: a rule."""

    last = Record.line("where its last pair stands")
    key = Record.line("in which row of w the words of its key stand")
    first = Record.line("its first entry, or NONE")


@kernel
def main(
    m: IndexControl,
    t: IndexSlot,
    e: IndexEntry,
    d: ListWords,
    k: Any,
    w: Any,
    o: PairWords,
    r: RuleWords,
    u: UnitCall,
    v: Unit,
    y: KeyUnits,
    what: int,
    n: int,
) -> int:
    """Write the pairs of ``n`` rows; or ADD or CUT an entry, whose list and value stand in ``w``; or REFILL slots from ``o``.

    Returns 0; of MEET -1 where there is no room for all pairs.
    """
    if what == MEET:
        m.pairs = m.asking = 0
        low = 0
        while low < n:
            begun, high = m.pairs, min(low + ROUND, n)
            for i in range(low, high):
                if meet(m, t, e, d, k, w, o, r, u, v, y, i) < 0:
                    return -1
            if m.which == SENT:
                keep_sent(m, w, o, u, v, begun)
            low = high
        return 0
    if what == REFILL:
        for i in range(n):
            if o[0, i] != 0 and o[2, i] != NONE:
                s = slot_of(m, t, o[0, i], o[1, i])
                t.name[s], t.value[s], t.first[s], t.count[s] = o[0, i], o[1, i], o[2, i], o[3, i]
                m.used += 1
        return 0
    s = slot_of(m, t, w[0, 0], w[1, 0])
    if what == ADD:
        add(m, t, e, w, s, n)
    else:
        cut(t, e, s, n)
    return 0


@kernel
def slot_of(m: IndexControl, t: IndexSlot, name: int, value: int) -> int:
    """Return the slot of a list and a value, or the empty one for it."""
    found = wrapped((int(value) ^ int(name)) * SPREAD)
    found = wrapped((found ^ (found >> 32 & HALF)) * SPREAD)
    s = (found >> 33 & HALF) & int(m.slots) - 1
    while t.name[s] != 0 and (t.name[s] != name or t.value[s] != value):
        s = s + 1 & int(m.slots) - 1
    return s


@kernel
def add(m: IndexControl, t: IndexSlot, e: IndexEntry, w: Any, s: int, a: int) -> None:
    """Put an entry in its place among those of its slot: behind those of the same ``low``."""
    if t.name[s] == 0:
        t.name[s], t.value[s], t.first[s] = w[0, 0], w[1, 0], NONE
        m.used += 1
    t.count[s] += 1
    before, at = NONE, t.first[s]
    while at != NONE and e.low[at] <= e.low[a]:
        before, at = at, e.next[at]
    e.next[a] = at
    if before == NONE:
        t.first[s] = a
    else:
        e.next[before] = a


@kernel
def cut(t: IndexSlot, e: IndexEntry, s: int, a: int) -> None:
    """Take an entry out of its slot. One that is not there any more: nothing."""
    before, at = NONE, NONE if t.name[s] == 0 else t.first[s]
    while at != NONE and at != a:
        before, at = at, e.next[at]
    if at == NONE:
        return
    t.count[s] -= 1
    if before == NONE:
        t.first[s] = e.next[a]
    else:
        e.next[before] = e.next[a]


@kernel
def meet(
    m: IndexControl,
    t: IndexSlot,
    e: IndexEntry,
    d: ListWords,
    k: Any,
    w: Any,
    o: PairWords,
    r: RuleWords,
    u: UnitCall,
    v: Unit,
    y: KeyUnits,
    i: int,
) -> int:
    """Write the pairs of a row. Returns -1 where there is no room for them."""
    begun, asking, le = m.pairs, m.asking, w[m.le, i]
    for number in range(m.lists):
        if m.which == BEGINS and not d.begins[number]:
            continue
        value, word = 0, 0
        if d.equal[number] != NONE:
            value = w[d.equal[number], i]
        if d.wide[number] != NONE:
            word = w[d.wide[number], i]
            if word == MISSING:
                continue
            if d.turned[number]:
                word = ~word
        s = slot_of(m, t, number + 1, value)
        if m.which == SENT and t.count[s] > m.many and m.times * units_of(m, w, u, y, i) < t.count[s]:
            m.pairs, m.asking = begun, asking
            return meet_units(m, e, d, k, w, o, r, u, v, y, i)
        a = NONE if t.name[s] == 0 else t.first[s]
        while a != NONE and e.low[a] <= word:
            if e.high[a] >= word and e.since[a] <= le < e.until[a] and checked(e, k, w, a, i):
                rule = e.rule[a]
                last = r.last[rule]
                if begun <= last < m.pairs and o.rule[last] == rule and e.asks[a] == NONE:
                    o.bits[last] |= e.bit[a]
                    a = e.next[a]
                    continue
                if m.pairs + m.asking >= m.room:
                    return -1
                name = w[r.key[rule], i] << 24 | int(rule) << 1 | 1 if m.which == SENT else 0
                if e.asks[a] != NONE:
                    if m.which != SENT or is_sent(u, v, name, le):
                        m.asking += 1
                        put(o, e, m.room - m.asking, i, a)
                else:
                    put(o, e, m.pairs, i, a)
                    if m.which == SENT:
                        o.asks[m.pairs] = name
                        prefetch(u.t_at + 8 * Unit.SIZE * home(u, name))
                    r.last[rule] = m.pairs
                    m.pairs += 1
            a = e.next[a]
    return 0


@kernel
def units_of(m: IndexControl, w: Any, u: UnitCall, y: KeyUnits, i: int) -> int:
    """Return how many units the keys of a row have."""
    found = 0
    for key in range(m.le + 1, m.le + 1 + m.keys):
        found += y.count[slot_of_key(u, y, w[key, i])]
    return found


@kernel
def meet_units(
    m: IndexControl,
    e: IndexEntry,
    d: ListWords,
    k: Any,
    w: Any,
    o: PairWords,
    r: RuleWords,
    u: UnitCall,
    v: Unit,
    y: KeyUnits,
    i: int,
) -> int:
    """Write the pairs of a row whose instant the store has, unit by unit. Returns -1 where there is no room for them."""
    le = w[m.le, i]
    for key in range(m.le + 1, m.le + 1 + m.keys):
        x = y.first[slot_of_key(u, y, w[key, i])]
        while x != 0:
            s = x - 1
            x, rule = v.next[s], v.name[s] >> 1 & RULES
            if r.key[rule] != key or not has(u, v, s, le):
                continue
            met, bits, a = False, 0, r.first[rule]
            while a != NONE:
                if holds(e, d, k, w, a, i, le):
                    if m.pairs + int(met) + m.asking >= m.room:
                        return -1
                    if e.asks[a] != NONE:
                        m.asking += 1
                        put(o, e, m.room - m.asking, i, a)
                    else:
                        put(o, e, m.pairs, i, a)
                        met, bits = True, bits | e.bit[a]
                a = e.also[a]
            if met:
                o.bits[m.pairs], o.asks[m.pairs] = bits, v.name[s]
                m.pairs += 1
    return 0


@kernel
def holds(e: IndexEntry, d: ListWords, k: Any, w: Any, a: int, i: int, le: int) -> bool:
    """Return whether an entry serves a row, and is true of it."""
    number, word = e.list[a] - 1, 0
    if not (e.since[a] <= le < e.until[a]) or (d.equal[number] != NONE and w[d.equal[number], i] != e.value[a]):
        return False
    if d.wide[number] != NONE:
        word = w[d.wide[number], i]
        if word == MISSING:
            return False
        if d.turned[number]:
            word = ~word
    return e.low[a] <= word and word <= e.high[a] and checked(e, k, w, a, i)


@kernel
def is_sent(u: UnitCall, v: Unit, name: int, le: int) -> bool:
    """Return whether the store has an instant of a unit."""
    return has(u, v, slot_of_unit(u, v, name, home(u, name)), le)


@kernel
def keep_sent(m: IndexControl, w: Any, o: PairWords, u: UnitCall, v: Unit, begun: int) -> None:
    """Keep of the pairs from ``begun`` on those of which the store has the instant; their units have been fetched meanwhile."""
    to = begun
    for p in range(begun, m.pairs):
        if is_sent(u, v, o.asks[p], w[m.le, o.row[p]]):
            o.row[to], o.rule[to], o.bits[to] = o.row[p], o.rule[p], o.bits[p]
            to += 1
    m.pairs = to


@kernel
def put(o: PairWords, e: IndexEntry, place: int, i: int, a: int) -> None:
    """Write a pair."""
    o.row[place], o.rule[place], o.bits[place], o.asks[place] = i, e.rule[a], e.bit[a], e.asks[a]


@kernel
def checked(e: IndexEntry, k: Any, w: Any, a: int, i: int) -> bool:
    """Return whether the further conditions of an entry are true of a row."""
    for c in range(e.checks[a], e.checks[a] + e.count[a]):
        word = w[k[c, 0], i]
        if word < k[c, 1] or word > k[c, 2]:
            return False
    return True
