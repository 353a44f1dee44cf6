"""Memory of kernels: the undo log, and blocks on a heap with free lists by size class.

The undo log is a stack of records, read from its top:

    [word.. , address, n]                                 n words of ``m`` as they were
    [key, block, act, clean, before, -1]       OWNER      the entry of a key. Its old block is freed when the call is carried out,
                                                          its new one when the call is taken back
    [key, act, clean, -2]                      DEADLINES  the deadlines of a key whose block stays
    [word.. , n << 32 | key, act, clean, -3]   PACKED     the record of a packed key, whose cell is free for others at once
    [head, act, clean, GREW - key]             GREW       the same where the key's record now begins with it, but for the head
    [NEW - key]                                NEW        a key that had nothing
    [key, before, -4]                          GONE       a key that has nothing any more

``before`` chains the records that `commit` must see. Keys are numbers, for the directory may move in between.

A rollback goes in rounds. First all blocks and cells that the keys have now are freed, then the keys get their old blocks, and at
last their old records. So there are cells for these: the cells in use then are those that were in use before. A key may have
several records in one log; the oldest one counts.

Of a packed record that only grows, its head is saved: a copy of each record took 200 MB of new memory a call, with one row for each
of a million keys. w.owed is what the copies would take, and `room` leaves it free. `save_in_full` makes them when the call is taken
back, or before such a record changes otherwise.
"""

from __future__ import annotations

from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.slabs import BLOCKS, RECORDS, cell_class, free_cell, take_cell

OWNER, DEADLINES, PACKED, GONE, NEW, GREW = -1, -2, -3, -4, -16, -(1 << 40)
KEY_BITS = 32
KEY = (1 << KEY_BITS) - 1
SMALLEST, LARGER = 64, 4
LARGE = 44  # the size class of 2**17 words


@kernel
def room(w: Scratch, words: int) -> bool:
    """Return whether the undo log has room for so many words more."""
    return w.undo_top + w.owed + words + 8 <= w.undo_cap


@kernel
def save(m: Memory, w: Scratch, address: int, n: int) -> None:
    """Copy ``n`` words to the undo log before they are written. *Requires* `room` for ``n + 2``."""
    top = w.undo + w.undo_top
    copy(m, address, w, top, n)
    w[top + n] = address
    w[top + n + 1] = n
    w.undo_top += n + 2


@kernel
def put(m: Memory, w: Scratch, address: int, value: int) -> None:
    """Write one word, and save the old one to the undo log. *Requires* `room` for 3."""
    top = w.undo + w.undo_top
    w[top] = m[address]
    w[top + 1] = address
    w[top + 2] = 1
    w.undo_top += 3
    m[address] = value  # INVARIANT: only behind the save


@kernel
def put_of_step(m: Memory, w: Scratch, i: int, address: int, value: int) -> None:
    """Write a word of step ``i``; of one that was there before the call the undo log has the old one. *Requires* `room` for 3."""
    if i >= w.made:
        m[address] = value
    elif m[address] != value:
        put(m, w, address, value)


@kernel
def save_entry(m: Memory, w: Scratch, key: int) -> None:
    """Save the entry of a key whose block is about to be replaced to the undo log. *Requires* `room` for 6."""
    top = w.undo + w.undo_top
    w[top], w[top + 4], w[top + 5] = key, w.replaced, OWNER
    copy(m, m.dir + key * KeyEntry.SIZE, w, top + 1, 3)
    w.undo_top += 6
    w.replaced = w.undo_top


@kernel
def save_deadlines(m: Memory, w: Scratch, key: int) -> None:
    """Save the deadlines of a key whose block stays to the undo log. *Requires* `room` for 4."""
    top, entry = w.undo + w.undo_top, KeyEntry(m.dir + key * KeyEntry.SIZE)
    w[top], w[top + 1], w[top + 2] = key, entry.act, entry.clean
    w[top + 3] = DEADLINES
    w.undo_top += 4


@kernel
def save_record(m: Memory, w: Scratch, key: int, words: int) -> None:
    """Save the record of a packed key to the undo log, with its deadlines. *Requires* `room` for ``words + 4``."""
    top, entry = w.undo + w.undo_top, KeyEntry(m.dir + key * KeyEntry.SIZE)
    copy(m, -entry.block, w, top, words)
    top += words
    w[top], w[top + 1], w[top + 2], w[top + 3] = words << KEY_BITS | key, entry.act, entry.clean, PACKED
    w.undo_top += words + 4


