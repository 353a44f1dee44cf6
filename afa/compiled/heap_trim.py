"""How the top of a heap goes down again when a call is taken back: `afa.compiled.kernel.heap` never lowers it."""

from __future__ import annotations

from typing import Any

import numpy as np

from afa.compiled.kernel import names as k
from afa.compiled.kernel.heap import size_of
from afa.compiled.kernel.slabs import BLOCKS

SIZES = np.array([size_of(size) for size in range(k.CLASSES)])
"""The words of blocks by size class."""


def trim(m: Any, end: int) -> None:
    """Let the heap end where the last thing in it ends that is in use; the directory ends at ``end``. O(keys + what is free).

    *Requires* an empty undo log.
    """
    held = m[m[k.C_DIR] + k.D_BLOCK : m[k.C_MINIMA] : k.D_SIZE]
    own = [m[word] - less for word, less in ((k.C_DESK, 0), (k.C_DRAFT, 1)) if m[word]]
    blocks = np.append(held[held > 0], np.array(own, np.int64))
    small = m[blocks] <= (BLOCKS if m[k.C_KEYED] else k.NOWHERE)
    cells = np.append(-held[held < 0], blocks[small])
    ends = np.concatenate([blocks[~small] + SIZES[m[blocks[~small]]], (cells & -k.PAGE) + k.PAGE])
    top = max(end, int(ends.max(initial=k.CONTROL)))
    for head in range(k.C_FREE, k.C_FREE + k.CLASSES):
        _shorten(m, head, 0, top)
    _shorten(m, k.C_PAGES, k.A_NEXT, top)
    m[k.C_TOP] = top


def _shorten(m: Any, at: int, link: int, top: int) -> None:
    """Leave what lies from ``top`` on out of a chain that begins at the word ``at``; ``link``: which word names the next one."""
    following = int(m[at])
    while following:
        after = int(m[following + link])
        if following < top:
            m[at] = following
            at = following + link
        following = after
    m[at] = 0
