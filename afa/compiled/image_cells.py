"""Check the pages of cells of an image, and the records of keys at rest (`afa.compiled.kernel.slabs`, `rest`)."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from afa.compiled.kernel import names as k
from afa.compiled.kernel.desk import desk_rooms
from afa.compiled.kernel.slabs import BLOCKS, RECORDS, cell_class, cell_words
from afa.compiled.mapped_heap import FileHeap
from afa.compiled.memory import Batch
from afa.compiled.store import Store
from afa.state.sound import wanted

WORDS = np.array([cell_words(size) for size in range(RECORDS + BLOCKS + 1)])
CLASSES = np.array([0, *map(cell_class, range(1, k.MOST + 1))])


def check_cells(m: Any, held: Any, top: int) -> None:
    """Check that records and small blocks lie in cells of their size, within ``top`` words. ``held``: D_BLOCK of all keys."""
    desk, draft, pages = (int(m[word]) for word in (k.C_DESK, k.C_DRAFT, k.C_PAGES))
    wanted("words of a record", 0 <= m[k.C_REST] <= k.MOST, m[k.C_REST])
    records, blocks = -held[held < 0], held[held > 0]
    wanted("records in the memory", ((records >= k.CONTROL) & (records < top - k.S_WORDS)).all())
    wanted("a desk for records", not len(records) or (desk and draft), [desk, draft])
    if desk:
        wanted("a desk in the memory", k.CONTROL < desk <= top - k.HEAD and k.CONTROL < draft <= top - 3 * k.MOST, [desk, draft])
        caps = [int(m[desk + name]) for name in (k.H_CAP, k.H_EVENT_CAP, k.H_NODE_CAP, k.H_MATCH_CAP, k.H_PENDING_CAP)]
        wanted("a desk with room", all(n >= least for n, least in zip(caps, desk_rooms(int(m[k.C_V]), int(m[k.C_R])))), caps)
        blocks = np.append(blocks, desk)
    small = blocks[(m[blocks] >= 0) & (m[blocks] <= BLOCKS)]
    words = m[records] & k.HEAD_MASK
    wanted("records of some words", ((words > 0) & (words <= k.MOST) & (words <= top - records)).all())
    cells = np.append(records, small)
    sizes = np.append(CLASSES[words], m[small] + RECORDS)
    _check_pages(
        m, np.append(_chained(m, pages, top), m[k.C_CELLS : k.C_CELLS + k.CELLS][m[k.C_CELLS : k.C_CELLS + k.CELLS] != 0]), top
    )
    homes = cells & -k.PAGE
    _check_pages(m, homes, top)
    wanted("cells of their class", (m[homes + k.A_CLASS] == sizes).all())
    wanted("cells beside each other", ((cells - homes - k.CELL) % WORDS[sizes] == 0).all())


def _chained(m: Any, page: int, top: int) -> Any:
    """Return the free pages."""
    found: list[int] = []
    while page:
        wanted("free pages in the memory", 0 < page <= top - k.PAGE and page % k.PAGE == 0 and len(found) <= top // k.PAGE, page)
        found.append(page)
        page = int(m[page + k.A_NEXT])
    return np.array(found, np.int64)


def _check_pages(m: Any, pages: Any, top: int) -> None:
    wanted("pages in the memory", ((pages > 0) & (pages % k.PAGE == 0) & (pages <= top - k.PAGE)).all())
    size, free, begin = m[pages + k.A_CLASS], m[pages + k.A_FREE], m[pages + k.A_TOP]
    wanted("classes of pages", ((size >= k.NOWHERE) & (size < len(WORDS))).all())
    used = size >= 0
    wanted("cells in their pages", ((free[used] == 0) | (free[used] & -k.PAGE == pages[used])).all())
    wanted("cells in their pages", ((begin[used] >= k.CELL) & (begin[used] <= k.PAGE)).all())
    for link in (m[pages + k.A_NEXT], m[pages + k.A_BACK][used]):
        wanted("pages in the memory", ((link % k.PAGE == 0) & (link >= 0) & (link <= top - k.PAGE)).all())


def check_records(store: Store, words: Any, file: FileHeap, keys: int) -> None:
    """Check that the records of ``keys`` keys can be read, by the kernels that read them."""
    memory = copy.copy(store.memory)
    memory._use(m=words, file=file)
    batch = Batch(np.stack([np.arange(keys), np.zeros(keys, np.int64)])) if keys else None
    if batch is not None:
        store._main(memory, store.arcs.program, batch, k.SOUND, len(store.arcs.states), keys)
        wanted("records that can be read", not batch.words[1].any())