@kernel
def save_head(m: Memory, w: Scratch, key: int) -> None:
    """Save the head of a packed record that is about to grow. *Requires* `room` for its words + 8.

    *Requires* that w.owed is not NOWHERE, and that nothing of the key was saved in this call.
    """
    top, entry = w.undo + w.undo_top, KeyEntry(m.dir + key * KeyEntry.SIZE)
    head = PackedKey(-entry.block).head
    w[top], w[top + 1], w[top + 2], w[top + 3] = head, entry.act, entry.clean, GREW - key
    w.undo_top += 4
    w.owed += (head & HEAD_MASK) + 4


@kernel
def save_in_full(m: Memory, w: Scratch) -> None:
    """Save in full all records of which only the head was saved; later ones in this call are saved in full at once.

    *Requires* that these records have only grown, and that no key task is open that may be taken back on its own.
    """
    # Append each record as it was: its first words, which are still there, with the old head.
    base = w.undo
    end = top = PackedKey(w, base + w.undo_top)
    while end > base:
        if w[end - 1] <= GREW:
            key, words = GREW - w[end - 1], w[end - 4] & HEAD_MASK
            copy(m, -KeyEntry(m.dir + key * KeyEntry.SIZE).block, w, top, words)
            top.head = w[end - 4]
            top += words
            w[top], w[top + 1], w[top + 2], w[top + 3] = words << KEY_BITS | key, w[end - 3], w[end - 2], PACKED
            top += 4
        end -= saved_words(w, end)
    w.undo_top, w.owed = top - base, NOWHERE


@kernel
def save_new(w: Scratch, key: int) -> None:
    """Note that a key has nothing yet. *Requires* `room` for 1."""
    w[w.undo + w.undo_top] = NEW - key
    w.undo_top += 1


@kernel
def save_gone(w: Scratch, key: int) -> None:
    """Note that a key has nothing any more. *Requires* `room` for 3."""
    top = w.undo + w.undo_top
    w[top], w[top + 1], w[top + 2] = key, w.replaced, GONE
    w.undo_top += 3
    w.replaced = w.undo_top


@kernel
def free_held(m: Memory, key: int) -> None:
    """Free the block or the cell of a key."""
    entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
    if entry.block > 0:  # INVARIANT: a block above 0, a packed record below
        free_block(m, entry.block)
    elif entry.block < 0:
        free_cell(m, -entry.block)
    entry.block = 0


@kernel
def saved_words(w: Scratch, end: int) -> int:
    """Return how many words the record of the undo log that ends at ``end`` takes."""
    n = w[end - 1]
    if n >= 0:
        return n + 2
    if n == OWNER:
        return 6
    if n == DEADLINES:
        return 4
    if n == PACKED:
        return (w[end - 4] >> KEY_BITS) + 4
    if n <= GREW:
        return 4
    return 3 if n == GONE else 1


@kernel
def noted_key(w: Scratch, end: int) -> int:
    """Return the key whose old block or record the log's record that ends at ``end`` restores; NOWHERE: none."""
    n = w[end - 1]
    if n == OWNER:
        return w[end - 6]
    if n == PACKED:
        return w[end - 4] & KEY
    return NEW - n if GREW < n <= NEW else NOWHERE


@kernel
def rollback(m: Memory, w: Scratch, mark: int) -> None:
    """Undo all writes since the undo log stood at ``mark``. *Requires* `save_in_full` where heads were saved since."""
    begin, top = w.undo + mark, w.undo + w.undo_top
    w.parts_of = 0
    # Round 1: free the new block or cell of each key.
    end = top
    while end > begin:
        key = noted_key(w, end)
        if key != NOWHERE:
            free_held(m, key)
        end -= saved_words(w, end)
    # Round 2: restore words and entries, the newest first, so that the oldest value is written last.
    end = top
    while end > begin:
        take_back(m, w, end)
        end -= saved_words(w, end)
    # Round 3: give the packed records cells again, and restore the chain of `commit`.
    end = top
    while end > begin:
        if w[end - 1] == PACKED:
            pack_again(m, w, end)
        elif w[end - 1] == OWNER or w[end - 1] == GONE:
            w.replaced = w[end - 2]
        end -= saved_words(w, end)
    w.undo_top = mark


