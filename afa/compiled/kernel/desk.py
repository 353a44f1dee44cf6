"""The desk: a block, nobody's own, on which keys at rest are opened, one at a time; and what a key holds is replaced.

D_BLOCK    0      nothing held         opened --> the desk, empty
         < 0      at rest              opened --> the desk, with what its record says
         > 0      a block of its own   opened --> that block

replace   D_BLOCK old --> new          the undo log has what was held when the call began; what came to be in the call goes
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.blocks import make
from afa.compiled.kernel.heap import free_block, room, save_entry, save_gone, save_head, save_new, save_record, take_block
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.rest import read_record, write_record
from afa.compiled.kernel.slabs import cell_class, free_cell, take_cell

TOO_MUCH = 1
"""What `lay_to_rest` says of a state that is no record."""
SWAPPED = MOST + 8
"""The words that `replace` may need of the undo log."""
SPARE = 32
"""The room of the desk beyond what any record needs, in rows of each kind."""


@kernel
def opened(m: Any, key: int) -> int:
    """Return the block where the state of a key stands, or can be put: 0 where it needs one of its own, or NEED_HEAP."""
    held = m[m[C_DIR] + key * D_SIZE + D_BLOCK]
    if held > 0 or (held == 0 and m[C_REST] == 0):
        return int(held)
    if m[C_DESK] == 0:
        status = make_desk(m)
        if status < 0:
            return int(status)
    b = m[C_DESK]
    if held < 0:
        read_record(m, -held, b)
        return int(b)
    for name in range(MOVING, HEAD):
        m[b + name] = 0
    m[b + H_RUNS], m[b + H_SINCE], m[b + H_CLEANED], m[b + H_PRUNED] = 1, BEGINNING, BEGINNING, BEGINNING
    m[b + H_TOLD], m[b + H_GAP] = m[C_EVENTS], FOREVER
    return int(b)


@kernel
def held_block(m: Any, key: int) -> int:
    """Return the block where the state of a key stands, to be read; 0: nothing is held."""
    return 0 if m[m[C_DIR] + key * D_SIZE + D_BLOCK] == 0 else opened(m, key)


@kernel
def desk_rooms(v: int, r: int) -> Any:
    """Return how many steps, events, nodes, matches and retractions that wait the desk has room for.

    Words of a record: a step takes two at least, a node one, the others as many as they say something.
    """
    steps = MOST // 2 + SPARE
    return steps, MOST // max(v, 1) + SPARE, MOST + SPARE, MOST // (1 + r) + SPARE, MOST // (Q_WORDS + v) + SPARE


@kernel
def make_desk(m: Any) -> int:
    """Make the desk, and a place to draft records on. Returns DONE or NEED_HEAP."""
    words = 2 * MOST + 64 + m[C_V] + 2 * m[C_R] + m[C_V]
    if m[C_DRAFT] == 0:
        draft = take_block(m, words)
        if draft < 0:
            return int(draft)
        m[C_DRAFT] = draft + 1
    steps, events, nodes, matches, waiting = desk_rooms(m[C_V], m[C_R])
    b = make(m, steps, events, nodes, matches, waiting)
    if b < 0:
        return int(b)
    m[b + H_BORN] = 0
    m[C_DESK] = b
    return DONE


@kernel
def replace(m: Any, w: Any, key: int, new: int) -> None:
    """Let a key hold another block, or another record, or nothing; the old one is kept for as long as the call can be taken back.

    Of what came to be in this call the undo log has what was held before, so that it goes at once. *Requires* `room` for SWAPPED.
    """
    entry = m[C_DIR] + key * D_SIZE
    old = m[entry + D_BLOCK]
    if old == 0:
        save_new(w, key)
    elif old < 0:
        note_record(m, w, key, False)
        free_cell(m, -old)
    elif m[old + H_BORN] == m[C_SERIAL]:
        free_block(m, old)
    else:
        save_entry(m, w, key)
    m[entry + D_BLOCK] = new
    if new == 0 and old != 0:
        save_gone(w, key)


@kernel
def note_record(m: Any, w: Any, key: int, grows: bool) -> None:
    """Note the record of a key in the undo log, if it is not of this call; ``grows``: it is the begin of the next one."""
    entry = m[C_DIR] + key * D_SIZE
    if m[entry + D_CHANGED] == m[C_SERIAL]:
        return
    if grows and w[W_OWED] != NOWHERE:
        save_head(m, w, key)
    else:
        save_record(m, w, key, m[-m[entry + D_BLOCK]] & HEAD_MASK)


@kernel
def lay_to_rest(m: Any, w: Any, key: int, b: int, limit: int) -> int:
    """Let a key be at rest with the state of a block, if its record has no more than ``limit`` words.

    Returns DONE, TOO_MUCH, or NEED_UNDO, NEED_HEAP; then nothing is done.
    """
    if m[C_DESK] == 0:
        status = make_desk(m)
        if status < 0:
            return int(status)
    words = write_record(m, w, b, m[C_DRAFT], limit)
    return TOO_MUCH if words == 0 else put_draft(m, w, key, words, 0)


@kernel
def put_draft(m: Any, w: Any, key: int, words: int, kept: int) -> int:
    """Let a key be at rest with the record of so many words that is drafted.

    ``kept``: it begins with so many words of the one that the key has, but for its head; the draft does not have them. Returns
    DONE, or NEED_UNDO, NEED_HEAP.
    """
    if not room(w, SWAPPED):
        return NEED_UNDO
    entry = m[C_DIR] + key * D_SIZE
    size, held = cell_class(words), m[entry + D_BLOCK]
    cell = -held
    if held >= 0 or cell_class(m[cell] & HEAD_MASK) != size:
        cell = take_cell(m, size)
        if cell < 0:
            return int(cell)
    if held >= 0:
        replace(m, w, key, -cell)
    else:
        note_record(m, w, key, kept > 0)
        if cell != -held:
            copy(m, -held, m, cell, kept)
            free_cell(m, -held)
            m[entry + D_BLOCK] = -cell
    copy(m, m[C_DRAFT] + kept, m, cell + kept, words - kept)
    m[cell + Z_HEAD] = m[m[C_DRAFT] + Z_HEAD]
    return DONE
