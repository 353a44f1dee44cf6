"""The desk: a block, nobody's own, on which keys at rest are opened, one at a time; and what a key holds is replaced.

KeyEntry.block    0      nothing held         opened --> the desk, empty
         < 0      at rest              opened --> the desk, with what its record says
         > 0      a block of its own   opened --> that block

replace   KeyEntry.block old --> new          the undo log has what was held when the call began; what came to be in the call goes
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.blocks import make
from afa.compiled.kernel.heap import free_block, room, save_entry, save_gone, save_head, save_new, save_record, take_block
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.packed_keys import read_record, write_record
from afa.compiled.kernel.slabs import cell_class, free_cell, take_cell

TOO_MUCH = 1
"""What `lay_to_rest` says of a state that is no record."""
SWAPPED = MOST + 8
"""The words that `replace` may need of the undo log."""
SPARE = 32
"""The room of the desk beyond what any record needs, in rows of each kind."""


@kernel
def opened(m: Memory, key: int) -> int:
    """Return the block where the state of a key stands, or can be put: 0 where it needs one of its own, or NEED_HEAP."""
    held = KeyEntry(m.dir + key * KeyEntry.SIZE).block
    if held > 0 or (held == 0 and m.rest == 0):
        return int(held)
    if m.unpacked == 0:
        status = make_unpack_buffer(m)
        if status < 0:
            return int(status)
    b = Block(m.unpacked)
    if held < 0:
        read_record(m, -held, b)
        return int(b)
    for name in range(MOVING, HEAD):
        m[b + name] = 0
    b.runs, b.since, b.cleaned, b.pruned = 1, BEGINNING, BEGINNING, BEGINNING
    b.told, b.gap = m.events, FOREVER
    return int(b)


@kernel
def block_of_key(m: Memory, key: int) -> int:
    """Return the block where the state of a key stands, to be read; 0: nothing is held."""
    return 0 if KeyEntry(m.dir + key * KeyEntry.SIZE).block == 0 else opened(m, key)


@kernel
def unpack_rooms(v: int, r: int) -> Any:
    """Return how many steps, events, nodes, matches and retractions that wait the desk has room for.

    Words of a record: a step takes two at least, a node one, the others as many as they say something.
    """
    steps = MOST // 2 + SPARE
    return steps, MOST // max(v, 1) + SPARE, MOST + SPARE, MOST // (1 + r) + SPARE, MOST // (PendingRow.payload + v) + SPARE


@kernel
def make_unpack_buffer(m: Memory) -> int:
    """Make the desk, and a place to draft records on. Returns DONE or NEED_HEAP."""
    words = 2 * MOST + 64 + m.payload_words + 2 * m.register_words + m.payload_words
    if m.draft == 0:
        draft = take_block(m, words)
        if draft < 0:
            return int(draft)
        m.draft = draft + 1
    steps, events, nodes, matches, waiting = unpack_rooms(m.payload_words, m.register_words)
    b = Block(make(m, steps, events, nodes, matches, waiting))
    if b < 0:
        return int(b)
    b.born = 0
    m.unpacked = b
    return DONE


@kernel
def replace(m: Memory, w: Scratch, key: int, new: int) -> None:
    """Let a key hold another block, or another record, or nothing; the old one is kept for as long as the call can be taken back.

    Of what came to be in this call the undo log has what was held before, so that it goes at once. *Requires* `room` for SWAPPED.
    """
    entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
    old = Block(entry.block)
    if old == 0:
        save_new(w, key)
    elif old < 0:
        note_record(m, w, key, False)
        free_cell(m, -old)
    elif old.born == m.serial:
        free_block(m, old)
    else:
        save_entry(m, w, key)
    entry.block = new
    if new == 0 and old != 0:
        save_gone(w, key)


@kernel
def note_record(m: Memory, w: Scratch, key: int, grows: bool) -> None:
    """Note the record of a key in the undo log, if it is not of this call; ``grows``: it is the begin of the next one."""
    entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
    if entry.changed == m.serial:
        return
    if grows and w.owed != NOWHERE:
        save_head(m, w, key)
    else:
        save_record(m, w, key, m[-entry.block] & HEAD_MASK)


@kernel
def pack(m: Memory, w: Scratch, key: int, b: int, limit: int) -> int:
    """Let a key be at rest with the state of a block, if its record has no more than ``limit`` words.

    Returns DONE, TOO_MUCH, or NEED_UNDO, NEED_HEAP; then nothing is done.
    """
    if m.unpacked == 0:
        status = make_unpack_buffer(m)
        if status < 0:
            return int(status)
    words = write_record(m, w, b, m.draft, limit)
    return TOO_MUCH if words == 0 else put_draft(m, w, key, words, 0)


@kernel
def put_draft(m: Memory, w: Scratch, key: int, words: int, kept: int) -> int:
    """Let a key be at rest with the record of so many words that is drafted.

    ``kept``: it begins with so many words of the one that the key has, but for its head; the draft does not have them. Returns
    DONE, or NEED_UNDO, NEED_HEAP.
    """
    if not room(w, SWAPPED):
        return NEED_UNDO
    entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
    size, held = cell_class(words), entry.block
    cell = PackedKey(-held)
    if held >= 0 or cell_class(m[cell] & HEAD_MASK) != size:
        cell = PackedKey(take_cell(m, size))
        if cell < 0:
            return int(cell)
    if held >= 0:
        replace(m, w, key, -cell)
    else:
        note_record(m, w, key, kept > 0)
        if cell != -held:
            copy(m, -held, m, cell, kept)
            free_cell(m, -held)
            entry.block = -cell
    copy(m, m.draft + kept, m, cell + kept, words - kept)
    cell.head = PackedKey(m.draft).head
    return DONE
