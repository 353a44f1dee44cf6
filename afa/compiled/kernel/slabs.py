"""Cells of equal size in pages: where records and small blocks of many keys lie.

    page     [ class  used  free  top  next  back  -  - | cell | cell | cell | never used .. ]     PAGE words, at a multiple of it
                                |                              ^
                                '------------------------------'    cells that are free again, chained by their first word

    C_CELLS  by class: the pages that have room, chained both ways; a page that is full is in no chain
    C_PAGES  pages without any cell in use: they serve any class

A page goes back as soon as its last cell does, so that a call that is taken back finds room for all that it has freed: once the new
cells are gone, each class can have the pages again that it had.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel

SHORT = 4
"""The words of the smallest cell. Up to 8 a class for each size, then eight classes for each doubling."""
RECORDS = 53
"""Classes of records, 4 to 512 words; the others are those of the smallest blocks."""
RUN = 16
"""How many pages are taken at once, at most, where they do not follow the last one."""
BLOCKS = 12
"""The largest size class of blocks that lie in cells."""


@kernel
def cell_class(words: int) -> int:
    """Return the smallest class of cells for records of so many words, up to 512."""
    if words <= 8:
        return max(words, SHORT) - SHORT
    e = 0
    while words > 15 << e:
        e += 1
    return 4 + 8 * e + ((words + (1 << e) - 1) >> e) - 8


@kernel
def cell_words(size: int) -> int:
    """Return the words of a class of cells: of a record 4, 5, .. 15, 16, 18, .. 30, 32, 36, .. 512, of a block as `size_of`."""
    if size < SHORT:
        return size + SHORT
    if size < RECORDS:
        return (8 + ((size - 4) & 7)) << ((size - 4) >> 3)
    return (4 + ((size - RECORDS) & 3)) * 16 << ((size - RECORDS) >> 2)


@kernel
def take_cell(m: Any, size: int) -> int:
    """Take a cell of a class. Returns its address, or NEED_HEAP."""
    page = m[C_CELLS + size]
    if page == 0:
        page = take_page(m)
        if page < 0:
            return int(page)
        m[page + A_CLASS], m[page + A_USED], m[page + A_FREE], m[page + A_TOP] = size, 0, 0, CELL
        m[page + A_NEXT] = m[page + A_BACK] = 0
        m[C_CELLS + size] = page
    words = cell_words(size)
    cell = m[page + A_FREE]
    if cell:
        m[page + A_FREE] = m[cell]
    else:
        cell = page + m[page + A_TOP]
        m[page + A_TOP] += words
    m[page + A_USED] += 1
    if m[page + A_FREE] == 0 and m[page + A_TOP] + words > PAGE:
        unchain(m, page, size)
    return int(cell)


@kernel
def free_cell(m: Any, cell: int) -> None:
    """Give a cell back, and its page with the last one."""
    page = cell & -PAGE
    size = m[page + A_CLASS]
    full = m[page + A_FREE] == 0 and m[page + A_TOP] + cell_words(size) > PAGE
    m[cell] = m[page + A_FREE]
    m[page + A_FREE] = cell
    m[page + A_USED] -= 1
    if m[page + A_USED] == 0:
        if not full:
            unchain(m, page, size)
        free_page(m, page)
    elif full:
        chain(m, page, size)


@kernel
def chain(m: Any, page: int, size: int) -> None:
    """Put a page before those of its class that have room."""
    after = m[C_CELLS + size]
    m[page + A_NEXT], m[page + A_BACK] = after, 0
    if after:
        m[after + A_BACK] = page
    m[C_CELLS + size] = page


@kernel
def unchain(m: Any, page: int, size: int) -> None:
    """Take a page out of those that have room."""
    after, before = m[page + A_NEXT], m[page + A_BACK]
    if before:
        m[before + A_NEXT] = after
    else:
        m[C_CELLS + size] = after
    if after:
        m[after + A_BACK] = before


@kernel
def free_page(m: Any, page: int) -> None:
    """Let a page serve any class."""
    m[page + A_CLASS] = NOWHERE
    m[page + A_NEXT] = m[C_PAGES]
    m[C_PAGES] = page


@kernel
def take_page(m: Any) -> int:
    """Take a free page, or one that was never used. Returns its address, or NEED_HEAP."""
    page = m[C_PAGES]
    if page:
        m[C_PAGES] = m[page + A_NEXT]
        return int(page)
    top = m[C_TOP]
    page = (top + PAGE - 1) & -PAGE
    n = min(RUN, 1 + page // (RUN * PAGE)) if page > top else 1  # what is skipped is lost: large blocks stand before it
    if page + n * PAGE > m[C_LIMIT]:
        n = 1
        if page + PAGE > m[C_LIMIT]:
            return NEED_HEAP
    m[C_TOP] = page + n * PAGE
    for k in range(n - 1, 0, -1):
        free_page(m, page + k * PAGE)
    return int(page)
