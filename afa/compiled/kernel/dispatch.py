"""Which body serves which key and batch. All bodies do what Algorithm 1 does; `propagate_lists` is it, the others are for time.

    body               serves when                                         asked in             buys (rate without it = 1)

    what a call brings, of one key:
    append_packed      a packed key, a few rows in order that are plain    forward_keys         1.1 to 1.3: keys
    forward_longest    rows in order, only the longest count               attempt              1.7 (126 with replay): longest
    forward            rows in order, and there are loops (`row_loop`):    attempt              2.1 to 2.4: queries
      for whole lists  where most events change most of a list             attempt, loop_of     1.2 over that for runs: ignorable
      for runs         where most events leave most of it as it is         the same; forward    1.1 over whole lists: ignorable
      parts            runs of many rows, few of which move with an event  forward, change_list 2.7 hundreds, 82 a thousand: waiting
    merge              records
      parts            in order behind all steps, of a list that was long  derive_appended      15 five thousand: push

    a frame of history, of any keys, without a block:
    lane_loop          an automaton that does not choose, rows that no     in_lanes             3 on 10,000 keys: lanes
                       one revises; where only the longest count,
                       lists that stay short
    lane_scan          the same of one that chooses (AFTER MATCH           in_lanes             4 on 10,000 keys, 5 on one: sql
                       SKIP), where each match shows one row

    lists of marked steps:
    propagate_runs     some arc was ignorable                              propagate            a seventh of the memory: ignorable
      replay           only the longest count, steps behind a late event   propagate_runs       1.4, one late push 42: longest
    propagate_lists    no arc was ignorable                                propagate

The figures are ratios of rates, of one process each, by turns, with equal answers: the benchmark that is named, with the body
switched off here. What a batch must be like to come as rows (`forward`, `append_packed`) and not as records, and when step
functions and loops are compiled, says `afa.compiled.choices`; which frames go in lanes, `afa.frames.lanes`. The functions that ask
stand in `many`, `one_key`, `forward`, `kept_parts`, `propagate` and `propagate_runs`, under these names.
"""

from __future__ import annotations

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel

ROWS = 40
"""The most rows of a key that are tried in one call."""
FAR_BACK = 32
"""A list with a partial match that was stored so many steps before is one that most events leave as it is in part."""
LOSS = 16
"""How many lists parts may lose before they are given up."""


@kernel
def may_append_packed(m: Memory, w: Scratch, p: Program) -> bool:
    """Return whether this program and these arrays allow `append_packed`."""
    if m.longest:
        return False
    if m.packed_limit == 0 or m.draft == 0 or m.unpacked == 0 or m.ordered or m.gapless or p.ignorable or m.ties:
        return False
    return p.step != 0 and p.loop != 0 and p.timeout == 0 and p.counted == 0 and w.places >= 64


@kernel
def may_go_longest(m: Memory, p: Program, b: Block) -> bool:
    """Return whether `forward_longest` serves this program and this block."""
    return bool(m.longest and p.ignorable and p.step != 0 and p.timeout == 0 and p.counted == 0 and b.pending_top == 0)


@kernel
def may_go_forward(m: Memory, p: Program, b: Block) -> bool:
    """Return whether `forward` serves this program and this block."""
    loop = loop_of(m, p, b)
    return p.step != 0 and loop != 0 and p.timeout == 0 and p.counted < BY_TIMEOUTS and b.pending_top == 0


@kernel
def loop_of(m: Memory, p: Program, b: Block) -> int:
    """Return the address of the loop for this block, for runs or for whole lists; 0: there is none."""
    return p.loop_runs if p.ignorable and b.runs and p.loop_runs else p.loop


@kernel
def may_choose_loop(m: Memory, p: Program, b: Block, n: int) -> bool:
    """Return whether `runs_fit` can tell which loop suits a block that gets ``n`` records."""
    return bool(p.ignorable and m.longest == 0 and n >= m.sample and b.last - b.first > m.sample)


@kernel
def runs_fit(m: Memory, b: Block, n: int) -> bool:
    """Return whether the loop for runs takes ``n`` rows in order best; else that for whole lists does.

    It looks at m.sample steps all over the last ``n``, or an eighth of all: a few side by side would tell little. Only speed
    depends on it: what is held is the same (`afa.compiled.kernel.join`).
    """
    order, last, same, sample = b.order, b.last, 0, m.sample
    held = last - b.first - 1
    apart = min(held, max(n, held >> 3)) // sample
    for k in range(sample):
        place = last - 1 - k * apart
        i, far = order[place], order[max(place - FAR_BACK, b.first)]
        same += b.nodes_of[i].count == 0 or b.reach[i] <= b.le[far]
    return same * 4 >= sample * (2 if b.runs else 3)


@kernel
def go_on_with_runs(w: Scratch, p: Program, written: int, joined: int, n: int) -> bool:
    """Return whether the loop for runs is to go on: whole lists of ``n`` rows took ``written`` nodes, runs of them ``joined``."""
    return bool(p.loop_runs != 0 and (2 * joined < written or n >= w.many))


@kernel
def may_part(m: Memory, w: Scratch, p: Program, n: int) -> bool:
    """Return whether a list of ``n`` rows is to be taken in parts."""
    return n >= w.many and w.wait == 0 and parts_serve(m, p)


@kernel
def parts_serve(m: Memory, p: Program) -> bool:
    """Return whether lists may stand in parts: `unchanged` tells of most states that they stay."""
    return bool(p.ignorable and m.longest == 0 and m.gapless == 0 and p.unchanged != 0)


@kernel
def may_append_in_parts(m: Memory, w: Scratch, p: Program, kept: bool, was_long: bool) -> bool:
    """Return whether records in order are derived in parts. ``kept``, ``was_long``: see `take_kept`."""
    return (kept or (was_long and w.wait == 0)) and parts_serve(m, p) and p.counted < BY_TIMEOUTS


@kernel
def is_worth_it(w: Scratch) -> bool:
    """Return whether a list is to stay in parts."""
    return w.standing >= w.many >> 2 and w.loss <= LOSS * (w.standing + w.many)


@kernel
def give_up(w: Scratch) -> None:
    """Take no more lists in parts for a while, but for a list that has become short."""
    short = w.standing < w.many >> 2 and w.loss <= 0
    w.wait = 0 if short else w.many - 1 << 8


@kernel
def may_replay(m: Memory, p: Program) -> bool:
    """Return whether `replay` serves this program."""
    return bool(m.longest and p.ignorable and p.step != 0 and p.timeout == 0 and p.counted == 0)


@kernel
def complete(m: Memory, w: Scratch, b: Block, place: int) -> bool:
    """Return whether the list at a place, which is not new, is what the list before it gives. See Block.pruned."""
    pruned, order, times = b.pruned, b.order, b.le
    if pruned == BEGINNING or times[order[place]] >= w.whole:
        return True
    before = place - 1
    while before >= b.first and order[before] >= w.made:
        before -= 1
    return before >= b.first and times[order[before]] > pruned
