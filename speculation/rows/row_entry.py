"""The entry of the kernels for rows: what a caller may ask, by number."""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.native_call import kernel
from speculation.rows.row_chains import held, settle, take
from speculation.rows.row_lists import undo
from speculation.rows.row_names import *


@kernel
def main(m: Any, r: Any, what: int, n: int) -> int:
    """Do the one thing that ``what`` names. Returns its status."""
    if what == TAKE:
        return take(m, r, n)
    if what == SETTLE:
        return settle(m, r)
    if what == HELD:
        return held(m)
    if what == ROLLBACK:
        undo(m)
    m[UNDO_N], m[LOG_N], m[GONE_N] = 0, 0, 0
    m[W_UNRANKED] = 0
    m[W_SERIAL] += 1
    return DONE
