"""How the top of a heap goes down again when a call is taken back: `afa.compiled.kernel.heap` never lowers it."""

from __future__ import annotations

from typing import Any

import numpy as np

from afa.compiled.kernel import layout as k
from afa.compiled.kernel.heap import size_of
from afa.compiled.kernel.slabs import BLOCKS

SIZES = np.array([size_of(size) for size in range(k.CLASSES)])
"""The words of blocks by size class."""


def trim(m: Any, end: int) -> None:
    """End the heap behind the last block or page in use; the directory ends at ``end``. O(keys + free blocks and pages).

    *Requires* an empty undo log.
    """
    held = m[m[k.Memory.dir] + k.KeyEntry.block : m[k.Memory.minima] : k.KeyEntry.SIZE]
    own = [m[word] - less for word, less in ((k.Memory.unpacked, 0), (k.Memory.draft, 1), (k.Memory.shared, 0)) if m[word]]
    blocks = np.append(held[held > 0], np.array(own, np.int64))
    small = m[blocks] <= (BLOCKS if m[k.Memory.keyed] else k.NOWHERE)
    cells = np.append(-held[held < 0], blocks[small])
    ends = np.concatenate([blocks[~small] + SIZES[m[blocks[~small]]], (cells & -k.PAGE) + k.PAGE])
    top = max(end, int(ends.max(initial=k.CONTROL)))
    for head in range(k.Memory.free, k.Memory.free + k.CLASSES):
        _shorten(m, head, 0, top)
    _shorten(m, k.Memory.pages, k.Page.next, top)
    m[k.Memory.top] = top


def _shorten(m: Any, at: int, link: int, top: int) -> None:
    """Take all items from ``top`` on out of a chain that begins at the word ``at``; ``link``: which word names the next one."""
    following = int(m[at])
    while following:
        after = int(m[following + link])
        if following < top:
            m[at] = following
            at = following + link
        following = after
    m[at] = 0
