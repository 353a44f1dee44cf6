"""Memory of kernels: the undo log, and blocks on a heap with free lists by size class.

The undo log is a stack of records, read from its top:

    [word.. , address, n]     n words of ``m`` as they were
    [key, block, act, clean, -1]   the entry of a key in the directory; its old block is freed when the call is carried out, and
                                   the one that stands there now when the call is taken back
    [key, act, clean, -2]          the same of a key whose block stays

By key, for the directory may have moved since.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel

OWNER, DEADLINES = -1, -2
SMALLEST, LARGER = 64, 4


@kernel
def room(w: Any, words: int) -> bool:
    """Return whether the undo log takes so many words more."""
    return bool(w[W_UNDO_TOP] + words + 8 <= w[W_UNDO_CAP])


@kernel
def save(m: Any, w: Any, address: int, n: int) -> None:
    """Copy ``n`` words to the undo log before they are written. *Requires* `room` for ``n + 2``."""
    top = w[W_UNDO] + w[W_UNDO_TOP]
    copy(m, address, w, top, n)
    w[top + n] = address
    w[top + n + 1] = n
    w[W_UNDO_TOP] += n + 2


@kernel
def put(m: Any, w: Any, address: int, value: int) -> None:
    """Write one word; the old one goes to the undo log. *Requires* `room` for 3."""
    top = w[W_UNDO] + w[W_UNDO_TOP]
    w[top] = m[address]
    w[top + 1] = address
    w[top + 2] = 1
    w[W_UNDO_TOP] += 3
    m[address] = value


@kernel
def save_entry(m: Any, w: Any, key: int) -> None:
    """Copy the directory's entry of a key whose block is about to be replaced to the undo log. *Requires* `room` for 5."""
    top = w[W_UNDO] + w[W_UNDO_TOP]
    w[top], w[top + 4] = key, OWNER
    copy(m, m[C_DIR] + key * D_SIZE, w, top + 1, 3)
    w[W_UNDO_TOP] += 5


@kernel
def save_deadlines(m: Any, w: Any, key: int) -> None:
    """Copy the deadlines of a key whose block stays to the undo log. *Requires* `room` for 4."""
    top, entry = w[W_UNDO] + w[W_UNDO_TOP], m[C_DIR] + key * D_SIZE
    w[top], w[top + 1], w[top + 2] = key, m[entry + D_ACT], m[entry + D_CLEAN]
    w[top + 3] = DEADLINES
    w[W_UNDO_TOP] += 4


@kernel
def rollback(m: Any, w: Any, mark: int) -> None:
    """Restore what was written since the undo log stood at ``mark``."""
    base = w[W_UNDO]
    top = w[W_UNDO_TOP]
    while top > mark:
        n = w[base + top - 1]
        if n == OWNER:
            entry = m[C_DIR] + w[base + top - 5] * D_SIZE
            if m[entry + D_BLOCK]:
                free_block(m, m[entry + D_BLOCK])
            m[entry + D_BLOCK] = w[base + top - 4]
            put_deadlines(m, w[base + top - 5], w[base + top - 3], w[base + top - 2])
            top -= 5
            continue
        if n == DEADLINES:
            put_deadlines(m, w[base + top - 4], w[base + top - 3], w[base + top - 2])
            top -= 4
            continue
        copy(w, base + top - 2 - n, m, w[base + top - 2], n)
        top -= n + 2
    w[W_UNDO_TOP] = mark


@kernel
def commit(m: Any, w: Any) -> None:
    """Empty the undo log, and free the blocks that were replaced."""
    base = w[W_UNDO]
    top = w[W_UNDO_TOP]
    while top > 0:
        n = w[base + top - 1]
        if n == OWNER:
            if w[base + top - 4]:
                free_block(m, w[base + top - 4])
            top -= 5
        else:
            top -= 4 if n == DEADLINES else n + 2
    w[W_UNDO_TOP] = 0
    m[C_WAITED] = m[C_WAITING]


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
def take_block(m: Any, words: int) -> int:
    """Take a block of at least so many words from the heap; its first word is its size class.

    Returns its address, or NEED_HEAP. One that was used before is taken even if it is somewhat larger: new memory costs more.
    """
    size = class_of(words)
    if size + LARGER >= CLASSES:
        return NEED_HEAP
    for found in range(size, size + LARGER):
        head = m[C_FREE + found]
        if head != 0:
            m[C_FREE + found] = m[head]
            m[head] = found
            return int(head)
    address = m[C_TOP]
    if address + size_of(size) > m[C_LIMIT]:
        return NEED_HEAP
    m[C_TOP] = address + size_of(size)
    m[address] = size
    return int(address)


@kernel
def free_block(m: Any, address: int) -> None:
    """Put a block, which begins with its size class, on its free list."""
    size = m[address]
    m[address] = m[C_FREE + size]
    m[C_FREE + size] = address
