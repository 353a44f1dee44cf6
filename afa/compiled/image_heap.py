"""Check that used and free words of a heap lie apart, and that its chains end (`afa.compiled.kernel.heap`, `slabs`).

    heap     | control | directory | page | block of a key | page | free block | ..      no two of them share a word
    page     | head | cell held | cell free | cell held | never used ..                  each cell is held once, or free once

What was skipped between two of them is nobody's. O(words / 4) bytes, and time of the cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from afa.compiled.kernel import layout as k
from afa.compiled.kernel.heap import class_of, size_of
from afa.compiled.kernel.slabs import BLOCKS, RECORDS, cell_class, cell_words
from afa.compiled.memory import directory_at
from afa.state.sound import wanted

WORDS = np.array([cell_words(size) for size in range(RECORDS + BLOCKS + 1)])
CLASSES = np.array([0, *map(cell_class, range(1, k.MOST + 1))])
LEAST = 4
"""The words of the smallest cell: of so many words side by side one begins a cell at most."""


def sizes_up_to(words: int) -> Any:
    """Return the words of blocks by size class, for classes that have no more than so many."""
    return np.array([size_of(size) for size in range(min(class_of(max(words, 1)) + 1, k.CLASSES))])


def check_heap(m: Any, held: Any, room: int) -> None:
    """Check the chains of a heap, with room for so many keys. ``held``: KeyEntry.block of all keys, each within the heap.

    Raises SnapshotError.
    """
    top = int(m[k.Memory.top])
    sizes = sizes_up_to(top)
    blocks = held[held > 0]
    own = [int(m[word]) - less for word, less in ((k.Memory.unpacked, 0), (k.Memory.draft, 1), (k.Memory.shared, 0)) if m[word]]
    blocks = np.append(blocks, np.array(own, np.int64))
    kinds = m[blocks]
    wanted("classes of blocks", ((kinds >= 0) & (kinds < len(sizes))).all())
    small = kinds <= BLOCKS if m[k.Memory.keyed] else np.zeros(len(blocks), np.bool_)
    large, many = blocks[~small], sizes[kinds[~small]]
    found = _free_blocks(m, top, sizes)
    pages = np.zeros(0, np.int64)
    if m[k.Memory.keyed]:
        records = -held[held < 0]
        cells = np.concatenate([records, blocks[small]])
        pages = _check_pages(m, cells, np.concatenate([CLASSES[m[records] & k.HEAD_MASK], kinds[small] + RECORDS]), top)
    begin, *_, end = directory_at(int(m[k.Memory.dir]), room)
    begins = np.concatenate([[0, begin], large, found[0], pages])
    lengths = np.concatenate([[k.CONTROL, end - begin], many, found[1], np.full(len(pages), k.PAGE)])
    order = np.argsort(begins)
    wanted("blocks and pages apart", (begins[order] + lengths[order] <= np.append(begins[order][1:], top)).all())


def _free_blocks(m: Any, top: int, sizes: Any) -> tuple[Any, Any]:
    """Return where free blocks begin, and their words."""
    found: list[int] = []
    words: list[int] = []
    for size in np.flatnonzero(m[k.Memory.free : k.Memory.free + k.CLASSES]).tolist():
        at = int(m[k.Memory.free + size])
        while at:
            inside = size < len(sizes) and k.CONTROL <= at <= top - sizes[size] and len(found) <= top // sizes[0]
            wanted("free blocks in the memory", inside, at)
            found.append(at)
            words.append(int(sizes[size]))
            at = int(m[at])
    return np.array(found, np.int64), np.array(words, np.int64)


def _check_pages(m: Any, cells: Any, kinds: Any, top: int) -> Any:
    """Check cells in use, of these classes, with their pages and the free cells there. Returns all pages."""
    homes = cells & -k.PAGE
    wanted("pages in the memory", ((homes >= k.CONTROL) & (homes <= top - k.PAGE)).all())
    wanted("cells of their class", (m[homes + k.Page.size_class] == kinds).all())
    wanted("cells beside each other", ((cells - homes >= k.CELL) & ((cells - homes - k.CELL) % WORDS[kinds] == 0)).all())
    marks = np.zeros(top // LEAST + 1, np.bool_)
    marks[cells // LEAST] = True
    wanted("cells that one key holds", np.count_nonzero(marks) == len(cells))
    pages, used = np.unique(homes, return_counts=True)
    size, tops = m[pages + k.Page.size_class], m[pages + k.Page.top]
    words = WORDS[size]
    wanted("cells in their pages", ((tops >= k.CELL) & (tops <= k.PAGE) & ((tops - k.CELL) % words == 0)).all())
    wanted("cells that were used", (cells - homes < m[homes + k.Page.top]).all())
    wanted("cells in use", (m[pages + k.Page.used] == used).all())
    _check_free_cells(m, pages, marks, words, tops)
    with_room = (m[pages + k.Page.free] != 0) | (tops + words <= k.PAGE)
    chained = [page for of in range(len(WORDS)) for page in _chain(m, int(m[k.Memory.cells + of]), of, top)]
    wanted("pages with room in their chains", sorted(chained) == pages[with_room].tolist())
    free = _chain(m, int(m[k.Memory.pages]), k.NOWHERE, top)
    return np.append(pages, np.array(free, np.int64))


def _check_free_cells(m: Any, pages: Any, marks: Any, words: Any, tops: Any) -> None:
    """Follow the chains of free cells of all pages side by side; ``marks``: cells in use. Each cell is in use or free, once."""
    at, left = m[pages + k.Page.free], np.arange(len(pages))
    free = np.zeros(len(pages), np.int64)
    while (on := at != 0).any():
        at, left = at[on], left[on]
        offset = at - pages[left]
        inside = (offset >= k.CELL) & (offset < tops[left])
        wanted("free cells in their pages", inside.all() and ((offset - k.CELL) % words[left] == 0).all())
        wanted("free cells that are free once", not marks[at // LEAST].any())
        marks[at // LEAST] = True
        free[left] += 1
        at = m[at]
    wanted("cells held or free", ((tops - k.CELL) // words == m[pages + k.Page.used] + free).all())


def _chain(m: Any, page: int, kind: int, top: int) -> list[int]:
    """Return the pages of a chain, all of which are of one class; those that have room are linked both ways."""
    found: list[int] = []
    while page:
        said = "free pages in the memory" if kind == k.NOWHERE else "pages in the memory"
        wanted(said, k.CONTROL <= page <= top - k.PAGE and page % k.PAGE == 0 and len(found) <= top // k.PAGE, page)
        wanted("pages of a class in its chain", m[page + k.Page.size_class] == kind, page)
        wanted("pages linked both ways", kind == k.NOWHERE or m[page + k.Page.back] == (found[-1] if found else 0), page)
        found.append(page)
        page = int(m[page + k.Page.next])
    return found
