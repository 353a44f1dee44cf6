"""Memory of kernels: the undo log, and blocks on a heap with free lists by size class.

The undo log is a stack of records, read from its top:

    [word.. , address, n]          n words of ``m`` as they were
    [key, block, act, clean, before, -1]   the entry of a key in the directory; its old block is freed when the call is carried out,
                                   and what stands there now when the call is taken back
    [key, act, clean, -2]          the same of a key whose block stays
    [word.. , n << 32 | key, act, clean, -3]   the record of a key that was at rest, whose cell is free for others at once
    [head, act, clean, GREW - key]             the same of a record that begins the one that the key has now, but for its head
    [-16 - key]                    a key of which nothing was held
    [key, before, -4]              nothing is held of it any more

By key, for the directory may have moved since. What is taken back goes in rounds: first all that the keys hold now is freed, then
they get the blocks that they had, and at last the records. So there are cells for them: those that others hold are the ones that
they held before. A record may be noted more than once in a call; then the oldest is the one that counts.

Of a record that only grows its head is noted: with a copy of each record, a row of each of a million keys took 200 MB of new memory
in each call. w.owed says what the copies would take, and `room` leaves it free. They are made (`spell_out`) when the call is taken
back, or when a record is about to change that has grown in the call.
"""

from __future__ import annotations

from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.slabs import BLOCKS, RECORDS, cell_class, free_cell, take_cell

OWNER, DEADLINES, REST, GONE, NEW, GREW = -1, -2, -3, -4, -16, -(1 << 40)
KEY_BITS = 32
KEY = (1 << KEY_BITS) - 1
SMALLEST, LARGER = 64, 4
LARGE = 44  # the size class of blocks of 2**17 words


@kernel
def room(w: Scratch, words: int) -> bool:
    """Return whether the undo log takes so many words more."""
    return bool(w.undo_top + w.owed + words + 8 <= w.undo_cap)


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
    """Write one word; the old one goes to the undo log. *Requires* `room` for 3."""
    top = w.undo + w.undo_top
    w[top] = m[address]
    w[top + 1] = address
    w[top + 2] = 1
    w.undo_top += 3
    m[address] = value


@kernel
def save_entry(m: Memory, w: Scratch, key: int) -> None:
    """Copy the directory's entry of a key whose block is about to be replaced to the undo log. *Requires* `room` for 6."""
    top = w.undo + w.undo_top
    w[top], w[top + 4], w[top + 5] = key, w.loose, OWNER
    copy(m, m.dir + key * KeyEntry.SIZE, w, top + 1, 3)
    w.undo_top += 6
    w.loose = w.undo_top


@kernel
def save_deadlines(m: Memory, w: Scratch, key: int) -> None:
    """Copy the deadlines of a key whose block stays to the undo log. *Requires* `room` for 4."""
    top, entry = w.undo + w.undo_top, KeyEntry(m.dir + key * KeyEntry.SIZE)
    w[top], w[top + 1], w[top + 2] = key, entry.act, entry.clean
    w[top + 3] = DEADLINES
    w.undo_top += 4


@kernel
def save_record(m: Memory, w: Scratch, key: int, words: int) -> None:
    """Copy the record of a key at rest to the undo log, with its entry. *Requires* `room` for ``words + 4``."""
    top, entry = w.undo + w.undo_top, KeyEntry(m.dir + key * KeyEntry.SIZE)
    copy(m, -entry.block, w, top, words)
    top += words
    w[top], w[top + 1], w[top + 2], w[top + 3] = words << KEY_BITS | key, entry.act, entry.clean, REST
    w.undo_top += words + 4


@kernel
def save_head(m: Memory, w: Scratch, key: int) -> None:
    """Note the record of a key at rest that is about to become the begin of a longer one. *Requires* `room` for its words + 8.

    *Requires* that w.owed is not NOWHERE, and that nothing of the key was noted in this call.
    """
    top, entry = w.undo + w.undo_top, KeyEntry(m.dir + key * KeyEntry.SIZE)
    head = PackedKey(-entry.block).head
    w[top], w[top + 1], w[top + 2], w[top + 3] = head, entry.act, entry.clean, GREW - key
    w.undo_top += 4
    w.owed += (head & HEAD_MASK) + 4


@kernel
def save_in_full(m: Memory, w: Scratch) -> None:
    """Copy the records that were noted by their heads to the undo log, and let no more be noted so in this call.

    *Requires* that what has grown in the call has not changed otherwise, and no unit of work that may be taken back on its own.
    """
    base = w.undo
    end = top = PackedKey(w, base + w.undo_top)
    while end > base:
        if w[end - 1] <= GREW:
            key, words = GREW - w[end - 1], w[end - 4] & HEAD_MASK
            copy(m, -KeyEntry(m.dir + key * KeyEntry.SIZE).block, w, top, words)
            top.head = w[end - 4]
            top += words
            w[top], w[top + 1], w[top + 2], w[top + 3] = words << KEY_BITS | key, w[end - 3], w[end - 2], REST
            top += 4
        end -= saved_words(w, end)
    w.undo_top, w.owed = top - base, NOWHERE


@kernel
def save_new(w: Scratch, key: int) -> None:
    """Note a key of which nothing is held. *Requires* `room` for 1."""
    w[w.undo + w.undo_top] = NEW - key
    w.undo_top += 1


