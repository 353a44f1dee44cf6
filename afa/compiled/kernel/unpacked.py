"""The unpack buffer: a block of no key, in which packed keys are opened, one at a time; and how a key gets another block or record.

KeyEntry.block    0      nothing              opened --> the unpack buffer, empty
         < 0      packed               opened --> the unpack buffer, with what its record says
         > 0      a block of its own   opened --> that block

replace   KeyEntry.block old --> new          the undo log has the word as the call found it; a block or record of the call goes
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.blocks import empty_head, make
from afa.compiled.kernel.heap import free_block, room, save_entry, save_gone, save_head, save_new, save_record, take_block
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.packed_keys import read_record, write_record
from afa.compiled.kernel.slabs import cell_class, free_cell, take_cell

TOO_MUCH = 1
"""What `pack` returns for a state that does not fit a packed key."""
SWAPPED = MOST + 8
"""The words that `replace` may need of the undo log."""
SPARE = 32
"""The room of the unpack buffer beyond what any packed key needs, in rows of each kind."""


@kernel
def opened(m: Memory, key: int) -> int:
    """Return the block where the state of a key stands, or can be put; 0: it needs one of its own; or NEED_HEAP."""
    held = KeyEntry(m.dir + key * KeyEntry.SIZE).block
    if held > 0 or (held == 0 and m.packed_limit == 0):
        return held
    if m.unpacked == 0:
        status = make_unpack_buffer(m)
        if status < 0:
            return status
    b = Block(m.unpacked)
    empty_head(m, b)
    if held < 0:
        read_record(m, -held, b)
    return b


@kernel
def block_of_key(m: Memory, key: int) -> int:
    """Return the block where the state of a key can be read; 0: it has none."""
    return 0 if KeyEntry(m.dir + key * KeyEntry.SIZE).block == 0 else opened(m, key)


@kernel
def unpack_rooms(v: int, r: int) -> Any:
    """Return for how many steps, events, nodes, matches and waiting retractions the unpack buffer has room.

    Each takes some words of a record: a step two at least, a node one, others those that they write.
    """
    steps = MOST // 2 + SPARE
    return steps, MOST // max(v, 1) + SPARE, MOST + SPARE, MOST // (1 + r) + SPARE, MOST // (PendingRow.payload + v) + SPARE


@kernel
def make_unpack_buffer(m: Memory) -> int:
    """Make the unpack buffer, and a place to draft records. Returns DONE or NEED_HEAP."""
    words = 2 * MOST + 64 + m.payload_words + 2 * m.register_words + m.payload_words
    if m.draft == 0:
        draft = take_block(m, words)
        if draft < 0:
            return draft
        m.draft = draft + 1
    steps, events, nodes, matches, waiting = unpack_rooms(m.payload_words, m.register_words)
    b = Block(make(m, steps, events, nodes, matches, waiting))
    if b < 0:
        return b
    b.born = 0
    m.unpacked = b
    return DONE


@kernel
def replace(m: Memory, w: Scratch, key: int, new: int) -> None:
    """Give a key another block or record, or none. The old one stays as long as the call can be rolled back.

    One that was made in this call goes at once: the undo log has what was there before. *Requires* `room` for SWAPPED.
    """
    entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
    w.parts_of = 0
    # INVARIANT: the undo log has the entry as the call found it: nothing, a record's words, or a block.
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
    entry.block = new  # INVARIANT: above 0 a block, below 0 less the address of a record, 0 nothing
    if new == 0 and old != 0:
        save_gone(w, key)


@kernel
def note_record(m: Memory, w: Scratch, key: int, grows: bool) -> None:
    """Save the record of a key in the undo log, unless it is of this call; ``grows``: it only grows, so its head will do."""
    entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
    if entry.changed == m.serial:
        return
    if grows and w.owed != NOWHERE:
        save_head(m, w, key)
    else:
        save_record(m, w, key, m[-entry.block] & HEAD_MASK)


@kernel
def pack(m: Memory, w: Scratch, key: int, b: Block, limit: int) -> int:
    """Pack a key with the state of a block, if that takes no more than ``limit`` words.

    Returns DONE, TOO_MUCH, or NEED_UNDO, NEED_HEAP; then nothing is done.
    """
    if m.unpacked == 0:
        status = make_unpack_buffer(m)
        if status < 0:
            return status
    words = write_record(m, w, b, m.draft, limit)
    return TOO_MUCH if words == 0 else put_draft(m, w, key, words, 0)


@kernel
def put_draft(m: Memory, w: Scratch, key: int, words: int, kept: int) -> int:
    """Give a key the drafted record of ``words`` words.

    ``kept``: so many of its first words, but for the head, are those of the record that the key has; the draft lacks them. Returns
    DONE, or NEED_UNDO, NEED_HEAP.
    """
    if not room(w, SWAPPED):
        return NEED_UNDO
    entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
    # The same cell, where that is of the right size; else another one.
    size, held = cell_class(words), entry.block
    cell = PackedKey(-held)
    if held >= 0 or cell_class(m[cell] & HEAD_MASK) != size:
        cell = PackedKey(take_cell(m, size))
        if cell < 0:
            return cell
    if held >= 0:
        replace(m, w, key, -cell)
    else:
        note_record(m, w, key, kept > 0)
        if cell != -held:
            copy(m, -held, m, cell, kept)
            free_cell(m, -held)
            entry.block = -cell
    # INVARIANT: the undo log has the old record before its words change.
    copy(m, m.draft + kept, m, cell + kept, words - kept)
    cell.head = PackedKey(m.draft).head
    return DONE
