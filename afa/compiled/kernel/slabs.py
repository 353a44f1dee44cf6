"""Cells of equal size in pages: the place of packed keys and of small blocks.

    page     [ class  used  free  top  next  back  -  - | cell | cell | cell | never used .. ]     PAGE words, at a multiple of it
                                |                              ^
                                '------------------------------'    cells that are free again, chained by their first word

    m.cells  by class: the pages that have room, chained both ways; a full page is in no chain
    m.pages  pages without any cell in use: they serve any class

A page goes back as soon as its last cell does, so that a rolled-back call finds room for all that it has freed: once the new cells
are gone, each class can have the pages again that it had.
"""

from __future__ import annotations

from afa.compiled.kernel.layout import *
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
def take_cell(m: Memory, size: int) -> int:
    """Take a cell of a class. Returns its address, or NEED_HEAP."""
    page = Page(m.cells[size])
    if page == 0:
        page = Page(take_page(m))
        if page < 0:
            return page
        page.size_class, page.used, page.free, page.top = size, 0, 0, CELL
        page.next = page.back = 0
        m.cells[size] = page
    # A cell that is free again, else one that was never used. INVARIANT: a chained page has room.
    words = cell_words(size)
    cell = page.free
    if cell:
        page.free = m[cell]
    else:
        cell = page + page.top
        page.top += words
    page.used += 1
    if page.free == 0 and page.top + words > PAGE:
        unchain(m, page, size)
    return cell


@kernel
def free_cell(m: Memory, cell: int) -> None:
    """Give a cell back, and its page with the last one."""
    page = Page(cell & -PAGE)
    size = page.size_class
    full = page.free == 0 and page.top + cell_words(size) > PAGE  # INVARIANT: then it is in no chain
    m[cell] = page.free
    page.free = cell
    page.used -= 1
    if page.used == 0:
        if not full:
            unchain(m, page, size)
        free_page(m, page)
    elif full:
        chain(m, page, size)


@kernel
def chain(m: Memory, page: Page, size: int) -> None:
    """Put a page before those of its class that have room."""
    after = Page(m.cells[size])
    page.next, page.back = after, 0
    if after:
        after.back = page
    m.cells[size] = page


@kernel
def unchain(m: Memory, page: Page, size: int) -> None:
    """Take a page out of those that have room."""
    after, before = Page(page.next), Page(page.back)
    if before:
        before.next = after
    else:
        m.cells[size] = after
    if after:
        after.back = before


@kernel
def free_page(m: Memory, page: Page) -> None:
    """Put a page among those that serve any class."""
    page.size_class = NOWHERE
    page.next = m.pages
    m.pages = page


@kernel
def take_page(m: Memory) -> int:
    """Take a free page, or one that was never used. Returns its address, or NEED_HEAP."""
    page = Page(m.pages)
    if page:
        m.pages = page.next
        return page
    top = m.top
    page = Page(top + PAGE - 1 & -PAGE)
    n = min(RUN, 1 + page // (RUN * PAGE)) if page > top else 1  # words skipped are lost: large blocks stand before
    if page + n * PAGE > m.limit:
        n = 1
        if page + PAGE > m.limit:
            return NEED_HEAP
    m.top = page + n * PAGE
    for k in range(n - 1, 0, -1):
        free_page(m, page + k * PAGE)
    return page
