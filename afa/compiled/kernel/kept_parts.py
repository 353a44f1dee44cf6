"""Parts that outlast a call: the next call of the same key goes on with them, and looks at what its events concern.

    call        finds                                         leaves
    push        no parts: the list is read, and was long      w.long: the next one may take it in parts
    push        w.long: the list is read into parts           w.parts_of: the block
    push        w.parts_of: nothing is read                   w.parts_of
    table       w.parts_of, or reads the list                 w.parts_of, if the list stood in parts in the end
    any other   -                                             neither

INVARIANT: where w.parts_of is a block, the parts are exactly the list of its last step, and w.fresh says which of their nodes are
ALONE. What could break this forgets it first: `main` in all acts but a few; each attempt (`take_kept`), and one that cleans goes
on with nothing; `rollback`; `replace`, which gives a key another block. Only `keep_parts` sets it, when all steps of an attempt
are made. So a call that fails, another key in between, a late event, a promise, arcs that concern old steps leave nothing to go
on with. Parts say nothing of arcs: which rows an event may move is asked of the arcs in force at its LE.
"""

from __future__ import annotations

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.dispatch import give_up, is_worth_it, may_append_in_parts
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.one_step import ASK
from afa.compiled.kernel.parts import UNFIT, read_parts, summarize_parts, take_in_parts
from afa.compiled.kernel.propagate import propagate


@kernel
def forget_parts(w: Scratch) -> None:
    """Let no call go on with the parts of one before."""
    w.parts_of = w.long = 0


@kernel
def take_kept(m: Memory, w: Scratch, b: Block) -> tuple[bool, bool]:
    """Return whether the parts are those of block ``b``, and else whether its list was long in the call before; forget both."""
    kept, was_long = w.parts_of == b and b != m.unpacked, w.long == b and b != m.unpacked
    forget_parts(w)
    return kept, was_long


@kernel
def keep_parts(w: Scratch, b: Block) -> None:
    """Let the next call go on with the parts. *Requires* that they are the list of the block's last step."""
    if Loop(w.loop).open:
        w.fresh = FOREVER
    w.parts_of = b


@kernel
def resume_parts(m: Memory, w: Scratch, p: Program, b: Block, x: Loop) -> int:
    """Give the loop for runs the summary of parts that were kept. O(states). Returns 0: no row stands in w.source."""
    top = b.node_top
    summarize_parts(m, w, p, b, b.le[b.order[b.last - 1]], top, 0)
    x.most, x.parted = 0, 1
    if w.fresh != FOREVER:  # INVARIANT: the loop opens no nodes of an earlier call: it has no undo log. `take_in_parts` does
        x.wanted, x.open = -1, 0
    return 0


@kernel
def derive_appended(m: Memory, w: Scratch, p: Program, b: Block, place: int, n: int, kept: bool, was_long: bool) -> int:
    """Derive the lists of the steps of ``n`` records behind all others, from a place on. ``kept``, ``was_long``: see `take_kept`.

    Returns as `propagate`.
    """
    looks = m.looks
    if may_append_in_parts(m, w, p, kept, was_long):
        place = append_in_parts(m, w, p, b, place, kept)
    if 0 <= place < b.last:
        place = propagate(m, w, p, b, place)
        if place >= 0 and m.looks - looks >= w.many:
            w.long = b
    w.wait = max(w.wait - n, 0)
    return place


@kernel
def append_in_parts(m: Memory, w: Scratch, p: Program, b: Block, place: int, kept: bool) -> int:
    """Derive the lists of new steps of one event each, from a place on, in parts; ``kept``: they are at hand.

    Returns the first place that is left to `propagate`, or a status of `read_parts` or `take_in_parts`.
    """
    w.own, Loop(w.loop).open = b.node_top, 0
    status = DONE if kept else read_parts(m, w, b, place)
    while status >= 0 and place < b.last and b.events_of[b.order[place]].count == 1:
        i = b.order[place]
        le = b.le[i]
        seek(p, le)
        status = UNFIT
        if p.spill == 0 and is_worth_it(w):
            status = take_in_parts(m, w, p, b, i, place, b.events_of[i].first, le, b.node_top)
        if status >= 0:
            b.node_top += status
            place += 1
    if status >= 0 and place == b.last:
        keep_parts(w, b)
    elif status == UNFIT:
        give_up(w)
    if status == OVER:  # INVARIANT: the states of a list that is refused are told: whole lists say them
        return NEED_BLOCK
    return status if status < 0 and status != UNFIT and status != ASK else place