@kernel
def take_back(m: Memory, w: Scratch, end: int) -> None:
    """Restore what the log's record that ends at ``end`` has saved, once the key's new block or cell is freed.

    The entry of a packed key gets only the place of its record in the log: an older one may replace it yet.
    """
    n, key = w[end - 1], noted_key(w, end)
    if n >= 0:
        copy(w, end - 2 - n, m, w[end - 2], n)
    elif n == OWNER:
        KeyEntry(m.dir + key * KeyEntry.SIZE).block = w[end - 5]
        put_deadlines(m, key, w[end - 4], w[end - 3])
    elif n == DEADLINES:
        put_deadlines(m, w[end - 4], w[end - 3], w[end - 2])
    elif n == PACKED:
        KeyEntry(m.dir + key * KeyEntry.SIZE).block = -end
        put_deadlines(m, key, w[end - 3], w[end - 2])
    elif GREW < n <= NEW:
        KeyEntry(m.dir + key * KeyEntry.SIZE).block = 0
        put_deadlines(m, key, FOREVER, FOREVER)


@kernel
def pack_again(m: Memory, w: Scratch, end: int) -> None:
    """Copy the packed record in the undo log that ends at ``end`` to a cell, if it is the oldest one of its key."""
    entry, words = KeyEntry(m.dir + (w[end - 4] & KEY) * KeyEntry.SIZE), w[end - 4] >> KEY_BITS
    if entry.block == -end:
        cell = take_cell(m, cell_class(words))
        copy(w, end - 4 - words, m, cell, words)
        entry.block = -cell


@kernel
def commit(m: Memory, w: Scratch) -> None:
    """Empty the undo log, and free the blocks that were replaced. Lists the keys that have nothing any more at w.gone."""
    replaced, gone = w.replaced, w.undo + w.undo_top
    w.gones = w.owed = w.replaced = 0
    while replaced:
        end = w.undo + replaced
        replaced = w[end - 2]
        # INVARIANT: the list grows down from the top of the log, over records that were read already.
        if w[end - 1] == GONE and KeyEntry(m.dir + w[end - 3] * KeyEntry.SIZE).block == 0:
            gone -= 1
            w[gone] = w[end - 3]
            w.gones += 1
        elif w[end - 1] == OWNER and w[end - 5]:
            free_block(m, w[end - 5])
    w.gone = gone
    w.undo_top = 0
    m.waited = m.waiting


@kernel
def size_of(size: int) -> int:
    """Return the words of a size class: 64, 80, 96, 112, 128, 160, ..."""
    return (4 + (size & 3)) * (SMALLEST >> 2) << (size >> 2)


@kernel
def class_of(words: int) -> int:
    """Return the smallest size class that holds so many words."""
    size = 0
    while size_of(size + 4) < words:
        size += 4
    while size_of(size) < words:
        size += 1
    return size


@kernel
def take_block(m: Memory, words: int) -> int:
    """Take a block of at least so many words from the heap; its first word is its size class.

    Returns its address, or NEED_HEAP. With many keys small blocks lie in cells. A free block is taken even if somewhat larger: new
    memory costs more. So a new LARGE block gets room to spare: the next one in its place may need a little more, and pages that
    nobody writes to are no memory yet.
    """
    size = class_of(words)
    if size + LARGER >= CLASSES:
        return NEED_HEAP
    if m.keyed and size <= BLOCKS:
        cell = take_cell(m, RECORDS + size)
        if cell > 0:
            m[cell] = size
        return cell
    for found in range(size, size + LARGER):  # INVARIANT: the first word of a free block is the next one of its class
        head = m.free[found]
        if head != 0:
            m.free[found] = m[head]
            m[head] = found
            return head
    address = m.top
    if size >= LARGE and address + size_of(size + 1) <= m.limit:
        size += 1
    if address + size_of(size) > m.limit:
        return NEED_HEAP
    m.top = address + size_of(size)
    m[address] = size
    return address


@kernel
def free_block(m: Memory, address: int) -> None:
    """Put a block, which begins with its size class, on its free list."""
    size = m[address]
    if m.keyed and size <= BLOCKS:
        free_cell(m, address)
        return
    m[address] = m.free[size]
    m.free[size] = address
