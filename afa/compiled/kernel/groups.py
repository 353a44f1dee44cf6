"""Rows of many keys, each key's rows through `forward`: grouped where they stand, nothing is copied but their numbers."""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel, peek, peek_byte
from afa.compiled.kernel.order import sort_rows


@kernel
def group_rows(m: Any, w: Any, c: Any, low: int, high: int) -> int:
    """Put rows ``low`` to ``high`` of the columns at ``c`` (F_*) at W_INDEX, those of a key side by side by LE; how many keys.

    Ends (C_PLACE) at the first row that is no event, or late. At W_TOUCHED the keys; behind the first half of W_SORT where the rows
    of each of them end.
    """
    heads, links, touched, index, ends = w[W_HEADS], w[W_NEXT], w[W_TOUCHED], w[W_INDEX], w[W_SORT] + w[W_BATCH]
    le_at, kind_at, key_at = c[0, F_LE], c[0, F_KIND], c[0, F_KEY]
    x = low
    while x < high:
        if kind_at != 0 and peek_byte(kind_at + x) != EVENT:
            break
        if peek(le_at + 8 * x) < m[C_EVENTS]:
            break
        x += 1
    m[C_PLACE] = x
    count = 0
    for row in range(x - 1, low - 1, -1):
        key = peek(key_at + 8 * row)
        if w[heads + key] == 0:
            w[touched + count] = key
            count += 1
        w[links + row - low] = w[heads + key] - 1
        w[heads + key] = row + 1
    n = 0
    for k in range(count):
        first, before, rises = n, BEGINNING, True
        row = w[heads + w[touched + k]] - 1
        w[heads + w[touched + k]] = 0
        while row != NOWHERE:
            w[index + n] = row
            n += 1
            le = peek(le_at + 8 * row)
            rises = rises and le >= before
            before = le
            row = w[links + row - low]
        w[ends + k] = n
        if not rises:
            sort_rows(w, le_at, index + first, w[W_SORT], n - first)
    return count