@kernel
def save_gone(w: Scratch, key: int) -> None:
    """Note a key of which nothing is held any more. *Requires* `room` for 3."""
    top = w.undo + w.undo_top
    w[top], w[top + 1], w[top + 2] = key, w.loose, GONE
    w.undo_top += 3
    w.loose = w.undo_top


@kernel
def free_held(m: Memory, key: int) -> None:
    """Free what an entry holds."""
    entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
    held = entry.block
    if held > 0:
        free_block(m, held)
    elif held < 0:
        free_cell(m, -held)
    entry.block = 0


@kernel
def saved_words(w: Scratch, end: int) -> int:
    """Return how many words the record of the undo log takes that ends at ``end``."""
    n = w[end - 1]
    if n >= 0:
        return int(n + 2)
    if n == OWNER:
        return 6
    if n == DEADLINES:
        return 4
    if n == REST:
        return int((w[end - 4] >> KEY_BITS) + 4)
    if n <= GREW:
        return 4
    return 3 if n == GONE else 1


@kernel
def noted_key(w: Scratch, end: int) -> int:
    """Return the key of which the record of the undo log that ends at ``end`` says in full what it held; NOWHERE: of none."""
    n = w[end - 1]
    if n == OWNER:
        return int(w[end - 6])
    if n == REST:
        return int(w[end - 4] & KEY)
    return int(NEW - n) if GREW < n <= NEW else NOWHERE


@kernel
def rollback(m: Memory, w: Scratch, mark: int) -> None:
    """Restore what was written since the undo log stood at ``mark``. *Requires* `spell_out` where heads were noted since."""
    begin, top = w.undo + mark, w.undo + w.undo_top
    end = top
    while end > begin:
        key = noted_key(w, end)
        if key != NOWHERE:
            free_held(m, key)
        end -= saved_words(w, end)
    end = top
    while end > begin:
        take_back(m, w, end)
        end -= saved_words(w, end)
    end = top
    while end > begin:
        if w[end - 1] == REST:
            rest_again(m, w, end)
        elif w[end - 1] == OWNER or w[end - 1] == GONE:
            w.loose = w[end - 2]
        end -= saved_words(w, end)
    w.undo_top = mark


@kernel
def take_back(m: Memory, w: Scratch, end: int) -> None:
    """Carry out the record of the undo log that ends at ``end``, when all that its key holds now is freed.

    Of a record of a key at rest the entry gets only where it stands in the log: an older one may take its place yet.
    """
    n, key = w[end - 1], noted_key(w, end)
    if n >= 0:
        copy(w, end - 2 - n, m, w[end - 2], n)
    elif n == OWNER:
        KeyEntry(m.dir + key * KeyEntry.SIZE).block = w[end - 5]
        put_deadlines(m, key, w[end - 4], w[end - 3])
    elif n == DEADLINES:
        put_deadlines(m, w[end - 4], w[end - 3], w[end - 2])
    elif n == REST:
        KeyEntry(m.dir + key * KeyEntry.SIZE).block = -end
        put_deadlines(m, key, w[end - 3], w[end - 2])
    elif GREW < n <= NEW:
        KeyEntry(m.dir + key * KeyEntry.SIZE).block = 0
        put_deadlines(m, key, FOREVER, FOREVER)


@kernel
def rest_again(m: Memory, w: Scratch, end: int) -> None:
    """Put the record of a key at rest into a cell that stands in the undo log until ``end``, if it is what the key had first."""
    entry, words = KeyEntry(m.dir + (w[end - 4] & KEY) * KeyEntry.SIZE), w[end - 4] >> KEY_BITS
    if entry.block == -end:
        cell = take_cell(m, cell_class(words))
        copy(w, end - 4 - words, m, cell, words)
        entry.block = -cell


@kernel
def commit(m: Memory, w: Scratch) -> None:
    """Empty the undo log, and free the blocks that were replaced. What has lost all that it had stands at w.gone."""
    loose, gone = w.loose, w.undo + w.undo_top
    w.gones = w.owed = w.loose = 0
    while loose:
        end = w.undo + loose
        loose = w[end - 2]
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

    Returns its address, or NEED_HEAP. Of many keys small ones lie in cells. Of the others one that was used before is taken even if
    it is somewhat larger: new memory costs more. Hence a new one that is LARGE gets some room to spare: the next one that takes its
    place may need a little more, and what nobody writes to is no memory yet.
    """
    size = class_of(words)
    if size + LARGER >= CLASSES:
        return NEED_HEAP
    if m.keyed and size <= BLOCKS:
        cell = take_cell(m, RECORDS + size)
        if cell > 0:
            m[cell] = size
        return int(cell)
    for found in range(size, size + LARGER):
        head = m.free[found]
        if head != 0:
            m.free[found] = m[head]
            m[head] = found
            return int(head)
    address = m.top
    if size >= LARGE and address + size_of(size + 1) <= m.limit:
        size += 1
    if address + size_of(size) > m.limit:
        return NEED_HEAP
    m.top = address + size_of(size)
    m[address] = size
    return int(address)


@kernel
def free_block(m: Memory, address: int) -> None:
    """Put a block, which begins with its size class, on its free list."""
    size = m[address]
    if m.keyed and size <= BLOCKS:
        free_cell(m, address)
        return
    m[address] = m.free[size]
    m.free[size] = address
